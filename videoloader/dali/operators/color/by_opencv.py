"""Operators that OpenCV does picture by picture: JPEG artefacts, equalisation, Bayer patterns.

`clahe` and `debayer` run on the CPU, so what is on a GPU is brought there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    BOOL,
    FLOAT,
    INT,
    INTS,
    REQUIRED,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.dali.operators.color.jpeg_on_gpu import Qualities, distort_on_gpu
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, DecodeError

Picture = NDArray[Any]


def _each_picture(frames: torch.Tensor, out: torch.Tensor, change: Callable[..., Picture]) -> None:
    """Write the result of `change` for each picture (H, W, C) of an image or a clip."""
    if not frames.numel():
        return
    pictures = frames.cpu().numpy().reshape(-1, *frames.shape[-3:])
    made = [change(number, picture) for number, picture in enumerate(pictures)]
    out.copy_(torch.from_numpy(np.stack(made)).reshape(out.shape))


def _infer_rgb(context: Context, frames: Spec, *, quality: PerSample) -> Planned:
    _check_bytes(frames, "jpeg_compression_distortion")
    for shape in frames.shapes:
        if shape[-1] != 3:
            raise ArgumentError(f"pixels have 3 channels here (RGB); got {shape[-1]}")
    plan = []
    for position, shape in enumerate(frames.shapes):
        each = quality.frames(position, shape[0] if len(shape) > 3 else 1)
        plan.append([min(max(own, 1), 100) for own in each])
    return Planned((frames,), Qualities(plan))


def _check_bytes(frames: Spec, operator: str) -> None:
    if frames.dtype != torch.uint8:
        raise ArgumentError(f"fn.{operator} takes uint8, got {frames.dtype}")


@declare(
    "jpeg_compression_distortion",
    inputs=(Input("frames", FRAMES),),
    arguments=(
        Argument(
            "quality",
            INT,
            50,
            "of the JPEG, 1 (worst) to 100; numbers outside are clamped",
            per_sample=True,
            per_frame=True,
        ),
    ),
    infer=_infer_rgb,
    kernels={"cuda": distort_on_gpu},
)
def jpeg_compression_distortion(context: Context, frames: Batch, plan: Qualities) -> Batch:
    """Give RGB pictures the artefacts of a JPEG: each is encoded (4:2:0) and decoded again."""
    import cv2

    out = context.empty()
    for sample, place, own in zip(frames, out, plan.each, strict=True):

        def distort(number: int, picture: Picture, qualities: list[int] = own) -> Picture:
            bgr = cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
            done, data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, qualities[number]])
            if not done:
                raise DecodeError(f"a picture of {picture.shape} cannot be encoded as a JPEG")
            decoded: Any = cv2.imdecode(data, cv2.IMREAD_COLOR)
            rgb: Picture = cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB)
            return rgb

        _each_picture(sample, place, distort)
    return out


def _infer_equalized(context: Context, frames: Spec) -> Spec:
    _check_bytes(frames, "equalize")
    return frames


def _equalized(values: torch.Tensor) -> torch.Tensor:
    """The values of one channel, spread so that their cumulative histogram is a line."""
    counts = torch.bincount(values.flatten().long(), minlength=256)
    reached = counts.cumsum(0)
    lowest = int(counts.nonzero()[0])
    rest = values.numel() - int(counts[lowest])
    if not rest:
        return values
    table = (reached - counts[lowest]).double() * (255 / rest)
    table = table.round_().clamp_(0, 255).to(torch.uint8)
    return table[values.long()]


def _equalize_by_opencv(context: Context, frames: Batch) -> Batch:
    import cv2

    def change(number: int, picture: Picture) -> Picture:
        return _each_channel(picture, cv2.equalizeHist)

    out = context.empty()
    for sample, place in zip(frames, out, strict=True):
        pictures, places = _with_channels(frames.layout, sample, place)
        _each_picture(pictures, places, change)
    return out


def _each_channel(picture: Picture, change: Callable[..., Any]) -> Picture:
    """Apply `change` to each channel (H, W) of a picture."""
    planes = [np.ascontiguousarray(picture[..., at]) for at in range(picture.shape[-1])]
    return np.stack([change(plane) for plane in planes], axis=-1)


def _with_channels(layout: str, *values: torch.Tensor) -> list[torch.Tensor]:
    """Pictures (..., H, W, C); a layout without channels gets one."""
    return [value if "C" in layout else value[..., None] for value in values]


@declare(
    "equalize",
    inputs=(Input("frames", (*FRAMES, "HW", "FHW")),),
    infer=_infer_equalized,
    kernels={"cpu": _equalize_by_opencv},
)
def equalize(context: Context, frames: Batch) -> Batch:
    """Equalise the histogram of each channel of each picture, uint8, as OpenCV does."""
    out = context.empty()
    for source, target in zip(frames, out, strict=True):
        sample, place = _with_channels(frames.layout, source, target)
        pictures, places = (
            each.reshape(-1, *sample.shape[-3:]) if each.is_contiguous() else each[None]
            for each in (sample.contiguous(), place)
        )
        for picture, result in zip(pictures, places, strict=True):
            for channel in range(picture.shape[-1]):
                result[..., channel] = _equalized(picture[..., channel])
    return out


def _infer_clahe(context: Context, frames: Spec, **arguments: Any) -> Spec:
    _check_bytes(frames, "clahe")
    for shape in frames.shapes:
        if shape[-1] not in (1, 3):
            raise ArgumentError(f"fn.clahe takes 1 channel or 3 (RGB), got {shape[-1]}")
    return frames


def _check_clahe(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if not arguments["clip_limit"] > 0:
        raise ArgumentError(f"fn.clahe: clip_limit is over 0, got {arguments['clip_limit']:g}")


@declare(
    "clahe",
    inputs=(Input("frames", FRAMES),),
    arguments=(
        Argument("tiles_x", INT, REQUIRED, "tiles along the width", least=1),
        Argument("tiles_y", INT, REQUIRED, "tiles along the height", least=1),
        Argument(
            "clip_limit",
            FLOAT,
            REQUIRED,
            "most pixels of a value in a tile, in parts of what each of 256 values would have",
        ),
        Argument(
            "luma_only",
            BOOL,
            default=True,
            doc="equalise the lightness (CIE L*a*b*) of RGB pictures, not each channel",
        ),
    ),
    infer=_infer_clahe,
    check=_check_clahe,
    unused=("bins",),
)
def clahe(
    context: Context,
    frames: Batch,
    *,
    tiles_x: int,
    tiles_y: int,
    clip_limit: float,
    luma_only: bool,
) -> Batch:
    """Equalise the histograms of tiles of each picture, uint8, grey or RGB, with limited contrast.

    As OpenCV does, on every device by OpenCV on the CPU: between the centres of tiles their tables
    are interpolated.
    """
    import cv2

    equalizer = cv2.createCLAHE(clip_limit, (tiles_x, tiles_y))

    def change(number: int, picture: Picture) -> Picture:
        if luma_only and picture.shape[-1] == 3:
            lab = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2LAB)
            lab[..., 0] = equalizer.apply(np.ascontiguousarray(lab[..., 0]))
            return cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)
        return _each_channel(picture, equalizer.apply)

    out = context.empty()
    for sample, place in zip(frames, out, strict=True):
        _each_picture(sample, place, change)
    return out


_PATTERNS = {(0, 0): "BG", (0, 1): "GB", (1, 0): "GR", (1, 1): "RG"}
_ALGORITHMS = {"bilinear_ocv": "", "edgeaware_ocv": "_EA", "vng_ocv": "_VNG", "gray_ocv": None}


def _infer_debayered(
    context: Context, frames: Spec, *, blue_position: PerSample, algorithm: str | None
) -> Planned:
    if frames.dtype not in (torch.uint8, torch.uint16):
        raise ArgumentError(f"fn.debayer takes uint8 and uint16, got {frames.dtype}")
    if algorithm == "vng_ocv" and frames.dtype != torch.uint8:
        raise ArgumentError("fn.debayer: vng_ocv takes uint8")
    if algorithm == "default_npp" and context.device == "cpu":
        raise ArgumentError("fn.debayer: default_npp is for the GPU; the CPU has bilinear_ocv")
    ending = _ALGORITHMS.get(algorithm or "", "")
    to = "GRAY" if ending is None else f"RGB{ending}"
    codes = [f"COLOR_Bayer{_pattern(position)}2{to}" for position in blue_position]
    channels = 1 if algorithm == "gray_ocv" else 3
    shapes = []
    for shape in frames.shapes:
        layout = frames.layout or _BAYER_LAYOUTS.get(len(shape), "")
        if layout not in ("HW", "HWC", "FHW", "FHWC"):
            raise ArgumentError(
                "fn.debayer takes layouts HW, HWC, FHW and FHWC; got "
                f"{frames.layout or 'no layout'} with shape {shape}"
            )
        has_channel = _has_channel(shape, frames.layout)
        if has_channel and shape[-1] != 1:
            raise ArgumentError(f"a Bayer pattern has one channel, got {shape[-1]}")
        sides = shape[:-1] if has_channel else shape
        if any(side % 2 for side in sides[-2:]):
            raise ArgumentError(f"fn.debayer: height and width must be even, got {sides[-2:]}")
        shapes.append((*sides, channels))
    layout = (frames.layout or "HW").removesuffix("C") + "C"
    return Planned((replace(frames, shapes=tuple(shapes), layout=layout),), codes)


_BAYER_LAYOUTS = {2: "HW", 3: "HWC", 4: "FHWC"}


def _pattern(position: Sequence[int]) -> str:
    """OpenCV's name of a pattern; one number stands for both."""
    places = tuple(position) * 2 if len(position) == 1 else tuple(position)
    if places not in _PATTERNS:
        raise ArgumentError(f"blue_position is two numbers, 0 or 1, got {tuple(position)}")
    return _PATTERNS[places]


def _has_channel(shape: tuple[int, ...], layout: str) -> bool:
    return layout.endswith("C") if layout else len(shape) > 2


@declare(
    "debayer",
    inputs=(Input("frames"),),
    arguments=(
        Argument(
            "blue_position",
            INTS,
            REQUIRED,
            "(row, column) of blue in the tile of 2 x 2 that begins at the second row and column",
            per_sample=True,
            per_frame=True,
        ),
        Argument(
            "algorithm",
            TEXT,
            None,
            "how missing colours are found; bilinear by default",
            choices=("bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv", "default_npp", None),
        ),
    ),
    infer=_infer_debayered,
    by_frames=True,
)
def debayer(context: Context, frames: Batch, plan: Sequence[str]) -> Batch:
    """Make RGB (H, W, 3) of a Bayer pattern, (H, W) or (H, W, 1), uint8 or uint16, by OpenCV."""
    import cv2

    out = context.empty()
    for sample, place, name in zip(frames, out, plan, strict=True):

        def change(number: int, picture: Picture, code: int = getattr(cv2, name)) -> Picture:
            made = cv2.demosaicing(np.ascontiguousarray(picture[..., 0]), code)
            return made.reshape(*made.shape[:2], -1)

        has_channel = _has_channel(tuple(sample.shape), frames.layout)
        _each_picture(sample if has_channel else sample[..., None], place, change)
    return out
