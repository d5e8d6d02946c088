"""A batch of samples: what operators take and pipelines give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import torch

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.types import DataType

__all__ = ["TensorList"]


class TensorList:
    """N samples of one element type, one number of dimensions and one device.

    The samples may differ in shape (*ragged*) or not (*dense*). A batch made from one tensor
    (N, ...) shares its memory; samples and `as_tensor()` are then views of it.

    Args:
        samples: one tensor whose first dimension is the batch, or a sequence of tensors.
        layout: meaning of the dimensions of one sample, such as "FHWC"; "" when unknown.

    >>> batch = TensorList([torch.zeros(2, 4, 6, 3), torch.zeros(2, 8, 6, 3)], layout="FHWC")
    >>> len(batch), batch.is_dense_tensor(), batch.shape()
    (2, False, [(2, 4, 6, 3), (2, 8, 6, 3)])
    """

    __slots__ = ("_dense", "_layout", "_samples")

    def __init__(self, samples: torch.Tensor | Sequence[torch.Tensor], layout: str = "") -> None:
        if isinstance(samples, torch.Tensor):
            if samples.ndim == 0:
                raise ArgumentError("a batch needs a dimension for its samples, got a scalar")
            self._dense: torch.Tensor | None = samples
            self._samples = list(samples.unbind())
        else:
            self._dense = None
            self._samples = list(samples)
            _check_alike(self._samples)
        if layout and self._samples and len(layout) != self._samples[0].ndim:
            raise ArgumentError(
                f"layout {layout!r} names {len(layout)} dimensions, "
                f"the samples have {self._samples[0].ndim}"
            )
        self._layout = layout

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(self._samples)

    @overload
    def __getitem__(self, position: int) -> torch.Tensor: ...

    @overload
    def __getitem__(self, position: slice) -> TensorList: ...

    def __getitem__(self, position: int | slice) -> torch.Tensor | TensorList:
        """One sample, or a batch of some; it shares the memory of this one."""
        if not isinstance(position, slice):
            return self._samples[position]
        if self._dense is None or (position.step or 1) < 0:  # torch has no steps backwards
            return TensorList(self._samples[position], self._layout)
        return TensorList(self._dense[position], self._layout)

    def at(self, position: int) -> np.ndarray[Any, Any] | torch.Tensor:
        """One sample: a numpy array that shares memory on the CPU, a tensor on a GPU."""
        sample = self._samples[position]
        return sample if sample.is_cuda else sample.numpy(force=False)

    def layout(self) -> str:
        """Meaning of the dimensions of one sample, such as "FHWC"; "" when unknown."""
        return self._layout

    def shape(self) -> list[tuple[int, ...]]:
        """Shape of every sample."""
        return [tuple(sample.shape) for sample in self._samples]

    @property
    def dtype(self) -> DataType | None:
        """Element type; None for an empty batch that was made from a list."""
        dense = self._dense
        if dense is None and not self._samples:
            return None
        return DataType.of((self._samples[0] if dense is None else dense).dtype)

    @property
    def device(self) -> torch.device:
        """Where the samples are."""
        if self._dense is not None:
            return self._dense.device
        return self._samples[0].device if self._samples else torch.device("cpu")

    @property
    def block(self) -> torch.Tensor | None:
        """The tensor (N, ...) that holds all samples; None if they have memory of their own."""
        return self._dense

    def is_dense_tensor(self) -> bool:
        """Whether all samples have one shape, so that `as_tensor()` works."""
        return len({sample.shape for sample in self._samples}) <= 1

    def as_tensor(self) -> torch.Tensor:
        """The batch as one tensor (N, ...): a view where the batch is one block, else a copy."""
        if self._dense is None:
            if not self.is_dense_tensor():
                raise UnsupportedError(
                    f"a ragged batch is no tensor: its shapes are {self._shapes()}; "
                    "resize or crop to one size first, or take the samples one by one"
                )
            self._dense = torch.stack(self._samples) if self._samples else torch.empty(0)
            self._samples = list(self._dense.unbind())
        return self._dense

    def as_array(self) -> np.ndarray[Any, Any]:
        """The batch as one numpy array (N, ...), on the CPU."""
        return self.as_tensor().cpu().numpy()

    def as_cpu(self) -> TensorList:
        """The batch on the CPU; itself if it is there."""
        return self._to(torch.device("cpu"))

    cpu = as_cpu

    def gpu(self, device_id: int | None = None) -> TensorList:
        """The batch on a GPU, by default the current one; itself if it is there."""
        if not torch.cuda.is_available():
            raise UnsupportedError("this machine has no GPU that torch can use (gpu() was asked)")
        if device_id is None:
            device_id = torch.cuda.current_device()
        return self._to(torch.device("cuda", device_id))

    def _to(self, device: torch.device) -> TensorList:
        if self.device == device:
            return self
        moved = (
            [sample.to(device, non_blocking=device.type == "cuda") for sample in self._samples]
            if self._dense is None
            else self._dense.to(device, non_blocking=device.type == "cuda")
        )
        return TensorList(moved, self._layout)

    def _shapes(self) -> str:
        distinct = list(dict.fromkeys(self.shape()))
        shown = ", ".join(map(str, distinct[:4]))
        return shown + (f" and {len(distinct) - 4} more" if len(distinct) > 4 else "")

    def __repr__(self) -> str:
        dtype = self.dtype.name if self.dtype else "nothing"
        shapes = self._shapes() or "none"
        return (
            f"TensorList(num_samples={len(self)}, shape={shapes}, dtype={dtype}, "
            f"layout={self._layout!r}, device={str(self.device)!r})"
        )


def _check_alike(samples: Sequence[torch.Tensor]) -> None:
    for position, sample in enumerate(samples):
        if not isinstance(sample, torch.Tensor):
            raise ArgumentError(
                f"a batch holds tensors, sample {position} is a {type(sample).__name__}"
            )
        first = samples[0]
        for what, here, there in (
            ("type", sample.dtype, first.dtype),
            ("number of dimensions", sample.ndim, first.ndim),
            ("device", sample.device, first.device),
        ):
            if here != there:
                raise ArgumentError(
                    f"the samples of a batch have one {what}: "
                    f"sample 0 has {there}, sample {position} has {here}"
                )
