"""One sample of a batch: a torch tensor that answers DALI's calls too."""

from __future__ import annotations

import copy
from typing import Any

import torch

from videoloader.dali.tensors.batch import check_layout
from videoloader.dali.tensors.memory import copy_to_address


class Shape(tuple[int, ...]):
    """The sizes of a tensor; calling it gives DALI's form of them, a list.

    >>> Shape((4, 6, 3)), Shape((4, 6, 3))(), Shape((4, 6, 3)).numel()
    ((4, 6, 3), [4, 6, 3], 72)
    """

    __slots__ = ()

    def __call__(self) -> list[int]:
        """The sizes as a list."""
        return list(self)

    def numel(self) -> int:
        """Number of elements of a tensor of this shape."""
        return torch.Size(self).numel()


class Count(int):
    """A number that is DALI's method too: calling it gives it.

    >>> Count(3), Count(3)()
    (3, 3)
    """

    __slots__ = ()

    def __call__(self) -> int:
        """The number."""
        return int(self)


class Layout:
    """torch's layout of a tensor; calling it gives DALI's layout, the meaning of the dimensions.

    >>> layout = Layout(torch.strided, "HWC")
    >>> layout == torch.strided, layout in {torch.strided}, layout()
    (True, True, 'HWC')
    """

    __slots__ = ("_kind", "_letters")

    def __init__(self, kind: torch.layout, letters: str) -> None:
        self._kind, self._letters = kind, letters

    def __call__(self) -> str:
        """The letter of each dimension; "" when unknown."""
        return self._letters

    def __eq__(self, other: object) -> bool:
        return self._kind == (other._kind if isinstance(other, Layout) else other)

    def __hash__(self) -> int:
        return hash(self._kind)

    def __repr__(self) -> str:
        return repr(self._kind)


class SampleTensor(torch.Tensor):
    """A torch tensor that also has DALI's methods.

    What is computed from it is a plain tensor.

    Where torch and DALI give one name different meanings, torch's holds (`dtype`, `squeeze`), but
    that `shape`, `ndim` and `layout` can be called as well, with DALI's meaning. `Tensor` has all
    of DALI's meanings.

    >>> image = SampleTensor.of(torch.zeros(4, 6, 3), "HWC", source_info="a.jpg")
    >>> image.shape, image.shape(), image.layout(), image.source_info(), image.mean().item()
    ((4, 6, 3), [4, 6, 3], 'HWC', 'a.jpg', 0.0)
    """

    _source_info: str
    _layout: str

    # Operators give plain tensors and cost what they cost on plain tensors.
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def of(cls, tensor: torch.Tensor, layout: str = "", source_info: str = "") -> SampleTensor:
        """A view of a tensor."""
        sample = tensor.as_subclass(cls)
        sample._layout, sample._source_info = layout, source_info
        return sample

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """The sizes; also a method that gives them as a list."""
        return Shape(self.size())

    @property
    def ndim(self) -> Count:  # type: ignore[override]
        """The number of dimensions; also a method."""
        return Count(self.dim())

    @property
    def layout(self) -> Layout:  # type: ignore[override]
        """The layout in torch's sense; also a method that gives it in DALI's, such as "HWC"."""
        plain: Any = self.as_subclass(torch.Tensor)
        return Layout(plain.layout, self._layout)

    def set_layout(self, layout: str | None) -> None:
        """Give the dimensions another meaning; none, if it is unknown."""
        check_layout(layout or "", self.dim())
        self._layout = layout or ""

    def device_id(self) -> int | None:
        """Number of the GPU; None on the CPU."""
        return self.device.index

    def as_cpu(self) -> SampleTensor:
        """The sample on the CPU; itself if it is there."""
        return self if not self.is_cuda else self._like(self.cpu())

    def source_info(self) -> str:
        """Where the sample comes from, such as a file; "" when unknown."""
        return self._source_info

    def get_property(self, name: str) -> str | None:
        """The "layout" or the "source_info"; None when unknown, or another name."""
        return {"layout": self._layout, "source_info": self._source_info}.get(name) or None

    def copy_to_external(
        self, ptr: Any, cuda_stream: Any = None, non_blocking: bool = False
    ) -> None:
        """Copy the elements to an address on the same device; see `TensorList`."""
        copy_to_address([self], ptr, cuda_stream, non_blocking)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.is_cuda:
            raise AttributeError("a tensor on a GPU has no __array_interface__")
        interface: dict[str, Any] = self.numpy(force=False).__array_interface__
        return interface

    def _like(self, tensor: torch.Tensor) -> SampleTensor:
        return SampleTensor.of(tensor, self._layout, self._source_info)

    def __deepcopy__(self, memo: dict[int, Any]) -> SampleTensor:
        return self._like(copy.deepcopy(self.as_subclass(torch.Tensor), memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled as a plain tensor, which `torch.load` takes without trusting this library."""
        plain: Any = self.as_subclass(torch.Tensor)
        return plain.__reduce_ex__(protocol)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        plain: Any = self.as_subclass(torch.Tensor)
        return str(plain.__repr__(tensor_contents=tensor_contents))
