"""The sample tables of a track (ISO/IEC 14496-12, section 8): from runs to one row a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.mp4.boxes import Box

__all__ = ["Samples", "read_samples"]

Ints = NDArray[np.int64]

_MAX_SAMPLE = 0x3FFFFFFF


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a track in decode order, one entry a sample in every array.

    `dts` begins at 0; `composition` is what `ctts` adds, or None without that box. `entries` are
    numbers of sample descriptions, from 0.
    """

    offsets: Ints
    sizes: Ints
    dts: Ints
    durations: Ints
    composition: Ints | None
    keys: NDArray[np.bool_]
    entries: Ints

    def __len__(self) -> int:
        return len(self.sizes)


def read_samples(table: Box, *, file_size: int) -> Samples:
    """Read an `stbl` box.

    Raises:
        FormatError: a box is missing, or the tables contradict each other.
    """
    sizes = _sizes(table, file_size)
    count = len(sizes)
    if count == 0:
        empty = np.zeros(0, dtype=np.int64)
        return Samples(empty, empty, empty, empty, None, empty.astype(np.bool_), empty)
    offsets, entries = _places(table, sizes)
    durations = _expand(table.need(b"stts").table(">u4", width=2), count)
    dts = np.zeros(count, dtype=np.int64)
    np.cumsum(durations[:-1], out=dts[1:])
    composition = None
    if (box := table.find(b"ctts")) is not None and len(rows := box.table(">i4", width=2)):
        # Offsets are signed whatever version the box claims: many writers say 0 and mean 1.
        composition = _expand(rows, count)
    return Samples(offsets, sizes, dts, durations, composition, _keys(table, count), entries)


def _sizes(table: Box, file_size: int) -> Ints:
    if (compact := table.find(b"stz2")) is not None:
        return _compact_sizes(compact)
    box = table.need(b"stsz")
    common, count = box.unpack("II", 4)
    if common == 0:
        sizes = box.table(">u4", header=8)[:, 0]
        if count and sizes.max() > _MAX_SAMPLE:
            raise FormatError(f"a sample of {sizes.max()} bytes")
        return sizes
    if common * count > file_size:
        raise FormatError(f"{count} samples of {common} bytes in a file of {file_size}")
    return np.full(count, common, dtype=np.int64)


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


def _places(table: Box, sizes: Ints) -> tuple[Ints, Ints]:
    """File offset and sample description of every sample, from `stsc` and the chunk offsets."""
    wide = table.find(b"co64")
    box = wide if wide is not None else table.need(b"stco")
    chunks = box.table(">u8" if wide is not None else ">u4")[:, 0]
    runs = table.need(b"stsc").table(">u4", width=3)
    if not len(runs) or not len(chunks):
        raise FormatError(f"{len(sizes)} samples, but no chunk to hold them")
    firsts = runs[:, 0] - 1
    if firsts[0] != 0 or (np.diff(firsts) <= 0).any():
        raise FormatError("box 'stsc' does not count chunks upwards from 1")
    runs = runs[firsts < len(chunks)]
    spans = np.diff(np.append(firsts[: len(runs)], len(chunks)))
    per_chunk = np.repeat(runs[:, 1], spans)
    # Each sample's chunk; `per_chunk` may claim billions, so it is cut before it is repeated.
    ends = np.minimum(np.cumsum(np.minimum(per_chunk, len(sizes))), len(sizes))
    if ends[-1] < len(sizes):
        raise FormatError(f"{len(sizes)} samples, but the chunks hold {ends[-1]}")
    counts = np.diff(ends, prepend=0)
    chunk = np.repeat(np.arange(len(chunks)), counts)
    before = np.zeros(len(sizes), dtype=np.int64)
    np.cumsum(sizes[:-1], out=before[1:])
    first_sample = (ends - counts)[chunk]
    offsets = chunks[chunk] + before - before[first_sample]
    if (chunks < 0).any():
        raise FormatError("a chunk offset over 2**63")
    return offsets, np.repeat(runs[:, 2] - 1, spans)[chunk]


def _expand(runs: Ints, count: int) -> Ints:
    """Values repeated by their counts; the last value goes on if the counts fall short."""
    counts = runs[:, 0].clip(0, count)
    ends = np.minimum(np.cumsum(counts), count)
    values = np.repeat(runs[:, 1], np.diff(ends, prepend=0))
    if len(values) < count:
        fill = runs[-1, 1] if len(runs) else 0
        values = np.append(values, np.full(count - len(values), fill))
    return values


def _keys(table: Box, count: int) -> NDArray[np.bool_]:
    """Sync samples: all of them without `stss`; partial sync and random-access groups count too."""
    box = table.find(b"stss")
    if box is None:
        return np.ones(count, dtype=np.bool_)
    keys = np.zeros(count, dtype=np.bool_)
    listed = False
    for kind in (b"stss", b"stps"):
        if (box := table.find(kind)) is None:
            continue
        numbers = box.table(">u4")[:, 0]
        if len(numbers):
            listed = True
            numbers = numbers - (1 if numbers[0] > 0 else 0)  # some writers count from 0
            keys[numbers[(numbers >= 0) & (numbers < count)]] = True
    for box in table.children():
        if box.kind == b"sbgp" and box.unpack("I4s", 0)[1] == b"rap ":
            header = 8 + 4 * (box.unpack("B")[0] == 1)
            groups = _expand(np.append(box.table(">u4", width=2, header=header), [[count, 0]], 0), count)
            keys |= groups > 0
            listed = True
    if not listed:
        keys[0] = True
    return keys
