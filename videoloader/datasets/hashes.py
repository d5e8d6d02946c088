"""Hashes of videos: of their packets, for copies, and of their pictures, for near copies."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.datasets.pictures import AnyVideo, opened, read_gray
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import PacketReader
from videoloader.video import Video

_SIDE, _LOW = 32, 8  # of the picture that is hashed, and of its lowest frequencies
_FLAT = 4  # standard deviation of the luma below which a picture says nothing
_FEW = 12  # bits above the median, of 32 in most pictures; fewer where most frequencies are 0
_UNIT = 1 << 17  # of the cosines: sums of products of two of them and a pixel stay below 2^53
_PART = 256  # packets read at a time


class VideoHash(NamedTuple):
    """The values that `find_duplicates` compares.

    Attributes:
        packets: digest of the codec and of the sizes of all packets; copies have the same.
        frames: int64 (n,), the frames that are hashed.
        hashes: uint64 (n,), their `picture_hash`.

    >>> copy, original = hash_video("clip.mp4"), hash_video("videos/run/2.mp4")
    >>> copy.packets == original.packets, copy.hashes.tolist() == original.hashes.tolist()
    (True, True)
    """

    packets: str
    frames: NDArray[np.int64]
    hashes: NDArray[np.uint64]


def hash_video(video: AnyVideo, *, count: int = 6) -> VideoHash:
    """Hashes of a video; a function for `map_clips`.

    The pictures are those on screen at times that divide the video evenly, so copies have them in
    common whatever their encoder did. Keyframes are elsewhere in each copy.

    Args:
        video: to hash.
        count: pictures, 0 for none; flat ones, such as black frames, are left out, and exact
            stripes and gradients, of which most frequencies are 0.

    >>> found = hash_video("clip.mp4", count=2)
    >>> found.frames, found.hashes.dtype, len(found.packets)
    (array([22, 67]), dtype('uint64'), 32)
    """
    with opened(video) as found:
        index = found.index
        times = index.boundaries[0] + (np.arange(count) + 0.5) / max(count, 1) * index.duration
        frames = np.unique(np.searchsorted(index.boundaries[1:-1], times, side="right"))
        if not count:
            return VideoHash(_sizes_digest(index), frames, np.zeros(0, np.uint64))
        pictures = read_gray(found, frames, size=(_SIDE, _SIDE))
    hashes = picture_hash(pictures)
    rich = _is_rich(pictures) & (differing_bits(hashes, np.uint64(0)) >= _FEW)
    return VideoHash(_sizes_digest(index), frames[rich], hashes[rich])


def picture_hash(pictures: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The 64-bit perceptual hash (pHash) of gray pictures.

    A bit says whether one of the 8 x 8 lowest frequencies of the two-dimensional DCT-II is above
    their median; row by row, the highest bit first. The arithmetic is exact, with cosines rounded
    to 17 bits: every processor gives the same bits. They are those of `imagehash.phash`, except
    for frequencies that equal the median but for rounding, as in flat and regular pictures.

    Args:
        pictures: uint8 (..., 32, 32).

    Returns:
        uint64 (...).

    >>> rows, columns = np.mgrid[0:32, 0:32]
    >>> picture = (rows * columns * columns // 120).astype(np.uint8)
    >>> hashes = picture_hash(np.stack([picture, picture // 2, picture.T]))
    >>> differing_bits(hashes[0], hashes)  # half as bright, transposed
    array([ 0,  6, 16])
    """
    waves = _cosines()
    # Whole numbers below 2^53 in float64: exact, in whatever order the library sums them.
    low = waves @ pictures.astype(np.float64) @ waves.T
    values = low.reshape(*low.shape[:-2], _LOW * _LOW)
    bits = values > np.median(values, axis=-1, keepdims=True)
    places = np.uint64(1) << np.arange(63, -1, -1, dtype=np.uint64)
    hashes: NDArray[np.uint64] = (bits * places).sum(axis=-1, dtype=np.uint64)
    return hashes


def differing_bits(
    one: NDArray[np.uint64] | np.uint64, other: NDArray[np.uint64] | np.uint64
) -> NDArray[np.int64]:
    """Number of bits in which two hashes differ.

    >>> differing_bits(np.uint64(0b1011), np.array([0b1011, 0], np.uint64))
    array([0, 3])
    """
    x = np.asarray(one ^ other)
    # Sums of 1, 2, 4 and then all bits; numpy before version 2 has no `bitwise_count`.
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    mask = np.uint64(0x3333333333333333)
    x = (x & mask) + ((x >> np.uint64(2)) & mask)
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    with np.errstate(over="ignore"):
        counts: NDArray[np.int64] = ((x * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(
            np.int64
        )
    return counts


def packet_digest(video: Video) -> dict[str, str]:
    """Digest of the bytes of all packets: a function for `map_clips`.

    Copies in other containers have the same, unless these frame packets in another way.
    """
    digest = hashlib.blake2b(digest_size=16)
    with opened(video) as found:
        reader = PacketReader(found.index, found.source)
        try:
            count = len(found.index.packets)
            for start in range(0, count, _PART):
                for payload in reader.read(np.arange(start, min(start + _PART, count))):
                    digest.update(payload)
        finally:
            reader.close()
    return {"digest": digest.hexdigest()}


def _sizes_digest(index: VideoIndex) -> str:
    """Digest of the packets' sizes in the tables; nothing of the file is read."""
    digest = hashlib.blake2b(index.codec.encode(), digest_size=16)
    digest.update(np.ascontiguousarray(index.packets["size"]).tobytes())
    return digest.hexdigest()


def _is_rich(pictures: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether the standard deviation of pictures (n, 32, 32) is at least `_FLAT`, exactly."""
    levels = pictures.reshape(len(pictures), -1).astype(np.int64)
    count = levels.shape[1]
    spread = count * (levels**2).sum(axis=1) - levels.sum(axis=1) ** 2
    rich: NDArray[np.bool_] = spread >= (count * _FLAT) ** 2
    return rich


@cache
def _cosines() -> NDArray[np.float64]:
    """The lowest cosines of a DCT-II of 32 values in parts of `_UNIT`, whole numbers, (8, 32)."""
    places = (np.arange(_SIDE) + 0.5) / _SIDE
    waves: NDArray[np.float64] = np.cos(np.pi * np.arange(_LOW)[:, None] * places)
    return np.rint(waves * _UNIT)
