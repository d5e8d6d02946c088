"""References between the pictures in packets, for codecs whose headers state them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from videoloader.codecs.av1_frames import Av1References, keep_frames
from videoloader.codecs.coded import CodedPicture
from videoloader.codecs.nal import annexb_units, length_units
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex

__all__ = ["PictureReader"]


class PictureReader:
    """Tracks references through successive packets of one video, from a keyframe on.

    Args:
        index: of the video.
        packet: number of the first packet that will be read.
        payload: its bytes.

    Raises:
        FormatError: references of the codec are not supported, or its extradata is damaged.
    """

    def __init__(self, index: VideoIndex, packet: int, payload: bytes) -> None:
        self._length_size = index.length_size
        references = codec_of(index.codec).references
        if references is None:
            raise FormatError(f"references of {index.codec} are not followed")
        self._follower = references(index.extradata_of(packet), payload, index.length_size)

    @property
    def count(self) -> int:
        """Number of pictures read so far, which is the number of the next one."""
        return self._follower.count

    @property
    def held(self) -> set[int]:
        """Numbers of the pictures read so far that later ones may refer to."""
        return self._follower.held

    def read(self, payload: bytes) -> list[CodedPicture]:
        """The pictures of the next packet.

        Raises:
            FormatError: it is damaged or unsupported.
        """
        if isinstance(self._follower, Av1References):
            return self._follower.read(payload)
        view = memoryview(payload)
        if self._length_size:
            return self._follower.read(length_units(view, self._length_size))
        begins = [*annexb_units(payload), len(payload) + 3]
        return self._follower.read(
            view[begin : after - 3] for begin, after in itertools.pairwise(begins)
        )

    def cut(self, payload: bytes, keep: Sequence[bool]) -> bytes:
        """The packet without the pictures for which `keep` is False; empty if none remain.

        A packet whose codec has no separable pictures counts as one picture.
        """
        if all(keep):
            return payload
        if not any(keep):
            return b""
        return keep_frames(payload, keep)
