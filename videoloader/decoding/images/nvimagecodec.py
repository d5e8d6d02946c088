"""Decodes 8-bit JPEG and JPEG 2000 on a GPU with nvImageCodec; the CPU decodes other images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.pixels import YCBCR
from videoloader.decoding.switches import quick_switches
from videoloader.errors import UnsupportedError

_FORMATS = ("jpeg", "jpeg2000")
_CONVERTED = ("BGR", "YCbCr")  # output types that are converted from RGB
_ALIGNMENT = 256  # bytes; alignment of images in a block, as of CUDA allocations


def decode_on_gpu(
    files: Sequence[memoryview],
    headers: Sequence[ImageHeader],
    *,
    device: str,
    output_type: str,
    adjust_orientation: bool,
) -> torch.Tensor | list[torch.Tensor | None]:
    """Pixels (H, W, C) uint8 on the GPU; None for images that the CPU has to decode.

    One tensor (N, H, W, C) if all images have one size. The memory is from torch's allocator,
    which does not reuse it while another stream works on it (`record_stream`).

    Args:
        files: encoded images.
        headers: of each.
        device: torch device of the GPU; the images are ready on its current stream.
        output_type: name of an `ImageType`.
        adjust_orientation: apply their EXIF orientations.

    Raises:
        UnsupportedError: nvImageCodec is not installed.
    """
    codec = _codec()
    results: list[torch.Tensor | None] = [None] * len(files)
    groups: tuple[list[int], list[int]] = [], []
    for number, header in enumerate(headers):
        if header.format in _FORMATS and header.bits == 8 and header.channels in (1, 3):
            groups[_is_grey(header, output_type)].append(number)
    for is_grey, numbers in enumerate(groups):
        if not numbers:
            continue
        color = codec.ColorSpec.GRAY if is_grey else codec.ColorSpec.SRGB
        params = codec.DecodeParams(adjust_orientation, color, False)  # noqa: FBT003
        sizes = [headers[at].displayed(adjust_orientation=adjust_orientation) for at in numbers]
        rooms, block = _rooms(sizes, 1 if is_grey else 3, device)
        sources = [codec.CodeStream(np.frombuffer(files[at], np.uint8)) for at in numbers]
        with quick_switches():
            are_done = _decode_into(rooms, sources, params, device)
        is_converted = output_type in _CONVERTED
        if block is not None and len(numbers) == len(files) and all(are_done) and not is_converted:
            return block
        for at, room, is_done in zip(numbers, rooms, are_done, strict=True):
            if is_done:
                results[at] = _converted(room.pixels, output_type)
    return results


class _Room:
    """Memory for an image, with its CUDA array interface; asking a tensor for it takes 5 us."""

    __slots__ = ("__cuda_array_interface__", "pixels")

    def __init__(self, pixels: torch.Tensor, address: int, shape: tuple[int, int, int]) -> None:
        self.pixels = pixels
        self.__cuda_array_interface__: dict[str, Any] = {
            "typestr": "|u1",
            "shape": shape,
            "strides": None,
            "data": (address, False),
            "version": 2,
        }

    def holds(self, image: Any) -> bool:
        """Whether `image` of nvImageCodec was decoded into this memory."""
        if image is None:
            return False
        own, found = self.__cuda_array_interface__, image.__cuda_array_interface__
        is_here: bool = found["data"][0] == own["data"][0]
        return is_here and tuple(found["shape"]) == own["shape"]


def _rooms(
    sizes: Sequence[tuple[int, int]], channels: int, device: str
) -> tuple[list[_Room], torch.Tensor | None]:
    """Memory for each image within one block; and the block (N, H, W, C) if sizes are equal."""
    shapes = [(height, width, channels) for height, width in sizes]
    lengths = [height * width * channels for height, width in sizes]
    is_dense = shapes.count(shapes[0]) == len(shapes)
    if not is_dense:
        lengths = [-(-length // _ALIGNMENT) * _ALIGNMENT for length in lengths]
    *places, end = accumulate(lengths, initial=0)
    memory = torch.empty(end, dtype=torch.uint8, device=device)
    address = memory.data_ptr()
    rooms = []
    for place, shape in zip(places, shapes, strict=True):
        pixels = memory.as_strided(shape, (shape[1] * channels, channels, 1), place)
        rooms.append(_Room(pixels, address + place, shape))
    return rooms, memory.view(len(shapes), *shapes[0]) if is_dense else None


def _decode_into(
    rooms: Sequence[_Room], sources: Sequence[Any], params: Any, device: str
) -> list[bool]:
    """Decode each image into its memory; returns whether each succeeded."""
    stream = torch.cuda.current_stream(device).cuda_stream
    images = _codec().as_images(rooms, cuda_stream=stream)
    try:
        made = _decoder(device).decode(sources, images=images, params=params, cuda_stream=stream)
    except ValueError:  # nvImageCodec reads a larger size from a header than we do
        if len(rooms) == 1:
            return [False]
        each = zip(rooms, sources, strict=True)
        return [_decode_into([room], [source], params, device)[0] for room, source in each]
    return [room.holds(image) for room, image in zip(rooms, made, strict=True)]


def _is_grey(header: ImageHeader, output_type: str) -> bool:
    return output_type == "GRAY" or (output_type == "ANY_DATA" and header.channels == 1)


def _converted(pixels: torch.Tensor, output_type: str) -> torch.Tensor:
    if output_type == "BGR":
        return pixels.flip(-1)
    if output_type != "YCbCr":
        return pixels
    matrix = torch.tensor(YCBCR, device=pixels.device)
    mixed = pixels.float() @ matrix[:, :3].T + matrix[:, 3] * 255
    return mixed.add_(0.5).floor_().clamp_(0, 255).to(torch.uint8)


def _codec() -> Any:
    try:
        from nvidia import nvimgcodec
    except ImportError as error:
        raise UnsupportedError(
            'images are decoded on the GPU by nvImageCodec, which is not installed: "pip install '
            '\'videoloader[cuda]\'", or use device="cpu"'
        ) from error
    return nvimgcodec


@cache
def _decoder(device: str) -> Any:
    """The decoder of a GPU; chroma is upsampled as on the CPU."""
    number = torch.device(device).index
    return _codec().Decoder(
        device_id=torch.cuda.current_device() if number is None else number,
        options=":fancy_upsampling=1",
    )
