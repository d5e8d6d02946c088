# Written by `python -m videoloader.fn.stubs`; do not edit.

from collections.abc import Sequence
from typing import Any, TypeAlias

from videoloader.fn.experimental import decoders as decoders

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

def debayer(
    frames: _Data,
    /,
    *,
    blue_position: int | Sequence[int] | _Values,
    algorithm: str | None = None,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Make RGB (H, W, 3) of a Bayer pattern, (H, W) or (H, W, 1), uint8 or uint16, by OpenCV.

    Inputs:
        frames

    Args:
        blue_position: (row, column) of blue in the tile of 2 x 2 that begins at the second row and
            column (int or list of int; required; may be per sample).
        algorithm: how missing colours are found; bilinear by default (one of 'bilinear_ocv',
            'edgeaware_ocv', 'vng_ocv', 'gray_ocv', 'default_npp', None).
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """

def equalize(
    frames: _Data,
    /,
    *,
    device: str | None = None,
    name: str | None = None,
    layout: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """Equalise the histogram of each channel of each picture, uint8, as OpenCV does.

    Inputs:
        frames (HWC, FHWC, CHW, FCHW)

    Args:
        device: 'cpu' or 'gpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
        layout: of tensors in an eager call, such as FCHW; by default the one that fits their shape,
            if only one does (1 to 4 channels).
    """

def peek_image_shape(
    encoded: _Data,
    /,
    *,
    dtype: Any = ...,
    adjust_orientation: bool | int = True,
    image_type: Any = ...,
    device: str | None = None,
    name: str | None = None,
    bytes_per_sample_hint: Any = ...,
    preserve: Any = ...,
) -> Any:
    """(height, width, channels) that images will have when they are decoded, by their headers.

    Inputs:
        encoded

    Args:
        dtype: element type of the output (element type; default torch.int64).
        adjust_orientation: turn the image as its EXIF orientation says (bool (0 or 1); default
            True).
        image_type: colour space that it is decoded to (ImageType; default ImageType.RGB).
        device: 'cpu'.
        name: of the operator in its pipeline, for errors and `reader_meta`.
    """
