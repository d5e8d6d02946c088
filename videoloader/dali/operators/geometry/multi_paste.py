"""`fn.multi_paste`: regions of several frames on one canvas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.arguments import DTYPE, INTS, Argument, Kind, PerFrame, PerSample
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.geometry.paste_on_gpu import Region, paste_on_gpu
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, ArgumentTypeError

_NAME = "multi_paste"
_RELATIVE = ("in_anchors", "shapes", "out_anchors")

Pair = tuple[int, int]
Shape = Sequence[int]
Part = tuple[int, Pair, Pair, Pair]
"""A frame by its number, where the region begins in it, its size, where it begins on the canvas."""


def _pairs(value: Any) -> tuple[tuple[float, float], ...]:
    array = np.asarray(value.cpu() if isinstance(value, torch.Tensor) else value)
    if array.ndim != 2 or array.shape[1] != 2:
        raise TypeError
    return tuple((float(first), float(second)) for first, second in array.tolist())


def _pixels(value: Any) -> tuple[tuple[int, int], ...]:
    pairs = _pairs(value)
    if any(not number.is_integer() for pair in pairs for number in pair):
        raise TypeError
    return tuple((int(first), int(second)) for first, second in pairs)


def _parts(value: Any) -> tuple[tuple[float, float], ...]:
    pairs = _pairs(value)
    if any(not 0 <= number <= 1 for pair in pairs for number in pair):
        raise ValueError
    return pairs


_PIXELS = Kind("(height, width) in pixels for each region", _pixels, rank=2)
_PARTS = Kind("(height, width) from 0 to 1 for each region", _parts, rank=2)


def _place(name: str, doc: str) -> tuple[Argument, Argument]:
    return (
        Argument(name, _PIXELS, None, doc, per_sample=True, per_frame=True),
        Argument(
            f"{name}_rel",
            _PARTS,
            None,
            f"{doc}, in parts of the sides",
            per_sample=True,
            per_frame=True,
        ),
    )


def _sources(inputs: Sequence[Spec], in_ids: PerSample, position: int) -> list[tuple[int, int]]:
    """The pasted frames of a sample, each by the number of an input and of a sample of it."""
    chosen = in_ids[position]
    if chosen is None:
        return [(number, position) for number in range(len(inputs))]
    if len(inputs) > 1:
        raise ArgumentError(f"fn.{_NAME}: in_ids are for one input, got {len(inputs)}")
    for number in chosen:
        if not 0 <= number < len(inputs[0]):
            raise ArgumentError(
                f"fn.{_NAME}: in_ids has {number}, the batch has samples 0 to {len(inputs[0]) - 1}"
            )
    return [(0, number) for number in chosen]


def _origins(infos: Sequence[Sequence[str]], arguments: Mapping[str, Any]) -> Sequence[str]:
    """The specs of the pasted frames, one after the other."""
    count = max(map(len, infos))
    known = [info or [""] * count for info in infos]
    joined = []
    for position, chosen in enumerate(arguments["in_ids"]):
        own = (
            [info[position] for info in known] if chosen is None else [known[0][n] for n in chosen]
        )
        joined.append(";".join(filter(None, own)))
    return joined


def _canvas(inputs: Sequence[Spec], size: Sequence[int] | None) -> Pair:
    if size is not None:
        if len(size) < 2 or min(size) < 0:
            raise ArgumentError(f"fn.{_NAME}: output_size is (height, width), got {tuple(size)}")
        return size[0], size[1]
    sizes = {shape[-3:-1] for spec in inputs for shape in spec.shapes}
    if len(sizes) != 1:
        raise ArgumentError(
            f"fn.{_NAME}: frames of several sizes need output_size: {sorted(sizes)}"
        )
    ((height, width),) = sizes
    return height, width


class _Pasting(NamedTuple):
    """Plan of `multi_paste`, for each sample.

    Attributes:
        sources: the pasted frames, each by the number of an input and of a sample of it.
        places: the arguments that say where regions lie.
    """

    sources: list[list[tuple[int, int]]]
    places: list[dict[str, Any]]


def _infer(
    context: Context,
    *inputs: Spec,
    in_ids: PerSample,
    output_size: PerSample,
    dtype: torch.dtype | None,
    **places: PerSample,
) -> Planned:
    if len({spec.dtype for spec in inputs if len(spec)}) > 1:
        raise ArgumentTypeError(
            f"fn.{_NAME}: inputs have one element type, got {[spec.dtype for spec in inputs]}"
        )
    shapes, layout, chosen = [], inputs[0].layout, []
    for position in range(context.count):
        sources = _sources(inputs, in_ids, position)
        chosen.append(sources)
        own = [inputs[number].shapes[at] for number, at in sources]
        own = own or [inputs[0].shapes[position]]  # nothing to paste: an empty canvas
        if len({shape[-1] for shape in own}) > 1:
            raise ArgumentError(f"fn.{_NAME}: frames have different channels: {own}")
        lengths = {shape[0] for shape in own if len(shape) > 3}
        if len(lengths) > 1:
            raise ArgumentError(f"fn.{_NAME}: clips have different numbers of frames: {own}")
        shapes.append((*lengths, *_canvas(inputs, output_size[position]), own[0][-1]))
        layout = "FHWC" if lengths else layout
    dtype = dtype or inputs[0].dtype
    out = replace(inputs[0], shapes=tuple(shapes), dtype=dtype, layout=layout)
    each = [
        {name: value[position] for name, value in places.items()}
        for position in range(context.count)
    ]
    return Planned((out,), _Pasting(chosen, each))


def _by_frame(own: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Arguments of a sample: one mapping for all its frames, or one for each of them."""
    count = max((len(value) for value in own.values() if isinstance(value, PerFrame)), default=0)
    if not count:
        return [own]
    return [
        {k: v.values[at] if isinstance(v, PerFrame) else v for k, v in own.items()}
        for at in range(count)
    ]


def _on_gpu(context: Context, *inputs: Batch, plan: _Pasting) -> Any:
    specs = [batch.spec for batch in inputs]
    regions = []
    each = zip(context.outputs[0].shapes, *plan, strict=True)
    for position, (canvas, sources, places) in enumerate(each):
        shapes = [specs[number].shapes[at] for number, at in sources]
        own = _by_frame(places)
        if len(own) > 1 and len(own) != canvas[0]:
            return NotImplemented
        regions.append(
            [
                [
                    Region(*sources[number], frame, start, size, place)
                    for number, start, size, place in _regions(shapes, canvas, given, position)
                ]
                for frame, given in enumerate(own)
            ]
        )
    return paste_on_gpu(context, inputs, regions)


@declare(
    _NAME,
    inputs=(Input("frames", FRAMES, is_repeated=True),),
    arguments=(
        Argument(
            "in_ids",
            INTS,
            None,
            "numbers of the samples of the only input to paste; by default one of each input",
            per_sample=True,
        ),
        Argument(
            "output_size",
            INTS,
            None,
            "(height, width) of the canvas; that of the frames by default",
            per_sample=True,
        ),
        *_place("in_anchors", "where regions begin in their frames"),
        *_place("shapes", "of regions; to the end of their frames by default"),
        *_place("out_anchors", "where regions begin on the canvas"),
        Argument("dtype", DTYPE, None, "element type of the output; the input's by default"),
    ),
    infer=_infer,
    exclusive=tuple((name, f"{name}_rel") for name in _RELATIVE),
    origins=_origins,
    whole_batch=lambda arguments: "in_ids" not in arguments or arguments["in_ids"] is not None,
    kernels={"cuda": _on_gpu},
)
def multi_paste(context: Context, *inputs: Batch, plan: _Pasting) -> Batch:
    """Paste regions of frames on a black canvas, one after the other.

    Regions come from one sample of every input, or with `in_ids` from any samples of the only one.
    They lie inside their frames and the canvas. An image that is pasted into a clip is in every
    frame of it.
    """
    out = context.empty()
    for position, (canvas, sources, own) in enumerate(zip(out, *plan, strict=True)):
        frames = [inputs[number][at] for number, at in sources]
        canvas.zero_()
        if not any(isinstance(value, PerFrame) for value in own.values()):
            _paste(frames, canvas, own, position)
            continue
        for at, given in enumerate(_by_frame(own)):
            pictures = [frame[at] if frame.ndim > 3 else frame for frame in frames]
            _paste(pictures, canvas[at], given, position)
    return out


def _paste(
    frames: Sequence[torch.Tensor], canvas: torch.Tensor, given: Mapping[str, Any], position: int
) -> None:
    """Copy regions of frames, or of clips, to their places on a canvas."""
    shapes = [frame.shape for frame in frames]
    for number, start, size, place in _regions(shapes, canvas.shape, given, position):
        piece = _window(frames[number], start, size)
        _window(canvas, place, size).copy_(saturate(piece, canvas.dtype))


def _window(frames: torch.Tensor, start: Pair, size: Pair) -> torch.Tensor:
    return frames[..., start[0] : start[0] + size[0], start[1] : start[1] + size[1], :]


def _regions(
    frames: Sequence[Shape], canvas: Shape, given: Mapping[str, Any], position: int
) -> list[Part]:
    """The regions to paste on a canvas; an error where they reach outside."""
    found = []
    sides = (canvas[-3], canvas[-2])
    for name, value in given.items():
        if value is not None and len(value) != len(frames):
            raise ArgumentError(
                f"fn.{_NAME}: {name} has {len(value)} regions, {len(frames)} are pasted into "
                f"sample {position}"
            )
    for number, frame in enumerate(frames):
        own = (frame[-3], frame[-2])
        start = _measure(given, "in_anchors", number, own) or (0, 0)
        rest = (own[0] - start[0], own[1] - start[1])
        size = _measure(given, "shapes", number, own, math.ceil) or rest
        place = _measure(given, "out_anchors", number, sides) or (0, 0)
        for what, begin, limit in (("frame", start, own), ("canvas", place, sides)):
            if not all(
                at >= 0 and length >= 0 and at + length <= side
                for at, length, side in zip(begin, size, limit, strict=True)
            ):
                raise ArgumentError(
                    f"fn.{_NAME}: region {number} of sample {position} begins at {begin} with size "
                    f"{size}; it must lie in the {what} of {limit}"
                )
        found.append((number, start, size, place))
    return found


def _measure(
    given: Mapping[str, Any], name: str, number: int, sides: Pair, rounded: Any = math.floor
) -> Pair | None:
    """A point or a size in pixels; None if it is not given."""
    if given[name] is not None:
        first, second = given[name][number]
        return first, second
    parts = given[f"{name}_rel"]
    if parts is None:
        return None
    values = [
        np.float32(part) * np.float32(side) for part, side in zip(parts[number], sides, strict=True)
    ]
    return rounded(values[0]), rounded(values[1])
