"""Block headers (RFC 9559, section 10), and the frames of laced blocks."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.containers.matroska.clusters import Blocks
from videoloader.indexing.containers.matroska.ebml import NeedsDemuxerError
from videoloader.indexing.containers.matroska.heads import read_numbers
from videoloader.sources.source import Source

Ints = NDArray[np.int64]

_KEY, _LACING = 0x80, 0x06
_XIPH, _FIXED = 2, 4  # and 6 for EBML
_LACES = 1 << 20  # bytes of a block to search for the sizes of its frames
_TINY, _FREE_FRAMES = 8, 1 << 16  # minimum average bytes of a frame, beyond this many frames
_MAX_NUMBER = 4  # bytes of a track number


@dataclass(frozen=True, slots=True)
class BlockTable:
    """All blocks: track, payload (lacing header included), time in ticks, flags; one row each."""

    tracks: Ints
    offsets: Ints
    sizes: Ints
    pts: Ints
    durations: Ints
    keys: NDArray[np.bool_]
    lacing: NDArray[np.uint8]

    def of(self, track: int) -> BlockTable:
        """The blocks of one track."""
        chosen = np.flatnonzero((self.tracks == track) & (self.sizes > 0))  # no packet if empty
        names = ("tracks", "offsets", "sizes", "pts", "durations", "keys", "lacing")
        return BlockTable(**{name: getattr(self, name)[chosen] for name in names})


@dataclass(frozen=True, slots=True)
class Frames:
    """The packets of a track, in decode order, one entry each."""

    offsets: Ints
    sizes: Ints
    pts: Ints
    durations: Ints
    keys: NDArray[np.bool_]


def read_blocks(blocks: Blocks) -> BlockTable:
    """Read the headers of all blocks.

    Raises:
        NeedsDemuxerError: a block is shorter than its header.
    """
    heads = blocks.heads
    lengths, tracks = read_numbers(heads.words)
    sizes = heads.sizes - lengths - 3
    # FFmpeg drops the rest of a cluster at a damaged block, and resumes at the next cluster.
    if (lengths > _MAX_NUMBER).any() or (sizes < 0).any():
        raise NeedsDemuxerError("a block is too short for its head")
    rest = heads.words >> (40 - 8 * lengths).astype(np.uint64)
    times = (rest >> np.uint64(8)).astype(np.int16)
    flags = rest.astype(np.uint8)
    return BlockTable(
        tracks=tracks,
        offsets=heads.offsets + lengths + 3,
        sizes=sizes,
        pts=blocks.clocks + times,
        durations=blocks.durations,
        keys=np.where(heads.is_simple, flags & _KEY != 0, ~blocks.refers),
        lacing=flags & np.uint8(_LACING),
    )


def unlace(table: BlockTable, source: Source, *, usual_duration: int, scale: int) -> Frames:
    """Split the laced blocks of one track into frames.

    `usual_duration` of a frame is in nanoseconds, 0 if unknown; `scale` is nanoseconds in a tick.

    Raises:
        FormatError: a laced block holds an empty frame.
        NeedsDemuxerError: lacing is damaged, or the times of laced frames are unknown.
    """
    usual = usual_duration // scale
    if not table.lacing.any():
        durations = np.where(table.durations > 0, table.durations, usual)
        return Frames(table.offsets, table.sizes, table.pts, durations, table.keys)
    columns = [array("q") for _ in range(5)]
    tiny = 0  # frames in blocks with implausibly small frames
    names = ("offsets", "sizes", "pts", "durations", "keys", "lacing")
    for offset, size, pts, duration, key, lacing in zip(
        *(getattr(table, name).tolist() for name in names), strict=True
    ):
        head, sizes = _laces(source, offset, size, lacing) if lacing else (0, [size])
        count = len(sizes)
        total = duration or (usual_duration * count // scale)
        if min(sizes) < 1:
            raise FormatError(f"the laced block at byte {offset} holds an empty frame")
        tiny += count - size // _TINY
        if tiny > _FREE_FRAMES:
            raise FormatError(f"laced frames of less than {_TINY} bytes on average")
        if count > 1 and total < count:
            raise NeedsDemuxerError(f"frames of the laced block at byte {offset} have no times")
        steps = [total * number // count for number in range(count + 1)]
        columns[0].extend(accumulate(sizes[:-1], initial=offset + head))
        columns[1].extend(sizes)
        columns[2].extend(pts + step for step in steps[:-1])
        columns[3].extend(after - step for step, after in pairwise(steps))
        columns[4].extend([int(key)] + [0] * (count - 1))
    starts, lengths, times, durations, keys = [np.array(c, dtype=np.int64) for c in columns]
    return Frames(starts, lengths, times, durations, keys > 0)


def _laces(source: Source, offset: int, size: int, lacing: int) -> tuple[int, list[int]]:
    """Bytes before the first frame of a laced block, and the size of each frame (section 10.3)."""
    data = source.read(offset, min(size, _LACES))
    if not data:
        raise NeedsDemuxerError(f"the laced block at byte {offset} is empty")
    count, position = data[0] + 1, 1
    if lacing == _FIXED:
        if (size - 1) % count:
            raise NeedsDemuxerError(f"the laced block at byte {offset} has no whole frames")
        return 1, [(size - 1) // count] * count
    if count == 1 and lacing != _XIPH:
        raise NeedsDemuxerError(f"the laced block at byte {offset} has one frame")
    sizes: list[int] = []
    try:
        for number in range(count - 1):
            if lacing == _XIPH:
                value = 0
                while data[position] == 0xFF:
                    value, position = value + 0xFF, position + 1
                value, position = value + data[position], position + 1
            else:
                length = 9 - data[position].bit_length()
                coded = int.from_bytes(data[position : position + length], "big")
                value, position = coded & ((1 << 7 * length) - 1), position + length
                if number:  # biased difference from the size of the previous frame
                    value += sizes[-1] - (1 << (7 * length - 1)) + 1
            sizes.append(value)
    except IndexError:
        raise NeedsDemuxerError(
            f"the laced block at byte {offset} ends in its list of sizes"
        ) from None
    sizes.append(size - position - sum(sizes))
    return position, sizes
