"""The output form of a decoder, into which the following operators are fused.

An operator that can be absorbed declares `absorb`, which maps the form of the clips so far to the
form after it, or to None where the decoder cannot express that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch

from videoloader.decoding.options import ElementType
from videoloader.decoding.output import OutputFormat, View

_ELEMENT_TYPES: dict[torch.dtype, ElementType] = {
    torch.uint8: "uint8",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
}


def element_type(dtype: torch.dtype) -> ElementType | None:
    """The decoders' name of an element type on the scale from 0 to 255; None if they lack it."""
    return _ELEMENT_TYPES.get(dtype)


@dataclass(frozen=True, slots=True)
class DecodedForm:
    """The pictures of a clip as a decoder will give them.

    Attributes:
        displayed: (height, width) of the video, rotation applied.
        view: which part of it, how large.
        output: element type, layout, normalising.
        is_resized: whether an operator has resized them, if only to the same size.
        is_finished: whether they are no pixels any more, but normalised or transposed.
    """

    displayed: tuple[int, int]
    view: View
    output: OutputFormat = field(default_factory=OutputFormat)
    is_resized: bool = False
    is_finished: bool = False

    @classmethod
    def of(cls, displayed: tuple[int, int], given: Mapping[str, Any]) -> DecodedForm:
        """The whole pictures of a video, as the arguments of a decoding operator ask for them."""
        form = cls(displayed, View(displayed), OutputFormat(output=given.get("output", "rgb")))
        if given.get("normalized"):
            return form.finished(dtype="float32", mean=0.0, std=255.0)
        if given.get("dtype") is torch.float32:
            return form.finished(dtype="float32")
        return form

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of the pictures."""
        return self.view.slot

    def cropped(self, rows: slice, columns: slice) -> DecodedForm:
        """A part of the pictures. The slices have a start and a stop and no step."""
        top, left = rows.start, columns.start
        height, width = rows.stop - top, columns.stop - left
        if self.view.flip:  # the decoder mirrors last
            left = self.size[1] - left - width
        if self.is_resized:
            begin = (self.view.window or (0, 0))[:2]
            window = (begin[0] + top, begin[1] + left, height, width)
            return replace(self, view=replace(self.view, window=window))
        begin = (self.view.crop or (0, 0))[:2]
        crop = (begin[0] + top, begin[1] + left, height, width)
        return replace(self, view=View((height, width), crop, self.view.flip))

    def resized(
        self, size: tuple[int, int], interpolation: Literal["bilinear", "triangular"]
    ) -> DecodedForm | None:
        """The form with another size; None if it is resized already."""
        if self.is_resized:
            return None
        output = replace(self.output, interpolation=interpolation)
        return replace(self, view=replace(self.view, size=size), output=output, is_resized=True)

    def flipped(self) -> DecodedForm:
        """Mirrored left and right."""
        return replace(self, view=replace(self.view, flip=not self.view.flip))

    def finished(self, **output: Any) -> DecodedForm:
        """The form with other fields of `OutputFormat`; nothing more can be fused into it."""
        return replace(self, output=replace(self.output, **output), is_finished=True)
