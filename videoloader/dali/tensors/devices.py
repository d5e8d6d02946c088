"""DALI's names of tensors and batches by their device."""

from __future__ import annotations

from typing import Any

import torch

from videoloader.dali.tensors.tensor import Tensor
from videoloader.dali.tensors.tensor_list import TensorList
from videoloader.errors import ArgumentTypeError


class _OnDevice(type):
    """Instances are all tensors, or all batches, that are on the device."""

    def __instancecheck__(cls, value: Any) -> bool:
        kinds = TensorList if issubclass(cls, TensorList) else (Tensor, torch.Tensor)
        on_gpu = cls.__name__.endswith("GPU")
        return isinstance(value, kinds) and (value.device.type == "cuda") == on_gpu


def _check_device(value: Tensor | TensorList, name: str) -> None:
    place = "a GPU" if value.device.type == "cuda" else "the CPU"
    if place.endswith("GPU") != name.endswith("GPU"):
        raise ArgumentTypeError(f"{name} was given data on {place}; move it by gpu() or as_cpu()")


class TensorCPU(Tensor, metaclass=_OnDevice):
    """A `Tensor` on the CPU. `isinstance` holds for torch's tensors there too, as in batches.

    Args:
        data, layout: see `Tensor`.
        is_pinned: taken for DALI's sake; torch knows whether memory is pinned.

    >>> isinstance(torch.zeros(2), TensorCPU), TensorCPU([[1, 2]]).shape()
    (True, [1, 2])
    """

    __slots__ = ()

    def __init__(self, data: Any, layout: str | None = None, is_pinned: bool = False) -> None:  # noqa: ARG002
        super().__init__(data, layout)
        _check_device(self, "TensorCPU")


class TensorGPU(Tensor, metaclass=_OnDevice):
    """A `Tensor` on a GPU. `isinstance` holds for torch's tensors there too, as in batches.

    Args:
        data, layout: see `Tensor`.
        device_id: taken for DALI's sake; the data know their device.

    >>> isinstance(torch.zeros(2), TensorGPU)
    False
    """

    __slots__ = ()

    def __init__(self, data: Any, layout: str | None = None, device_id: int = -1) -> None:  # noqa: ARG002
        super().__init__(data, layout)
        _check_device(self, "TensorGPU")


class TensorListCPU(TensorList, metaclass=_OnDevice):
    """A `TensorList` on the CPU; `isinstance` holds for every batch there.

    Args:
        samples, layout: see `TensorList`.
        is_pinned: taken for DALI's sake; torch knows whether memory is pinned.

    >>> TensorListCPU([torch.zeros(4, 6, 3), torch.zeros(2, 8, 3)], layout="HWC").shape()
    [(4, 6, 3), (2, 8, 3)]
    """

    __slots__ = ()

    def __init__(self, samples: Any, layout: str | None = None, is_pinned: bool = False) -> None:  # noqa: ARG002
        super().__init__(samples, layout)
        _check_device(self, "TensorListCPU")


class TensorListGPU(TensorList, metaclass=_OnDevice):
    """A `TensorList` on a GPU; `isinstance` holds for every batch there.

    Args:
        samples, layout: see `TensorList`; an empty batch by default.
        device_id: taken for DALI's sake; the data know their device.

    >>> isinstance(TensorListCPU([torch.zeros(2)]), TensorListGPU)
    False
    """

    __slots__ = ()

    def __init__(self, samples: Any = (), layout: str | None = None, device_id: int = -1) -> None:  # noqa: ARG002
        super().__init__(samples, layout)
        if len(self):
            _check_device(self, "TensorListGPU")
