"""What the pictures in packets refer to, for the codecs whose headers tell it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from videoloader.codecs import av1
from videoloader.codecs.av1_frames import Av1References, keep_frames
from videoloader.codecs.coded import CodedPicture
from videoloader.codecs.hevc_references import HevcReferences
from videoloader.codecs.nal import annexb_units, length_units
from videoloader.codecs.records import hevc_parameter_sets
from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex

__all__ = ["FOLLOWED", "PictureReader"]

FOLLOWED = frozenset({"av1", "hevc"})
"""Codecs whose references are told."""


class PictureReader:
    """Reads the headers of successive packets of one video, from a keyframe on.

    Args:
        index: of the video.
        packet: the first packet that will be read.
        payload: its bytes.

    Raises:
        FormatError: the codec is not one whose references are followed, or its set-up is damaged.
    """

    def __init__(self, index: VideoIndex, packet: int, payload: bytes) -> None:
        setup = index.extradata_of(packet)
        self._index = index
        self._follower: Av1References | HevcReferences
        if index.codec == "av1":
            # An av1C box has four bytes before the units; raw streams have the units alone.
            sequence = av1.parse_sequence(setup[4:] if setup[:1] == b"\x81" else setup)
            sequence = sequence or av1.parse_sequence(payload)
            if sequence is None:
                raise FormatError("an AV1 stream without its sequence header")
            self._follower = Av1References(sequence)
        elif index.codec == "hevc":
            self._follower = HevcReferences()
            for unit in self._setup_units(setup):
                self._follower.learn(unit)
        else:
            raise FormatError(f"references of {index.codec} are not followed")

    @property
    def count(self) -> int:
        """How many pictures were read so far; the next one has this number."""
        return self._follower.count

    @property
    def held(self) -> set[int]:
        """Numbers of the pictures read so far that later ones may refer to."""
        return self._follower.held

    def read(self, payload: bytes) -> list[CodedPicture]:
        """The pictures of the next packet.

        Raises:
            FormatError: it is damaged, or of a kind that is not followed.
        """
        if isinstance(self._follower, Av1References):
            return self._follower.read(payload)
        return self._follower.read(self._units(payload, self._index.length_size))

    def cut(self, payload: bytes, keep: Sequence[bool]) -> bytes:
        """A packet without those of its pictures that `keep` has a False for, empty if none stay.

        Where pictures cannot be told apart in a packet it has one.
        """
        if all(keep):
            return payload
        if not any(keep):
            return b""
        return keep_frames(payload, keep)

    def _setup_units(self, setup: bytes) -> Iterable[bytes | memoryview]:
        if self._index.length_size:
            return [unit for _, unit in hevc_parameter_sets(setup)]
        return self._units(setup, 0)

    @staticmethod
    def _units(data: bytes, length_size: int) -> Iterable[bytes | memoryview]:
        view = memoryview(data)
        if length_size:
            return length_units(view, length_size)
        begins = list(annexb_units(data))
        begins.append(len(data) + 3)
        return [view[begin : after - 3] for begin, after in itertools.pairwise(begins)]
