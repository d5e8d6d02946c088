"""Gaps that encoders leave between slices, which FFmpeg marks as damage.

Some encoders of MPEG-1 code no macroblocks at the ends of rows that do not change. FFmpeg conceals
what no slice codes, and marks the frame, as it does where a slice is lost. Two things tell damage
apart: a decoder that refuses broken slices and conceals nothing refuses the packet; or the video is
not one that has such gaps throughout.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from videoloader.codecs.contexts import make_packet, open_decoder
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import PacketReader
from videoloader.sources.source import Source

_LOOKS = 64  # first packets of a video, which tell whether it has gaps throughout
_LEAST, _SHARE = 3, 8  # so many of them, and 1/8 of them, then have gaps and are not refused
_REFUSED = 2  # at least so many times as many as those that are refused


class SliceGaps:
    """Tells damage from gaps between slices, for the frames of one video that FFmpeg marks.

    Not for sharing between threads.
    """

    def __init__(self, index: VideoIndex, source: Source) -> None:
        self._index = index
        self._reader = PacketReader(index, source)
        self._key = -1, b""

    def explain(self, packet: int) -> bool:
        """Whether a frame is marked only because slices are left out, and so is not damaged."""
        learned = self._index.learned
        if learned.has_gaps is None:
            learned.has_gaps = self._has_gaps()
        return learned.has_gaps and not self._is_refused(packet)

    def close(self) -> None:
        """Close the demuxer, if one is open."""
        self._reader.close()

    def _has_gaps(self) -> bool:
        payloads = [*self._reader.read(np.arange(min(_LOOKS, len(self._index.packets))))]
        marked = _failing(self._index, payloads, is_strict=False)
        refused = _failing(self._index, payloads, is_strict=True)
        count = len(marked - refused)
        return count >= max(_LEAST, len(payloads) // _SHARE, _REFUSED * len(refused))

    def _is_refused(self, packet: int) -> bool:
        """Whether a slice of a packet is broken. No pixel of its references matters for that."""
        key = int(self._index.seek_packets[self._index.packet_frames[packet]])
        if key != self._key[0]:
            self._key = key, self._reader.read(np.array([key]))[0]
        payload = self._key[1] if packet == key else self._reader.read(np.array([packet]))[0]
        # B-pictures are decoded behind two others.
        payloads = [self._key[1], self._key[1], payload]
        return len(payloads) - 1 in _failing(self._index, payloads, is_strict=True)


def _failing(index: VideoIndex, payloads: Sequence[bytes], *, is_strict: bool) -> set[int]:
    """Numbers of the packets that a strict decoder refuses, or of which one marks the frame."""
    import av

    decoder = open_decoder(
        index.codec,
        extradata=index.extradata_of(0),
        tag=index.codec_tag,
        width=index.width,
        height=index.height,
        options={"ec": "0", "err_detect": "explode"} if is_strict else None,
    )
    found: set[int] = set()
    for number, payload in enumerate(payloads):
        try:
            frames = decoder.decode(make_packet(payload, number))
        except av.error.FFmpegError:
            found.add(number)
            continue
        found |= {frame.pts for frame in frames if frame.is_corrupt and frame.pts is not None}
    return found
