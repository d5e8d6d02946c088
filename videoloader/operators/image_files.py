"""`fn.decoders.image` and its kind: encoded images in, pixels (H, W, C) out.

On the CPU the threads of a pipeline decode a sample each, in this process. Code of ours reads the
header first (`decoding.images`): codecs get nothing whose header is damaged, or claims more pixels
than are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.decoding import limits
from videoloader.decoding.framing import random_part
from videoloader.decoding.images.decode import check_size, decode_image
from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.header import read_header
from videoloader.decoding.images.pixels import channels_of, to_range
from videoloader.errors import ArgumentError
from videoloader.operators.arguments import (
    BOOL,
    DTYPE,
    FLOATS,
    IMAGE,
    INT,
    Argument,
    PerSample,
)
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.geometry.windows import CROP_ARGUMENTS, check_crop, crop_window
from videoloader.operators.inputs import Input
from videoloader.operators.operator import declare
from videoloader.operators.random import SEED
from videoloader.operators.slice import SLICE_ARGUMENTS, check_slice, slice_windows
from videoloader.types import ImageType

__all__ = [
    "decode_crop",
    "decode_random_crop",
    "decode_slice",
    "decode_whole",
    "peek_image_shape",
]

Window = tuple[slice, slice]
FindWindow = Callable[[int, tuple[int, int]], Window | None]
"""The part of an image to keep, by the sample and its (height, width)."""

ENCODED = Input("encoded", on_cpu=True)
ORIENTATION = Argument(
    "adjust_orientation", BOOL, default=True, doc="turn the image as its EXIF orientation says"
)
DECODING = (
    Argument(
        "output_type",
        IMAGE,
        ImageType.RGB,
        "colour space; ANY_DATA: that of the file, with its alpha",
    ),
    Argument(
        "dtype",
        DTYPE,
        torch.uint8,
        "element type; values are brought to its range, which is 0 to 1 for floating point",
    ),
    ORIENTATION,
    Argument(
        "max_pixels",
        INT,
        limits.MAX_PIXELS,
        "pixels of an image; a file that claims more fails",
        least=1,
    ),
)
UNUSED = (
    "affine",
    "cache_batch_copy",
    "cache_debug",
    "cache_size",
    "cache_threshold",
    "cache_type",
    "device_memory_padding",
    "device_memory_padding_jpeg2k",
    "host_memory_padding",
    "host_memory_padding_jpeg2k",
    "hw_decoder_load",
    "hybrid_huffman_threshold",
    "jpeg_fancy_upsampling",
    "memory_stats",
    "preallocate_height_hint",
    "preallocate_width_hint",
    "seed",
    "split_stages",
    "use_chunk_allocator",
    "use_fast_idct",
)
"""Hints for the memory and the codecs of DALI; chroma is always upsampled smoothly."""


def encoded_bytes(value: Any, operator: str) -> memoryview:
    """The bytes of an encoded image."""
    if isinstance(value, bytes | bytearray | memoryview):
        return memoryview(value)
    if isinstance(value, torch.Tensor) and value.dtype == torch.uint8 and value.ndim == 1:
        return memoryview(np.ascontiguousarray(value.cpu().numpy()).data)
    raise ArgumentError(
        f"fn.{operator} takes the bytes of a file as 1-D uint8, got {type(value).__name__} "
        f"{getattr(value, 'dtype', '')} {tuple(getattr(value, 'shape', ()))}"
    )


def image_name(encoded: Batch, position: int) -> str:
    """Where an encoded image comes from, as far as it is known."""
    return (encoded.source_info[position] if encoded.source_info else "") or "the image"


def _infer(context: Context, *inputs: Spec, dtype: torch.dtype, **others: Any) -> Spec:  # noqa: ARG001
    return Spec((), dtype, "HWC", context.device)  # the shapes are in the files


def _decode(
    context: Context,
    encoded: Batch,
    find_window: FindWindow,
    *,
    operator: str,
    output_type: ImageType,
    dtype: torch.dtype,
    adjust_orientation: bool,
    max_pixels: int,
) -> Batch:
    """The images of a batch, or windows of them, in the memory that the codec gives."""
    images, headers, windows = [], [], []
    for position, value in enumerate(encoded):
        data, name = encoded_bytes(value, operator), image_name(encoded, position)
        header = read_header(data, name)
        check_size(header, name, max_pixels)
        size = header.displayed(adjust_orientation=adjust_orientation)
        images.append((data, name))
        headers.append(header)
        windows.append(find_window(position, size))
    ready: Sequence[torch.Tensor | None] = [None] * len(images)
    if context.device != "cpu":
        ready = _on_gpu(context, images, headers, output_type, adjust_orientation)
    out = []
    for position, (data, name) in enumerate(images):
        pixels = ready[position]
        if pixels is None:
            decoded = decode_image(
                data,
                name,
                output_type=output_type.value,
                adjust_orientation=adjust_orientation,
                max_pixels=max_pixels,
                window=windows[position],
                header=headers[position],
            )
            pixels = torch.from_numpy(np.ascontiguousarray(decoded))
        elif (part := windows[position]) is not None:
            pixels = pixels[part]
        out.append(to_range(pixels, dtype).to(context.device))
    return Batch(out, "HWC")


def _on_gpu(
    context: Context,
    images: Sequence[tuple[memoryview, str]],
    headers: Sequence[ImageHeader],
    output_type: ImageType,
    adjust_orientation: bool,
) -> Sequence[torch.Tensor | None]:
    from videoloader.decoding.images.nvimagecodec import decode_on_gpu

    return decode_on_gpu(
        [data for data, _ in images],
        headers,
        device=context.device,
        output_type=output_type.value,
        adjust_orientation=adjust_orientation,
    )


def _whole(position: int, size: tuple[int, int]) -> None:  # noqa: ARG001  (a `FindWindow`)
    return None


@declare(
    "decoders.image",
    inputs=(ENCODED,),
    arguments=DECODING,
    devices=("cpu", "mixed"),
    infer=_infer,
    unused=UNUSED,
)
def decode_whole(context: Context, encoded: Batch, **options: Any) -> Batch:
    """Decode images: JPEG, PNG, TIFF, BMP, PNM, JPEG 2000, WebP, GIF, AVIF and HEIC.

    The output has layout HWC. Palettes and CMYK become RGB; of an animation the first frame is
    decoded. `mixed` decodes JPEG and JPEG 2000 on the GPU by nvImageCodec, and copies what the CPU
    decodes of other formats.
    """
    return _decode(context, encoded, _whole, operator="decoders.image", **options)


@declare(
    "decoders.image_crop",
    inputs=(ENCODED,),
    arguments=(*DECODING, *CROP_ARGUMENTS),
    devices=("cpu", "mixed"),
    infer=_infer,
    check=check_crop,
    unused=UNUSED,
)
def decode_crop(
    context: Context,
    encoded: Batch,
    *,
    output_type: ImageType,
    dtype: torch.dtype,
    adjust_orientation: bool,
    max_pixels: int,
    **window: Any,
) -> Batch:
    """Decode a window of images; it is that of `fn.crop`."""

    def find(position: int, size: tuple[int, int]) -> Window:
        own = {
            name: value[position] if isinstance(value, PerSample) else value
            for name, value in window.items()
        }
        rows, columns = crop_window(size, **own).slices
        return rows, columns

    return _decode(
        context,
        encoded,
        find,
        operator="decoders.image_crop",
        output_type=output_type,
        dtype=dtype,
        adjust_orientation=adjust_orientation,
        max_pixels=max_pixels,
    )


def _check_random(given: Collection[str], arguments: Mapping[str, Any]) -> None:  # noqa: ARG001
    area, ratio = (_range(arguments, name) for name in ("random_area", "random_aspect_ratio"))
    if not (0 < area[0] <= area[1]):
        raise ArgumentError(f"random_area must be (least, most) with 0 < least <= most, got {area}")
    if not (0 < ratio[0] <= ratio[1]):
        raise ArgumentError(
            f"random_aspect_ratio must be (least, most) with 0 < least <= most, got {ratio}"
        )


def _range(arguments: Mapping[str, Any], name: str) -> tuple[float, float]:
    values = arguments[name]
    if len(values) not in (1, 2):
        raise ArgumentError(f"{name} must be (least, most), got {values}")
    return values[0], values[-1]


@declare(
    "decoders.image_random_crop",
    inputs=(ENCODED,),
    arguments=(
        *DECODING,
        Argument("random_area", FLOATS, (0.08, 1.0), "part of the area: (least, most)"),
        Argument(
            "random_aspect_ratio",
            FLOATS,
            (0.75, 1.333333),
            "ratio of width to height: (least, most)",
        ),
        Argument("num_attempts", INT, 10, "tries for a window that fits", least=1),
        SEED,
    ),
    devices=("cpu", "mixed"),
    draws=True,
    infer=_infer,
    check=_check_random,
    unused=tuple(name for name in UNUSED if name != "seed"),
)
def decode_random_crop(
    context: Context,
    encoded: Batch,
    *,
    random_area: tuple[float, ...],
    random_aspect_ratio: tuple[float, ...],
    num_attempts: int,
    **options: Any,
) -> Batch:
    """Decode a random window of images, of a random area and aspect ratio.

    The area is equally likely, the ratio on a logarithmic scale. If no window of `num_attempts`
    fits, the largest one in the middle with a ratio in the bounds is taken.
    """

    def find(position: int, size: tuple[int, int]) -> Window:
        top, left, height, width = random_part(
            size,
            (random_area[0], random_area[-1]),
            (random_aspect_ratio[0], random_aspect_ratio[-1]),
            context.random(position),
            num_attempts,
        )
        return slice(top, top + height), slice(left, left + width)

    return _decode(context, encoded, find, operator="decoders.image_random_crop", **options)


@declare(
    "decoders.image_slice",
    inputs=(ENCODED,),
    positional=("anchor", "shape_input"),
    arguments=(*SLICE_ARGUMENTS, *DECODING),
    devices=("cpu", "mixed"),
    infer=_infer,
    check=check_slice,
    unused=UNUSED,
)
def decode_slice(
    context: Context,
    encoded: Batch,
    *,
    output_type: ImageType,
    dtype: torch.dtype,
    adjust_orientation: bool,
    max_pixels: int,
    **window: Any,
) -> Batch:
    """Decode a window of images; it is that of `fn.slice`, and lies in the image."""

    def find(position: int, size: tuple[int, int]) -> Window:
        own = {
            name: PerSample((value[position],)) if isinstance(value, PerSample) else value
            for name, value in window.items()
        }
        ((rows, columns, _),) = slice_windows(
            [(*size, 1)], "HWC", {**own, "out_of_bounds_policy": "error"}
        )
        return slice(*rows), slice(*columns)

    return _decode(
        context,
        encoded,
        find,
        operator="decoders.image_slice",
        output_type=output_type,
        dtype=dtype,
        adjust_orientation=adjust_orientation,
        max_pixels=max_pixels,
    )


def _infer_shape(context: Context, encoded: Spec, *, dtype: torch.dtype, **others: Any) -> Spec:  # noqa: ARG001
    return Spec.alike(len(encoded), (3,), dtype)


@declare(
    "peek_image_shape",
    inputs=(ENCODED,),
    arguments=(
        Argument("dtype", DTYPE, torch.int64, "element type of the output"),
        ORIENTATION,
        Argument("image_type", IMAGE, ImageType.RGB, "colour space that it is decoded to"),
    ),
    devices=("cpu",),
    infer=_infer_shape,
)
def peek_image_shape(
    context: Context,
    encoded: Batch,
    *,
    dtype: torch.dtype,
    adjust_orientation: bool,
    image_type: ImageType,
) -> Batch:
    """(height, width, channels) that images will have when they are decoded, by their headers."""
    out = context.empty()
    for position, (value, place) in enumerate(zip(encoded, out, strict=True)):
        name = image_name(encoded, position)
        header = read_header(encoded_bytes(value, "peek_image_shape"), name)
        size = header.displayed(adjust_orientation=adjust_orientation)
        shape = (*size, channels_of(header.channels, image_type.value))
        place.copy_(torch.tensor(shape).to(dtype))
    return out
