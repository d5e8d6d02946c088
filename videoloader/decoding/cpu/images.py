"""Images in worker processes: a few a task, since a small one takes less time than its way there.

An image that costs its worker is found by decoding those of its task one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.header import named
from videoloader.decoding.images.request import ImageForm, ImageRequest, Window
from videoloader.errors import DecodeError, VideoError
from videoloader.workers.protocol import Worker

if TYPE_CHECKING:
    from videoloader.decoding.cpu.pool import CpuPool

__all__ = ["Decoded", "ImageTask", "PlacedImages", "decode_images"]

Decoded: TypeAlias = NDArray[Any] | Exception
"""The pixels of an image, or why there are none."""

_ALIGNMENT = 64  # bytes; of any element type, and of no cache line that two processes write
_IMAGE = 20_000  # samples that decode in the time that any image takes
_LEAST, _MOST = 2_000_000, 12_000_000  # samples of a task: some 4 and 25 ms of JPEG
_SHARE = 2  # tasks for each worker of what is left: long ones first, so that all end together


class _Placed(NamedTuple):
    """An image of a task: where its file and its pixels lie in the memory of the batch."""

    begin: int
    end: int
    pixels_begin: int
    pixels_end: int
    name: str
    header: ImageHeader
    window: Window | None

    def file_in(self, memory: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Its file, in the memory of the batch."""
        return memory[self.begin : self.end]

    def pixels_in(self, memory: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The room for its pixels there."""
        return memory[self.pixels_begin : self.pixels_end]


@dataclass(frozen=True, slots=True, eq=False)
class ImageTask:
    """Some images for a worker.

    Attributes:
        memory: of the batch, uint8; from `CpuPool.allocate`.
        images: which of them.
        form: that they are wanted in.
        tries: workers that it may cost.
    """

    memory: NDArray[np.uint8]
    images: tuple[_Placed, ...]
    form: ImageForm
    tries: int

    def perform(self, worker: Worker) -> list[tuple[tuple[int, ...], str] | VideoError]:  # noqa: ARG002
        """Decode: shape and element type of each image, or why there are no pixels."""
        results: list[tuple[tuple[int, ...], str] | VideoError] = []
        for image in self.images:
            try:
                results.append(_fill(self.memory, image, self.form))
            except VideoError as error:
                results.append(error)
        return results

    def __str__(self) -> str:
        """The first image and how many others, for messages."""
        others = f" and {len(self.images) - 1} others" if len(self.images) > 1 else ""
        return f"{self.images[0].name}{others}"


class PlacedImages(NamedTuple):
    """Images to decode, in the memory of a batch."""

    memory: NDArray[np.uint8]
    images: list[_Placed]
    form: ImageForm

    @classmethod
    def of(cls, pool: CpuPool, requests: Sequence[ImageRequest], form: ImageForm) -> PlacedImages:
        """Copy the files to memory that the workers of a pool share; from any thread."""
        placed, size = _places(requests, form)
        memory = pool.allocate((size,), np.uint8)
        for request, image in zip(requests, placed, strict=True):
            image.file_in(memory)[:] = np.frombuffer(request.data, np.uint8)
        return cls(memory, placed, form)


def decode_images(pool: CpuPool, batch: PlacedImages, workers: int) -> list[Decoded]:
    """Decode images in the workers of a pool; the pixels share one block of memory.

    Args:
        pool: of the workers.
        batch: what to decode.
        workers: how many there are.

    Raises:
        ClosedError: the pool is closed meanwhile.
        DecodeError: no worker process can be started.
    """
    memory, placed, form = batch
    results: dict[int, Decoded] = {}
    groups = list(_groups([_samples(image.header) for image in placed], workers))
    is_first = True
    while groups:
        tasks = [
            ImageTask(
                memory,
                tuple(placed[at] for at in each),
                form,
                tries=2 if is_first and len(each) == 1 else 1,  # two for an image, alone at last
            )
            for each in groups
        ]
        lost: list[int] = []
        with closing(pool.decode_files(tasks)) as done:
            for number, made, failure in done:
                if failure is None:
                    found = zip(groups[number], made, strict=True)
                    results.update((at, _decoded(memory, placed[at], each)) for at, each in found)
                elif len(groups[number]) == 1:
                    results[groups[number][0]] = failure
                else:
                    lost += groups[number]
        groups = [range(at, at + 1) for at in lost]
        is_first = False
    return [results[at] for at in range(len(placed))]


def _places(requests: Sequence[ImageRequest], form: ImageForm) -> tuple[list[_Placed], int]:
    """Where files and pixels lie in one block of memory, and its size."""
    placed, at = [], 0
    for request in requests:
        begin, end = at, at + len(request.data)
        pixels = _aligned(end)
        pixels_end = pixels + request.num_bytes(form)
        at = _aligned(pixels_end)
        placed.append(
            _Placed(begin, end, pixels, pixels_end, request.name, request.header, request.window)
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


def _fill(
    memory: NDArray[np.uint8], image: _Placed, form: ImageForm
) -> tuple[tuple[int, ...], str]:
    """Decode an image to its place; shape and element type of its pixels."""
    room = image.pixels_in(memory)
    request = ImageRequest(image.file_in(memory).data, image.name, image.header, image.window)
    pixels = request.decode(form, room=room)
    if pixels.nbytes > len(room):
        raise DecodeError(
            f"{image.name}: decodes to {pixels.dtype} where its header says {image.header.bits} "
            "bits; the file is damaged"
        )
    if not (pixels.flags.c_contiguous and _address(pixels) == _address(room)):
        with named(image.name):
            room[: pixels.nbytes].view(pixels.dtype).reshape(pixels.shape)[...] = pixels
    return pixels.shape, pixels.dtype.str


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _decoded(
    memory: NDArray[np.uint8], image: _Placed, made: tuple[tuple[int, ...], str] | VideoError
) -> Decoded:
    """The pixels that a worker has made, where they lie."""
    if isinstance(made, VideoError):
        return made
    shape, dtype = made
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    return image.pixels_in(memory)[:size].view(kind).reshape(shape)
