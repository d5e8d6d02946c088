"""decord's array and contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, DTypeLike

from videoloader.compat.decord.base import RefusedError

__all__ = ["DECORDContext", "NDArray", "array", "context", "cpu", "empty", "gpu"]

_CPU, _GPU = 1, 2  # DLPack's numbers of devices


@dataclass(frozen=True, slots=True)
class DECORDContext:
    """The device that frames are decoded on and returned on."""

    device_type: int
    device_id: int

    @property
    def device(self) -> str:
        """The device under torch's name."""
        return "cpu" if self.device_type == _CPU else f"cuda:{self.device_id}"

    def __repr__(self) -> str:
        return f"{'cpu' if self.device_type == _CPU else 'gpu'}({self.device_id})"


def cpu(dev_id: int = 0) -> DECORDContext:
    """The CPU."""
    return DECORDContext(_CPU, dev_id)


def gpu(dev_id: int = 0) -> DECORDContext:
    """A GPU by its number."""
    return DECORDContext(_GPU, dev_id)


def context(dev_type: str | int, dev_id: int = 0) -> DECORDContext:
    """A device by decord's name of its kind, `cpu` or `gpu`, or by DLPack's number.

    Raises:
        RefusedError: no such kind.
    """
    kinds = {"cpu": _CPU, "llvm": _CPU, "gpu": _GPU, "cuda": _GPU, _CPU: _CPU, _GPU: _GPU}
    if dev_type not in kinds:
        raise RefusedError(f"a device is cpu or gpu, got {dev_type!r}")
    return DECORDContext(kinds[dev_type], dev_id)


class NDArray:
    """decord's array type; shares the memory of a tensor.

    Args:
        tensor: of any shape, on the CPU or a GPU.
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self._tensor.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type under numpy's name."""
        return np.dtype(str(self._tensor.dtype).removeprefix("torch."))

    @property
    def ctx(self) -> DECORDContext:
        """The device of the array."""
        device = self._tensor.device
        return cpu(0) if device.type == "cpu" else gpu(device.index or 0)

    @property
    def context(self) -> DECORDContext:
        """The device of the array."""
        return self.ctx

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """A numpy array; shares the memory if that is on the CPU."""
        return self._tensor.cpu().numpy()

    def to_dlpack(self) -> Any:
        """A DLPack capsule of the same memory."""
        return self._tensor.__dlpack__()

    def copyto(self, target: NDArray | DECORDContext) -> NDArray:
        """Copy into another array, or to a device."""
        if isinstance(target, DECORDContext):
            return NDArray(self._tensor.to(target.device, copy=True))
        target._tensor.copy_(self._tensor)
        return target

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        values = self.asnumpy()
        if copy or (dtype is not None and np.dtype(dtype) != values.dtype):
            return values.astype(dtype or values.dtype)
        return values

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()

    def __len__(self) -> int:
        return len(self._tensor)

    def __getitem__(self, key: Any) -> NDArray:
        return NDArray(self._tensor[key])

    def __repr__(self) -> str:
        return f"{self.asnumpy()!r}\n<NDArray shape={self.shape}, {self.ctx}>"


def array(arr: ArrayLike | NDArray, ctx: DECORDContext | None = None) -> NDArray:
    """A copy of values as an array."""
    tensor = torch.from_numpy(np.array(arr))
    return NDArray(tensor.to((ctx or cpu(0)).device))


def empty(
    shape: Sequence[int], dtype: DTypeLike = "float32", ctx: DECORDContext | None = None
) -> NDArray:
    """An array whose values are undefined."""
    return array(np.empty(tuple(shape), dtype), ctx)


def as_context(ctx: object) -> DECORDContext:
    """Check a context."""
    if not isinstance(ctx, DECORDContext):
        raise RefusedError(f"ctx is cpu(0) or gpu(0), got {ctx!r}")
    return ctx
