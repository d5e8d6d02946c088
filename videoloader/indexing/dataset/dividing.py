"""Division of videos: by hashes of texts, the same in every version, or in runs by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import whole_number
from videoloader.sampling.orders.permutation import mix

if TYPE_CHECKING:
    import pyarrow as pa

_STEP = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64
_WORD = 8  # bytes hashed at a time
_ROUNDING = 1e-9  # by which fractions such as 0.7 + 0.2 + 0.1 may exceed 1


def text_hashes(texts: pa.Array, seed: int, use: int) -> NDArray[np.uint64]:
    """A hash of each text, uint64 (N,), which depends on its bytes, the seed and the use alone.

    Each word of 8 bytes, the last one filled with zeros, is mixed into the hash of those before
    it; a text begins with its length.

    Args:
        texts: of Arrow, without nulls.
        seed: any integer.
        use: hashes of different uses are independent.

    Raises:
        ArgumentTypeError: the seed is no integer.
    """
    import pyarrow as pa

    seed = whole_number("seed", seed, least=None)
    bytes_of = texts.cast(pa.large_binary())
    ends = np.frombuffer(bytes_of.buffers()[1], np.int64, len(texts) + 1, 8 * bytes_of.offset)
    stored = b"" if bytes_of.buffers()[2] is None else bytes_of.buffers()[2]
    padded = np.zeros(len(stored) + _WORD, np.uint8)
    padded[: len(stored)] = np.frombuffer(stored, np.uint8)
    words = np.ndarray(len(stored) + 1, "<u8", padded.data, strides=(1,))  # one from every byte on
    starts, lengths = ends[:-1], np.diff(ends)
    key = mix(np.array([seed % (1 << 64)], np.uint64) + _STEP) + np.uint64(use)
    hashes = mix(lengths.astype(np.uint64) + mix(key + _STEP))
    rest = np.flatnonzero(lengths > 0)
    done = 0
    while len(rest):
        unused = np.maximum(_WORD - (lengths[rest] - done), 0).astype(np.uint64) * np.uint64(8)
        word = words[starts[rest] + done] << unused >> unused
        hashes[rest] = mix((hashes[rest] ^ word) + _STEP)
        done += _WORD
        rest = rest[lengths[rest] > done]
    return hashes


def parts_by_hash(
    hashes: NDArray[np.uint64], fractions: tuple[float, ...]
) -> list[NDArray[np.int64]]:
    """Positions in each part: one for each fraction, and one for the rest if their sum is below 1.

    Raises:
        ArgumentError: a fraction is not above 0, or their sum is above 1.
    """
    total = sum(fractions)
    if not fractions or not all(fraction > 0 for fraction in fractions) or total > 1 + _ROUNDING:
        raise ArgumentError(
            "split takes the fractions of its parts, above 0 and together at most 1, such as 0.9 "
            f"or 0.8, 0.1, 0.1; got {', '.join(map(str, fractions)) or 'none'}"
        )
    is_whole = total > 1 - _ROUNDING
    borders = np.cumsum(fractions)[: -1 if is_whole else None]
    places = (hashes >> np.uint64(11)) * 2.0**-53  # in [0, 1)
    parts = np.searchsorted(borders, places, side="right")
    return [np.flatnonzero(parts == part) for part in range(len(borders) + 1)]


def first_by_hash(hashes: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """Positions of the `count` smallest hashes, ascending; of equal ones the first."""
    return np.sort(np.argsort(hashes, kind="stable")[:count])


def runs_by_size(sizes: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Positions in each of at most `count` runs of about the same total size, none of them empty.

    The middle of an element says which run it is in, so that no run exceeds its share by more than
    the largest element.

    >>> [run.tolist() for run in runs_by_size(np.array([4, 1, 1, 1, 1]), 2)]
    [[0], [1, 2, 3, 4]]
    """
    sizes = np.maximum(sizes, 1).astype(np.float64)
    middles = np.cumsum(sizes) - sizes / 2
    runs = np.floor(middles * count / sizes.sum())
    borders = np.flatnonzero(np.diff(runs)) + 1
    return np.split(np.arange(len(sizes)), borders) if len(sizes) else []
