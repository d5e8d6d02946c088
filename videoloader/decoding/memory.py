"""Memory for decoded frames that worker processes can write, and that is used again.

Filling fresh memory costs more than decoding into it: the kernel has to find and clear every page.
"""

from __future__ import annotations

import math
import mmap
import os
import weakref
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from videoloader.errors import ArgumentError

__all__ = ["MappedSegments", "Place", "SharedMemory", "memory_file"]

_PAGE = mmap.PAGESIZE
_WASTE = 2  # a segment is used for anything that needs at least one part in so many of it


class Place(NamedTuple):
    """Where an array lies: what another process needs to make it again."""

    segment: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    number: int
    descriptor: int
    size: int
    memory: mmap.mmap
    address: int


class SharedMemory:
    """Arrays in segments of shared memory; a segment is used again once its array is garbage.

    The arrays stay valid whatever happens to this object. Threads may share it.
    """

    def __init__(self) -> None:
        self._live: dict[int, _Segment] = {}
        self._free: list[_Segment] = []
        self._dropped: deque[_Segment] = deque()  # filled by the garbage collector, at any time
        self._next = 0
        self._peak = 0
        self._owner = os.getpid()

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array whose contents are arbitrary."""
        kind = np.dtype(dtype)
        size = max(math.prod(shape) * kind.itemsize, 1)
        self._collect()
        fitting = [s for s in self._free if size <= s.size <= max(size * _WASTE, _PAGE)]
        if fitting:
            segment = min(fitting, key=lambda s: s.size)
            self._free.remove(segment)
        else:
            segment = self._create(size)
        self._live[segment.number] = segment
        self._peak = max(self._peak, sum(s.size for s in self._live.values()))
        # All views have this array as their base, so it lives as long as the last of them.
        root = np.frombuffer(segment.memory, dtype=np.uint8)
        weakref.finalize(root, self._dropped.append, segment).atexit = False
        return root[: math.prod(shape) * kind.itemsize].view(kind).reshape(shape)

    def locate(self, array: NDArray[Any]) -> Place:
        """Where an array, or a part of one, lies.

        Raises:
            ArgumentError: it is not from here.
        """
        address = array.__array_interface__["data"][0]
        for segment in self._live.values():
            if segment.address <= address < segment.address + segment.size:
                offset = address - segment.address
                return Place(segment.number, offset, array.shape, array.strides, array.dtype.str)
        raise ArgumentError("slots for worker processes lie in memory from allocate()")

    def descriptor(self, segment: int) -> int:
        """The open file of a live segment."""
        return self._live[segment].descriptor

    def gone(self, segment: int) -> bool:
        """Whether a segment will not be used again."""
        return segment not in self._live and all(s.number != segment for s in self._free)

    @property
    def size(self) -> int:
        """Bytes held, in use or to be used again."""
        self._collect()
        return sum(s.size for s in [*self._live.values(), *self._free])

    def close(self) -> None:
        """Give back what is not in use; the rest follows with its arrays."""
        self._peak = 0
        self._collect()

    def _create(self, size: int) -> _Segment:
        size = -(-size // _PAGE) * _PAGE
        descriptor = os.memfd_create("videoloader")
        try:
            os.ftruncate(descriptor, size)
            memory = mmap.mmap(descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise
        address = np.frombuffer(memory, dtype=np.uint8).__array_interface__["data"][0]
        self._next += 1
        return _Segment(self._next, descriptor, size, memory, address)

    def _collect(self) -> None:
        """Take back the segments of arrays that are gone; never more than were in use at once."""
        if os.getpid() != self._owner:  # a fork: what is free here is in use there
            self._free.clear()
            self._owner = os.getpid()
        while self._dropped:
            segment = self._dropped.popleft()
            if self._live.pop(segment.number, None) is not None:
                self._free.append(segment)
        held = sum(s.size for s in self._free) + sum(s.size for s in self._live.values())
        while self._free and held > self._peak:
            segment = self._free.pop(0)
            held -= segment.size
            os.close(segment.descriptor)  # the mapping goes with the last reference to it


class MappedSegments:
    """The same memory in another process. Not for sharing by threads."""

    def __init__(self) -> None:
        self._memory: dict[int, mmap.mmap] = {}

    def add(self, segment: int, descriptor: int) -> None:
        """Map a segment and close its file."""
        try:
            self._memory[segment] = mmap.mmap(descriptor, 0)
        finally:
            os.close(descriptor)

    def drop(self, segments: Iterable[int]) -> None:
        """Unmap segments that will not be used again."""
        for segment in segments:
            self._memory.pop(segment, None)

    def array(self, place: Place) -> NDArray[Any]:
        """An array in a mapped segment."""
        return np.ndarray(
            place.shape,
            np.dtype(place.dtype),
            self._memory[place.segment],
            offset=place.offset,
            strides=place.strides,
        )


def memory_file(data: bytes) -> int:
    """An open file without a name that holds some bytes, its position at their beginning."""
    descriptor = os.memfd_create("videoloader")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
