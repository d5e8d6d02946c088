"""Images on a GPU, by nvImageCodec: JPEG and JPEG 2000 of 8 bits; the CPU decodes the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.pixels import YCBCR
from videoloader.errors import UnsupportedError

__all__ = ["decode_on_gpu"]

_FORMATS = ("jpeg", "jpeg2000")


def decode_on_gpu(
    files: Sequence[memoryview],
    headers: Sequence[ImageHeader],
    *,
    device: str,
    output_type: str,
    adjust_orientation: bool,
) -> list[torch.Tensor | None]:
    """Pixels (H, W, C) uint8 on the GPU; None for what the CPU has to decode.

    Args:
        files: encoded images.
        headers: of each.
        device: torch device of the GPU.
        output_type: name of an `ImageType`.
        adjust_orientation: turn them as their EXIF says.

    Raises:
        UnsupportedError: nvImageCodec is not installed.
    """
    codec = _codec()
    results: list[torch.Tensor | None] = [None] * len(files)
    chosen = [
        number
        for number, header in enumerate(headers)
        if header.format in _FORMATS and header.bits == 8 and header.channels in (1, 3)
    ]
    if not chosen:
        return results
    grey = [number for number in chosen if _is_grey(headers[number], output_type)]
    others = [number for number in chosen if not _is_grey(headers[number], output_type)]
    stream = torch.cuda.current_stream(device)
    for numbers, color in ((grey, codec.ColorSpec.GRAY), (others, codec.ColorSpec.SRGB)):
        if not numbers:
            continue
        images = _decoder(device).decode(
            [codec.CodeStream(np.frombuffer(files[number], np.uint8)) for number in numbers],
            params=codec.DecodeParams(adjust_orientation, color, False),  # noqa: FBT003
            cuda_stream=stream.cuda_stream,
        )
        for number, image in zip(numbers, images, strict=True):
            pixels = None if image is None else torch.as_tensor(image, device=device)
            size = headers[number].displayed(adjust_orientation=adjust_orientation)
            if pixels is not None and tuple(pixels.shape[:2]) == size:
                results[number] = _converted(pixels, output_type)
    return results


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
