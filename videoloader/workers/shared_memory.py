"""Memory for decoded frames that worker processes can write, and that is used again.

Filling fresh memory costs more than decoding into it: the kernel has to find and clear every page.
"""

from __future__ import annotations

import math
import mmap
import os
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from videoloader.errors import ArgumentError, ResourceError
from videoloader.forking import ForkSafeLock, reset_after_fork
from videoloader.sources.faults import raise_shortage

__all__ = ["MappedSegments", "Place", "SharedMemory", "memory_file"]

_PAGE = mmap.PAGESIZE
_WASTE = 2  # reuse a segment if it is at most this many times as large as needed
_STEPS = 4  # make it up to an eighth larger, so that it fits batches of about the same size


class Place(NamedTuple):
    """Where an array lies: what another process needs to make it again."""

    segment: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class _Segment:
    """A stretch of shared memory. Its file is closed when nothing refers to it any more.

    The mapping lives as long as the arrays over it.
    """

    __slots__ = ("__weakref__", "address", "descriptor", "memory", "number", "size")

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
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
    """Arrays in segments of shared memory; a segment is used again once its array is garbage.

    The arrays stay valid whatever happens to this object; once it is closed or gone, the memory of
    each is freed with the last view of it. Threads may share it. A fork of this process uses none
    of the segments that exist, since the parent does.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._next = 0
        self._peak = 0
        self._let_go()
        reset_after_fork(self, SharedMemory._let_go)

    def allocate(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array whose contents are arbitrary."""
        kind = np.dtype(dtype)
        size = max(math.prod(shape) * kind.itemsize, 1)
        with self._lock:
            segment = self._take(size)
            # All views have this array as their base, so it lives as long as the last of them.
            root = np.frombuffer(segment.memory, dtype=np.uint8)
            returned = weakref.ref(self._returned)
            weakref.finalize(root, _give_back, returned, segment).atexit = False
            self._live[segment.number] = segment
            self._peak = max(self._peak, sum(s.size for s in self._live.values()))
        return root[: math.prod(shape) * kind.itemsize].view(kind).reshape(shape)

    def locate(self, array: NDArray[Any]) -> Place:
        """Where an array, or a part of one, lies.

        Raises:
            ArgumentError: it is not from here.
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
        """Bytes held, in use or to be used again."""
        with self._lock:
            self._collect()
            return sum(s.size for s in [*self._live.values(), *self._free])

    def close(self) -> None:
        """Give back what is not in use; the rest follows with its arrays."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        """Begin anew; what exists belongs to the arrays alone."""
        self._live: dict[int, _Segment] = {}
        self._free: list[_Segment] = []
        self._returned: deque[_Segment] = deque()  # filled when arrays go, at any time
        self._peak = 0

    def _take(self, size: int) -> _Segment:
        """A free segment that fits, or a new one."""
        self._collect()
        fitting = [s for s in self._free if size <= s.size <= max(size * _WASTE, _PAGE)]
        if fitting:
            segment = min(fitting, key=lambda s: s.size)
            self._free.remove(segment)
            return segment
        self._next += 1
        step = max(_PAGE, 1 << max(size.bit_length() - _STEPS, 0))
        return _Segment(self._next, -(-size // step) * step)

    def _collect(self) -> None:
        """Take back the segments of arrays that are gone; never more than were in use at once."""
        while self._returned:
            segment = self._returned.popleft()
            if self._live.pop(segment.number, None) is not None:
                self._free.append(segment)
        held = sum(s.size for s in self._free) + sum(s.size for s in self._live.values())
        while self._free and held > self._peak:
            held -= self._free.pop(0).size


def _give_back(returned: weakref.ref[deque[_Segment]], segment: _Segment) -> None:
    """Called when an array goes: in any thread, at any line, so it takes no lock.

    Without a `SharedMemory` that would use the segment again, it goes as well.
    """
    queue = returned()
    if queue is not None:
        queue.append(segment)


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

    def exchange(self, gone: Iterable[int], new: Iterable[int], files: Sequence[int]) -> None:
        """Drop segments, and add new ones; of the files theirs come first."""
        self.drop(gone)
        for segment, descriptor in zip(new, files, strict=False):
            self.add(segment, descriptor)

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
