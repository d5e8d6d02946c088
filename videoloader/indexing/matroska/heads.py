"""Heads of many blocks at once, by numpy over the bytes of the file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.matroska.ebml import Id

__all__ = ["HEAD", "Heads", "follow_simple_blocks", "read_heads", "read_numbers"]

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

HEAD = 24
"""More bytes than stand before the payload of a block."""

_WIDE = 12  # cursors at least, for numpy to be faster than a loop

# By the first byte of a number of variable size: bytes (9: it is none), and where the value is in
# a word of eight bytes.
_LENGTHS = np.array([9 - first.bit_length() for first in range(256)], dtype=np.int64)
_SHIFTS = (64 - 8 * np.minimum(_LENGTHS, 8)).astype(np.uint64)
_MASKS = (np.uint64(1) << (7 * np.minimum(_LENGTHS, 8)).astype(np.uint64)) - np.uint64(1)
# The same for words of four bytes.
_SHORT = _LENGTHS <= 4
_SHORT_SHIFTS = np.where(_SHORT, 32 - 8 * _LENGTHS, 0)
_SHORT_MASKS = np.where(_SHORT, (1 << 7 * _LENGTHS) - 1, 0)


@dataclass(frozen=True, slots=True)
class Heads:
    """What stands before the payload of blocks, one entry a block in every array.

    `offsets` is where the content of each begins and `sizes` its bytes, `words` are the first
    eight of those as a number; `is_simple` tells a `SimpleBlock` from a `Block`.
    """

    offsets: Ints
    sizes: Ints
    words: NDArray[np.uint64]
    is_simple: NDArray[np.bool_]


def read_numbers(words: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """The variable-size numbers that words begin with: length in bytes (9: none), and value."""
    first = (words >> np.uint64(56)).astype(np.intp)
    return _LENGTHS[first], (words >> _SHIFTS[first] & _MASKS[first]).astype(np.int64)


def read_heads(window: Bytes, places: Ints) -> Heads:
    """Read the heads of the blocks that begin at some places, ascending, of a piece of the file."""
    safe = int(np.searchsorted(places, len(window) - HEAD, side="right"))
    if safe == len(places):
        return _read_heads(window, places)
    # The piece ends with the file, where a word may be longer than what is left.
    first = int(places[safe])
    rest = np.append(window[first:], np.zeros(HEAD, dtype=np.uint8))
    front, back = _read_heads(window, places[:safe]), _read_heads(rest, places[safe:] - first)
    return Heads(
        np.append(front.offsets, back.offsets + first),
        np.append(front.sizes, back.sizes),
        np.append(front.words, back.words),
        np.append(front.is_simple, back.is_simple),
    )


def _read_heads(window: Bytes, places: Ints) -> Heads:
    words = _words(window, 8)
    lengths, sizes = read_numbers(words[places + 1].astype(np.uint64))
    offsets = places + 1 + lengths
    first = words[offsets].astype(np.uint64)
    return Heads(offsets, sizes, first, np.equal(window[places], Id.SIMPLE_BLOCK))


def _words(window: Bytes, width: int) -> NDArray[np.uint64]:
    """The number that the bytes from each byte on make, without a copy."""
    shape = (max(len(window) - width + 1, 0),)
    return np.ndarray(shape, dtype=f">u{width}", buffer=window.data, strides=(1,))


def follow_simple_blocks(window: Bytes, places: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Go from simple block to simple block in many clusters at a time.

    Args:
        window: the file.
        places: where in it to begin in each cluster.
        ends: where each cluster ends, before the end of the file.

    Returns:
        Where simple blocks begin, in no order; and where each cluster goes on with something
        else or just was not followed further.
    """
    words, found, stopped = _words(window, 4), [], places.copy()
    cluster = np.flatnonzero(places < ends)
    at, end = places[cluster], ends[cluster]
    while len(at) >= _WIDE:
        size = words[at + 1].astype(np.int64)
        first = size >> 24
        after = at + 1 + _LENGTHS[first] + (size >> _SHORT_SHIFTS[first] & _SHORT_MASKS[first])
        sound = (window[at] == Id.SIMPLE_BLOCK) & _SHORT[first] & (after <= end)
        if not sound.all():
            at, after, end, cluster = at[sound], after[sound], end[sound], cluster[sound]
        found.append(at)
        stopped[cluster] = after
        more = after < end
        if more.all():
            at = after
        else:
            at, end, cluster = after[more], end[more], cluster[more]
    return np.concatenate(found) if found else places[:0], stopped
