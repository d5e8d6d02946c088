"""Cropping, resizing and mirroring of a clip, the same for all its frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from videoloader.decoding.options import SampleOptions
from videoloader.decoding.output import View, normalize_size
from videoloader.errors import ArgumentError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.checks import real_number, whole_number
from videoloader.machinery.system.options import documented

_TRIES = 10  # for a random crop that fits


@documented(SampleOptions)
@dataclass(frozen=True, slots=True)
class Framing:
    """The part of each picture that a batch holds, for pictures of any size; options of `Loader`.

    With several crops, the view has all of the longer side, and `corners` says where they are.

    Args:
        is_sized_later: the size is told to `filling`.

    >>> Framing(resize_shorter=4, crop_size=4).view((6, 9))
    View(size=(4, 6), crop=None, flip=False, window=(0, 1, 4, 4), scales=False)
    """

    size: int | Sequence[int] | None = None
    resize_shorter: int | None = None
    crop_size: int | Sequence[int] | None = None
    random_resized_crop: tuple[tuple[float, float], tuple[float, float]] | None = None
    random_flip: float = 0.0
    is_sized_later: bool = False
    num_crops: int = 1
    rotate: bool = True

    def __post_init__(self) -> None:
        for name in ("size", "crop_size"):
            given = getattr(self, name)
            if given is not None:
                if name == "crop_size" and isinstance(given, Sequence) and len(given) == 4:
                    raise ArgumentError(
                        "crop_size is (height, width) of the centre that is kept after resizing, "
                        f"got {given!r}; a part of the picture (top, left, height, width) is crop= "
                        "of Video.get_frames and ClipRequest"
                    )
                object.__setattr__(self, name, normalize_size(given, name))
        check_resizing(self.size, self.resize_shorter)
        real_number("random_flip", self.random_flip, most=1)
        if whole_number("num_crops", self.num_crops, least=1) > 1 and self.crop_size is None:
            raise ArgumentError(f"num_crops={self.num_crops} needs crop_size, the size of each")
        if self.random_resized_crop is not None:
            self._check_random_crop(self.random_resized_crop)

    def _check_random_crop(self, given: Any) -> None:
        if (self.size is None and not self.is_sized_later) or self.crop_size is not None:
            raise ArgumentError("random_resized_crop goes with size, and not with crop_size")
        try:
            (least, most), (narrow, wide) = given
            has_meaning = 0 < least <= most <= 1 and 0 < narrow <= wide
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                "random_resized_crop is ((least, most) area, (narrowest, widest) ratio), "
                f"got {self.random_resized_crop!r}"
            ) from error
        if not has_meaning:
            raise ArgumentError(
                "random_resized_crop needs 0 < least <= most <= 1 of the area and "
                f"0 < narrowest <= widest, got {self.random_resized_crop}"
            )

    @property
    def resizes(self) -> bool:
        """Whether pictures are brought to another size."""
        return self.size is not None or self.resize_shorter is not None

    @property
    def slot(self) -> tuple[int, int] | None:
        """(height, width) of every picture after cropping; None if it depends on the picture."""
        return self.size if self.crop_size is None else self.crop_size  # type: ignore[return-value]

    def displayed(self, index: VideoIndex) -> tuple[int, int]:
        """(height, width) of the pictures of a video before they are cropped and resized."""
        size = index.height, index.width
        return index.orientation.displayed(size) if self.rotate else size

    def view(
        self,
        displayed: tuple[int, int],
        rng: np.random.Generator | None = None,
        *,
        name: str = "a video",
    ) -> View:
        """The part of a displayed picture of (height, width) that fills a slot.

        Args:
            displayed: size of the pictures, rotation applied.
            rng: of the random choices; without one none is made.
            name: of the video, for errors.

        Raises:
            ArgumentError: the crop is larger than the resized picture.
        """
        # Drawn first, so that it does not depend on the size of the picture.
        flip = rng is not None and bool(rng.random() < self.random_flip)
        size: tuple[int, int] = displayed if self.size is None else tuple(self.size)  # type: ignore[assignment, arg-type]
        part = None
        if self.random_resized_crop is not None and rng is not None:
            part = random_part(displayed, *self.random_resized_crop, rng)
        if self.resize_shorter is not None:
            size = shorter_resized(displayed, self.resize_shorter)
        if self.crop_size is None:
            return View(size, part, flip)
        rows, columns = self.crop_size  # type: ignore[misc]
        if rows > size[0] or columns > size[1]:
            raise ArgumentError(
                f"{name}: crop {rows}x{columns} does not fit into pictures of {size[0]}x{size[1]} "
                "(height x width); resize to more (resize_shorter=, size=), or crop less"
            )
        if self.num_crops > 1:
            rows, columns = (size[0], columns) if size[0] > size[1] else (rows, size[1])
        window = ((size[0] - rows) // 2, (size[1] - columns) // 2, rows, columns)
        return View(size, part, flip, window)

    def corners(self, size: tuple[int, int]) -> list[tuple[int, int]]:
        """(top, left) of each of the `num_crops` parts of a view of (height, width).

        >>> Framing(resize_shorter=4, crop_size=4, num_crops=3).corners((4, 9))
        [(0, 0), (0, 3), (0, 5)]
        """
        rows, columns = (side - kept for side, kept in zip(size, self.crop_size, strict=True))  # type: ignore[arg-type]
        steps = max(self.num_crops - 1, 1)
        return [
            ((2 * part * rows + steps) // (2 * steps), (2 * part * columns + steps) // (2 * steps))
            for part in range(self.num_crops)
        ]

    def filling(
        self, size: tuple[int, int], displayed: tuple[int, int], rng: np.random.Generator
    ) -> View:
        """The part of a displayed picture that fills (height, width) without distortion.

        The picture is resized until it covers that size, and what sticks out on two sides is
        cropped; or a random part is taken, see `random_resized_crop`.
        """
        if self.random_resized_crop is not None:
            return replace(self, size=size).view(displayed, rng)
        flip = bool(rng.random() < self.random_flip)
        scale = max(size[0] / displayed[0], size[1] / displayed[1])
        height, width = (
            max(least, math.floor(side * scale + 0.5))
            for least, side in zip(size, displayed, strict=True)
        )
        window = ((height - size[0]) // 2, (width - size[1]) // 2, *size)
        return View((height, width), None, flip, window)


def check_resizing(size: Any, resize_shorter: int | None) -> None:
    """Fail unless one of both is given, or none, and the length of a side is one."""
    if size is not None and resize_shorter is not None:
        raise ArgumentError("give size or resize_shorter, not both")
    if resize_shorter is not None:
        whole_number("resize_shorter", resize_shorter, least=1)


def shorter_resized(displayed: tuple[int, int], length: int) -> tuple[int, int]:
    """(height, width) of a picture whose shorter side gets a length, at the same aspect ratio."""
    scale = length / min(displayed)
    height, width = (max(1, math.floor(side * scale + 0.5)) for side in displayed)
    return height, width


def random_part(
    displayed: tuple[int, int],
    areas: tuple[float, float],
    ratios: tuple[float, float],
    rng: np.random.Generator,
    tries: int = _TRIES,
) -> tuple[int, int, int, int]:
    """(top, left, height, width): the area equally likely, the ratio on a logarithmic scale.

    After some tries that do not fit, the largest part in the middle with a ratio in the bounds.
    """
    height, width = displayed
    low, high = math.log(ratios[0]), math.log(ratios[1])
    for _ in range(tries):
        # As `rng.uniform`, which takes 2 us for a number.
        area = height * width * (areas[0] + (areas[1] - areas[0]) * rng.random())
        ratio = math.exp(low + (high - low) * rng.random())
        columns, rows = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 1 <= rows <= height and 1 <= columns <= width:
            top, left = rng.integers(height - rows + 1), rng.integers(width - columns + 1)
            return int(top), int(left), rows, columns
    ratio = min(max(width / height, ratios[0]), ratios[1])
    rows = min(height, max(1, round(width / ratio)))
    columns = min(width, max(1, round(height * ratio)))
    return (height - rows) // 2, (width - columns) // 2, rows, columns
