"""`fn.crop_mirror_normalize`: crop, mirror, normalise, cast and transpose in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    BOOL,
    DTYPE,
    FLOAT,
    FLOATS,
    TEXT,
    Argument,
    PerFrame,
    PerSample,
)
from videoloader.dali.operators.axes import for_each, storable
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.decoded import DecodedForm, element_type
from videoloader.dali.operators.deprecated import NO_IMAGE_TYPE, OUTPUT_DTYPE
from videoloader.dali.operators.general.convert import scale_and_shift
from videoloader.dali.operators.geometry.crop import absorb_crop
from videoloader.dali.operators.geometry.crop_mirror_normalize_bytes import (
    normalize_bytes,
    takes_bytes,
)
from videoloader.dali.operators.geometry.crop_windows import (
    ABSORBED,
    BEYOND,
    CROP_ARGUMENTS,
    CROPPED,
    Windows,
    check_crop,
    crop_windows,
    cut,
    filled,
    window_shapes,
)
from videoloader.dali.operators.geometry.crop_windows_on_gpu import (
    Lines,
    Moves,
    moves_of,
    windows_on_gpu,
)
from videoloader.dali.operators.geometry.flip import mirrored
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Shape, Spec, parts
from videoloader.decoding.output import is_of_unit_scale
from videoloader.errors import ArgumentError
from videoloader.machinery.system.forking import cached_property


def _absorb(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    scale, shift = arguments["scale"], arguments["shift"]
    dtype = element_type(arguments["dtype"])
    channels = form.output.channels
    mean, std = (_each(name, arguments[name], channels) for name in ("mean", "std"))
    is_plain = (scale, shift, set(mean), set(std)) == (1, 0, {0.0}, {1.0})
    if dtype is None or not scale or arguments["pad_output"]:
        return None
    if dtype == "uint8" and not is_plain:
        return None
    cropped = absorb_crop(form, {**arguments, "dtype": None})
    if cropped is None:
        return None
    # scale * (x - mean) / std + shift = (x - (mean - shift * std / scale)) / (std / scale)
    normal = (
        {}
        if is_plain
        else {
            "mean": tuple(m - shift * s / scale for m, s in zip(mean, std, strict=True)),
            "std": tuple(s / scale for s in std),
        }
    )
    if is_of_unit_scale(normal.get("mean"), normal.get("std")):
        return None  # decoders refuse these, and DALI takes them as they are
    mirrored = cropped.flipped() if arguments["mirror"] else cropped
    layout: Literal["FCHW", "FHWC"]
    match arguments["output_layout"]:
        case "CHW" | "FCHW":
            layout = "FCHW"
        case "HWC" | "FHWC":
            layout = "FHWC"
        case _:
            return None
    return mirrored.finished(dtype=dtype, layout=layout, **normal)


@dataclass(frozen=True, eq=False)
class _Normalizing:
    """Plan of `crop_mirror_normalize`.

    Attributes:
        windows: of each sample.
        mirror: whether left and right are swapped.
        normals: mean and standard deviation of each sample.
        scale, shift: behind these.
        fill_values: what lies outside.
    """

    windows: tuple[Windows, ...]
    mirror: PerSample
    normals: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    scale: float
    shift: float
    fill_values: tuple[float, ...]

    @cached_property
    def moves(self) -> Moves | None:
        """Windows and sides for the kernel."""
        return moves_of(self.windows, self.mirror)

    def lines(self, at: slice, channels: int) -> Lines:
        """Scale and shift of the values of some samples; one row where they are alike."""
        normals = self.normals[at]
        is_one = normals.count(normals[0]) == len(normals)
        return _lines(normals[:1] if is_one else normals, channels, self.scale, self.shift)


def _infer_normalized(
    context: Context,
    frames: Spec,
    *,
    dtype: torch.dtype,
    output_layout: str,
    pad_output: bool,
    mean: PerSample,
    std: PerSample,
    mirror: PerSample,
    scale: float,
    shift: float,
    fill_values: tuple[float, ...],
    **window: Any,
) -> Planned:
    windows = crop_windows(frames, window)
    layout, shapes = _shapes_of(
        frames.shapes, frames.layout, output_layout, pad_output, mean.values, std.values, windows
    )
    normals = tuple(zip(mean, std, strict=True))
    plan = _Normalizing(windows, mirror, normals, scale, shift, fill_values)
    return Planned((replace(frames, shapes=shapes, dtype=dtype, layout=layout),), plan)


def _shapes_of(
    frames: tuple[Shape, ...],
    layout: str,
    wanted: str,
    pad_output: bool,
    mean: tuple[tuple[float, ...], ...],
    std: tuple[tuple[float, ...], ...],
    windows: tuple[Windows, ...],
) -> tuple[str, tuple[Shape, ...]]:
    """Layout and shapes of the output; fails if mean or std do not fit."""
    full = _output_layout(layout, wanted)
    order = [layout.index(letter) for letter in full]

    def shape_of(window: Shape, mean: tuple[float, ...], std: tuple[float, ...]) -> Shape:
        *sides, channels = window
        _each("mean", mean, channels)
        _each("std", std, channels)
        padded = 1 << (channels - 1).bit_length() if pad_output and channels else channels
        return tuple(map([*sides, padded].__getitem__, order))

    return full, tuple(once_for_equal(shape_of, window_shapes(frames, windows), mean, std))


def _output_layout(layout: str, wanted: str) -> str:
    """The layout of the output; a clip keeps its frames first where it does not name them."""
    full = wanted if len(wanted) == len(layout) or "F" not in layout else "F" + wanted
    if sorted(full) != sorted(layout):
        raise ArgumentError(
            f"fn.crop_mirror_normalize: output_layout={wanted!r} does not fit layout {layout}"
        )
    return full


@lru_cache(maxsize=64)  # of constants: plans of batches with random windows share them
def _lines(
    normals: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...],
    channels: int,
    scale: float,
    shift: float,
) -> Lines:
    """Factor and offset of each channel, for some pairs of mean and std."""
    with np.errstate(all="ignore"):  # numbers may be infinite in float32
        factors = np.array(
            [[scale / value for value in _each("std", each, channels)] for _, each in normals],
            np.float32,
        )
        means = np.array([_each("mean", each, channels) for each, _ in normals], np.float32)
        return Lines(factors, np.float32(shift) - means * factors)


@lru_cache(maxsize=64)
def _tables(
    normals: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...],
    channels: int,
    scale: float,
    shift: float,
) -> NDArray[np.float32]:
    """Table of the normalized values of the 256 bytes in each channel (C, 256)."""
    lines = _lines(normals, channels, scale, shift)
    factor, offset = (torch.from_numpy(each.T) for each in lines)
    values = torch.empty(channels, 256)
    scale_and_shift(torch.arange(256).expand(channels, 256), factor, offset, values)
    return values.numpy()


def _on_gpu(context: Context, frames: Batch, plan: _Normalizing) -> Any:
    """One launch."""
    channels = {shape[-1] for shape in frames.spec.shapes}
    if len(channels) != 1:
        return NotImplemented
    lines = plan.lines(slice(None), channels.pop())
    fills = (plan.fill_values,)
    return windows_on_gpu(frames, context.empty(), plan.moves, fills, lines=lines)


def _by_tables(context: Context, frames: Batch, plan: _Normalizing) -> Any:
    """Frames of bytes to float32 by tables that the reference makes."""
    spec, made = frames.spec, context.outputs[0]
    if (spec.dtype, made.dtype) != (torch.uint8, torch.float32):
        return NotImplemented
    if not takes_bytes(frames.layout, spec.shapes, plan.windows, made.layout):
        return NotImplemented
    out = context.empty()
    for position, (sample, place) in enumerate(zip(frames, out, strict=True)):
        normals = plan.normals[position : position + 1]
        normalize_bytes(
            sample,
            plan.windows[position],
            plan.mirror[position],
            _tables(normals, sample.shape[-1], plan.scale, plan.shift),
            place,
            channels_first=not made.layout.endswith("C"),
        )
    return out


@declare(
    "crop_mirror_normalize",
    inputs=(Input("frames", CROPPED),),
    arguments=(
        *CROP_ARGUMENTS,
        *BEYOND,
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
            "order of the output's dimensions; a clip keeps its frames first by default",
        ),
        Argument(
            "pad_output", BOOL, default=False, doc="zero channels up to the next power of two"
        ),
    ),
    infer=_infer_normalized,
    kernels={"cpu": _by_tables, "cuda": _on_gpu},
    absorb=_absorb,
    absorbed_per_sample=(*ABSORBED, "mirror"),
    check=check_crop,
    returns_channels=False,
    deprecated=(OUTPUT_DTYPE, NO_IMAGE_TYPE),
)
def crop_mirror_normalize(context: Context, frames: Batch, plan: _Normalizing) -> Batch:
    """Crop, mirror, normalise and transpose frames in one go, by default every frame alike.

    out = scale * (in - mean) / std + shift. Integer outputs are rounded and clamped. The window
    is that of `fn.crop`; where it reaches outside, the fill values come out as they are.
    """
    out = context.empty()
    layout = context.outputs[0].layout
    order = [layout.index(letter) - len(layout) for letter in frames.layout]
    view = out.each(lambda v: v.permute(*range(v.ndim - len(order)), *order))
    for at in parts(view) if frames.block is not None else parts(frames):
        own = frames.between(at.start, at.stop)
        pictures = _pictures(own, plan.windows[at], plan.mirror.values[at])
        place = view.part(at)
        channels = pictures.shape[-1]
        if place.shape[-1] > channels:
            place[..., channels:] = 0
        place = place[..., :channels]
        lines = plan.lines(at, channels)
        factor, offset = (
            torch.from_numpy(each.reshape(-1, *[1] * (pictures.ndim - 2), channels))
            for each in lines
        )
        device = pictures.device
        scale_and_shift(
            pictures,
            factor.to(device, non_blocking=True),
            offset.to(device, non_blocking=True),
            place,
        )
    _fill_outside(frames.spec, Batch(view.samples), plan.windows, plan.mirror, plan.fill_values)
    return out


def _fill_outside(
    frames: Spec,
    outputs: Batch,
    windows: Sequence[Windows],
    mirror: PerSample,
    fill: tuple[float, ...],
) -> None:
    """Overwrite the area outside the frames with the fill value; it is not normalised."""
    for position, (shape, own) in enumerate(zip(frames.shapes, windows, strict=True)):
        if all(window.is_inside(shape[:-1]) for window in own):
            continue
        out = outputs[position]
        inside = torch.ones(shape[:-1], dtype=torch.bool, device=out.device)[..., None]
        sample = Batch(inside[None], frames.layout)
        mask = _pictures(sample, (own,), mirror.values[position : position + 1])[0]
        pixels = out[..., : shape[-1]]
        filling = storable(filled(pixels, pixels.shape, fill))
        pixels = storable(pixels)
        pixels.copy_(torch.where(mask, pixels, filling))


def _pictures(
    frames: Batch, windows: Sequence[Windows], mirror: Sequence[bool | PerFrame]
) -> torch.Tensor:
    """The windows of samples, mirrored, as one tensor (N, ...); they are of one size."""
    pieces = parts(frames, alike=(windows, mirror))
    cuts = []
    for at in pieces:
        picture, side = cut(frames.part(at), windows[at.start], (0.0,)), mirror[at.start]
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
    return list(for_each(name, values, channels, "channels"))
