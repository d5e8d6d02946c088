"""Transforms that the decoder applies: resizing and cropping."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch

from videoloader.compat.runtime_errors import TypeRuntimeError, ValueRuntimeError
from videoloader.errors import ArgumentError

__all__ = ["CenterCrop", "DecoderTransform", "RandomCrop", "Resize"]

Size: TypeAlias = tuple[int, int]
Box: TypeAlias = tuple[int, int, int, int]


class DecoderTransform(ABC):
    """A transform that is applied while decoding; `size` is the (height, width) that it gives."""

    size: Sequence[int]

    def __init__(self, size: Sequence[int]) -> None:
        if len(size) != 2:
            raise ArgumentError(
                f"{type(self).__name__} must have a (height, width) pair for the size, got {size}"
            )
        self.size = size

    @property
    def _size(self) -> Size:
        try:
            return int(self.size[0]), int(self.size[1])
        except (TypeError, ValueError) as error:
            raise TypeRuntimeError(f"{self!r}: height and width are integers") from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size!r})"

    @abstractmethod
    def _add_to(self, geometry: Geometry) -> Geometry:
        """The geometry followed by this transform."""


class Resize(DecoderTransform):
    """Resize to (height, width), bilinear with antialiasing."""

    def _add_to(self, geometry: Geometry) -> Geometry:
        return geometry.resized(self._size)


class CenterCrop(DecoderTransform):
    """Keep the (height, width) in the middle."""

    def _add_to(self, geometry: Geometry) -> Geometry:
        for name, whole, part in zip(("height", "width"), geometry.shape, self._size, strict=True):
            if part > whole:
                raise ValueRuntimeError(
                    f"{self!r}: Crop output {name} ({part}) is greater than input {name} ({whole})"
                )
        top, left = (
            round((whole - part) / 2)
            for whole, part in zip(geometry.shape, self._size, strict=True)
        )
        return geometry.cropped((top, left, *self._size))


class RandomCrop(DecoderTransform):
    """Keep (height, width) at a random position.

    The position is drawn once per `VideoDecoder`. For a seed of torch it is that of torchcodec and
    torchvision.
    """

    def _add_to(self, geometry: Geometry) -> Geometry:
        (height, width), shape = self._size, geometry.shape
        if height > shape[0] or width > shape[1]:
            raise ArgumentError(
                f"{self!r}: Input dimensions {shape} are smaller than the crop size "
                f"{(height, width)}."
            )
        top, left = (
            int(torch.randint(0, whole - part + 1, size=()).item())
            for whole, part in zip(geometry.shape, self._size, strict=True)
        )
        return geometry.cropped((top, left, *self._size))


@dataclass(frozen=True, slots=True)
class Geometry:
    """Transforms, split into a part for the decoding pass and a part to apply afterwards.

    Attributes:
        shape: resulting (height, width).
        crop: (top, left, height, width) before the resizing; None for all.
        size: (height, width) to resize to; None for no resizing.
        window: (top, left, height, width) kept of the resized frame; None for all.
        rest: transforms from a second resizing on, of frames (F, H, W, C).
    """

    shape: Size
    crop: Box | None = None
    size: Size | None = None
    window: Box | None = None
    rest: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = field(default=())

    def cropped(self, box: Box) -> Geometry:
        """The geometry followed by a crop."""
        shape = box[2:]
        if self.rest:
            return replace(self, shape=shape, rest=(*self.rest, _Crop(box)))
        if self.size is None:
            return replace(self, shape=shape, crop=_inside(self.crop, box))
        return replace(self, shape=shape, window=_inside(self.window, box))

    def resized(self, size: Size) -> Geometry:
        """The geometry followed by a resizing."""
        if self.size is None and not self.rest:
            return replace(self, shape=size, size=size)
        return replace(self, shape=size, rest=(*self.rest, _Resize(size)))

    def finish(self, frames: torch.Tensor) -> torch.Tensor:
        """Apply `rest` to decoded frames (F, H, W, C)."""
        for step in self.rest:
            frames = step(frames)
        return frames


def geometry_of(transforms: Sequence[Any] | None, shape: Size) -> Geometry:
    """The geometry of transforms of frames; draws random positions.

    Args:
        transforms: ours, or torchvision's v2 of the same names.
        shape: (height, width) of the frames.

    Raises:
        ArgumentError: another transform, or one that does not fit the frames.
    """
    geometry = Geometry(shape)
    for transform in transforms or ():
        geometry = _as_ours(transform)._add_to(geometry)
    return geometry


@dataclass(frozen=True, slots=True)
class _Crop:
    box: Box

    def __call__(self, frames: torch.Tensor) -> torch.Tensor:
        top, left, height, width = self.box
        return frames[:, top : top + height, left : left + width]


@dataclass(frozen=True, slots=True)
class _Resize:
    size: Size

    def __call__(self, frames: torch.Tensor) -> torch.Tensor:
        if not len(frames):
            return frames.new_empty((0, *self.size, frames.shape[-1]))
        values = torch.nn.functional.interpolate(
            frames.permute(0, 3, 1, 2).float(), self.size, mode="bilinear", antialias=True
        ).permute(0, 2, 3, 1)
        return values.round().to(torch.uint8) if frames.dtype == torch.uint8 else values


def _inside(outer: Box | None, inner: Box) -> Box:
    """A box given relative to `outer`, in the coordinates of `outer`."""
    if outer is None:
        return inner
    return (outer[0] + inner[0], outer[1] + inner[1], *inner[2:])


def _as_ours(transform: Any) -> DecoderTransform:
    if isinstance(transform, DecoderTransform):
        return transform
    kind = type(transform)
    name = next((c.__name__ for c in kind.__mro__ if c.__module__.startswith(_TORCHVISION)), None)
    if name == "Resize":
        is_bilinear = str(transform.interpolation).upper().endswith("BILINEAR")
        _require(transform, is_bilinear, "must use bilinear interpolation")
        _require(transform, transform.antialias is not False, "must have antialias enabled")
        _require(transform, transform.size is not None, "must have a size specified")
        return Resize(transform.size)
    if name == "CenterCrop":
        return CenterCrop(transform.size)
    if name == "RandomCrop":
        _require(transform, transform.padding is None, "must not specify padding")
        _require(transform, transform.pad_if_needed is not True, "must not specify pad_if_needed")
        _require(transform, transform.fill == 0, "fill must be 0")
        _require(transform, transform.padding_mode == "constant", "padding_mode must be constant")
        return RandomCrop(transform.size)
    raise ArgumentError(
        f"Unsupported transform: {transform!r}. It must be Resize, CenterCrop or RandomCrop of "
        "torchcodec.transforms or torchvision.transforms.v2; apply others to the frames"
    )


_TORCHVISION = "torchvision.transforms.v2"


def _require(transform: Any, is_so: bool, what: str) -> None:
    if not is_so:
        kind = type(transform).__name__
        raise ArgumentError(f"TorchVision {kind} {what} to be done by the decoder: {transform!r}")
