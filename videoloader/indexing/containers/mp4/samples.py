"""Expands the sample tables of a track (ISO/IEC 14496-12, section 8) to one row per sample.

A long video has hundreds of thousands of samples, so arrays are allocated once, modified in place
where possible, and replaced by a stride-0 view if all values are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.boxes import Box, Tables

Ints = NDArray[np.int64]

_KINDS = {b"stsz", b"stz2", b"stco", b"co64", b"stsc", b"stts", b"ctts", b"stss", b"stps", b"sbgp"}
_MAX_SAMPLE = 0x3FFFFFFF
_PIECE = 1 << 20  # rows of a table that may have more rows than there are samples
# No real video has so many samples of so few bytes; malicious tables may.
_MANY, _TINY = 100_000, 8


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a track in decode order, one entry a sample in every array.

    `dts` is on the clock of the media; `composition` is what `ctts` adds, or None without that
    box. `entries` are numbers of sample descriptions, from 0. Arrays of one repeated value take no
    memory, and none may be written to. `doubt` says which tables are of another number of samples.
    """

    offsets: Ints
    sizes: Ints
    dts: Ints
    durations: Ints
    composition: Ints | None
    keys: NDArray[np.bool_]
    entries: Ints
    doubt: str = ""

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def reach(self) -> int:
        """The most negative composition offset, as a positive number of ticks."""
        if self.composition is None or not len(self):
            return 0
        return max(0, -int(self.composition.min()))

    @property
    def shown_at(self) -> Ints:
        """Presentation time of each sample in media time; a new array."""
        return self.dts + (0 if self.composition is None else self.composition)


_NONE = np.zeros(0, dtype=np.int64)
NO_SAMPLES = Samples(_NONE, _NONE, _NONE, _NONE, None, np.zeros(0, dtype=np.bool_), _NONE)


def concatenate(first: Samples, second: Samples) -> Samples:
    """The samples of one table, then of the other."""
    if not len(first) or not len(second):
        return first if len(first) else second
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("offsets", "sizes", "dts", "durations", "keys", "entries")
    }
    composition = None
    if first.composition is not None or second.composition is not None:
        composition = np.concatenate(
            [
                np.zeros(len(part), dtype=np.int64)
                if part.composition is None
                else part.composition
                for part in (first, second)
            ]
        )
    return Samples(composition=composition, doubt=first.doubt or second.doubt, **columns)


def read_samples(box: Box, *, file_size: int, room: int) -> Samples:
    """Read an `stbl` box of at most `room` samples.

    Raises:
        FormatError: a box is missing, or the tables are inconsistent.
    """
    table = Tables(box, _KINDS)
    sizes = _sizes(table, file_size)
    check_sizes(sizes, room=room)
    count = len(sizes)
    if count == 0:
        return NO_SAMPLES
    offsets, entries = _places(table, sizes)
    steps = table.need(b"stts").table(">u4", width=2)
    durations, doubt = _expand(steps, count), _miscount("stts", steps, count)
    composition = None
    if (ctts := table.find(b"ctts")) is not None and len(rows := ctts.table(">i4", width=2)):
        # Offsets are signed in any version of the box: many writers use version 0 wrongly.
        composition = _expand(rows, count)
        doubt = doubt or _miscount("ctts", rows, count)
    return Samples(
        offsets=offsets,
        sizes=sizes,
        dts=sums_before(durations),
        durations=durations,
        composition=composition,
        keys=_keys(box, table, count),
        entries=entries,
        doubt=doubt,
    )


def check_sizes(sizes: Ints, *, room: int) -> None:
    """Check that sample sizes are plausible for a video, before larger arrays are made.

    Raises:
        FormatError: there are more than `room`, or they are too small.
    """
    count = len(sizes)
    if count > room:
        raise FormatError(f"{count} samples in tables, but the file has room for {room}")
    if count > _MANY and int(sizes.sum()) < _TINY * count:
        raise FormatError(f"{count} samples of less than {_TINY} bytes on average")


def _sizes(table: Tables, file_size: int) -> Ints:
    if (compact := table.find(b"stz2")) is not None:
        return _compact_sizes(compact)
    box = table.need(b"stsz")
    common, count = box.unpack("II", 4)
    if common == 0:
        sizes = box.table(">u4", header=8)[:, 0].astype(np.int64)
        if count and sizes.max() > _MAX_SAMPLE:
            raise FormatError(f"a sample of {sizes.max()} bytes")
        return sizes
    if common * count > file_size:
        raise FormatError(f"{count} samples of {common} bytes in a file of {file_size}")
    return _repeated(common, count)


def _compact_sizes(box: Box) -> Ints:
    bits, count = box.unpack("II", 4)
    bits &= 0xFF
    if bits not in (4, 8, 16) or count * bits > 8 * (box.size - 12):
        raise FormatError(f"box 'stz2' of {box.size} bytes with {count} sizes of {bits} bits")
    first = box.start + 12
    if bits == 4:
        octets = np.frombuffer(box.data, np.uint8, (count + 1) // 2, first).astype(np.int64)
        return np.stack([octets >> 4, octets & 15], axis=1).reshape(-1)[:count]
    return np.frombuffer(box.data, f">u{bits // 8}", count, first).astype(np.int64)


def _places(table: Tables, sizes: Ints) -> tuple[Ints, Ints]:
    """File offset and description of every sample, from `stsc` and the chunk offsets."""
    wide = table.find(b"co64")
    box = wide if wide is not None else table.need(b"stco")
    chunks = box.table(">u8" if wide is not None else ">u4")[:, 0]
    runs = table.need(b"stsc").table(">u4", width=3)
    if len(runs) and runs[:, 1].min() > 0:  # no chunk is empty
        chunks, runs = chunks[: len(sizes)], runs[: len(sizes)]
    if len(chunks) == 1 and len(runs) == 1 and runs[0, 0] == 1 and runs[0, 1] >= len(sizes):
        begin, entry = int(chunks[0]), max(int(runs[0, 2]), 1) - 1
        if begin >> 63 == 0:
            offsets = sums_before(sizes)
            offsets += begin
            return offsets, _repeated(entry, len(sizes))
    chunks, runs = chunks.astype(np.int64), runs.astype(np.int64)
    np.maximum(runs[:, 2], 1, out=runs[:, 2])  # some writers count descriptions from 0
    if not len(runs) or not len(chunks):
        raise FormatError(f"{len(sizes)} samples, but no chunk to hold them")
    if (chunks < 0).any():
        raise FormatError("a chunk lies beyond byte 2**63")
    firsts = runs[:, 0] - 1
    if firsts[0] != 0 or (firsts[1:] <= firsts[:-1]).any():
        raise FormatError("box 'stsc' does not count chunks upwards from 1")
    runs = runs[firsts < len(chunks)]
    spans = np.diff(np.append(firsts[: len(runs)], len(chunks)))
    # A chunk may claim billions of samples, so counts are limited before they are expanded.
    per_chunk = np.repeat(np.minimum(runs[:, 1], len(sizes)), spans)
    ends = np.minimum(np.cumsum(per_chunk), len(sizes))
    if ends[-1] < len(sizes):
        raise FormatError(f"{len(sizes)} samples, but the chunks hold {ends[-1]}")
    counts = ends.copy()
    counts[1:] -= ends[:-1]
    offsets = sums_before(sizes)
    # Samples of a chunk are contiguous, so each chunk adds one constant to their running offsets.
    starts = np.minimum(ends - counts, len(sizes) - 1)
    offsets += np.repeat(chunks - offsets[starts], counts)
    if (runs[:, 2] == runs[0, 2]).all():
        return offsets, _repeated(int(runs[0, 2]) - 1, len(sizes))
    return offsets, np.repeat(np.repeat(runs[:, 2] - 1, spans), counts)


def sums_before(values: Ints) -> Ints:
    """The exclusive prefix sum; a new array."""
    sums = np.empty(len(values), dtype=np.int64)
    sums[0] = 0
    np.cumsum(values[:-1], out=sums[1:])
    return sums


def _expand(runs: NDArray[Any], count: int) -> Ints:
    """Values repeated by their counts, and 0 where the counts fall short, as in FFmpeg."""
    if len(runs) > count and not runs[:, 0].all():
        runs = runs[runs[:, 0] > 0]
    runs = runs[:count]  # further runs have no samples
    if not len(runs):
        return _repeated(0, count)
    if len(runs) == 1 and runs[0, 0] >= count:
        return _repeated(int(runs[0, 1]), count)
    if len(runs) >= count and (runs[:count, 0] == 1).all():
        return runs[:count, 1].astype(np.int64)
    values, counts = runs[:, 1].astype(np.int64), runs[:, 0].astype(np.int64)
    if counts.min() < 0 or counts.sum() != count:
        counts = np.append(counts.clip(0, count), count)
        values = np.append(values, 0)
        counts = np.diff(np.minimum(np.cumsum(counts), count), prepend=0)
    return values.repeat(counts)


def _miscount(kind: str, runs: NDArray[Any], count: int) -> str:
    """Describe a table that has another number of entries than samples; empty if it fits."""
    total = int(runs[:, 0].astype(np.uint32).sum(dtype=np.int64))
    return "" if total == count else f"box {kind!r} is of {total} samples, but there are {count}"


def _repeated(value: int, count: int) -> Ints:
    # Equivalent to `np.broadcast_to`, six times as fast.
    return np.ndarray((count,), np.int64, np.int64(value), strides=(0,))


def _keys(parent: Box, table: Tables, count: int) -> NDArray[np.bool_]:
    """Sync samples: all of them without `stss`; partial sync and random-access groups count too."""
    if table.find(b"stss") is None:
        return np.ones(count, dtype=np.bool_)
    keys = np.zeros(count, dtype=np.bool_)
    for kind in (b"stss", b"stps"):
        if (box := table.find(kind)) is None:
            continue
        numbered = box.table(">u4")[:, 0]
        base = int(len(numbered) > 0 and numbered[0] > 0)  # some writers count from 0
        for begin in range(0, len(numbered), _PIECE):
            numbers = numbered[begin : begin + _PIECE].astype(np.int64) - base
            keys[numbers[(numbers >= 0) & (numbers < count)]] = True
    for box in parent.children() if table.find(b"sbgp") else ():
        if box.kind == b"sbgp" and box.data[box.start + 4 : box.start + 8] == b"rap ":
            header = 8 + 4 * (box.unpack("B")[0] == 1)
            groups = box.table(">u4", width=2, header=header)
            keys |= _expand(groups, count) > 0  # samples after the last group are in no group
    if not keys.any():
        keys[0] = True
    return keys
