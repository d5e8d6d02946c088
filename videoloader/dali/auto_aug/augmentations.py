"""The augmentations of the policies, for uint8 images and clips with channels last.

They are no operators of `fn`, but made of them. Each takes a batch, a magnitude bin and the number
of bins; see `core.augmentation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali import fn
from videoloader.dali.auto_aug.core import augmentation
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.dali.types import Constant, DataType, InterpType
from videoloader.errors import ArgumentError

__all__ = [
    "auto_contrast",
    "brightness",
    "color",
    "contrast",
    "equalize",
    "identity",
    "invert",
    "poster_mask_uint8",
    "posterize",
    "rotate",
    "sharpness",
    "sharpness_kernel",
    "sharpness_kernel_shifted",
    "shear_x",
    "shear_y",
    "shift_enhance_range",
    "solarize",
    "solarize_add",
    "solarize_add_shift",
    "translate_x",
    "translate_x_no_shape",
    "translate_y",
    "translate_y_no_shape",
    "warp_x_param",
    "warp_y_param",
]

_MOST_SHIFT = 128


def warp_x_param(magnitude: float) -> list[float]:
    """The vector (x, y) of a magnitude along x."""
    return [magnitude, 0]


def warp_y_param(magnitude: float) -> list[float]:
    """The vector (x, y) of a magnitude along y."""
    return [0, magnitude]


def shift_enhance_range(magnitude: float) -> float:
    """The factor of a magnitude; magnitude 0 gives 1, which changes nothing."""
    return 1 + magnitude


def poster_mask_uint8(magnitude: float) -> NDArray[np.uint8]:
    """A mask of the `magnitude` highest bits, 1 to 8."""
    bits = min(max(int(np.round(magnitude)), 1), 8)
    return np.array(0xFF << (8 - bits) & 0xFF, np.uint8)


def solarize_add_shift(shift: float) -> NDArray[np.uint8]:
    """The uint8 number to add to dark values."""
    if not 0 <= shift <= _MOST_SHIFT:
        raise ArgumentError(f"solarize_add adds from 0 to {_MOST_SHIFT}, got {shift}")
    return np.array(int(shift), np.uint8)


def sharpness_kernel(magnitude: float) -> NDArray[np.float32]:
    """The filter that sharpens by a magnitude, or blurs by one below 0; 0 changes nothing."""
    smooth: NDArray[np.float64] = np.ones((3, 3))
    smooth[1, 1] = 5
    same = np.zeros((3, 3))
    same[1, 1] = 1
    return np.asarray(same + magnitude * (same - smooth / smooth.sum()), np.float32)


def sharpness_kernel_shifted(magnitude: float) -> NDArray[np.float32]:
    """The filter of a magnitude; 1 changes nothing."""
    return sharpness_kernel(magnitude - 1)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_x_param)
def shear_x(
    data: DataNode, shear: DataNode, fill_value: int | None = 128, interp_type: Any = None
) -> Any:
    """Shear along x: shift each row in proportion to its distance from the top."""
    return _warp(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


@augmentation(mag_range=(0, 0.3), randomly_negate=True, mag_to_param=warp_y_param)
def shear_y(
    data: DataNode, shear: DataNode, fill_value: int | None = 128, interp_type: Any = None
) -> Any:
    """Shear along y: shift each column in proportion to its distance from the left."""
    return _warp(data, fn.transforms.shear(shear=shear), fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_x_param)
def translate_x(
    data: DataNode,
    rel_offset: DataNode,
    shape: DataNode | Sequence[int],
    fill_value: int | None = 128,
    interp_type: Any = None,
) -> Any:
    """Shift along x by a fraction of the width; `shape` is (height, width)."""
    return _translate(data, rel_offset * shape[1], fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_x_param, name="translate_x"
)
def translate_x_no_shape(
    data: DataNode, offset: DataNode, fill_value: int | None = 128, interp_type: Any = None
) -> Any:
    """Shift along x by a number of pixels."""
    return _translate(data, offset, fill_value, interp_type)


@augmentation(mag_range=(0.0, 1.0), randomly_negate=True, mag_to_param=warp_y_param)
def translate_y(
    data: DataNode,
    rel_offset: DataNode,
    shape: DataNode | Sequence[int],
    fill_value: int | None = 128,
    interp_type: Any = None,
) -> Any:
    """Shift along y by a fraction of the height; `shape` is (height, width)."""
    return _translate(data, rel_offset * shape[0], fill_value, interp_type)


@augmentation(
    mag_range=(0, 250), randomly_negate=True, mag_to_param=warp_y_param, name="translate_y"
)
def translate_y_no_shape(
    data: DataNode, offset: DataNode, fill_value: int | None = 128, interp_type: Any = None
) -> Any:
    """Shift along y by a number of pixels."""
    return _translate(data, offset, fill_value, interp_type)


@augmentation(mag_range=(0, 30), randomly_negate=True)
def rotate(
    data: DataNode,
    angle: DataNode,
    fill_value: int | None = 128,
    interp_type: Any = None,
    rotate_keep_size: bool = True,
) -> Any:
    """Rotate by an angle in degrees, counter-clockwise."""
    return fn.rotate(
        data,
        angle=angle,
        fill_value=fill_value,
        interp_type=_interpolation(interp_type),
        keep_size=rotate_keep_size,
    )


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def brightness(data: DataNode, parameter: DataNode) -> Any:
    """Multiply values by a factor."""
    return fn.brightness(data, brightness=parameter)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def contrast(data: DataNode, parameter: DataNode) -> Any:
    """Scale the difference of values from the mean grey of the image by a factor."""
    means = fn.reductions.mean(data, axis_names="HW", keep_dims=True)
    grey = Constant([0.299, 0.587, 0.114], dtype=DataType.FLOAT, device=data.device)
    center = fn.reductions.sum(means * grey, axes=[-1], keep_dims=True)
    return fn.cast_like(center + (data - center) * parameter, data)


@augmentation(mag_range=(0, 0.9), randomly_negate=True, mag_to_param=shift_enhance_range)
def color(data: DataNode, parameter: DataNode) -> Any:
    """Multiply the saturation by a factor."""
    return fn.saturation(data, saturation=parameter)


@augmentation(
    mag_range=(0, 0.9), randomly_negate=True, mag_to_param=sharpness_kernel, param_device="auto"
)
def sharpness(data: DataNode, kernel: DataNode) -> Any:
    """Sharpen or blur with a filter of 3x3 values."""
    return fn.filter(data, kernel)


@augmentation(mag_range=(0, 4), mag_to_param=poster_mask_uint8, param_device="auto")
def posterize(data: DataNode, mask: DataNode) -> Any:
    """Keep the highest bits of each value."""
    return data & mask


@augmentation(mag_range=(256, 0), param_device="auto")
def solarize(data: DataNode, threshold: DataNode) -> Any:
    """Invert values at or above a threshold."""
    is_bright = fn.cast_like(data >= threshold, data)
    return data ^ (is_bright * Constant(255, dtype=DataType.UINT8))


@augmentation(mag_range=(0, 110), mag_to_param=solarize_add_shift, param_device="auto")
def solarize_add(data: DataNode, shift: DataNode) -> Any:
    """Add a number to values below 128."""
    is_dark = fn.cast_like(data < 128, data)  # at most 127 + 128: no overflow
    return data + is_dark * shift


@augmentation
def invert(data: DataNode, _: None) -> Any:
    """Subtract values from 255."""
    return data ^ Constant(255, dtype=DataType.UINT8)


@augmentation
def equalize(data: DataNode, _: None) -> Any:
    """Equalise the histogram of each channel of each image."""
    return fn.equalize(data)


@augmentation
def auto_contrast(data: DataNode, _: None) -> Any:
    """Stretch the values of each channel of each image to 0 to 255.

    A channel with a single value is unchanged.
    """
    low = fn.reductions.min(data, axis_names="HW", keep_dims=True)
    high = fn.reductions.max(data, axis_names="HW", keep_dims=True)
    span = fn.cast(high - low, dtype=DataType.FLOAT)
    is_flat = fn.cast(high == low, dtype=DataType.FLOAT)
    factor = (255 - 254 * is_flat) / (span + is_flat)  # 1 where all values are equal
    return fn.cast_like((data - low * (1 - is_flat)) * factor, data)


@augmentation
def identity(data: DataNode, _: None) -> Any:
    """Return the data unchanged."""
    return data


def _translate(data: DataNode, offset: DataNode, fill_value: Any, interp_type: Any) -> Any:
    return _warp(data, fn.transforms.translation(offset=offset), fill_value, interp_type)


def _warp(data: DataNode, matrix: DataNode, fill_value: Any, interp_type: Any) -> Any:
    return fn.warp_affine(
        data,
        matrix=matrix,
        fill_value=fill_value,
        interp_type=_interpolation(interp_type),
        inverse_map=False,
    )


def _interpolation(given: Any) -> Any:
    return InterpType.INTERP_LINEAR if given is None else given
