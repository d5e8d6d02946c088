"""Batches: samples in one block of memory, or one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from videoloader.errors import ArgumentError, ArgumentTypeError

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """Shapes, element type, layout and device of a batch, without its data.

    Attributes:
        shapes: of each sample.
        dtype: element type.
        layout: meaning of the dimensions of a sample, such as "FHWC"; "" if unknown.
        device: torch device.
    """

    shapes: tuple[Shape, ...]
    dtype: torch.dtype
    layout: str = ""
    device: str = "cpu"

    @classmethod
    def alike(cls, count: int, shape: Sequence[int], dtype: torch.dtype, layout: str = "") -> Spec:
        """The spec of `count` samples of one shape."""
        return cls((tuple(shape),) * count, dtype, layout)

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def is_ragged(self) -> bool:
        """Whether the samples differ in shape."""
        return len(set(self.shapes)) > 1

    def with_frames(self, sizes: Sequence[tuple[int, int]], **changed: Any) -> Spec:
        """The spec with other (height, width) for each sample of layout ...HWC."""
        shapes = tuple(
            (*shape[:-3], *size, shape[-1]) for shape, size in zip(self.shapes, sizes, strict=True)
        )
        return replace(self, shapes=shapes, **changed)


@functools.lru_cache(maxsize=256)
def _spec_of_block(
    shape: torch.Size, dtype: torch.dtype, layout: str, device: torch.device
) -> Spec:
    """The spec of a batch in one block; one object for equal ones, which are then found equal."""
    count, *sizes = shape
    return Spec((tuple(sizes),) * count, dtype, layout, str(device))


class Batch:
    """Samples that travel together, through operators and pipelines; users see a `TensorList`.

    `block` is one tensor (N, ...) that holds all samples, or None where they have memory of their
    own. Samples of a block are views of it. `held_for` is the CUDA stream that its block was last
    kept allocated for, see `BatchState.hold_for`.

    Args:
        data: a tensor (N, ...), or the samples: tensors of any shapes, or paths.
        layout: of one sample; "" if unknown.
        source_info: where each sample comes from, such as its file; empty if unknown.
    """

    __slots__ = ("_samples", "_spec", "block", "held_for", "layout", "source_info")

    def __init__(
        self, data: torch.Tensor | Sequence[Any], layout: str = "", source_info: Sequence[str] = ()
    ) -> None:
        self.block = data if isinstance(data, torch.Tensor) else None
        self._samples: list[Any] | None = None if self.block is not None else list(data)
        self._spec: Spec | None = None
        self.held_for: Any = None
        self.layout, self.source_info = layout, source_info

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Consecutive pieces of a batch put together; one block if they are slices of one."""
        if len(batches) == 1:
            return batches[0]
        block = _joined([batch.block for batch in batches])
        info: list[str] = []
        if any(batch.source_info for batch in batches):
            info = [each for batch in batches for each in batch.source_info or [""] * len(batch)]
        if block is not None:
            return cls(block, batches[0].layout, info)
        samples = [sample for batch in batches for sample in batch.samples]
        return cls(samples, next((batch.layout for batch in batches if len(batch)), ""), info)

    @classmethod
    def empty(cls, spec: Spec) -> Batch:
        """Uninitialised memory of its own; one block unless the shapes are ragged."""
        if spec.shapes and not spec.is_ragged:
            shape = (len(spec.shapes), *spec.shapes[0])
            return cls(torch.empty(shape, dtype=spec.dtype, device=spec.device), spec.layout)
        return cls(
            [torch.empty(shape, dtype=spec.dtype, device=spec.device) for shape in spec.shapes],
            spec.layout,
        )

    @property
    def data(self) -> torch.Tensor | list[Any]:
        """The block or the samples that it was made of."""
        return self.samples if self.block is None else self.block

    @property
    def samples(self) -> list[Any]:
        """The samples, one by one."""
        if self._samples is None:
            assert self.block is not None
            self._samples = list(self.block.unbind())
        return self._samples

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling and copying, by the values that the batch was made of."""
        return Batch, (self.data, self.layout, self.source_info)

    def __len__(self) -> int:
        return len(self.samples) if self.block is None else self.block.shape[0]

    def __getitem__(self, position: int) -> Any:
        return self.samples[position]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.samples)

    @property
    def spec(self) -> Spec:
        """Shapes, element type, layout and device."""
        spec = self._spec
        if spec is not None and spec.layout == self.layout:
            return spec
        block = self.block
        if block is not None:
            self._spec = _spec_of_block(block.shape, block.dtype, self.layout, block.device)
            return self._spec
        # Not kept: samples of a list may be exchanged.
        first = self.samples[0] if self.samples else torch.empty(0)
        if not isinstance(first, torch.Tensor):
            raise ArgumentError(f"expected tensors, got a {type(first).__name__}")
        shapes = tuple(tuple(sample.shape) for sample in self.samples)
        return Spec(shapes, first.dtype, self.layout, str(first.device))

    def between(self, start: int, stop: int) -> Batch:
        """Some consecutive samples; a view."""
        if (start, stop) == (0, len(self)):
            return self
        return Batch(self.data[start:stop], self.layout, self.source_info[start:stop])

    def part(self, at: slice) -> torch.Tensor:
        """Samples that `parts` named, as one tensor (n, ...); a view."""
        if self.block is not None:
            return self.block[at]
        sample: torch.Tensor = self.samples[at.start]
        return sample[None]

    def each(self, function: Callable[[Any], Any], layout: str | None = None) -> Batch:
        """The batch with `function` applied to the samples.

        Args:
            function: of a tensor that may have dimensions in front of those of a sample.
            layout: of the result; the same by default.
        """
        layout = self.layout if layout is None else layout
        if self.block is not None:
            return Batch(function(self.block), layout, self.source_info)
        return Batch([function(sample) for sample in self.samples], layout, self.source_info)

    def tensors(self) -> list[torch.Tensor]:
        """The memory of the batch: its block, or the samples that are tensors."""
        if self.block is not None:
            return [self.block]
        return [sample for sample in self.samples if isinstance(sample, torch.Tensor)]

    def addresses(self) -> list[int]:
        """Where the memory of the batch begins; samples may share it."""
        if self.block is not None:
            return [self.block.untyped_storage().data_ptr()]
        return [tensor.untyped_storage().data_ptr() for tensor in self.tensors()]


def check_layout(layout: str, ndim: int) -> None:
    """One letter for each dimension; a layout of none fits all."""
    if layout and len(layout) != ndim:
        raise ArgumentError(
            f"layout {layout!r} names {len(layout)} dimensions, the samples have {ndim}"
        )


def parts(*batches: Batch, alike: Sequence[Sequence[Any]] = ()) -> list[slice]:
    """The largest parts of batches that are single tensors in all of them; see `Batch.part`.

    Args:
        *batches: of the same number of samples.
        alike: values for each sample that must not differ within a part.
    """
    count = len(batches[0])
    has_blocks = all(batch.block is not None for batch in batches)
    if has_blocks and count and all(map(_are_equal, alike)):
        return [slice(0, count)]
    return [slice(at, at + 1) for at in range(count)]


def _are_equal(values: Sequence[Any]) -> bool:
    return not values or list(values).count(values[0]) == len(values)


def _joined(blocks: Sequence[torch.Tensor | None]) -> torch.Tensor | None:
    """One tensor of which the given ones are consecutive slices; None if they are not."""
    first = blocks[0]
    if first is None or first.ndim == 0:
        return None
    place = first.storage_offset()
    for block in blocks:
        if (
            block is None
            or block.dtype != first.dtype
            or block.shape[1:] != first.shape[1:]
            or block.stride() != first.stride()
            or block.storage_offset() != place
            or block.untyped_storage().data_ptr() != first.untyped_storage().data_ptr()
        ):
            return None
        place += len(block) * first.stride(0)
    count = sum(len(block) for block in blocks if block is not None)
    return first.as_strided((count, *first.shape[1:]), first.stride())


def check_alike(samples: Sequence[Any], name: str = "") -> None:
    """Fail if the samples of a batch differ in element type, dimensions or device.

    Args:
        samples: of the batch. A path, for a decoder that takes either, is like any tensor.
        name: of their source, for the error.
    """
    for position, sample in enumerate(samples):
        first = samples[0]
        if not (isinstance(first, torch.Tensor) and isinstance(sample, torch.Tensor)):
            continue
        for what, here, there in (
            ("element type", sample.dtype, first.dtype),
            ("number of dimensions", sample.ndim, first.ndim),
            ("device", sample.device, first.device),
        ):
            if here != there:
                raise ArgumentTypeError(
                    f"{name}{': ' * bool(name)}the samples of a batch have one {what}: "
                    f"sample 0 has {there}, sample {position} has {here}"
                )
