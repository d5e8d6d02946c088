"""What pixels are worth: brightness, contrast and normalisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from videoloader.decoding.output import CHANNELS
from videoloader.errors import ArgumentError
from videoloader.operators.arguments import BOOL, DTYPE, FLOAT, FLOATS, TEXT, Argument
from videoloader.operators.convert import saturate, scale_and_shift
from videoloader.operators.decoded import DecodedForm, element_type
from videoloader.operators.geometry import (
    CROP_ABSENT,
    CROP_ARGUMENTS,
    WINDOW,
    absorb_crop,
    check_crop,
    crop_window,
)
from videoloader.operators.operator import FRAMES, declare

__all__ = ["brightness_contrast", "crop_mirror_normalize"]


@declare(
    "brightness_contrast",
    inputs=("frames",),
    layouts=FRAMES,
    arguments=(
        Argument("brightness", FLOAT, 1.0, "factor of the brightness", per_sample=True),
        Argument(
            "brightness_shift", FLOAT, 0.0, "added, in parts of the output range", per_sample=True
        ),
        Argument("contrast", FLOAT, 1.0, "factor of the contrast; 0 is uniform", per_sample=True),
        Argument(
            "contrast_center",
            FLOAT,
            None,
            "value that contrast leaves alone; by default the middle of the input's range",
            per_sample=True,
        ),
        Argument("dtype", DTYPE, None, "element type of the output; the input's by default"),
    ),
    is_elementwise=True,
)
def brightness_contrast(
    frames: torch.Tensor,
    *,
    brightness: float,
    brightness_shift: float,
    contrast: float,
    contrast_center: float | None,
    dtype: torch.dtype | None,
) -> torch.Tensor:
    """Change brightness and contrast, of every frame of a clip alike.

    out = brightness_shift * range + brightness * (center + contrast * (in - center)), where range
    is 1 for floating point outputs and the largest value of an integer type. The middle of the
    input's range is 0.5, or 128 for uint8. Integer outputs are rounded and clamped.
    """
    dtype = dtype or frames.dtype
    if contrast_center is None:
        contrast_center = _middle(frames.dtype)
    high = 1.0 if dtype.is_floating_point else float(torch.iinfo(dtype).max)
    factor = brightness * contrast
    offset = brightness_shift * high + brightness * contrast_center * (1 - contrast)
    if factor == 1 and offset == 0:
        return saturate(frames, dtype)
    out = torch.empty_like(frames, dtype=dtype)
    scale_and_shift(frames, factor, offset, out)
    return out


def _middle(dtype: torch.dtype) -> float:
    return 0.5 if dtype.is_floating_point else float(torch.iinfo(dtype).max // 2 + 1)


def _normalized_layout(layout: str, arguments: Mapping[str, Any]) -> str:
    frames = "F" if layout.startswith("F") else ""
    order: str = arguments["output_layout"]
    return frames + order.removeprefix("F")


def _absorb(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    scale, shift = arguments["scale"], arguments["shift"]
    dtype = element_type(arguments["dtype"])
    mean, std = (_each(name, arguments[name], CHANNELS) for name in ("mean", "std"))
    is_plain = (scale, shift, set(mean), set(std)) == (1, 0, {0.0}, {1.0})
    if dtype is None or not scale or arguments["pad_output"]:
        return None
    if dtype == "uint8" and not is_plain:
        return None
    window = {name: arguments[name] for name in WINDOW}
    cropped = absorb_crop(form, window)
    assert cropped is not None
    # scale * (x - mean) / std + shift = (x - (mean - shift * std / scale)) / (std / scale)
    normal = (
        {}
        if is_plain
        else {
            "mean": tuple(m - shift * s / scale for m, s in zip(mean, std, strict=True)),
            "std": tuple(s / scale for s in std),
        }
    )
    mirrored = cropped.flipped() if arguments["mirror"] else cropped
    layout = "FCHW" if arguments["output_layout"].endswith("CHW") else "FHWC"
    return mirrored.finished(dtype=dtype, layout=layout, **normal)


@declare(
    "crop_mirror_normalize",
    inputs=("frames",),
    layouts=("HWC", "FHWC"),
    arguments=(
        *CROP_ARGUMENTS,
        Argument("mirror", BOOL, default=False, doc="swap left and right", per_sample=True),
        Argument("mean", FLOATS, (0.0,), "subtracted, for all channels or each", per_sample=True),
        Argument("std", FLOATS, (1.0,), "divided by, for all channels or each", per_sample=True),
        Argument("scale", FLOAT, 1.0, "factor after that"),
        Argument("shift", FLOAT, 0.0, "added at the end"),
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
        Argument(
            "output_layout",
            TEXT,
            "CHW",
            "order of the output's dimensions; a clip keeps its frames first",
            choices=("CHW", "HWC", "FCHW", "FHWC"),
        ),
        Argument(
            "pad_output", BOOL, default=False, doc="zero channels up to the next power of two"
        ),
    ),
    result_layout=_normalized_layout,
    context=("empty",),
    absorb=_absorb,
    absorbed_per_sample=(*WINDOW, "mirror"),
    check=check_crop,
    absent=CROP_ABSENT,
)
def crop_mirror_normalize(
    frames: torch.Tensor,
    *,
    mirror: bool,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    scale: float,
    shift: float,
    dtype: torch.dtype,
    output_layout: str,
    pad_output: bool,
    empty: Callable[..., torch.Tensor],
    **window: Any,
) -> torch.Tensor:
    """Crop, mirror, normalise and transpose frames in one go, every frame of a clip alike.

    out = scale * (in - mean) / std + shift. Integer outputs are rounded and clamped. The window
    is that of `fn.crop`.
    """
    rows, columns = crop_window(frames.shape[-3], frames.shape[-2], **window)
    picture = frames[..., rows, columns, :]
    picture = picture.flip(-2) if mirror else picture
    channels = picture.shape[-1]
    factor = torch.tensor([scale / value for value in _each("std", std, channels)])
    offset = shift - torch.tensor(_each("mean", mean, channels)) * factor
    padded = 1 << (channels - 1).bit_length() if pad_output and channels else channels
    planes = picture.movedim(-1, -3)
    first = output_layout.endswith("CHW")
    shape = (*planes.shape[:-3], padded, *planes.shape[-2:])
    if not first:
        shape = (*shape[:-3], *shape[-2:], padded)
    out = empty(shape, dtype=dtype, device=frames.device)
    view = out if first else out.movedim(-1, -3)
    if padded > channels:
        view[..., channels:, :, :] = 0
    scale_and_shift(
        planes,
        factor.to(frames.device)[:, None, None],
        offset.to(frames.device)[:, None, None],
        view[..., :channels, :, :],
    )
    return out


def _each(name: str, values: tuple[float, ...], channels: int) -> list[float]:
    if name == "std" and 0 in values:
        raise ArgumentError(f"std must not be 0, got {values}")
    if len(values) not in (1, channels):
        raise ArgumentError(
            f"{name} must have 1 value or one for each of {channels} channels, got {values}"
        )
    return list(values) * (channels if len(values) == 1 else 1)
