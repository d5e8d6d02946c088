"""The form of decoded frames in a batch, and the part of a picture that fills a slot."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.options import (
    BatchOptions,
    Chroma,
    ColorRange,
    ElementName,
    ElementType,
    Interpolation,
    Layout,
    Matrix,
    Output,
    ToneMap,
    as_layout,
)
from videoloader.errors import ArgumentError, ArgumentTypeError, DecodeError
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.options import documented
from videoloader.sampling.arrays import real_numbers

_CHOICES: dict[str, tuple[str, ...]] = {
    "dtype": get_args(ElementName),
    "interpolation": get_args(Interpolation),
    "tone_map": get_args(ToneMap),
    "matrix": get_args(Matrix),
    "color_range": get_args(ColorRange),
    "chroma": get_args(Chroma),
    "output": get_args(Output),
}

_LAYOUTS = get_args(Layout)
_SLOT_AXES = {layout: tuple(layout.index(axis) for axis in "FHWC") for layout in _LAYOUTS}

CHANNELS = 3
_MAX_SIDE = 1 << 15
_MAX_SAMPLES = 4 * _MAX_SIDE**2  # of the planes of a picture, one after another in one row


@documented(BatchOptions)
@dataclass(frozen=True, slots=True)
class OutputFormat:
    """The form that all clips of a batch have: options of `decode_batch`, checked."""

    dtype: ElementType = "uint8"
    layout: Layout = "FHWC"
    mean: float | Sequence[float] | None = None
    std: float | Sequence[float] | None = None
    interpolation: Interpolation = "triangular"
    tone_map: ToneMap = "none"
    matrix: Matrix = "auto"
    color_range: ColorRange = "auto"
    chroma: Chroma = "nearest"
    output: Output = "rgb"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _element_name(self.dtype))
        if self.layout not in _LAYOUTS:  # of another library, or none
            object.__setattr__(self, "layout", as_layout(self.layout))
        for name, choices in _CHOICES.items():
            given = getattr(self, name)
            if type(given) is str and given in choices:
                continue
            one_of(name, given, choices)
        for name in ("mean", "std"):
            if getattr(self, name) is None:
                continue
            # One number, a list or an array may be given; formats are looked up by value.
            values = tuple(real_numbers(name, getattr(self, name)).tolist())
            object.__setattr__(self, name, values)
            if len(values) not in (1, self.channels) or not np.isfinite(values).all():
                raise ArgumentError(f"{name} is one number, or {self.channels}, got {values}")
            if self.dtype in ("uint8", "uint16"):
                raise ArgumentError(f"{name} needs a float dtype, got dtype={self.dtype!r}")
        if self.std is not None and 0 in np.asarray(self.std):
            raise ArgumentError(f"std must not be 0, got {self.std}")
        is_normalized = self.mean is not None or self.std is not None
        if is_normalized and is_of_unit_scale(self.mean, self.std):
            raise ArgumentError(
                "mean and std are on the scale of pixels, 0 to 255; multiply those of 0 to 1 by "
                f"255; got mean={self.mean}, std={self.std}"
            )
        if self.output != "rgb" and self.tone_map != "none":
            raise ArgumentError(
                f'tone_map={self.tone_map!r} maps colours, so it takes output="rgb", '
                f"got {self.output!r}"
            )
        if self.output == "yuv":
            if self.dtype not in ("uint8", "uint16"):
                raise ArgumentError(f'output="yuv" takes dtype uint8 or uint16, got {self.dtype!r}')
            object.__setattr__(self, "layout", "FHWC")  # planes have none; frames come first

    @property
    def element(self) -> ElementName:
        """The name of the element type."""
        return self.dtype  # type: ignore[return-value]

    @property
    def is_planar(self) -> bool:
        """Whether a frame is one row of samples: its planes as they are coded."""
        return self.output == "yuv"

    @property
    def slot_axes(self) -> tuple[int, ...]:
        """Where the layout has the dimensions of slots: F, H, W, C."""
        return _SLOT_AXES[self.layout]

    @property
    def channels(self) -> int:
        """Channels of a slot."""
        return CHANNELS if self.output == "rgb" else 1

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """Element type in memory; uint16 holds the bits of bfloat16, which numpy lacks."""
        element = self.element
        return np.dtype("uint16" if element == "bfloat16" else element)

    @property
    def scale_and_shift(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Normalising as one multiplication and addition for each channel of 0-255 values."""
        mean, std = (
            np.broadcast_to(
                np.asarray(default if given is None else given, np.float64), self.channels
            )
            for given, default in ((self.mean, 0.0), (self.std, 1.0))
        )
        return (1 / std).astype(np.float32), (-mean / std).astype(np.float32)

    def encode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Elements for the values 0-255 of the channels, or for one value of all."""
        if self.dtype == "uint8":
            return values.astype(np.uint8)
        if self.dtype == "uint16":
            return values.astype(np.uint16) * np.uint16(257 if self.output == "rgb" else 1)
        scale, shift = self.scale_and_shift
        normal = (values * scale + shift).astype(np.float32)
        if self.dtype == "bfloat16":
            return round_to_bfloat16(normal)
        return normal.astype(self.element)

    def clip_shape(self, count: int, size: tuple[int, int]) -> tuple[int, ...]:
        """Shape of a clip of `count` frames of (height, width); planes lie in one row."""
        if self.output == "yuv":
            return count, size[0] * size[1]
        lengths = {"F": count, "H": size[0], "W": size[1], "C": self.channels}
        return tuple(map(lengths.__getitem__, self.layout))

    def slots(self, clip: NDArray[Any]) -> NDArray[Any]:
        """The memory of a clip as slots: (F, H, W, C), whatever the layout."""
        if self.output == "yuv":
            return clip[:, None, :, None]
        return clip.transpose(_SLOT_AXES[self.layout])


def is_of_unit_scale(mean: Any, std: Any) -> bool:
    """Whether mean and std are meant for pixels from 0 to 1.

    So is a std above 0 and below 1 in all channels, or 1 with a mean above 0 and at most 1; None is
    a std of 1.

    >>> is_of_unit_scale(None, 0.5), is_of_unit_scale(1, 1), is_of_unit_scale(0, 1)
    (True, True, False)
    >>> is_of_unit_scale(0.5, None), is_of_unit_scale(None, None)
    (True, False)
    """
    std = 1 if std is None else std
    if all(0 < value < 1 for value in np.ravel(std)):
        return True
    return mean is not None and all(0 < v <= 1 for v in (*np.ravel(mean), *np.ravel(std)))


def _element_name(dtype: Any) -> Any:
    """The name of an element type of torch or NumPy; anything else as it is."""
    if isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic)):
        return np.dtype(dtype).name
    text = str(dtype)
    return text.removeprefix("torch.") if text.startswith("torch.") else dtype


@dataclass(frozen=True, slots=True)
class View:
    """Which part of the displayed picture fills the slots of a clip.

    Attributes:
        size: (height, width) that the picture, or its crop, is resized to.
        crop: (top, left, height, width) in pixels of the picture as it is displayed, after
            rotation and before resizing; None for all of it.
        flip: mirror left and right, last of all.
        window: (top, left, height, width) of the resized picture that fills the slots; None for
            all of it.
        scales: take pictures of another size than the first, where the stream changes it; without
            a crop only.
    """

    size: tuple[int, int]
    crop: tuple[int, int, int, int] | None = None
    flip: bool = False
    window: tuple[int, int, int, int] | None = None
    scales: bool = False

    def __post_init__(self) -> None:
        # Lists and arrays may be given; views are looked up by value.
        most = _MAX_SIDE if self.size[0] > 1 else _MAX_SAMPLES
        object.__setattr__(self, "size", normalize_size(self.size, most=most))
        if self.crop is not None:
            object.__setattr__(self, "crop", as_rectangle("crop", self.crop))
        if self.window is None:
            return
        object.__setattr__(self, "window", as_rectangle("window", self.window))
        if not _lies_inside(self.window, self.size):
            raise ArgumentError(
                f"window {self.window} (top, left, height, width) reaches outside the resized "
                f"picture of {self.size[0]}x{self.size[1]} (height x width)"
            )

    @property
    def slot(self) -> tuple[int, int]:
        """(height, width) of the slots."""
        return self.size if self.window is None else self.window[2:]

    def within(self, displayed: tuple[int, int]) -> View:
        """The same part of a picture of (height, width), without a window if nothing is resized."""
        top, left, height, width = self.crop or (0, 0, *displayed)
        if self.window is None or (height, width) != self.size:
            return self
        down, across, rows, columns = self.window
        crop = (top + down, left + across, rows, columns)
        return View((rows, columns), crop, self.flip, scales=self.scales)

    def check(self, name: str, displayed: tuple[int, int]) -> None:
        """Fail if the crop does not lie inside a displayed picture of (height, width)."""
        if self.crop is None:
            return
        if not _lies_inside(self.crop, displayed):
            raise ArgumentError(
                f"{name}: crop {self.crop} (top, left, height, width) reaches outside the "
                f"picture of {displayed[0]}x{displayed[1]} (height x width)"
            )

    def check_surface(
        self, name: str, frame: int, size: tuple[int, int], first: tuple[int, int]
    ) -> None:
        """Fail if a frame has another (width, height) than the first and may not be scaled."""
        if size == first or (self.scales and self.crop is None):
            return
        advice = 'pass size= or resolution_change="scale" to scale it'
        if self.crop is not None:
            advice = "leave crop= out and scale it: a crop needs frames of one size"
        raise DecodeError(
            f"{name}: frame {frame} is {size[0]}x{size[1]}, the stream began with "
            f"{first[0]}x{first[1]}; {advice}"
        )


def as_rectangle(name: str, given: Any) -> tuple[int, int, int, int]:
    """The argument `crop` or `window` as four numbers.

    Raises:
        ArgumentError: it is no rectangle.
    """
    numbers: tuple[int, ...] = ()
    with suppress(TypeError):
        numbers = tuple(map(operator.index, given))
    if len(numbers) != 4 or min(numbers[:2]) < 0 or min(numbers[2:]) < 1:
        other = "; a crop of the centre after resizing is crop_size= of Loader and ClipDataset"
        raise ArgumentError(
            f"{name} is (top, left, height, width) in pixels inside the picture, got {given!r}"
            f"{other * (name == 'crop')}"
        )
    return numbers


def _lies_inside(part: tuple[int, int, int, int], whole: tuple[int, int]) -> bool:
    top, left, height, width = part
    return top + height <= whole[0] and left + width <= whole[1]


def round_to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The bits of the nearest bfloat16, of two the even one; for finite values."""
    bits = values.view(np.uint32)
    bits = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    return (bits >> np.uint32(16)).astype(np.uint16)


def normalize_size(
    size: int | Sequence[int], name: str = "size", *, most: int = _MAX_SIDE
) -> tuple[int, int]:
    """(height, width) from that or from one number for both."""
    try:
        height, width = size if hasattr(size, "__iter__") else (size, size)
        return (
            whole_number(name, height, least=1, most=most),
            whole_number(name, width, least=1, most=most),
        )
    except (TypeError, ValueError) as error:
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
        raise kind(
            f"{name} must be (height, width) in whole pixels, 1 to {most}, got {size!r}"
        ) from error


def as_fill(value: int | Sequence[int], output: OutputFormat) -> NDArray[Any]:
    """A fill value as one element for each channel, or one for all."""
    values = np.asarray(value).reshape(-1)
    fits = np.issubdtype(values.dtype, np.integer) and len(values) in (1, output.channels)
    if not fits or values.min() < 0 or values.max() > 255:
        raise ArgumentError(
            f"fill_value is a number from 0 to 255, or {output.channels}, got {value!r}"
        )
    return output.encode(values)
