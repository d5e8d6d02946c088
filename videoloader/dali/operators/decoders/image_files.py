"""`fn.decoders.image` and its kind: encoded images in, pixels (H, W, C) out.

On the CPU the worker processes that decode clips decode images too. Headers are read here first
(`decoding.images`): a file with a damaged header, or with more pixels than allowed, never reaches a
codec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arguments import BOOL, DTYPE, IMAGE, INT, Argument, PerSample
from videoloader.dali.operators.context import Context, SampleError
from videoloader.dali.operators.deprecated import Deprecated
from videoloader.dali.operators.general.slice import SLICE_ARGUMENTS, check_slice, slice_windows
from videoloader.dali.operators.geometry.crop_windows import CROP_ARGUMENTS, check_crop, crop_window
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.limits import MEMORY_LIMIT, TIME_LIMIT
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.operators.random.random_windows import AREA, RATIO
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.types import ImageType
from videoloader.decoding import limits
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.decoding.framing import random_part
from videoloader.decoding.images.decode import check_size
from videoloader.decoding.images.header import read_header
from videoloader.decoding.images.pixels import channels_of
from videoloader.decoding.images.request import ImageForm, ImageRequest, Window
from videoloader.decoding.images.scale import to_range
from videoloader.errors import ArgumentError, DecodeError, VideoError

FindWindow = Callable[[int, tuple[int, int]], Window | None]
"""The part of an image to keep, by the sample and its (height, width); asked for one by one."""

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
    TIME_LIMIT,
    MEMORY_LIMIT,
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
    "preallocate_height_hint",
    "preallocate_width_hint",
    "use_fast_idct",
)
"""Hints for the memory and the codecs of DALI; chroma is always upsampled smoothly."""

DEPRECATED = tuple(map(Deprecated, ("memory_stats", "split_stages", "use_chunk_allocator")))


def encoded_bytes(value: Any, operator: str) -> memoryview:
    """The bytes of an encoded image."""
    if isinstance(value, bytes | bytearray | memoryview):
        return memoryview(value)
    if isinstance(value, torch.Tensor) and value.dtype == torch.uint8 and value.ndim == 1:
        found = (value if value.is_cpu else value.cpu()).numpy()
        return np.ascontiguousarray(found).data
    raise ArgumentError(
        f"fn.{operator} takes the bytes of a file as 1-D uint8, got {type(value).__name__} "
        f"{getattr(value, 'dtype', '')} {tuple(getattr(value, 'shape', ()))}"
    )


def image_name(encoded: Batch, position: int) -> str:
    """Where an encoded image comes from, as far as it is known."""
    return (encoded.source_info[position] if encoded.source_info else "") or "the image"


def _infer(context: Context, *inputs: Spec, dtype: torch.dtype, **others: Any) -> Spec:
    return Spec((), dtype, "HWC", context.device)  # the shapes are in the files


_DESCRIPTION: dict[str, Any] = {
    "inputs": (ENCODED,),
    "devices": ("cpu", "mixed"),
    "in_workers": True,
    "notes_failures": True,
    "owns_outputs": True,
    "infer": _infer,
    "unused": UNUSED,
    "deprecated": DEPRECATED,
}
"""The part of the declaration that all decoders of images share."""


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
    **limits: Any,
) -> Batch:
    """The images of a batch, or windows of them; on a GPU in memory of torch's allocator."""
    form = ImageForm(output_type.value, adjust_orientation, max_pixels)
    requests, failed = _read_headers(context, encoded, find_window, form, operator)
    ready: torch.Tensor | Sequence[torch.Tensor | None] = [None] * len(requests)
    if context.device != "cpu" and requests:
        ready = _on_gpu(context, [*requests.values()], form)
    if isinstance(ready, torch.Tensor):
        if not failed and all(request.window is None for request in requests.values()):
            return Batch(to_range(ready, dtype), "HWC")
        ready = ready.unbind()
    out: dict[int, torch.Tensor] = {}
    left: dict[int, ImageRequest] = {}
    for (position, request), pixels in zip(requests.items(), ready, strict=True):
        if pixels is None:
            left[position] = request
        else:
            window = request.window
            out[position] = to_range(pixels if window is None else pixels[window], dtype)
    decoded = _on_cpu([*left.values()], form, context.workers, **limits)
    for position, found in zip(left, decoded, strict=True):
        if isinstance(found, VideoError):
            context.note_failure(position, found)
            failed[position] = found
        elif isinstance(found, Exception):
            raise SampleError(position, found)
        else:
            out[position] = to_range(torch.from_numpy(found), dtype).to(context.device)
    others = [pixels.shape for pixels in out.values()]
    for position, reason in failed.items():
        if position in requests:
            shape: Sequence[int] = requests[position].shape(form)
        elif others:
            shape = others[0]
        else:
            raise SampleError(position, _unknown_size(reason)) from reason
        out[position] = torch.zeros(shape, dtype=dtype, device=context.device)
    return Batch([out[position] for position in range(len(encoded))], "HWC")


def _read_headers(
    context: Context, encoded: Batch, find_window: FindWindow, form: ImageForm, operator: str
) -> tuple[dict[int, ImageRequest], dict[int, VideoError]]:
    """Requests for images, and errors by position for images with damaged headers."""
    requests: dict[int, ImageRequest] = {}
    failed: dict[int, VideoError] = {}
    for position, value in enumerate(encoded):
        try:
            data, name = encoded_bytes(value, operator), image_name(encoded, position)
        except VideoError as error:
            raise SampleError(position, error) from error
        try:
            header = read_header(data, name)
            check_size(header, name, form.max_pixels)
            size = header.displayed(adjust_orientation=form.adjust_orientation)
            requests[position] = ImageRequest(data, name, header, find_window(position, size))
        except VideoError as error:
            context.note_failure(position, error)
            failed[position] = error
    return requests, failed


def _unknown_size(error: Exception) -> DecodeError:
    return DecodeError(
        f"{error}; its size is unknown, and no image of the batch decodes whose size a masked one "
        'could have; use on_error="skip" or "replace", and larger batches'
    )


def _on_cpu(
    requests: Sequence[ImageRequest], form: ImageForm, workers: int | None, **limits: Any
) -> Sequence[Any]:
    """Pixels, or the error, of each; without any no worker process is asked for."""
    if not requests:
        return ()
    return shared_decoder("cpu", workers, **limits).decode_images(requests, form)


def _on_gpu(
    context: Context, requests: Sequence[ImageRequest], form: ImageForm
) -> torch.Tensor | Sequence[torch.Tensor | None]:
    from videoloader.decoding.images.nvimagecodec import decode_on_gpu

    return decode_on_gpu(
        [request.data for request in requests],
        [request.header for request in requests],
        device=context.device,
        output_type=form.output_type,
        adjust_orientation=form.adjust_orientation,
    )


def _whole(position: int, size: tuple[int, int]) -> None:
    return None


@declare("decoders.image", arguments=DECODING, **_DESCRIPTION)
def decode_whole(context: Context, encoded: Batch, **options: Any) -> Batch:
    """Decode images: JPEG, PNG, TIFF, BMP, PNM, JPEG 2000, WebP, GIF, AVIF and HEIC.

    The output has layout HWC. Palettes and CMYK become RGB; of an animation the first frame is
    decoded. `mixed` decodes JPEG and JPEG 2000 on the GPU by nvImageCodec, and copies what the CPU
    decodes of other formats.
    """
    return _decode(context, encoded, _whole, operator="decoders.image", **options)


@declare(
    "decoders.image_crop", arguments=(*DECODING, *CROP_ARGUMENTS), check=check_crop, **_DESCRIPTION
)
def decode_crop(context: Context, encoded: Batch, **arguments: Any) -> Batch:
    """Decode a window of images, the same as of `fn.crop`."""
    window, options = _divided(arguments)

    def find(position: int, size: tuple[int, int]) -> Window:
        rows, columns = crop_window(size, **PerSample.at(position, window)).slices
        return rows, columns

    return _decode(context, encoded, find, operator="decoders.image_crop", **options)


def _divided(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide arguments among the window and decoding."""
    options = {argument.name: arguments[argument.name] for argument in DECODING}
    return {name: arguments[name] for name in arguments if name not in options}, options


@declare(
    "decoders.image_random_crop",
    arguments=(
        *DECODING,
        AREA,
        RATIO,
        Argument("num_attempts", INT, 10, "tries for a window that fits", least=1),
        SEED,
    ),
    draws=True,
    **_DESCRIPTION,
)
def decode_random_crop(
    context: Context,
    encoded: Batch,
    *,
    random_area: tuple[float, float],
    random_aspect_ratio: tuple[float, float],
    num_attempts: int,
    **options: Any,
) -> Batch:
    """Decode a random window of images, of a random area and aspect ratio.

    The area is equally likely, the ratio on a logarithmic scale. If no window of `num_attempts`
    fits, the largest one in the middle with a ratio in the bounds is taken.
    """
    rng: np.random.Generator | None = None

    def find(position: int, size: tuple[int, int]) -> Window:
        nonlocal rng
        rng = context.random(position, rng)
        top, left, height, width = random_part(
            size, random_area, random_aspect_ratio, rng, num_attempts
        )
        return slice(top, top + height), slice(left, left + width)

    return _decode(context, encoded, find, operator="decoders.image_random_crop", **options)


@declare(
    "decoders.image_slice",
    positional=("anchor", "shape_input"),
    arguments=(*SLICE_ARGUMENTS, *DECODING),
    check=check_slice,
    **_DESCRIPTION,
)
def decode_slice(context: Context, encoded: Batch, **arguments: Any) -> Batch:
    """Decode a window of images, the same as of `fn.slice`; it lies in the image."""
    window, options = _divided(arguments)

    def find(position: int, size: tuple[int, int]) -> Window:
        own = {
            name: PerSample((value[position],)) if isinstance(value, PerSample) else value
            for name, value in window.items()
        }
        ((rows, columns, _),) = slice_windows(
            [(*size, 1)], "HWC", {**own, "out_of_bounds_policy": "error"}
        )
        return slice(*rows), slice(*columns)

    return _decode(context, encoded, find, operator="decoders.image_slice", **options)


def _infer_shape(context: Context, encoded: Spec, *, dtype: torch.dtype, **others: Any) -> Spec:
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
