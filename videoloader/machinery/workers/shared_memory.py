"""Shared memory for decoded frames: worker processes write to it, and it is reused.

First writes to fresh memory cost more than decoding into it: the kernel has to clear every page.
"""

from __future__ import annotations

import math
import mmap
import os
import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from videoloader.errors import ArgumentError, ResourceError
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.system.forking import ForkSafeLock, reset_after_fork
from videoloader.machinery.workers.free_memory import check_room

_PAGE = mmap.PAGESIZE
_WASTE = 2  # reuse a segment if it is at most this many times as large as needed
_STEPS = 4  # make it up to an eighth larger, so that it fits batches of about the same size


class Place(NamedTuple):
    """Location of an array in shared memory; enough for another process to map it."""

    segment: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class _Segment:
    """A segment of shared memory. Its file is closed when the segment is garbage.

    The mapping lives as long as the arrays in it. `wanted` is the size of the last one.
    """

    __slots__ = ("__weakref__", "address", "descriptor", "memory", "number", "size", "wanted")

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = self.wanted = size
        try:
            self.descriptor = os.memfd_create("videoloader")
            os.ftruncate(self.descriptor, size)
            self.memory = mmap.mmap(self.descriptor, size)
        except OSError as error:
            raise_shortage(error, "shared memory")
            raise ResourceError(f"no shared memory of {size} bytes can be had ({error})") from error
        self.address = np.frombuffer(self.memory, np.uint8).__array_interface__["data"][0]

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


class SharedMemory:
    """Arrays in segments of shared memory; a segment is reused once its array is garbage.

    Arrays stay valid after this object is closed or collected; their memory is then freed with
    the last view. Threads may share it. A fork of this process uses none of the existing segments,
    since the parent does.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._next = 0
        self._peak = 0
        self._let_go()
        reset_after_fork(self, SharedMemory._let_go)

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array with undefined contents.

        Raises:
            ResourceError: there is no memory, or no open file, left for it.
        """
        kind = np.dtype(dtype)
        size = max(math.prod(shape) * kind.itemsize, 1)
        with self._lock:
            segment = self._take(size)
            segment.wanted = size
            # All views have this array as their base, so it lives as long as the last of them.
            root = np.frombuffer(segment.memory, dtype=np.uint8)
            returned = weakref.ref(self._returned)
            weakref.finalize(root, _give_back, returned, segment).atexit = False
            self._live[segment.number] = segment
            self._peak = max(self._peak, sum(s.size for s in self._live.values()))
        return root[: math.prod(shape) * kind.itemsize].view(kind).reshape(shape)

    def locate(self, array: NDArray[Any]) -> Place:
        """Location of an array, or of a view of one.

        Raises:
            ArgumentError: it was not allocated here.
        """
        address = array.__array_interface__["data"][0]
        with self._lock:
            for segment in self._live.values():
                if segment.address <= address < segment.address + segment.size:
                    offset = address - segment.address
                    kind = array.dtype.str
                    return Place(segment.number, offset, array.shape, array.strides, kind)
        raise ArgumentError("slots for worker processes lie in memory from allocate()")

    def descriptor(self, segment: int) -> int:
        """The open file of a live segment."""
        return self._live[segment].descriptor

    def gone(self, segment: int) -> bool:
        """Whether a segment will not be used again."""
        with self._lock:
            return segment not in self._live and all(s.number != segment for s in self._free)

    @property
    def size(self) -> int:
        """Bytes of all segments, in use or free."""
        with self._lock:
            self._collect()
            return sum(s.size for s in [*self._live.values(), *self._free])

    def close(self) -> None:
        """Free unused segments; the others are freed with their arrays."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        """Forget all segments; existing ones are freed with their arrays."""
        self._live: dict[int, _Segment] = {}
        self._free: list[_Segment] = []
        self._returned: deque[_Segment] = deque()  # filled when arrays are collected, at any time
        self._peak = 0

    def _take(self, size: int) -> _Segment:
        """A free segment that fits, or a new one."""
        self._collect()
        fitting = [s for s in self._free if size <= s.size <= max(size * _WASTE, _PAGE)]
        if fitting:
            segment = min(fitting, key=lambda s: s.size)
            self._free.remove(segment)
            return segment
        promised = [(each.address, each.wanted) for each in self._live.values()]
        try:
            check_room(size, promised)
        except ResourceError:
            if not self._free:
                raise
            self._free.clear()  # which take memory, too
            check_room(size, promised)
        self._next += 1
        step = max(_PAGE, 1 << max(size.bit_length() - _STEPS, 0))
        return _Segment(self._next, -(-size // step) * step)

    def _collect(self) -> None:
        """Free the segments of collected arrays; keeps at most as many as were in use at once."""
        while self._returned:
            segment = self._returned.popleft()
            if self._live.pop(segment.number, None) is not None:
                self._free.append(segment)
        held = sum(s.size for s in self._free) + sum(s.size for s in self._live.values())
        while self._free and held > self._peak:
            held -= self._free.pop(0).size


def _give_back(returned: weakref.ref[deque[_Segment]], segment: _Segment) -> None:
    """Called when an array is collected: in any thread, at any line, so it takes no lock.

    Without a `SharedMemory` that could reuse it, the segment is freed.
    """
    queue = returned()
    if queue is not None:
        queue.append(segment)


class MappedSegments:
    """Segments mapped in another process. Not thread-safe."""

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
    """An anonymous file with contents `data`, positioned at its start."""
    descriptor = os.memfd_create("videoloader")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
