"""What pixels are worth: brightness, contrast and normalisation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from videoloader.decoding.output import CHANNELS
from videoloader.errors import ArgumentError
from videoloader.operators.arguments import (
    BOOL,
    DTYPE,
    FLOAT,
    FLOATS,
    TEXT,
    Argument,
    PerFrame,
    PerSample,
    column,
)
from videoloader.operators.batch import Batch, Context, Spec, parts
from videoloader.operators.convert import scale_and_shift
from videoloader.operators.decoded import DecodedForm, element_type
from videoloader.operators.geometry import (
    CROP_ABSENT,
    CROP_ARGUMENTS,
    WINDOW,
    Windows,
    absorb_crop,
    check_crop,
    crop_windows,
    cut,
    mirrored,
    window_sizes,
)
from videoloader.operators.operator import FRAMES, Input, declare
from videoloader.tensors import saturate

__all__ = ["brightness_contrast", "crop_mirror_normalize"]


def _number(name: str, default: float | None, doc: str) -> Argument:
    return Argument(name, FLOAT, default, doc, per_sample=True, per_frame=True)


def _infer_contrast(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    dtype: torch.dtype | None,
    **numbers: PerSample,  # noqa: ARG001
) -> Spec:
    return replace(frames, dtype=dtype or frames.dtype)


@declare(
    "brightness_contrast",
    inputs=(Input("frames", FRAMES),),
    arguments=(
        _number("brightness", 1.0, "factor of the brightness"),
        _number("brightness_shift", 0.0, "added, in parts of the output range"),
        _number("contrast", 1.0, "factor of the contrast; 0 is uniform"),
        _number(
            "contrast_center",
            None,
            "value that contrast leaves alone; by default the middle of the input's range",
        ),
        Argument("dtype", DTYPE, None, "element type of the output; the input's by default"),
    ),
    infer=_infer_contrast,
    is_elementwise=True,
)
def brightness_contrast(
    context: Context,
    frames: Batch,
    *,
    brightness: PerSample,
    brightness_shift: PerSample,
    contrast: PerSample,
    contrast_center: PerSample,
    dtype: torch.dtype | None,
) -> Batch:
    """Change brightness and contrast, by default of every frame of a clip alike.

    out = brightness_shift * range + brightness * (center + contrast * (in - center)), where range
    is 1 for floating point outputs and the largest value of an integer type. The middle of the
    input's range is 0.5, or 128 for uint8. Integer outputs are rounded and clamped.
    """
    source = frames.spec.dtype
    dtype = dtype or source
    high = 1.0 if dtype.is_floating_point else float(torch.iinfo(dtype).max)

    def offset_of(shift: float, bright: float, contrast: float, center: float | None) -> float:
        center = _middle(source) if center is None else center
        return shift * high + bright * center * (1 - contrast)

    factors = _each_of(operator.mul, brightness, contrast)
    offsets = _each_of(offset_of, brightness_shift, brightness, contrast, contrast_center)
    unchanged = [pair == (1, 0) for pair in zip(factors, offsets, strict=True)]
    if all(unchanged):
        return frames.each(lambda value: saturate(value, dtype))
    out = context.empty()
    for at in parts(frames, out, alike=(unchanged,)):
        values, place = frames.part(at), out.part(at)
        if unchanged[at.start]:
            place.copy_(saturate(values, dtype))
            continue
        factor, offset = (
            column(each[at], values.ndim, str(values.device)) for each in (factors, offsets)
        )
        scale_and_shift(values, factor, offset, place)
    return out


def _each_of(function: Callable[..., float], *values: PerSample) -> list[Any]:
    """The function of the values of each sample, or of each frame where any value is per frame."""
    results: list[Any] = []
    for given in zip(*values, strict=True):
        lengths = {len(value) for value in given if isinstance(value, PerFrame)}
        if not lengths:
            results.append(function(*given))
            continue
        frames = PerSample(given)
        rows = [frames.frames(at, max(lengths)) for at in range(len(given))]
        results.append(PerFrame(tuple(map(function, *rows))))
    return results


def _middle(dtype: torch.dtype) -> float:
    return 0.5 if dtype.is_floating_point else float(torch.iinfo(dtype).max // 2 + 1)


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


def _infer_normalized(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    dtype: torch.dtype,
    output_layout: str,
    pad_output: bool,
    mean: PerSample,
    std: PerSample,
    mirror: PerSample,  # noqa: ARG001
    scale: float,  # noqa: ARG001
    shift: float,  # noqa: ARG001
    **window: Any,
) -> Spec:
    shapes = []
    sizes = window_sizes(crop_windows(frames, window))
    for position, (shape, size) in enumerate(zip(frames.shapes, sizes, strict=True)):
        channels = shape[-1]
        for name, values in (("mean", mean), ("std", std)):
            _each(name, values[position], channels)
        padded = 1 << (channels - 1).bit_length() if pad_output and channels else channels
        last = (padded, *size) if output_layout.endswith("CHW") else (*size, padded)
        shapes.append((*shape[:-3], *last))
    layout = frames.layout[:-3] + output_layout.removeprefix("F")
    return replace(frames, shapes=tuple(shapes), dtype=dtype, layout=layout)


@declare(
    "crop_mirror_normalize",
    inputs=(Input("frames", ("HWC", "FHWC")),),
    arguments=(
        *CROP_ARGUMENTS,
        Argument(
            "mirror",
            BOOL,
            default=False,
            doc="swap left and right",
            per_sample=True,
            per_frame=True,
        ),
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
    infer=_infer_normalized,
    absorb=_absorb,
    absorbed_per_sample=(*WINDOW, "mirror"),
    check=check_crop,
    absent=CROP_ABSENT,
)
def crop_mirror_normalize(
    context: Context,
    frames: Batch,
    *,
    mirror: PerSample,
    mean: PerSample,
    std: PerSample,
    scale: float,
    shift: float,
    dtype: torch.dtype,  # noqa: ARG001
    output_layout: str,
    pad_output: bool,  # noqa: ARG001
    **window: Any,
) -> Batch:
    """Crop, mirror, normalise and transpose frames in one go, by default every frame alike.

    out = scale * (in - mean) / std + shift. Integer outputs are rounded and clamped. The window
    is that of `fn.crop`.
    """
    windows = crop_windows(frames.spec, window)
    out = context.empty()
    view = out.each(lambda v: v.movedim(-3, -1)) if output_layout.endswith("CHW") else out
    normals = list(zip(mean, std, strict=True))
    for at in parts(view) if frames.block is not None else parts(frames):
        pictures = _pictures(frames.between(at.start, at.stop), windows[at], mirror.values[at])
        place = view.part(at)
        channels = pictures.shape[-1]
        if place.shape[-1] > channels:
            place[..., channels:] = 0
        rows = (
            normals[at] if any(each != normals[at][0] for each in normals[at]) else normals[at][:1]
        )
        factor = torch.tensor(
            [[scale / value for value in _each("std", each, channels)] for _, each in rows]
        )
        means = torch.tensor([_each("mean", each, channels) for each, _ in rows])
        offset = shift - means * factor
        shape = (len(rows), *[1] * (pictures.ndim - 2), channels)
        scale_and_shift(
            pictures,
            factor.reshape(shape).to(pictures.device, non_blocking=True),
            offset.reshape(shape).to(pictures.device, non_blocking=True),
            place[..., :channels],
        )
    return out


def _pictures(
    frames: Batch, windows: Sequence[Windows], mirror: Sequence[bool | PerFrame]
) -> torch.Tensor:
    """The windows of samples, mirrored, as one tensor (N, ...); they are of one size."""
    pieces = parts(frames, alike=(windows, mirror))
    cuts = []
    for at in pieces:
        picture, side = cut(frames.part(at), windows[at.start]), mirror[at.start]
        if isinstance(side, PerFrame):
            clip = zip(picture[0], side.values, strict=True)
            picture = torch.stack([mirrored(frame, horizontal=each) for frame, each in clip])[None]
        else:
            picture = mirrored(picture, horizontal=side)
        cuts.append(picture)
    return cuts[0] if len(cuts) == 1 else torch.cat(cuts)


def _each(name: str, values: tuple[float, ...], channels: int) -> list[float]:
    if name == "std" and 0 in values:
        raise ArgumentError(f"std must not be 0, got {values}")
    if len(values) not in (1, channels):
        raise ArgumentError(
            f"{name} must have 1 value or one for each of {channels} channels, got {values}"
        )
    return list(values) * (channels if len(values) == 1 else 1)
