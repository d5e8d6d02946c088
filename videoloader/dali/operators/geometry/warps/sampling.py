"""Values of pictures and volumes at places between their pixels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
import torch.nn.functional as F

from videoloader.dali.operators.axes import for_each, storable
from videoloader.dali.tensors import saturate
from videoloader.dali.types import InterpType

_MOST_PIXELS = 1 << 22  # that are sampled at a time on the CPU
_MARGIN = 2  # pixels around a place that cubic interpolation reads


def _clamped(index: torch.Tensor, length: int) -> torch.Tensor:
    return index.clamp(0, length - 1)


def _reflected(index: torch.Tensor, length: int) -> torch.Tensor:
    phase = index % (2 * length)
    return torch.minimum(phase, 2 * length - 1 - phase)


def _reflected_101(index: torch.Tensor, length: int) -> torch.Tensor:
    period = max(2 * (length - 1), 1)
    phase = index % period
    return torch.minimum(phase, period - phase)


BORDERS: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "constant": _clamped,
    "replicate": _clamped,
    "reflect": _reflected,
    "reflect_101": _reflected_101,
    "wrap": lambda index, length: index % length,
}
"""Border modes: the pixel used in place of one outside the picture; a constant has none."""

_OPENCV_BORDERS = {
    "constant": "BORDER_CONSTANT",
    "replicate": "BORDER_REPLICATE",
    "clamp": "BORDER_REPLICATE",
    "reflect": "BORDER_REFLECT",
    "reflect_1001": "BORDER_REFLECT",
    "reflect_101": "BORDER_REFLECT_101",
    "wrap": "BORDER_WRAP",
}


def opencv_border(name: str) -> int:
    """OpenCV's constant for one of `BORDERS`, or for a border of `correlate`."""
    import cv2

    return int(getattr(cv2, _OPENCV_BORDERS[name]))


def chunks(count: int, sides: Sequence[int], device: torch.device) -> Iterator[slice]:
    """Parts of `count` outputs of some sides that are worth sampling at once."""
    step = max(count, 1)
    if device.type == "cpu":
        step = max(1, _MOST_PIXELS // max(math.prod(sides), 1))
    return (slice(at, at + step) for at in range(0, count, step))


def pixel_places(sides: Sequence[int], device: torch.device) -> torch.Tensor:
    """The centres of pixels, (*sides, n) with x first, in float32; pixel i reaches to i + 1."""
    ranges = [torch.arange(side, device=device) + 0.5 for side in sides]
    return torch.stack(torch.meshgrid(*ranges, indexing="ij")[::-1], dim=-1)


def sample_at(
    pictures: torch.Tensor,
    places: torch.Tensor,
    interp_type: InterpType,
    border: str = "replicate",
    fill: Sequence[float] = (0.0,),
) -> torch.Tensor:
    """Pictures (P, *sides, C) at places (P, *out, n), x first: (P, *out, C).

    Pixel i reaches from i to i + 1 along a dimension. Integers are float32 between pixels, not
    rounded; the nearest pixel keeps its type, or one that holds the same numbers.

    Args:
        pictures: or volumes.
        places: of each picture.
        interp_type: INTERP_NN, INTERP_LINEAR or, of pictures, INTERP_CUBIC.
        border: one of `BORDERS`.
        fill: for all channels or each, what a constant border is.
    """
    channels = pictures.shape[-1]
    for_each("fill_value", fill, channels, "channels")  # fails for any other number
    if interp_type is InterpType.INTERP_NN:
        return _nearest(pictures, places, border, fill)
    planes = pictures.movedim(-1, 1).float()
    sides = pictures.shape[1:-1]
    if border not in ("constant", "replicate"):
        for dim, side in enumerate(sides, start=2):
            around = torch.arange(-_MARGIN, side + _MARGIN, device=planes.device)
            planes = planes.index_select(dim, BORDERS[border](around, side))
        each = zip(places.unbind(-1), sides[::-1], strict=True)
        places = torch.stack([_FOLDS[border](at, side) + _MARGIN for at, side in each], dim=-1)
    shift = torch.tensor(fill if border == "constant" else (0.0,), device=planes.device)
    shift = shift.reshape(-1, *[1] * len(sides))
    is_shifted = border == "constant" and any(fill)
    grid = 2 * places / places.new_tensor(planes.shape[2:][::-1]) - 1
    values = F.grid_sample(
        planes - shift if is_shifted else planes,
        grid,
        "bicubic" if interp_type is InterpType.INTERP_CUBIC else "bilinear",
        "zeros" if border == "constant" else "border",
        align_corners=False,
    )
    return (values + shift if is_shifted else values).movedim(1, -1)


def _mirrored(places: torch.Tensor, side: int) -> torch.Tensor:
    """Places in a signal that is repeated in reverse, as places in its first period."""
    phase = places.remainder(2 * side)
    return torch.minimum(phase, 2 * side - phase)


_FOLDS: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "reflect": _mirrored,
    "reflect_101": lambda places, side: _mirrored(places - 0.5, max(side - 1, 1)) + 0.5,
    "wrap": torch.remainder,
}


def _nearest(
    pictures: torch.Tensor, places: torch.Tensor, border: str, fill: Sequence[float]
) -> torch.Tensor:
    lengths = pictures.shape[1:-1]
    inside = torch.ones(places.shape[:-1], dtype=torch.bool, device=places.device)
    index = torch.zeros(places.shape[:-1], dtype=torch.int64, device=places.device)
    for place, length in zip(places.unbind(-1)[::-1], lengths, strict=True):
        whole = place.floor().long()
        inside &= (whole >= 0) & (whole < length)
        index = index * length + BORDERS[border](whole, length)
    flat = storable(pictures).reshape(len(pictures), math.prod(lengths), pictures.shape[-1])
    index = index.reshape(len(pictures), -1, 1).expand(-1, -1, flat.shape[-1])
    values = flat.gather(1, index).reshape(*places.shape[:-1], pictures.shape[-1])
    if border == "constant":
        row = saturate(torch.tensor(fill, dtype=torch.float64), pictures.dtype)
        values = torch.where(inside[..., None], values, storable(row).to(values.device))
    return values.view(pictures.dtype)
