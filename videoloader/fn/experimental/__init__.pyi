# Written by `python -m videoloader.fn.stubs`; do not edit.

from collections.abc import Sequence
from typing import Any, TypeAlias

from videoloader.fn.experimental import decoders as decoders

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

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
