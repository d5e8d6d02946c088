"""An image to decode, and its output format."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.images.decode import decode_image
from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.pixels import channels_of

Window: TypeAlias = tuple[slice, slice]
"""Rows and columns of an image, after its orientation is applied."""


class ImageForm(NamedTuple):
    """Options that all images of a batch share; see `decode_image`."""

    output_type: str
    adjust_orientation: bool
    max_pixels: int


class ImageRequest(NamedTuple):
    """An encoded image, and the part of it to keep.

    Attributes:
        data: the whole file.
        name: of the image, for errors.
        header: result of `read_header`.
        window: the part to keep; None for all.
    """

    data: memoryview
    name: str
    header: ImageHeader
    window: Window | None = None

    def decode(self, form: ImageForm, *, room: NDArray[np.uint8] | None = None) -> NDArray[Any]:
        """The pixels (H, W, C), in the element type of the file; see `decode_image`.

        Raises:
            VideoError: it cannot be decoded; the error names it.
        """
        return decode_image(
            self.data,
            self.name,
            output_type=form.output_type,
            adjust_orientation=form.adjust_orientation,
            max_pixels=form.max_pixels,
            window=self.window,
            header=self.header,
            room=room,
        )

    def shape(self, form: ImageForm) -> tuple[int, int, int]:
        """(height, width, channels) of the decoded pixels, by the header."""
        height, width = self.header.displayed(adjust_orientation=form.adjust_orientation)
        if self.window is not None:
            rows, columns = self.window
            height, width = len(range(height)[rows]), len(range(width)[columns])
        return height, width, channels_of(self.header.channels, form.output_type)

    def num_bytes(self, form: ImageForm) -> int:
        """Bytes of the decoded pixels, computed from the header."""
        bits = self.header.bits
        item = 1 if bits <= 8 else 2 if bits <= 16 else 4 if bits <= 32 else 8
        return math.prod(self.shape(form)) * item
