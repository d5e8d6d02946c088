"""Images in worker processes: a few a task, since a small one takes less time than its way there.

An image that costs its worker is found by decoding those of its task one by one.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.cpu.image_task import ImageTask, Placed
from videoloader.decoding.cpu.pool import CpuPool
from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.request import ImageForm, ImageRequest
from videoloader.errors import VideoError
from videoloader.machinery.system.forking import ForkSafeLock, reset_after_fork

Decoded: TypeAlias = NDArray[Any] | Exception
"""The pixels of an image, or why there are none."""

_Results: TypeAlias = Generator[tuple[int, Any, Exception | None], None, None]

_ALIGNMENT = 64  # bytes; of any element type, and of no cache line that two processes write
_IMAGE = 20_000  # samples that decode in the time that any image takes
_LEAST, _MOST = 2_000_000, 12_000_000  # samples of a task: some 4 and 25 ms of JPEG
_SHARE = 2  # tasks for each worker of what is left: long ones first, so that all end together


class _Group(NamedTuple):
    """Some images of a batch, for one task."""

    batch: _Batch
    positions: Sequence[int]
    task: ImageTask


class _Batch:
    """The images of a batch, with their results so far. Any thread may make one."""

    def __init__(self, pool: CpuPool, requests: Sequence[ImageRequest], form: ImageForm) -> None:
        self._images, size = _places(requests, form)
        self._memory = pool.allocate((size,), np.uint8)
        self._form = form
        self._results: dict[int, Decoded] = {}
        for request, image in zip(requests, self._images, strict=True):
            image.file_in(self._memory)[:] = np.frombuffer(request.data, np.uint8)

    @property
    def is_done(self) -> bool:
        """Whether there is a result for each image."""
        return len(self._results) == len(self._images)

    @property
    def results(self) -> list[Decoded]:
        """For each image its pixels, or why there are none."""
        return [self._results[at] for at in range(len(self._images))]

    def groups(self, workers: int) -> list[_Group]:
        """All of its images."""
        work = [_samples(image.header) for image in self._images]
        return [self._group(each, is_first=True) for each in _groups(work, workers)]

    def take(self, group: _Group, made: Any, failure: Exception | None) -> list[_Group]:
        """Take the results or the error of a group; gives the groups to decode in its place."""
        if failure is None:
            for at, each in zip(group.positions, made, strict=True):
                self._results[at] = _decoded(self._memory, self._images[at], each)
        elif len(group.positions) == 1:
            self._results[group.positions[0]] = failure
        else:
            return [self._group([at], is_first=False) for at in group.positions]
        return []

    def _group(self, positions: Sequence[int], *, is_first: bool) -> _Group:
        tries = 2 if is_first and len(positions) == 1 else 1  # two for an image, alone at last
        images = tuple(self._images[at] for at in positions)
        return _Group(self, positions, ImageTask(self._memory, images, self._form, tries))


class ImageQueue:
    """Decodes the images of batches in the workers of a pool, in the order in which they come.

    Each batch has a thread that waits for it. One of these threads at a time takes the next result,
    of any batch, so that the workers begin the next batch while others of them decode the last
    images of the one before. New batches are given to workers only after a result.

    Args:
        pool: of the workers.
        workers: how many there are.
        lock: held by a thread while it uses the pool.
    """

    def __init__(self, pool: CpuPool, workers: int, lock: ForkSafeLock) -> None:
        self._pool = pool
        self._workers = workers
        self._lock = lock
        self._is_stepping = False
        self._waiting: deque[_Group] = deque()
        self._given: dict[int, _Group] = {}
        self._count = 0  # of tasks that `_results` was given
        self._results: _Results | None = None
        reset_after_fork(self, ImageQueue._forget)

    def decode(self, requests: Sequence[ImageRequest], form: ImageForm) -> list[Decoded]:
        """Decode images; their pixels share one block of memory.

        Raises:
            ClosedError: the pool is closed meanwhile.
            DecodeError: no worker process can be started.
        """
        batch = _Batch(self._pool, requests, form)
        self._waiting.extend(batch.groups(self._workers))  # atomic: the lock may be held for long
        try:
            while not batch.is_done:
                with self._lock:
                    if not batch.is_done:
                        self._step()
        except BaseException:
            with self._lock:
                self._drop(batch)
            raise
        return batch.results

    def finish(self) -> None:
        """Decode all waiting images, so that the pool is free; called with the lock held.

        Errors are raised in the threads of the batches, which go on where this stops.
        """
        with suppress(Exception):
            while self._waiting or self._given:
                self._step()

    def __iter__(self) -> ImageQueue:
        return self

    def __next__(self) -> ImageTask:
        """The next task for the pool; there may be another one after a StopIteration."""
        if not self._waiting:
            raise StopIteration
        # In this order: an interrupt may repeat a group, but loses none of another thread's batch.
        group = self._given[self._count] = self._waiting[0]
        self._count += 1
        self._waiting.popleft()
        return group.task

    def _step(self) -> None:
        """Wait for the next result, and give it to its batch; called with the lock held."""
        if self._is_stepping:  # a signal handler interrupted this very thread
            raise RuntimeError("the decoder: at work further up in this very thread")
        self._is_stepping = True
        try:
            if self._results is None:
                self._stop()  # puts back what another interrupt may have left
                self._results, self._count = self._pool.decode_files(self), 0
            number, made, failure = next(self._results)
            group = self._given[number]
            self._waiting.extendleft(group.batch.take(group, made, failure))
            del self._given[number]  # last, see `__next__`
        except BaseException:
            self._stop()
            raise
        finally:
            self._is_stepping = False
        if not (self._waiting or self._given):
            self._stop()

    def _stop(self) -> None:
        """End the workers that have tasks; these wait again."""
        try:
            if self._results is not None:
                self._results.close()
        finally:  # another interrupt may end the waiting for the workers
            self._results = None
            self._waiting.extendleft(reversed(self._given.values()))
            self._given = {}

    def _drop(self, batch: _Batch) -> None:
        """Decode no more images of a batch; unfinished tasks of other batches start again."""
        if not self._is_stepping:
            self._stop()
        # A copy, made at once: other threads add to the queue.
        for group in [group for group in list(self._waiting) if group.batch is batch]:
            self._waiting.remove(group)

    def _forget(self) -> None:
        """In a fork: the batches belong to threads of the parent."""
        self._is_stepping = False
        self._waiting, self._given, self._results = deque(), {}, None


def _places(requests: Sequence[ImageRequest], form: ImageForm) -> tuple[list[Placed], int]:
    """Where files and pixels lie in one block of memory, and its size."""
    placed, at = [], 0
    for request in requests:
        begin, end = at, at + len(request.data)
        pixels = _aligned(end)
        pixels_end = pixels + request.num_bytes(form)
        at = _aligned(pixels_end)
        placed.append(
            Placed(begin, end, pixels, pixels_end, request.name, request.header, request.window)
        )
    return placed, at


def _aligned(at: int) -> int:
    return -(-at // _ALIGNMENT) * _ALIGNMENT


def _samples(header: ImageHeader) -> int:
    """The work on an image, in samples that are decoded."""
    return header.height * header.width * header.channels + _IMAGE


def _groups(work: Sequence[int], workers: int) -> Iterator[range]:
    """Consecutive images for a task each, of less and less work."""
    left, start = sum(work), 0
    while start < len(work):
        wanted = min(max(left / (workers * _SHARE), _LEAST), _MOST)
        stop, taken = start, 0
        while stop < len(work) and (stop == start or taken + work[stop] / 2 < wanted):
            taken += work[stop]
            stop += 1
        yield range(start, stop)
        left, start = left - taken, stop


def _decoded(
    memory: NDArray[np.uint8], image: Placed, made: tuple[tuple[int, ...], str] | VideoError
) -> Decoded:
    """The pixels that a worker has made, where they lie."""
    if isinstance(made, VideoError):
        return made
    shape, dtype = made
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    return image.pixels_in(memory)[:size].view(kind).reshape(shape)
