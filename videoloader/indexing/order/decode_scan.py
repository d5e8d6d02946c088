"""Finds the frame order by decoding the whole video once; used if nothing else determines it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.contexts import make_packet, most_pixels, open_decoder, pixel_format_of
from videoloader.codecs.registry import codec_of
from videoloader.errors import UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import NO_TIME, PacketFlags

if TYPE_CHECKING:
    import av

# Limits on the cost of decoding a file: a fixed amount, plus an amount for each byte over a
# million, since small files may legitimately hold many pixels.
_MILLION = 1 << 20
_PIXELS, _PIXELS_A_BYTE = 400_000_000, 4096
_MEMORY, _MEMORY_A_BYTE = 192 << 20, 64


def scan_order(index: VideoIndex, payloads: Iterable[bytes]) -> VideoIndex:
    """Decode everything once to map each frame to its packet; `payloads` are all packets.

    Raises:
        UnsupportedError: decoding costs far more than is plausible for the size of the file, or
            the codec has no decoder.
    """
    table = index.packets.copy()
    places: list[int] = []
    size = (index.width, index.height)
    for place, frame in _decode_all(index, payloads):
        if not places:
            size = (frame.width, frame.height)
        places.append(place)
    if not places and len(table):
        raise UnsupportedError(
            f"none of its {len(table)} packets decodes to a picture, or pictures have more than "
            f"{most_pixels(index.fingerprint.size)} pixels"
        )
    order = np.array(places, dtype=np.int64)
    shown = np.zeros(len(table), dtype=bool)
    shown[order] = True
    discarded = (table["flags"] & PacketFlags.DISCARD) != 0
    order = order[~discarded[order]]
    hidden = ~shown & ~discarded
    table["flags"][hidden] |= np.uint16(PacketFlags.HIDDEN)
    if codec_of(index.codec).count_shown is None:
        # Part of a picture, or damaged: not a packet that decoding can begin with.
        table["flags"][hidden] &= ~np.uint16(PacketFlags.KEY)
    table["pts"][order] = _complete(table["pts"][order], table["duration"][order], index)
    rest = table["pts"] == NO_TIME
    # A packet that shows no frame gets the time of the previous frame.
    last = np.maximum.accumulate(np.where(rest, -1, np.arange(len(table))))
    table["pts"][rest] = np.where(last[rest] >= 0, table["pts"][np.maximum(last[rest], 0)], 0)
    table["dts"][table["dts"] == NO_TIME] = 0
    width, height = size
    return replace(
        index, packets=table, order=order, exactness="decode", width=width, height=height
    )


def _decode_all(
    index: VideoIndex, payloads: Iterable[bytes]
) -> Iterator[tuple[int, av.VideoFrame]]:
    """Yield all frames in output order, each with the number of its packet."""
    import av

    budget = _Budget(index)
    decoder = open_decoder(
        index.codec,
        extradata=index.extradata_of(0),
        tag=index.codec_tag,
        width=index.width,
        height=index.height,
        max_pixels=most_pixels(index.fingerprint.size),
    )
    keys = (index.packets["flags"] & PacketFlags.KEY).astype(bool).tolist()
    packets = (make_packet(payload, number) for number, payload in enumerate(payloads))
    for packet in itertools.chain(packets, [None]):
        if packet is not None and packet.pts is not None:
            packet.is_keyframe = keys[packet.pts]
        try:
            frames = decoder.decode(packet)
        except av.error.FFmpegError:
            frames = []  # as FFmpeg's decode, skip packets that fail to decode
        budget.charge(decoder, frames)
        for frame in frames:
            if frame.pts is not None:
                yield frame.pts, frame


class _Budget:
    """Cost of decoding a file so far, against the limit for a file of its size."""

    def __init__(self, index: VideoIndex) -> None:
        over = max(index.fingerprint.size - _MILLION, 0)
        self._size = index.fingerprint.size
        self._pixels = _PIXELS + _PIXELS_A_BYTE * over
        self._memory = _MEMORY + _MEMORY_A_BYTE * over
        self._held = min(codec_of(index.codec).held_pictures, len(index.packets))
        self._spent = 0
        self._check(index.width * index.height * len(index.packets), self._pixels, "pixels")
        self._check(_bytes_of("yuv420p", index.width, index.height), self._memory, "bytes")

    def charge(self, decoder: av.VideoCodecContext, frames: Sequence[av.VideoFrame]) -> None:
        """Add the cost of a packet: at least one picture, even if the decoder returned none.

        PyAV before 17 does not tell a decoder's pixel format; that of the first frame counts, and
        until then the smallest usual one.
        """
        self._spent += decoder.width * decoder.height * max(len(frames), 1)
        self._check(self._spent, self._pixels, "pixels")
        form = frames[0].format.name if frames else pixel_format_of(decoder) or "yuv420p"
        picture = _bytes_of(form, decoder.width, decoder.height)
        self._check(picture * self._held, self._memory, "bytes")

    def _check(self, cost: int, limit: int, unit: str) -> None:
        if cost > limit:
            raise UnsupportedError(
                f"only decoding tells its frames, which would take over {limit:.0e} {unit}, too "
                f"much for a file of {self._size} bytes; remux or encode it again"
            )


def _bytes_of(pixel_format: str, width: int, height: int) -> int:
    """Bytes of a decoded picture in memory."""
    import av

    if not (width and height):
        return 0
    planes = av.VideoFormat(pixel_format, width, height).components
    return sum(plane.width * plane.height * -(-plane.bits // 8) for plane in planes)


def _complete(
    pts: NDArray[np.int64], durations: NDArray[np.int64], index: VideoIndex
) -> NDArray[np.int64]:
    """Fill missing times: the time of the previous frame plus its duration."""
    missing = pts == NO_TIME
    if not missing.any():
        return pts
    known = durations[durations > 0]
    step = int(np.median(known)) if len(known) else max(round(1 / (25 * index.time_base)), 1)
    places = np.arange(len(pts))
    given = places[~missing]
    if not len(given):
        return places * step
    anchor = given[np.maximum(np.searchsorted(given, places, side="right") - 1, 0)]
    return np.where(missing, pts[anchor] + (places - anchor) * step, pts)
