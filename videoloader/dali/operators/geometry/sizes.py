"""The size that a picture is resized to, and the part of it that becomes that: arithmetic only."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from videoloader.dali.operators.arguments import (
    BOOL,
    DTYPE,
    FLOAT,
    FLOATS,
    INTERP,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.dali.operators.axes import for_each
from videoloader.dali.operators.context import once_for_equal
from videoloader.dali.operators.geometry.resampling import Axis
from videoloader.dali.tensors.batch import Spec
from videoloader.dali.types import InterpType
from videoloader.errors import ArgumentError

T = TypeVar("T")

MODES = ("default", "stretch", "not_larger", "not_smaller")


def _side(name: str, doc: str) -> Argument:
    return Argument(name, FLOAT, None, doc + "; 0: not given", per_sample=True)


def _filter(name: str, doc: str, default: InterpType | None = None) -> Argument:
    return Argument(name, INTERP, default, doc, per_sample=True)


FILTER_ARGUMENTS = (
    _filter("interp_type", "how a pixel is computed", InterpType.INTERP_LINEAR),
    _filter("mag_filter", "the same where a side grows; `interp_type` by default"),
    _filter("min_filter", "the same where a side shrinks; `interp_type` by default"),
    Argument("antialias", BOOL, default=True, doc="widen the filter when shrinking"),
    Argument("dtype", DTYPE, None, "element type of the output; the input's by default"),
)
"""How the pixels of another size are computed."""

MODE = Argument(
    "mode",
    TEXT,
    "default",
    "a missing side: `default` keeps the aspect ratio, `stretch` keeps that side; "
    "`not_larger` and `not_smaller` keep the aspect ratio and take the sizes as bounds",
    choices=MODES,
)
FITTING = (
    Argument(
        "subpixel_scale",
        BOOL,
        default=True,
        doc="a side that is rounded keeps its scale, and shows a little more or less; "
        "False: the whole picture is fitted to the rounded size",
    ),
    Argument(
        "roi_start",
        FLOATS,
        None,
        "corner of the part of the input that becomes the output",
        per_sample=True,
    ),
    Argument("roi_end", FLOATS, None, "its opposite corner; before it: mirrored", per_sample=True),
    Argument("roi_relative", BOOL, default=False, doc="these corners are parts of the sides"),
)
"""Which part of the input becomes the output."""

SIZE_ARGUMENTS = (
    _side("resize_x", "width of the output"),
    _side("resize_y", "height of the output"),
    _side("resize_z", "depth of the output, of volumes"),
    Argument(
        "size",
        FLOATS,
        None,
        "(height, width), (depth, height, width), or one number for all; negative: mirrored",
        per_sample=True,
    ),
    _side("resize_shorter", "length of the shorter side; keeps the aspect ratio"),
    _side("resize_longer", "length of the longer side; keeps the aspect ratio"),
    MODE,
    Argument("max_size", FLOATS, None, "bound of the output: one number or (height, width)"),
    *FITTING,
)

RESIZE_ARGUMENTS = (*SIZE_ARGUMENTS, *FILTER_ARGUMENTS)
"""All that says how frames are resized."""

_ROUNDINGS: Mapping[str, Callable[[float], int]] = {
    "round": lambda length: math.floor(length + 0.5),
    "ceil": math.ceil,
    "truncate": math.floor,
}

_LEAST_PART = 1e-3  # pixels of the input; an empty region is widened to this
_LEAST = 0.1  # pixels; a side that should be shorter, and becomes 1, shows what this one would

SIDES = ("resize_x", "resize_y", "resize_z", "size", "resize_shorter", "resize_longer")
"""The arguments that say what size is wanted."""


def check_resize(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    """At most one way to say the size, and a mode only where it has a meaning."""
    ways = [
        {"resize_x", "resize_y", "resize_z"},
        {"size"},
        {"resize_shorter"},
        {"resize_longer"},
    ]
    used = [sorted(way & set(given)) for way in ways if way & set(given)]
    if len(used) > 1:
        names = " and ".join(" with ".join(way) for way in used)
        raise ArgumentError(f"fn.resize: {names} exclude each other")
    if used and used[0][0] in ("resize_shorter", "resize_longer") and "mode" in given:
        raise ArgumentError(f"fn.resize: mode has no meaning beside {used[0][0]}")
    if ("roi_start" in given) != ("roi_end" in given):
        raise ArgumentError("fn.resize: roi_start and roi_end come together")


def output_size(height: int, width: int, **wanted: Any) -> tuple[int, int]:
    """Height and width of the output, each rounded half up, at least 1.

    >>> output_size(360, 640, resize_shorter=256)
    (256, 455)
    >>> output_size(600, 1200, size=(800, 800), mode="not_smaller", max_size=(1400,))
    (700, 1400)
    """
    rows, columns = resize_axes((height, width), **wanted)
    return rows.size, columns.size


def resize_axes(
    sides: Sequence[int],
    *,
    size: tuple[float, ...] | None = None,
    resize_x: float | None = None,
    resize_y: float | None = None,
    resize_z: float | None = None,
    resize_shorter: float | None = None,
    resize_longer: float | None = None,
    mode: str = "default",
    max_size: tuple[float, ...] | None = None,
    subpixel_scale: bool = True,
    roi_start: tuple[float, ...] | None = None,
    roi_end: tuple[float, ...] | None = None,
    roi_relative: bool = False,
    interp_type: InterpType = InterpType.INTERP_LINEAR,
    mag_filter: InterpType | None = None,
    min_filter: InterpType | None = None,
    antialias: bool = True,
    alignment: tuple[float, ...] = (0.5,),
    size_rounding: str = "round",
) -> tuple[Axis, ...]:
    """Resizing of (height, width) or (depth, height, width); or of any sides, by `size`.

    With `subpixel_scale` the point at `alignment` of each part of the input keeps its place.
    """
    count = len(sides)
    parts = _parts(sides, roi_start, roi_end, relative=roi_relative)
    lengths = [abs(float(np.float32(end - start))) for start, end in parts]
    if resize_shorter:
        wanted, mode = [resize_shorter] * count, "not_smaller"
    elif resize_longer:
        wanted, mode = [resize_longer] * count, "not_larger"
    elif size is not None:
        wanted = list(for_each("size", size, count))
    else:
        wanted = [value or 0.0 for value in (resize_z, resize_y, resize_x)][-count:]
    limits = for_each("max_size", max_size or (0.0,), count)
    bounds = [limit if limit > 0 else math.inf for limit in limits]
    exact = _exact(wanted, lengths, bounds, mode)
    axes = []
    places = for_each("alignment", alignment, count)
    sides_of = zip(parts, lengths, exact, wanted, places, strict=True)
    for (start, end), length, want, signed, place in sides_of:
        rounded = max(1, _ROUNDINGS[size_rounding](want)) if length else 0  # nothing stays nothing
        if subpixel_scale and want > 0:
            shown = (end - start) * rounded / max(want, _LEAST)
            fixed = start + (end - start) * place
            start, end = fixed - shown * place, fixed + shown * (1 - place)
        if signed < 0:
            start, end = end, start
        chosen = min_filter if rounded < length else mag_filter
        axes.append(Axis(start, end, rounded, chosen or interp_type, antialias))
    return tuple(axes)


def part_axis(
    start: int,
    length: int,
    size: int,
    *,
    interp_type: InterpType,
    mag_filter: InterpType | None,
    min_filter: InterpType | None,
    antialias: bool,
) -> Axis:
    """`resize_axes` of one side, for whole pixels that become a whole number of pixels."""
    chosen = min_filter if size < length else mag_filter
    return Axis(float(start), float(start + length), size, chosen or interp_type, antialias)


def sample_axes(frames: Spec, arguments: Mapping[str, Any]) -> list[tuple[Axis, ...]]:
    """The axes of each sample with channels last, with the arguments of `resize_axes`."""
    first = -3 - frames.layout.count("D")
    return for_samples(resize_axes, [shape[first:-1] for shape in frames.shapes], arguments)


def for_samples(
    function: Callable[..., T], sides: Sequence[tuple[int, ...]], arguments: Mapping[str, Any]
) -> list[T]:
    """A pure function of the sides of each sample and of its arguments, called once for equal ones.

    Equal samples get one object.
    """
    constant: dict[str, Any] = {}
    varying: dict[str, tuple[Any, ...]] = {}
    for name, value in arguments.items():
        if not isinstance(value, PerSample):
            constant[name] = value
        elif value.is_all(value.values[0] if value.values else None):
            constant[name] = value.values[0] if value.values else None
        else:
            varying[name] = value.values

    def of_one(own: tuple[int, ...], *values: Any) -> T:
        return function(own, **constant, **dict(zip(varying, values, strict=True)))

    return once_for_equal(of_one, sides, *varying.values())


def _parts(
    sides: Sequence[int],
    start: tuple[float, ...] | None,
    end: tuple[float, ...] | None,
    *,
    relative: bool,
) -> list[tuple[float, float]]:
    """First and last edge of the part that becomes the output, along each side."""
    if start is None or end is None:
        return [(0.0, float(side)) for side in sides]
    for name, corner in (("roi_start", start), ("roi_end", end)):
        if len(corner) != len(sides):
            raise ArgumentError(f"{name} must have {len(sides)} numbers, got {corner}")
    units = sides if relative else [1] * len(sides)
    edges = np.array([start, end], np.float32) * np.array(units, np.float32)  # as in DALI
    return [
        _part(low, high) if side else (0.0, 0.0)
        for side, low, high in zip(sides, *edges.tolist(), strict=True)
    ]


def _part(low: float, high: float) -> tuple[float, float]:
    """The edges of a part; one that is empty is widened a little around its place, as in DALI."""
    if abs(high - low) >= _LEAST_PART:
        return low, high
    half = _LEAST_PART / 2 if low <= high else -_LEAST_PART / 2
    return low - half, high + half


def _exact(
    wanted: Sequence[float], lengths: Sequence[float], bounds: Sequence[float], mode: str
) -> list[float]:
    """The lengths of the output before they are rounded.

    Single precision where DALI has it: lengths, and the scale that keeps the aspect ratio. Which
    pixel is nearest may depend on the last bit.
    """
    single = np.float32
    sides = [abs(single(want)) for want in wanted]
    inputs = [single(length) for length in lengths]
    each = list(zip(sides, inputs, strict=True))
    scales = [want / side for want, side in each if want and side]
    if mode in ("default", "stretch"):
        missing = 1.0
        if mode == "default" and scales:
            missing = math.prod(map(float, scales)) ** (1 / len(scales))
        found = [float(want or single(float(side) * missing)) for want, side in each]
        return [min(length, bound) for length, bound in zip(found, bounds, strict=True)]
    scale = float((min(scales) if mode == "not_larger" else max(scales)) if scales else 1.0)
    fits = [bound / length for bound, length in zip(bounds, lengths, strict=True) if length]
    scale = min([scale, *fits])
    return [  # a side that sets the scale keeps the length that was asked for
        float(want if side and want and want / side == scale else single(float(side) * scale))
        for want, side in each
    ]


def whole_size(size: Sequence[float], count: int, operator: str, rounding: str) -> tuple[int, ...]:
    """`size` in whole pixels; an error if it is not `count` numbers of at least 1.

    `rounding` is a key of `_ROUNDINGS`; in DALI it depends on the operator.
    """
    sides = tuple(map(_ROUNDINGS[rounding], size))
    if len(sides) != count or min(sides) < 1:
        raise ArgumentError(
            f"fn.{operator}: size must be {count} numbers, at least 1, got {tuple(size)}"
        )
    return sides
