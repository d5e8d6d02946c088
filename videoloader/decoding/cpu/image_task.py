"""A task for a worker process: images in shared memory, and the function that decodes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.header import named
from videoloader.decoding.images.request import ImageForm, ImageRequest, Window
from videoloader.errors import DecodeError, VideoError
from videoloader.machinery.workers.protocol import Worker


class Placed(NamedTuple):
    """An image of a task: where its file and its pixels lie in the memory of the batch."""

    begin: int
    end: int
    pixels_begin: int
    pixels_end: int
    name: str
    header: ImageHeader
    window: Window | None

    def file_in(self, memory: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The bytes of the image file, in the memory of the batch."""
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
    images: tuple[Placed, ...]
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


def _fill(memory: NDArray[np.uint8], image: Placed, form: ImageForm) -> tuple[tuple[int, ...], str]:
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
