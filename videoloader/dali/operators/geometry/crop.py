"""`fn.crop`: a window out of frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from videoloader.dali.operators.arguments import DTYPE, Argument
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.operators.deprecated import NO_IMAGE_TYPE, OUTPUT_DTYPE
from videoloader.dali.operators.geometry.crop_windows import (
    ABSORBED,
    BEYOND,
    CROP_ARGUMENTS,
    CROPPED,
    WINDOW,
    Windows,
    check_crop,
    crop_window,
    crop_windows,
    cut,
    is_one_view,
    window_shapes,
)
from videoloader.dali.operators.geometry.crop_windows_on_gpu import Moves, moves_of, windows_on_gpu
from videoloader.dali.operators.inputs import UNNAMED_VOLUMES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import truncate
from videoloader.dali.tensors.batch import Batch, Spec, parts
from videoloader.machinery.system.forking import cached_property


def absorb_crop(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    """The form of a decoder's output after `crop`."""
    if arguments.get("dtype") not in (None, torch.uint8):
        return None
    if arguments.get("out_of_bounds_policy", "error") != "error":
        return None
    if arguments["crop_d"] or len(arguments["crop"] or ()) == len("DHW"):
        return None
    window = crop_window(form.size, **{name: arguments[name] for name in WINDOW})
    rows, columns = window.slices
    return form.cropped(rows, columns)


@dataclass(frozen=True, eq=False)
class _Cropping:
    """Plan of `crop`."""

    windows: tuple[Windows, ...]
    fill_values: tuple[float, ...]

    @cached_property
    def moves(self) -> Moves | None:
        """The same for the kernel."""
        return moves_of(self.windows)


def _infer_crop(
    context: Context,
    frames: Spec,
    *,
    dtype: torch.dtype | None,
    fill_values: tuple[float, ...],
    **window: Any,
) -> Planned:
    plan = _Cropping(crop_windows(frames, window), fill_values)
    shapes = tuple(window_shapes(frames.shapes, plan.windows))
    return Planned((replace(frames, shapes=shapes, dtype=dtype or frames.dtype),), plan)


def _crop_on_gpu(context: Context, frames: Batch, plan: _Cropping) -> Any:
    """A copy in one launch, unless one view shows all windows."""
    if frames.spec.dtype == context.outputs[0].dtype and is_one_view(frames, plan.windows):
        return NotImplemented
    return windows_on_gpu(frames, context.empty(), plan.moves, (plan.fill_values,))


@declare(
    "crop",
    inputs=(Input("frames", CROPPED, unnamed=UNNAMED_VOLUMES),),
    arguments=(
        *CROP_ARGUMENTS,
        *BEYOND,
        Argument("dtype", DTYPE, None, "element type of the output"),
    ),
    infer=_infer_crop,
    kernels={"cuda": _crop_on_gpu},
    check=check_crop,
    absorb=absorb_crop,
    absorbed_per_sample=ABSORBED,
    deprecated=(OUTPUT_DTYPE, NO_IMAGE_TYPE),
)
def crop(context: Context, frames: Batch, plan: _Cropping) -> Batch:
    """Cut a window out of frames, the same one out of every frame of a clip by default.

    Along each side the window begins at round(position * (side - window)), half away from zero.
    The output may share memory with the input where the window lies inside. Values for an integer
    `dtype` are truncated.
    """
    windows = plan.windows
    dtype = context.outputs[0].dtype
    pieces = []
    for at in parts(frames, alike=(windows,)):
        own = windows[at.start]
        pictures = frames.part(at)
        if dtype != pictures.dtype and len(own) == 1:  # convert what is wanted only
            inside = own[0].clipped(pictures.shape[1:-1])
            moved = tuple(a - b for a, b in zip(own[0].start, inside.start, strict=True))
            pictures = truncate(cut(pictures, (inside,)), dtype)
            own = (own[0]._replace(start=moved),)
        pieces.append(Batch(cut(truncate(pictures, dtype), own, plan.fill_values)))
    return Batch.joined(pieces)
