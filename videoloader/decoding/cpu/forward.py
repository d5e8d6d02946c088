"""Reading on from where a decoder stands, in place of beginning at a keyframe again.

A run is decoded by itself: its packets, an end, and the decoder is empty. Callers that ask for one
frame after the other would have every GOP decoded again for each of its frames. For them the
decoder is not emptied: where it holds a frame back, the packets behind it are fed as well. Behind
the last packet of the video it is emptied, and the frames are kept for the calls to come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.decoding.packets.feed import PacketFeed
from videoloader.indexing.contexts import make_packet
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import Run

if TYPE_CHECKING:
    from av import VideoCodecContext, VideoFrame

__all__ = ["MOST_FRAMES", "ForwardReader"]

MOST_FRAMES = 16
"""Frames of a run that is read on to: they are held together until all of them are there."""

_CHUNK = 16  # packets fetched at a time
_BEHIND = 48  # packets to feed behind a run; decoders hold back no more than 16 frames


class ForwardReader:
    """A decoder that stands behind a packet of a video, and the frames it gave too early.

    Args:
        decoder: set up for the packets of the run, holding nothing.
        index: of the video.
        packets: reads them.
        run: the first to read.
    """

    def __init__(
        self, decoder: VideoCodecContext, index: VideoIndex, packets: PacketFeed, run: Run
    ) -> None:
        self.decoder = decoder
        self.packets_fed = 0
        """Packets that the decoder was given so far."""
        self._index = index
        self._packets = packets
        self._start = int(run.packets[0])
        self._last = self._start - 1
        self._skipped: set[int] = set()
        self._setup = index.extradata_of(self._start)
        self._early: dict[int, VideoFrame] = {}
        self._reports_damage = codec_of(index.codec).reports_damage

    def reaches(self, run: Run) -> bool:
        """Whether what was fed so far is what a run begins with."""
        return (
            self._start <= int(run.packets[0]) <= self._last + 1
            and (not self._skipped or self._skipped.isdisjoint(run.packets.tolist()))
            and self._index.extradata_of(int(run.packets[-1])) == self._setup
        )

    def read(self, run: Run) -> dict[int, VideoFrame] | None:
        """The frames of a run by number; None if one does not come or anything is damaged.

        The decoder is of no use then.
        """
        import av

        wanted = dict(zip(run.frame_packets.tolist(), run.frames.tolist(), strict=True))
        found: dict[int, VideoFrame] = {}
        early, self._early = self._early, {}
        for packet, frame in early.items():
            self._sort(packet, frame, wanted, found)
        try:
            for number, payload in self._payloads(run) if wanted else ():
                frames = self.decoder.decode(make_packet(payload, number))
                self.packets_fed += 1
                if number > self._last + 1:
                    self._skipped.update(range(self._last + 1, number))
                self._last = number
                if not self._take(frames, wanted, found):
                    return None
                if not wanted:
                    return found
            is_over = self._last == len(self._index.packets) - 1
            if wanted and is_over and not self._take(self.decoder.decode(None), wanted, found):
                return None
        except av.error.FFmpegError:
            return None
        return None if wanted else found

    def _take(
        self, frames: list[VideoFrame], wanted: dict[int, int], found: dict[int, VideoFrame]
    ) -> bool:
        """Sort what the decoder gave; False if something of it is damaged."""
        for frame in frames:
            if frame.pts is None or (self._reports_damage and frame.is_corrupt):
                return False
            self._sort(frame.pts, frame, wanted, found)
        return True

    def _sort(
        self,
        packet: int,
        frame: VideoFrame,
        wanted: dict[int, int],
        found: dict[int, VideoFrame],
    ) -> None:
        """Put a frame where it is wanted, or aside if nobody may have had it yet."""
        number = wanted.pop(packet, None)
        if number is not None:
            found[number] = frame
        elif not wanted:
            self._early[packet] = frame

    def _payloads(self, run: Run) -> Iterator[tuple[int, bytes]]:
        """Packets behind those that were fed: of the run, and as many as may be held back."""
        if self._last < self._start:
            for packets, payloads in self._packets.chunks(run, _CHUNK, drop="nothing"):
                yield from zip(packets.tolist(), payloads, strict=True)
        else:
            fed = int(run.packets.searchsorted(self._last, side="right"))
            yield from self._fetched(run.packets[fed:])
        behind = int(run.packets[-1]) + 1
        for number in range(behind, min(behind + _BEHIND, len(self._index.packets))):
            if number <= self._last:
                continue
            if self._index.extradata_of(number) != self._setup:
                return
            yield from self._fetched(np.array([number]))

    def _fetched(self, packets: NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
        for start in range(0, len(packets), _CHUNK):
            part = packets[start : start + _CHUNK]
            yield from zip(part.tolist(), self._packets.read(part), strict=True)
