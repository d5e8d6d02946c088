"""Parses the headers of many blocks at once with numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.nal import ByteReader
from videoloader.indexing.containers.matroska.ebml import Id

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

HEAD = 24
"""Bytes of a block that are enough for everything before its payload."""

_WIDE = 12  # minimum number of cursors at which numpy is faster than a loop

# By the first byte of a variable-size integer: its bytes (9: invalid), and the shift and mask of
# its value in a word of eight bytes.
_LENGTHS = np.array([9 - first.bit_length() for first in range(256)], dtype=np.int64)
_SHIFTS = (64 - 8 * np.minimum(_LENGTHS, 8)).astype(np.uint64)
_MASKS = (np.uint64(1) << (7 * np.minimum(_LENGTHS, 8)).astype(np.uint64)) - np.uint64(1)
# The same for words of four bytes: bytes before the content of an element with an ID of one byte,
# past all files if the size has more than four bytes.
_SHORT = _LENGTHS <= 4
_BEFORE = np.where(_SHORT, 1 + _LENGTHS, 1 << 62)
_SHORT_SHIFTS = np.where(_SHORT, 32 - 8 * _LENGTHS, 0)
_SHORT_MASKS = np.where(_SHORT, (1 << 7 * _LENGTHS) - 1, 0)


@dataclass(frozen=True, slots=True)
class Heads:
    """Headers of blocks, one entry per block in every array.

    `offsets` and `sizes` locate the content of each, `words` are its first eight bytes as an
    integer; `is_simple` distinguishes `SimpleBlock` from `Block`.
    """

    offsets: Ints
    sizes: Ints
    words: NDArray[np.uint64]
    is_simple: NDArray[np.bool_]


def read_numbers(words: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """The variable-size integers at the beginning of words: bytes (9: invalid), and value."""
    first = (words >> np.uint64(56)).astype(np.intp)
    return _LENGTHS[first], (words >> _SHIFTS[first] & _MASKS[first]).astype(np.int64)


def read_heads(places: Ints, rows: Bytes) -> Heads:
    """Parse the headers of blocks from their offsets and first bytes, shape (blocks, HEAD)."""
    data = np.ascontiguousarray(rows).reshape(-1)
    words = np.ndarray((max(len(data) - 7, 0),), dtype=">u8", buffer=data.data, strides=(1,))
    begins = np.arange(len(places)) * HEAD
    lengths, sizes = read_numbers(words[begins + 1].astype(np.uint64))
    first = words[begins + 1 + lengths].astype(np.uint64)
    offsets = places + 1 + lengths
    return Heads(offsets, sizes, first, np.equal(data[begins], Id.SIMPLE_BLOCK))


def follow_simple_blocks(read: ByteReader, places: Ints, ends: Ints) -> tuple[Ints, Bytes, Ints]:
    """Find consecutive simple blocks in many clusters at a time.

    Args:
        read: reader of the file.
        places: offset to begin at in each cluster.
        ends: end of each cluster, before the end of the file.

    Returns:
        Offsets of simple blocks, unordered; the first `HEAD` bytes of each; and the offset in
        each cluster at which another element follows or the search stopped.
    """
    found, heads, stopped = [places[:0]], [np.empty((0, HEAD), dtype=np.uint8)], places.copy()
    cluster = np.flatnonzero(places < ends)
    at, end = places[cluster], ends[cluster]
    while len(at) >= _WIDE:
        rows = read(at, HEAD)
        size = np.ndarray((len(at),), ">u4", rows, 1, (HEAD,)).astype(np.int64)
        first = size >> 24
        after = at + _BEFORE[first] + (size >> _SHORT_SHIFTS[first] & _SHORT_MASKS[first])
        sound = (rows[:, 0] == Id.SIMPLE_BLOCK) & (after <= end)
        if not sound.all():
            at, after, end, cluster = at[sound], after[sound], end[sound], cluster[sound]
            rows = rows[sound]
        found.append(at)
        heads.append(rows)
        stopped[cluster] = after
        more = after < end
        if more.all():
            at = after
        else:
            at, end, cluster = after[more], end[more], cluster[more]
    return np.concatenate(found), np.concatenate(heads), stopped
