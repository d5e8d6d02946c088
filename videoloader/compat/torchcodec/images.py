"""torchcodec's `decode_image` over this library's image decoders."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.runtime_errors import as_runtime_errors
from videoloader.compat.torchcodec import installed
from videoloader.compat.torchcodec.opening import as_source
from videoloader.decoding.images.decode import decode_image as decode_pixels
from videoloader.decoding.images.pixels import convert
from videoloader.decoding.images.scale import to_range
from videoloader.decoding.limits import MAX_PIXELS
from videoloader.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from videoloader.indexing.libav import demux_packets
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source


class ImageReadMode(Enum):
    """Channels of a decoded image."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = 4  # noqa: PIE796  (an alias)


def decode_image(
    source: str | os.PathLike[str] | bytes | torch.Tensor,
    *,
    mode: str | ImageReadMode = "RGB",
    output_dtype: torch.dtype | Literal["auto"] = torch.uint8,
) -> torch.Tensor:
    """A still image in its EXIF orientation.

    Args:
        source: path, bytes or uint8 tensor.
        mode: channels, as an `ImageReadMode` or the name of one.
        output_dtype: `torch.uint8`, `torch.uint16`, or `auto` for the stored type.

    Returns:
        (C, H, W). Animations, which torchcodec gives as (N, C, H, W), are decoded by the installed
        torchcodec.

    Raises:
        VideoError, RuntimeError: it does not decode, or is an animation without torchcodec.
    """
    wanted = _mode(mode)
    if output_dtype not in (torch.uint8, torch.uint16, "auto"):
        raise ArgumentError(
            f"Invalid output_dtype ({output_dtype}). Supported values are torch.uint8, "
            "torch.uint16, and 'auto'."
        )
    with as_runtime_errors, open_source(as_source(source)) as opened:
        data = memoryview(opened.read(0, opened.size))
        if _is_animation(data, opened):
            decode: Callable[..., torch.Tensor] = _torchcodecs(opened.name)
            return decode(source, mode=mode, output_dtype=output_dtype)
        pixels = decode_pixels(
            data,
            opened.name,
            output_type="ANY_DATA",
            adjust_orientation=True,
            max_pixels=MAX_PIXELS,
        )
    image = torch.from_numpy(np.ascontiguousarray(_with_channels(pixels, wanted)))
    image = image.permute(2, 0, 1).contiguous()
    return image if output_dtype == "auto" else to_range(image, output_dtype)


def _mode(given: str | ImageReadMode) -> ImageReadMode:
    if isinstance(given, ImageReadMode):
        return given
    # The enumerations of the installed torchcodec and of torchvision have the same names.
    name = given.name if isinstance(given, Enum) else given
    if not isinstance(name, str):
        raise ArgumentTypeError(f"mode must be a str (or ImageReadMode), got {type(given)}.")
    try:
        return ImageReadMode[name.upper()]
    except KeyError:
        names = ", ".join(repr(mode.name) for mode in ImageReadMode)
        raise ArgumentError(f"Invalid mode {given!r}. Supported modes are {names}.") from None


def _is_animation(data: memoryview, source: Source) -> bool:
    """Whether a GIF, WebP or AVIF has several pictures."""
    head = bytes(data[:24])
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return sum(1 for _ in demux_packets(source, 0)) > 1
    if head[8:16] == b"WEBPVP8X":
        return len(head) > 20 and bool(head[20] & 2)
    return head[4:12] == b"ftypavis"


def _torchcodecs(name: str) -> Any:
    """The installed torchcodec's `decode_image`."""
    try:
        return installed.find_name("decode_image", "decoders")
    except AttributeError as error:
        raise UnsupportedError(f"{name}: an animation; {error}") from error


def _with_channels(pixels: NDArray[Any], mode: ImageReadMode) -> NDArray[Any]:
    """Convert pixels (H, W, 1 to 4) to the channels of a mode."""
    if mode is ImageReadMode.UNCHANGED:
        return pixels
    channels = pixels.shape[-1]
    is_gray = mode in (ImageReadMode.GRAY, ImageReadMode.GRAY_ALPHA)
    # The second of two channels and the fourth of four are alpha.
    shown = convert(pixels[..., : 3 if channels > 2 else 1], "GRAY" if is_gray else "RGB")
    if mode in (ImageReadMode.GRAY, ImageReadMode.RGB):
        return shown
    opaque = np.full_like(shown[..., :1], np.iinfo(pixels.dtype).max)
    return np.concatenate([shown, pixels[..., -1:] if channels in (2, 4) else opaque], axis=-1)
