"""Leaving packets out that no wanted frame depends on, and pictures out of packets.

What a picture refers to stands in its header, so the headers of a run are read before its packets
are decoded. Where they do not tell, only disposable packets are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import Packets
from videoloader.indexing.references import PictureReader, classify_packets
from videoloader.sampling import Run, needed_pictures

Drop = Literal["nothing", "disposable", "unneeded"]
"""The packets to leave out: none, unwanted ones that nothing refers to, or all that no wanted frame
depends on."""

_FIRST = 16  # packets that are read before any is decoded
_QUICK_BYTES = 1 << 18  # or more, if they have no more bytes than these
SPAN, MAX_BYTES = 512, 1 << 24  # packets looked at together, and bytes of them


class Fed(NamedTuple):
    """Packets for a decoder: their numbers, ascending, and their bytes."""

    packets: NDArray[np.int64]
    payloads: Packets


def needed_packets(
    index: VideoIndex, read: Callable[[NDArray[np.int64]], Packets], run: Run, drop: Drop, part: int
) -> Iterator[Fed]:
    """The packets of a run that a decoder has to be fed, some at a time.

    Args:
        index: of the video.
        read: gives the bytes of packets by number.
        run: from a plan.
        drop: what to leave out.
        part: how many to read at a time where each is looked at by itself.

    Raises:
        SourceError: the file cannot be read as it was indexed.
    """
    unwanted = len(run.packets) - len(run.frame_packets)
    if unwanted <= 0 or (unwanted == 1 and run.frame_packets[0] != run.packets[0]):
        drop = "nothing"  # all are wanted, or all behind the keyframe
    codec = codec_of(index.codec)
    follows = codec.references is not None
    follows &= drop == "unneeded" and index.exactness != "decode"
    if drop != "nothing" and (codec.nal is not None or not follows):
        known = index.learned.disposable[run.packets]
        keep = known != 1  # others need not be read
        keep[run.packets.searchsorted(run.frame_packets)] = True
        keep[:1] = True  # as in `plan_run`
        run = replace(run, packets=run.packets[keep])
        if not follows and (known >= 0).all():
            drop = "nothing"  # that is left
    pictures: PictureReader | None = None
    for start, stop in _parts(index, run, 0 if follows else part):
        packets = run.packets[start:stop]
        fed = Fed(packets, read(packets))
        if follows:
            try:
                pictures = pictures or PictureReader(index, int(packets[0]), fed.payloads[0])
                fed = _reached(index, fed, run, pictures)
            except FormatError:
                follows = False  # what was fed so far is all that any packet may refer to
        if not follows and drop != "nothing":
            fed = _without_disposable(index, fed, run)
        yield fed


def _parts(index: VideoIndex, run: Run, part: int) -> list[tuple[int, int]]:
    """Stretches of a run to read at once: of so many packets, or as many as memory should hold.

    The first ones are shorter, unless packets are small, so that decoding begins soon.
    """
    count, parts = len(run.packets), []
    if count == 1 or 0 < count <= min(_FIRST, part):
        return [(0, count)]
    ends = np.cumsum(index.packets["size"][run.packets], dtype=np.int64)
    if part:
        small = int(np.searchsorted(ends, _QUICK_BYTES, side="right"))
        start, stop = 0, min(max(_FIRST, small), part)
        while start < count:
            parts.append((start, min(stop, count)))
            start, stop = stop, stop + min(stop, part)
        return parts
    start = 0
    while start < count:
        read = int(ends[start - 1]) if start else 0
        fitting = int(np.searchsorted(ends, read + MAX_BYTES, side="right"))
        stop = min(max(fitting, start + 1), start + SPAN, count)
        parts.append((start, stop))
        start = stop
    return parts


def _without_disposable(index: VideoIndex, fed: Fed, run: Run) -> Fed:
    if index.has_headers:
        return fed  # the plan left them out
    known = index.learned.disposable
    if (known[fed.packets] < 0).any():
        known[fed.packets] = classify_packets(index, fed.payloads)
    keep = known[fed.packets] == 0
    wanted = run.frame_packets
    inside = (wanted >= fed.packets[0]) & (wanted <= fed.packets[-1])
    keep[np.searchsorted(fed.packets, wanted[inside])] = True
    keep[:1] |= fed.packets[:1] == run.packets[0]
    return Fed(fed.packets[keep], fed.payloads.some(keep))


def _reached(index: VideoIndex, fed: Fed, run: Run, reader: PictureReader) -> Fed:
    """Packets without the pictures that no wanted frame of the run depends on.

    Whatever later packets may refer to counts as wanted, but for the last of the run.
    """
    if codec_of(index.codec).nal is not None:
        fed = _without_disposable(index, fed, run)  # cheaper than reading their slices
    wanted_packets = np.isin(fed.packets, run.frame_packets).tolist()
    is_start = len(fed.packets) > 0 and fed.packets[0] == run.packets[0]
    payloads = [*fed.payloads]
    found = [reader.read(payload) for payload in payloads]
    wanted = np.array(
        [
            picture.is_fixed or (is_wanted and (picture.is_shown or len(inside) == 1))
            for is_wanted, inside in zip(wanted_packets, found, strict=True)
            for picture in inside
        ],
        dtype=np.bool_,
    )
    base = reader.count - len(wanted)
    if is_start:
        wanted[:1] = True
    if not len(fed.packets) or fed.packets[-1] != run.packets[-1]:
        wanted[[number - base for number in reader.held if number >= base]] = True
    references = [[n - base for n in p.references if n >= base] for inside in found for p in inside]
    keep = iter(needed_pictures(references, wanted).tolist())
    cut = [
        reader.cut(payload, [next(keep) for _ in inside])
        for payload, inside in zip(payloads, found, strict=True)
    ]
    made = Packets.of(cut)
    kept = made.sizes > 0
    return Fed(fed.packets[kept], made.some(kept))
