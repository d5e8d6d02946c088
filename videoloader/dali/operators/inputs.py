"""Positional inputs of operators: which layouts they may have, and how operators see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError

FRAMES = ("HWC", "FHWC", "CHW", "FCHW")
"""Layouts of an image and of a clip. Operators see channels last: (..., H, W, C)."""

PIXELS = (*FRAMES, "DHWC", "FDHWC")
"""The same and layouts of volumes, for operators that change each pixel by itself."""

UNNAMED = MappingProxyType({2: "HW", 3: "HWC", 4: "FHWC", 5: "FDHWC"})

UNNAMED_IMAGES = MappingProxyType({3: "HWC"})
"""For operators of DALI that take images only: the layout has to tell a clip."""

UNNAMED_VOLUMES = MappingProxyType({2: "HW", 3: "HWC", 4: "DHWC", 5: "FDHWC"})
"""For operators of DALI that take four dimensions for a volume."""


@dataclass(frozen=True, slots=True)
class Input:
    """A positional input of an operator.

    Args:
        name: for the signature and the documentation.
        layouts: layouts that it may have; none: anything goes. An input that declares layouts is
            seen with its channels last, whatever layout it has.
        is_optional: whether it may be left out; the operator then gets fewer inputs.
        is_repeated: whether any number of inputs, at least one, may stand here.
        on_cpu: whether it is on the CPU whatever the device of the operator is.
        is_frames: whether a tensor without a layout in an eager call is an image or a clip; for
            inputs that take other layouts than those too.
        unnamed: layout of data that have none, by their number of dimensions.
    """

    name: str
    layouts: tuple[str, ...] = ()
    is_optional: bool = False
    is_repeated: bool = False
    on_cpu: bool = False
    is_frames: bool = False
    unnamed: Mapping[int, str] = field(default_factory=lambda: UNNAMED)

    def view(self, batch: Batch, operator: str) -> tuple[Batch, int]:
        """The batch with channels last, and where they were, counted from the end: -1 is last."""
        if not self.layouts:
            return batch, -1
        if batch.block is not None and batch.layout in self.layouts and batch.layout[-1] == "C":
            return batch, -1
        first = batch[0] if len(batch) else None
        if first is not None and not hasattr(first, "ndim"):
            raise ArgumentError(f"fn.{operator} takes tensors, got a {type(first).__name__}")
        ndim = getattr(first, "ndim", 0)
        layout = batch.layout or self.unnamed.get(ndim, "")
        if layout not in self.layouts and first is not None:
            raise ArgumentError(
                f"fn.{operator} takes layouts {', '.join(self.layouts)}; got "
                f"{layout or 'no layout'} with shape {tuple(first.shape)}"
            )
        channel = layout.find("C") - len(layout) if "C" in layout else -1
        if channel != -1:
            others = layout.replace("C", "")
            return batch.each(lambda value: value.movedim(channel, -1), others + "C"), channel
        return Batch(batch.data, layout, batch.source_info), -1
