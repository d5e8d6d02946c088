"""`fn.flip`: frames and volumes mirrored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from videoloader.dali.operators.arguments import BOOL, Argument, PerFrame, PerSample
from videoloader.dali.operators.axes import storable
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.operators.geometry.crop_windows import Window
from videoloader.dali.operators.geometry.crop_windows_on_gpu import Moves, moves_of, windows_on_gpu
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec, parts
from videoloader.machinery.system.forking import cached_property

_WHOLE = Window((0, 0), (0, 0))  # begins where frames begin; the output has their size
_LAYOUTS = ("HWC", "FHWC", "CHW", "FCHW", "DHWC", "FDHWC", "CDHW", "FCDHW")


def _absorb_flip(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    if arguments["vertical"] or arguments["depthwise"]:
        return None
    return form.flipped() if arguments["horizontal"] else form


def _side(name: str, doc: str, *, default: bool) -> Argument:
    return Argument(name, BOOL, default=default, doc=doc, per_sample=True, per_frame=True)


@dataclass(frozen=True, eq=False)
class _Flipping:
    """Plan of `flip`: whether columns, rows and, of volumes, depths of each sample are swapped."""

    sides: tuple[PerSample, ...]

    @cached_property
    def is_nothing(self) -> bool:
        """Whether nothing is swapped."""
        return all(side.is_all(value=False) for side in self.sides)

    @cached_property
    def ways(self) -> list[tuple[Any, ...]]:
        """The mirrored axes of each sample."""
        return list(zip(*self.sides, strict=True))

    @cached_property
    def moves(self) -> Moves | None:
        """The same for the kernel."""
        return moves_of(((_WHOLE,),) * len(self.sides[0]), *self.sides)


def _infer(
    context: Context,
    frames: Spec,
    *,
    horizontal: PerSample,
    vertical: PerSample,
    depthwise: PerSample,
) -> Planned:
    sides = (horizontal, vertical, depthwise)[: 3 if "D" in frames.layout else 2]
    return Planned((frames,), _Flipping(sides))


def _flip_on_gpu(context: Context, frames: Batch, plan: _Flipping) -> Any:
    """One launch, unless there is nothing to do."""
    if plan.is_nothing:
        return NotImplemented
    return windows_on_gpu(frames, context.empty(), plan.moves, ((0.0,),))


@declare(
    "flip",
    inputs=(Input("frames", _LAYOUTS),),
    arguments=(
        _side("horizontal", "swap left and right", default=True),
        _side("vertical", "swap top and bottom", default=False),
        _side("depthwise", "swap front and back; of volumes only", default=False),
    ),
    infer=_infer,
    kernels={"cuda": _flip_on_gpu},
    absorb=_absorb_flip,
    absorbed_per_sample=("horizontal",),
)
def flip(context: Context, frames: Batch, plan: _Flipping) -> Batch:
    """Mirror frames, by default every frame of a clip alike."""
    if plan.is_nothing:
        return frames
    ways = plan.ways
    pieces = parts(frames, alike=(ways,))
    if len(pieces) == 1 and not any(isinstance(way, PerFrame) for way in ways[0]):
        return frames.each(lambda value: _mirrored(value, ways[0]))
    out = context.empty()
    for position, (sample, result) in enumerate(zip(frames, out, strict=True)):
        if not any(isinstance(way, PerFrame) for way in ways[position]):
            result.copy_(_mirrored(sample, ways[position]))
            continue
        each = (way.frames(position, len(sample)) for way in plan.sides)
        for frame, place, *way in zip(sample, result, *each, strict=True):
            place.copy_(_mirrored(frame, way))
    return out


def _mirrored(frames: torch.Tensor, way: Sequence[bool]) -> torch.Tensor:
    horizontal, vertical, *depthwise = way
    return mirrored(frames, horizontal=horizontal, vertical=vertical, depthwise=any(depthwise))


def mirrored(
    frames: torch.Tensor, *, horizontal: bool, vertical: bool = False, depthwise: bool = False
) -> torch.Tensor:
    """Frames (..., D, H, W, C) mirrored; themselves if no side is wanted."""
    wanted = ((-2, horizontal), (-3, vertical), (-4, depthwise))
    sides = [side for side, is_wanted in wanted if is_wanted]
    if not sides:
        return frames
    values = storable(frames)
    return values.flip(sides).view(frames.dtype) if values is not frames else frames.flip(sides)
