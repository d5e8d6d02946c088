"""Windows of frames and volumes: their positions, and their content outside the data."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import FLOAT, FLOATS, TEXT, Argument, PerFrame, PerSample
from videoloader.dali.operators.axes import for_each
from videoloader.dali.operators.context import once_for_equal
from videoloader.dali.tensors import truncate
from videoloader.dali.tensors.batch import Batch, Shape, Spec
from videoloader.errors import ArgumentError

CROPPED = (
    *("HWC", "FHWC", "CHW", "FCHW", "CFHW"),
    *("DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"),
)
"""Layouts of images, clips, volumes and sequences of volumes."""


def _length(name: str, doc: str) -> Argument:
    return Argument(name, FLOAT, None, doc + "; 0: all", per_sample=True, least=0)


def _place(name: str, doc: str) -> Argument:
    return Argument(name, FLOAT, 0.5, doc, per_sample=True, per_frame=True, least=0, most=1)


CROP_ARGUMENTS = (
    Argument(
        "crop",
        FLOATS,
        None,
        "(height, width) or (depth, height, width) of the window, in pixels",
        per_sample=True,
        least=0,
    ),
    _length("crop_d", "depth of the window, or frames of a clip"),
    _length("crop_h", "height of the window"),
    _length("crop_w", "width of the window"),
    _place("crop_pos_x", "place of the window: 0 is leftmost, 1 rightmost"),
    _place("crop_pos_y", "place of the window: 0 is topmost, 1 lowest"),
    _place("crop_pos_z", "place of the window along the depth, or the frames of a clip"),
    Argument(
        "rounding",
        TEXT,
        "round",
        "how the corner of the window becomes a whole number",
        choices=("round", "truncate"),
    ),
)
"""The window arguments that every cropping operator shares."""

BEYOND = (
    Argument(
        "out_of_bounds_policy",
        TEXT,
        "error",
        "a window that reaches outside: an error, filled there, or trimmed to the frame",
        choices=("error", "pad", "trim_to_shape"),
    ),
    Argument(
        "fill_values",
        FLOATS,
        (0.0,),
        "what `pad` fills with, for all channels or each; truncated for integer outputs",
    ),
)
"""Policies for a window that reaches outside."""

WINDOW = tuple(argument.name for argument in CROP_ARGUMENTS)
"""The names of the window arguments."""

ABSORBED = tuple(name for name in WINDOW if name not in ("crop_d", "crop_pos_z"))
"""Arguments that decoders take, which cut no frames off a clip."""


class Window(NamedTuple):
    """A box of pixels: first ones and lengths along (height, width) or (depth, height, width)."""

    start: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """A slice for each dimension; only for a window that lies inside."""
        return tuple(slice(at, at + n) for at, n in zip(self.start, self.size, strict=True))

    def is_inside(self, sides: Sequence[int]) -> bool:
        """Whether all of it lies inside."""
        last = sides[len(sides) - len(self.size) :]
        return all(
            at >= 0 and at + n <= side
            for at, n, side in zip(self.start, self.size, last, strict=True)
        )

    def clipped(self, sides: Sequence[int]) -> Window:
        """The part of it that lies inside."""
        last = sides[len(sides) - len(self.size) :]
        bounds = [
            (min(max(at, 0), side), min(max(at + n, 0), side))
            for at, n, side in zip(self.start, self.size, last, strict=True)
        ]
        return Window(
            tuple(begin for begin, _ in bounds), tuple(end - begin for begin, end in bounds)
        )


Windows = tuple[Window, ...]
"""The windows of a clip: one for all frames, or one for each."""


def check_crop(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    """`crop` excludes `crop_h` and `crop_w`, which come together."""
    if "crop" in given and {"crop_d", "crop_h", "crop_w"} & set(given):
        raise ArgumentError("give either crop or crop_h and crop_w (and crop_d), not both")
    if ("crop_h" in given) != ("crop_w" in given) or ("crop_d" in given and "crop_h" not in given):
        raise ArgumentError("crop_h and crop_w come together: give both (0 keeps the whole side)")


def anchor(position: float, room: int, rounding: str = "round") -> int:
    """First pixel of a window that can move by `room` pixels, as DALI has it.

    The product is not rounded before it is rounded half away from zero; a `position` of float32
    may be a little below the decimal number that it stands for.

    >>> anchor(0.5, 7), anchor(0.5, 7, "truncate"), anchor(1.0, 7), anchor(0.5, -5)
    (4, 3, 7, -3)
    >>> anchor(float(np.float32(0.9)), 205)
    184
    """
    place = position * room
    if rounding == "truncate":
        return int(place)
    return int(math.copysign(math.floor(abs(place) + 0.5), place))


def crop_window(
    sides: Sequence[int],
    *,
    crop: tuple[float, ...] | None = None,
    crop_d: float | None = None,
    crop_h: float | None = None,
    crop_w: float | None = None,
    crop_pos_x: float = 0.5,
    crop_pos_y: float = 0.5,
    crop_pos_z: float = 0.5,
    rounding: str = "round",
    out_of_bounds_policy: str = "error",
) -> Window:
    """The window of (height, width) or (depth, height, width).

    It is whole along a side whose size is missing or below 1. Without a depth of its own it has two
    dimensions.
    """
    if crop is None:
        wanted = [crop_d, crop_h, crop_w] if crop_d else [crop_h, crop_w]
    else:
        wanted = list(crop)
        if len(wanted) not in (2, 3):
            raise ArgumentError(
                f"crop must be (height, width) or (depth, height, width), got {crop}"
            )
    wanted = wanted[-len(sides) :]
    sides = sides[-len(wanted) :]
    size = tuple(int(want or 0) or side for want, side in zip(wanted, sides, strict=True))
    if out_of_bounds_policy == "error" and any(map(int.__gt__, size, sides)):
        raise ArgumentError(
            f"a window of {_times(size)} does not fit into a frame of {_times(sides)} "
            "(height x width); resize first or crop less, or pass out_of_bounds_policy"
        )
    places = (crop_pos_z, crop_pos_y, crop_pos_x)[-len(sides) :]
    each = zip(places, sides, size, strict=True)
    window = Window(tuple(anchor(at, side - n, rounding) for at, side, n in each), size)
    return window.clipped(sides) if out_of_bounds_policy == "trim_to_shape" else window


def crop_windows(frames: Spec, arguments: Mapping[str, PerSample | Any]) -> tuple[Windows, ...]:
    """The windows of each sample with channels last, by the arguments of `crop_window`."""
    shapes = frames.shapes
    each = [v for v in arguments.values() if isinstance(v, PerSample)] if len(shapes) > 1 else []
    if each and not any(value.has_frames for value in each):
        is_one = all(value.is_all(value.values[0]) for value in each)
        if is_one and not frames.is_ragged:
            window = crop_window(shapes[0][:-1][-3:], **PerSample.at(0, arguments))
            return ((window,),) * len(shapes)
        windows = _windows_at_once(shapes, arguments, 1 if is_one else len(shapes))
        if windows is not None:
            return windows
    found = []
    for position, shape in enumerate(shapes):
        own = PerSample.at(position, arguments)
        lengths = {len(value) for value in own.values() if isinstance(value, PerFrame)}
        several = []
        for frame in range(max(lengths)) if lengths else (0,):
            values = {k: v.values[frame] if isinstance(v, PerFrame) else v for k, v in own.items()}
            several.append(crop_window(shape[:-1][-3:], **values))
        _check_alike(several, shape)
        found.append(tuple(several))
    return tuple(found)


def _windows_at_once(
    shapes: Sequence[Shape], given: Mapping[str, PerSample | Any], count: int
) -> tuple[Windows, ...] | None:
    """`crop_window` of all samples, one window each, of the arguments of the first `count`.

    None unless all windows have two dimensions and fit, if they have to.
    """
    values = {
        name: value.values[:count] if isinstance(value, PerSample) else (value,) * count
        for name, value in given.items()
    }
    if any(values["crop_d"]) or any(crop is not None and len(crop) != 2 for crop in values["crop"]):
        return None
    lengths = zip(values["crop_h"], values["crop_w"], strict=True)
    pairs = zip(values["crop"], lengths, strict=True)
    wanted = np.array([[int(n or 0) for n in crop or own] for crop, own in pairs])
    sides = np.array([shape[-3:-1] for shape in shapes])
    size = np.where(wanted == 0, sides, wanted)
    policy = values["out_of_bounds_policy"][0]
    room = sides - size
    if policy == "error" and (room < 0).any():
        return None
    places = np.array([values["crop_pos_y"], values["crop_pos_x"]]).T
    start = _anchors(places, room, values["rounding"][0])
    if policy == "trim_to_shape":
        stop = (start + size).clip(0, sides)
        start = start.clip(0, sides)
        size = stop - start
    pairs = zip(start.tolist(), size.tolist(), strict=True)
    return tuple([(Window(tuple(at), tuple(lengths)),) for at, lengths in pairs])


def _anchors(
    places: NDArray[np.float64], room: NDArray[np.int64], rounding: str
) -> NDArray[np.int64]:
    """`anchor` of arrays."""
    place = places * room
    if rounding != "truncate":
        place = np.copysign(np.floor(np.abs(place) + 0.5), place)
    return place.astype(np.int64)


def _check_alike(windows: Sequence[Window], shape: Sequence[int]) -> None:
    if len(windows) > 1 and (
        len({window.size for window in windows}) > 1 or len(windows[0].size) > len(shape) - 2
    ):
        raise ArgumentError("the windows of the frames of a clip must be of one size, two-sided")


def window_shapes(frames: Sequence[Shape], windows: Sequence[Windows]) -> list[Shape]:
    """Shapes of the windows of each sample, channels last."""

    def shape_of(shape: Shape, size: tuple[int, ...]) -> Shape:
        return (*shape[: -1 - len(size)], *size, shape[-1])

    return once_for_equal(shape_of, frames, [own[0].size for own in windows])


def cut(
    pictures: torch.Tensor, windows: Windows, fill: Sequence[float] | None = None
) -> torch.Tensor:
    """The windows of pictures (..., H, W, C), or of one clip where each frame has its own.

    Args:
        pictures: with the batch in front.
        windows: one for all, or one for each frame of the only clip.
        fill: for each channel or all, what lies outside; None if nothing does. It is the value
            in the type of `pictures`.
    """
    if len(windows) > 1:
        (clip,) = pictures
        each = zip(clip, windows, strict=True)
        return torch.stack([cut(frame, (window,), fill) for frame, window in each])[None]
    (window,) = windows
    sides = pictures.shape[-1 - len(window.size) : -1]
    inside = window.clipped(sides)
    part = pictures[_index(inside.slices)]
    if inside == window or fill is None:
        return part
    shape = (*pictures.shape[: -1 - len(window.size)], *window.size, pictures.shape[-1])
    whole = filled(pictures, shape, fill)
    begin = [max(-at, 0) for at in window.start]
    place = tuple(slice(at, at + n) for at, n in zip(begin, inside.size, strict=True))
    if all(inside.size):
        whole[_index(place)] = part
    return whole


def is_one_view(frames: Batch, windows: Sequence[Windows]) -> bool:
    """Whether the windows of a block are a part of it, the same one of every sample."""
    if frames.block is None or not windows or len(windows[0]) > 1:
        return False
    shape = frames.block.shape
    return windows[0][0].is_inside(shape[1:-1]) and windows.count(windows[0]) == len(windows)


def _index(slices: Sequence[slice]) -> tuple[Any, ...]:
    """The index of a part of pictures (..., H, W, C)."""
    return (..., *slices, slice(None))


def filled(like: torch.Tensor, shape: Sequence[int], fill: Sequence[float]) -> torch.Tensor:
    """A tensor of one value a channel, in the type and on the device of another."""
    values = for_each("fill_values", fill, shape[-1], "channels")
    row = truncate(torch.tensor(values, dtype=torch.float64), like.dtype)
    return row.to(like.device).expand(tuple(shape)).clone()


def _times(sides: Sequence[int]) -> str:
    return " x ".join(map(str, sides))
