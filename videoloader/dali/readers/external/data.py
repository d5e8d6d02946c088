"""Converts data of users to batches of tensors, and checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from videoloader.dali.tensors import TensorList, saturate, to_tensor
from videoloader.dali.tensors.batch import Batch, check_alike
from videoloader.dali.tensors.importing import is_array
from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.sources.items import Item

_TEXTS = (str, bytes, bytearray, memoryview)
_NO_LISTS = (np.ndarray, torch.Tensor, *_TEXTS)


@dataclass(slots=True)
class Output:
    """One output of an external source: checks of its data, and the form of the last batch.

    Attributes:
        name: of the source, for messages.
        most: largest number of samples in a batch.
        dtype: element type that the data must have; any by default. Python numbers are converted.
        ndim: number of dimensions of a sample; any by default.
        layout: meaning of the dimensions; that of the data by default.
        device: torch device of the batches.
        is_copied: whether data is copied, so that the source may reuse its memory.
    """

    name: str
    most: int
    dtype: torch.dtype | None = None
    ndim: int | None = None
    layout: str | None = None
    device: str = "cpu"
    is_copied: bool = True
    _last: tuple[torch.dtype, int, str] | None = None

    def column(self, part: Any, *, layout: str | None = None, cuda_stream: Any = None) -> Batch:
        """A batch from the data of a source.

        Args:
            part: a `TensorList`, a list of samples, or one array (N, ...).
            layout: given along with the data.
            cuda_stream: on which data on a GPU is ready; by default the current one.
        """
        if torch.is_inference_mode_enabled() or torch._C._len_torch_function_stack():
            # The batch is used outside of the modes of torch that the caller is in.
            disabled: Any = torch._C.DisableTorchFunction
            with torch.inference_mode(mode=False), disabled():
                return self._column(part, layout, cuda_stream)
        return self._column(part, layout, cuda_stream)

    def _column(self, part: Any, layout: str | None, cuda_stream: Any) -> Batch:
        batch, is_own = self._take(part)
        count = len(batch)
        if not 0 < count <= self.most:
            raise ArgumentError(
                f"{self.name}: {count} samples for a batch of {self.most}"
                if count
                else f"{self.name}: a batch has at least one sample, got none"
            )
        tensors = batch.tensors()
        if batch.block is None and len(tensors) != count:
            return Batch(batch.samples)
        first = tensors[0]
        given = batch.layout if layout is None else layout
        ndim = first.ndim - (batch.block is not None)
        self._check(first.dtype, ndim, given, is_given=layout is not None)
        layout = (self.layout if layout is None else layout) or given
        if not first.is_cuda:
            return Batch(self._kept(batch, is_own=is_own), layout, batch.source_info)
        with _on_stream(cuda_stream, first.device):
            return Batch(self._kept(batch, is_own=is_own), layout, batch.source_info)

    def sample(self, value: Any) -> Any:
        """A sample as a tensor; paths and items of a data set are returned unchanged."""
        if isinstance(value, str | Path | Item):
            return value if isinstance(value, Item) else str(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return torch.frombuffer(bytearray(value), dtype=torch.uint8)
        try:
            tensor = to_tensor(value)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{self.name}: {error}") from error
        if isinstance(value, bool | int | float | list | tuple):
            if tensor.dtype == torch.float64 and not _has_arrays(value):
                tensor = tensor.float()
            if self.dtype is not None:
                tensor = saturate(tensor, self.dtype)
        return tensor

    def _take(self, part: Any) -> tuple[Batch, bool]:
        """The samples as tensors, paths or items; whether their memory is exclusively ours."""
        if isinstance(part, TensorList):
            return part.batch, False
        if isinstance(part, list | tuple) or (
            not isinstance(part, _NO_LISTS) and isinstance(part, Sequence)
        ):
            if self.is_copied and _are_alike(part):
                return Batch(to_tensor(np.stack(part))), True
            has_layout = bool(part) and hasattr(part[0], "get_property")
            layout = part[0].get_property("layout") if has_layout else None
            samples = [self.sample(value) for value in part]
            check_alike(samples, self.name)
            info = [known() if callable(known) else "" for known in map(_source_info, part)]
            return Batch(samples, layout or "", info if any(info) else ()), False
        if isinstance(part, _TEXTS) or not is_array(part):
            raise self._no_batch(part)
        block = to_tensor(part)
        if block.ndim == 0:
            raise self._no_batch(part)
        return Batch(block), False

    def _no_batch(self, part: Any) -> ArgumentError:
        return ArgumentTypeError(
            f"{self.name}: a batch is a tensor, an array or a list of samples, "
            f"got {type(part).__name__}; for one sample at a time use batch=False"
        )

    def _check(self, dtype: torch.dtype, ndim: int, layout: str, *, is_given: bool) -> None:
        """Raise an error if data differs from the declared form, or from earlier batches."""
        if self.dtype is not None and dtype != self.dtype:
            raise ArgumentTypeError(
                f"{self.name}: expected data of type {DataType.of(self.dtype).name}, "
                f"got {DataType.of(dtype).name}"
            )
        if self.ndim is not None and ndim != self.ndim:
            raise ArgumentError(
                f"{self.name}: expected data with {self.ndim} dimensions, got {ndim}"
            )
        wanted = layout if is_given or self.layout is None else self.layout
        if wanted and len(wanted) != ndim:
            raise ArgumentError(
                f"{self.name}: layout {wanted!r} does not fit data with {ndim} dimensions"
            )
        if self.layout and is_given and layout != self.layout:
            raise ArgumentError(
                f"{self.name}: expected data with layout {self.layout!r}, got {layout!r}"
            )
        facts = (dtype, ndim, wanted or layout)
        known = self._last or facts
        whats = ("element type", "number of dimensions", "layout")
        for what, before, now in zip(whats, known, facts, strict=True) if known != facts else ():
            if before != now:
                raise ArgumentError(
                    f"{self.name}: the {what} of the data has changed from {before} to {now}; "
                    "it stays the same from batch to batch"
                )
        self._last = facts

    def _kept(self, batch: Batch, *, is_own: bool) -> Any:
        """The samples on the device: one block where they have one shape."""
        if batch.block is not None:
            return _moved(batch.block, self.device, is_own=is_own or not self.is_copied)
        samples = batch.samples
        if not self.is_copied:
            with _copying(samples[0], self.device):
                moved = [sample.to(self.device) for sample in samples]
                _wait_for(*samples, *moved)
            return moved
        if len({sample.shape for sample in samples}) == 1:
            return _moved(torch.stack(samples), self.device, is_own=True)
        return [_moved(sample, self.device) for sample in samples]


def outputs_of(
    name: str, count: int, most: int, device: str, arguments: Mapping[str, Any]
) -> list[Output]:
    """The outputs of a source; a list of dtypes, dimensions or layouts has one for each."""

    def at(key: str, number: int) -> Any:
        value = arguments[key]
        if not isinstance(value, tuple):
            return value
        return value[number] if number < len(value) else None

    outputs = []
    for number in range(count):
        ndim, layout = at("ndim", number), at("layout", number)
        if ndim is not None and layout and len(layout) != ndim:
            raise ArgumentError(f"{name}: layout {layout!r} does not fit ndim={ndim}")
        outputs.append(
            Output(
                name,
                most,
                at("dtype", number),
                ndim,
                layout,
                device,
                is_copied=not arguments["no_copy"],
            )
        )
    return outputs


def _source_info(value: Any) -> Any:
    return getattr(value, "source_info", None)


def _are_alike(part: Sequence[Any]) -> bool:
    """Whether samples are arrays of one shape and type, the most frequent case by far."""
    first = part[0] if part else None
    if type(first) is not np.ndarray or first.dtype.kind not in "biuf":
        return False
    shape, dtype = first.shape, first.dtype
    return all(type(x) is np.ndarray and x.shape == shape and x.dtype == dtype for x in part)


def _has_arrays(value: Any) -> bool:
    """Whether a list holds arrays, whose element type counts."""
    if isinstance(value, list | tuple):
        return any(map(_has_arrays, value))
    return isinstance(value, np.ndarray | np.generic | torch.Tensor)


def _moved(tensor: torch.Tensor, device: str, *, is_own: bool = False) -> torch.Tensor:
    """A copy on a device, complete when this returns."""
    with _copying(tensor, device):
        copied = tensor.to(device, copy=not is_own).contiguous()
        _wait_for(tensor, copied)
    return copied


_NOWHERE = nullcontext()  # may be entered again and again


def _copying(tensor: torch.Tensor, device: str) -> Any:
    """Have copies from the CPU to a GPU wait for nothing that the caller has queued there."""
    if tensor.is_cuda or not device.startswith("cuda"):
        return _NOWHERE
    return torch.cuda.stream(_copy_stream(device))


@lru_cache(maxsize=16)
def _copy_stream(device: str) -> Any:
    make: Any = torch.cuda.Stream
    return make(device)


def _wait_for(*tensors: torch.Tensor) -> None:
    """Wait for the current stream, if any tensor is on a GPU."""
    for each in tensors:
        if each.is_cuda:
            torch.cuda.current_stream(each.device).synchronize()
            break


def _on_stream(stream: Any, device: torch.device) -> Any:
    """Have copies from a GPU wait for a stream of the user."""
    if stream in (None, 1):
        return _NOWHERE
    if isinstance(stream, torch.cuda.Stream):
        return torch.cuda.stream(stream)
    handle = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    external: Any = torch.cuda.ExternalStream
    return torch.cuda.stream(external(int(handle), device=device))
