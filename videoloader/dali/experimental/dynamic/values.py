"""`Tensor` and `Batch` of dynamic mode, which wrap `videoloader.dali.tensors`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.experimental.dynamic.context import Device, EvalMode
from videoloader.dali.experimental.dynamic.context import device as device_of
from videoloader.dali.experimental.dynamic.dtypes import DType, float32, type_id
from videoloader.dali.experimental.dynamic.dtypes import dtype as dtype_of
from videoloader.dali.experimental.dynamic.plain import array_of, copied, run, subscript
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors import Tensor as PlainTensor
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.importing import is_array
from videoloader.dali.types import Computable
from videoloader.errors import ArgumentError, ArgumentTypeError


class Value(Computable):
    """The common base of `Tensor` and `Batch`; `plain` is the value that operators take."""

    __slots__ = ("plain",)
    __hash__ = None  # type: ignore[assignment]  # == compares elements

    plain: Any

    @property
    def dtype(self) -> DType:
        """Element type."""
        return dtype_of(self.plain.dtype)

    @property
    def device(self) -> Device:
        """Where the elements are."""
        found: Device = device_of(self.plain.device)
        return found

    @property
    def layout(self) -> str | None:
        """Meaning of the dimensions of a sample, such as "HWC"; None when unknown."""
        return self.plain.layout() or None

    @property
    def ndim(self) -> int:
        """Number of dimensions of a sample."""
        return int(self.plain.ndim)

    def evaluate(self) -> Any:
        """This value: it was evaluated where it was made."""
        return self

    def cpu(self) -> Any:
        """The value on the CPU; itself if it is there."""
        return self.to_device(Device.CPU)

    def gpu(self, index: int | None = None) -> Any:
        """The value on a GPU, by default the current one; itself if it is there."""
        return self.to_device(Device("gpu", index))

    def to_device(self, device: Any, force_copy: bool = False) -> Any:
        """The value on a device; itself if it is there, unless a copy is asked for."""
        wanted = device_of(device)
        if wanted == self.device:
            return wrapped(copied(self.plain)) if force_copy else self
        on_cpu = wanted.device_type == "cpu"
        return wrapped(self.plain.cpu() if on_cpu else self.plain.gpu(wanted.device_id))

    def __eq__(self, other: object) -> Any:
        return self._expression("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._expression("neq", self, other)

    def __repr__(self) -> str:
        """The elements and the properties, in the form that DALI prints."""
        text = str(self.plain).partition("(")[2]
        name = f"DALIDataType.{type_id(self.dtype).name}"
        return f"{type(self).__name__}({text}".replace(name, str(self.dtype))


class Tensor(Value):
    """A tensor: `tensor` and `as_tensor` make it.

    numpy, torch, CuPy and JAX take it without a copy.

    Args:
        data: an array or tensor of any library, a number or a nested list, a `Tensor`. Integers of
            Python become int32, or uint32 if one is too large, floating point numbers float32.
        dtype: converts, with saturation.
        device: copies to that device.
        layout: meaning of the dimensions; by default that of `data`.
        copy: copy in any case; otherwise memory is shared where that is possible.

    >>> pixels = Tensor([[0, 300], [9, -1]], dtype="uint8")
    >>> pixels.shape, np.asarray(pixels).tolist(), (pixels * 2).dtype
    ((2, 2), [[0, 255], [9, 0]], DType(type_id=DataType.INT32))
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        *,
        copy: bool = False,
    ) -> None:
        if isinstance(data, Batch):
            raise ArgumentTypeError("as_tensor makes a Tensor of a Batch")
        plain = data.plain if isinstance(data, Tensor) else data
        if not isinstance(plain, PlainTensor) and not is_array(plain):
            plain, copy = torch.from_numpy(array_of(plain, of_32_bits=dtype is None)), False
        plain = PlainTensor(plain, layout)
        self.plain = _converted(plain, dtype, device, copy=copy)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return tuple(self.plain.shape())

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.plain.tensor.numel())

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.bytes

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def item(self) -> Any:
        """The only element, as a number."""
        if self.size != 1:
            raise ArgumentError(f"item() takes a tensor of one element, this one has {self.size}")
        return self.plain.tensor.item()

    def torch(self, copy: bool = False) -> torch.Tensor:
        """The tensor of torch, which shares memory unless a copy is asked for."""
        given: torch.Tensor = self.plain.tensor
        return given.clone() if copy else given

    def __bool__(self) -> bool:
        return bool(self.item())

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise ArgumentTypeError("a tensor without dimensions has no parts")
        return (self[at] for at in range(self.shape[0]))

    def __getitem__(self, ranges: Any) -> Tensor:
        """Index and slice as in Python; the layout keeps the letters of remaining dimensions."""
        taken = subscript(TensorList([self.plain], self.layout or ""), ranges)
        found: Tensor = wrapped(taken[0])
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.device.device_type != "cpu":
            raise ArgumentTypeError("a tensor on a GPU is no array; use .cpu() first")
        array: np.ndarray[Any, Any] = self.plain.__array__(dtype, copy)
        return array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self.plain.__cuda_array_interface__
        return interface

    def __dlpack__(self, **options: Any) -> Any:
        return self.plain.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.plain.__dlpack_device__()


class Batch(Value):
    """Samples of one type, layout and number of dimensions: `batch` and `as_batch` make it.

    Args:
        tensors: a list of what `Tensor` takes, or an array or tensor (N, ...); a `TensorList`.
        dtype: converts, with saturation; needed for an empty list.
        device: copies to that device.
        layout: of a sample; by default that of `tensors`.
        copy: copy in any case; otherwise memory is shared where that is possible.
    """

    __slots__ = ()

    def __init__(
        self,
        tensors: Any,
        dtype: Any = None,
        device: Any = None,
        layout: str | None = None,
        *,
        copy: bool = False,
    ) -> None:
        if isinstance(tensors, Batch):
            tensors = tensors.plain
        if isinstance(tensors, Tensor | PlainTensor):
            own = Tensor(tensors)
            layout = (own.layout or "").removeprefix("N") if layout is None else layout
            tensors = own.torch()
        elif not isinstance(tensors, TensorList) and not is_array(tensors):
            tensors = list(tensors)
            samples = [Tensor(sample, dtype, device).plain for sample in tensors]
            if not samples and dtype is None:
                raise ArgumentError("an empty batch needs dtype")
            if dtype is None and not any(map(is_array, tensors)):  # [[1.5], [2]]: one type for all
                dtype = float32 if any(each.dtype == float32 for each in samples) else None
                samples = [_converted(sample, dtype, None, copy=False) for sample in samples]
            tensors = samples or torch.empty(0, dtype=type_id(dtype).torch)
        plain = TensorList(tensors, layout)
        self.plain = _converted(plain, dtype, device, copy=copy)

    @staticmethod
    def broadcast(sample: Any, batch_size: int, device: Any = None, dtype: Any = None) -> Batch:
        """A batch of one sample `batch_size` times."""
        own = Tensor(sample, dtype, device)
        made: Batch = wrapped(TensorList.broadcast(own.plain, batch_size))
        return made

    @property
    def batch_size(self) -> int:
        """Number of samples."""
        return len(self.plain)

    @property
    def shape(self) -> list[tuple[int, ...]]:
        """Shape of each sample.

        >>> as_batch([np.zeros((480, 640, 3)), np.zeros((720, 1280, 1))]).shape
        [(480, 640, 3), (720, 1280, 1)]
        """
        shapes: list[tuple[int, ...]] = self.plain.shape()
        return shapes

    @property
    def tensors(self) -> _Tensors:
        """The samples: `[2]` is a `Tensor`; a slice or a list gives some of them."""
        return _Tensors(self, range(self.batch_size))

    @property
    def slice(self) -> _SampleSlice:
        """Index and slice each sample: ``batch.slice[0:2]``; a `Batch` has a bound for each."""
        return _SampleSlice(self)

    def select(self, samples: Any) -> Any:
        """One sample by its number, or a batch of several by a slice or list; `...` is all."""
        if samples is ...:
            return self
        found = self.tensors[samples]
        return found if isinstance(found, Tensor) else found.as_batch()

    def torch(self, copy: bool | None = None, pad: bool = False) -> torch.Tensor:
        """The batch as one tensor of torch, (N, ...).

        Args:
            copy: True always copies; False is an error if the samples do not lie in one block.
            pad: put zeros behind smaller samples, which are an error otherwise.
        """
        if copy is False and self.plain.block is None:
            raise ArgumentError("copy=False: the samples lie in memory of their own")
        return as_tensor(self, pad=pad).torch(bool(copy))

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.tensors)

    def __getitem__(self, _: Any) -> Any:
        raise ArgumentTypeError(
            "a Batch has no [...]: batch.tensors[...] takes samples, batch.slice[...] slices each"
        )


class _Tensors(Sequence[Tensor]):
    """Samples of a batch, made when they are asked for."""

    def __init__(self, source: Batch, numbers: Sequence[int]) -> None:
        self._source, self._numbers = source, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, selection: Any) -> Any:
        if isinstance(selection, slice):
            return _Tensors(self._source, self._numbers[selection])
        if isinstance(selection, list):
            return _Tensors(self._source, [self._numbers[at] for at in selection])
        if isinstance(selection, Value):
            raise ArgumentTypeError("tensors[...] takes a number, a slice or a list of numbers")
        return wrapped(self._source.plain[self._numbers[selection]])

    def tolist(self) -> list[Tensor]:
        """The samples in a list."""
        return list(self)

    def as_batch(self, copy: bool = False) -> Batch:
        """The samples as a batch, which shares their memory unless a copy is asked for."""
        layout = self._source.layout
        return Batch(self.tolist(), self._source.dtype, layout=layout, copy=copy)


class _SampleSlice:
    """`batch.slice`."""

    def __init__(self, source: Batch) -> None:
        self._source = source

    def __getitem__(self, ranges: Any) -> Batch:
        made: Batch = wrapped(subscript(self._source.plain, ranges))
        return made


def tensor(
    data: Any, dtype: Any = None, device: Any = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """A `Tensor` with a copy of the data; see `as_tensor`.

    >>> data = np.zeros(3, np.float32)
    >>> copy = tensor(data)
    >>> data[0] = 7
    >>> np.asarray(copy)
    array([0., 0., 0.], dtype=float32)
    """
    return Tensor(_stacked(data, pad=pad), dtype, device, layout, copy=True)


def as_tensor(
    data: Any, dtype: Any = None, device: Any = None, layout: str | None = None, pad: bool = False
) -> Tensor:
    """A `Tensor` that shares the memory of the data where that is possible.

    Args:
        data: see `Tensor`; of a `Batch` the result has the shape (N, ...).
        dtype: converts, with saturation.
        device: copies to that device.
        layout: meaning of the dimensions.
        pad: of a batch, put zeros behind smaller samples, which are an error otherwise.

    >>> data = np.zeros(3, np.float32)
    >>> shared = as_tensor(data)
    >>> data[0] = 7
    >>> np.asarray(shared)
    array([7., 0., 0.], dtype=float32)
    >>> as_tensor(as_batch([[1, 2], [3]]), pad=True).torch()
    tensor([[1, 2],
            [3, 0]], dtype=torch.int32)
    """
    return Tensor(_stacked(data, pad=pad), dtype, device, layout)


def _stacked(data: Any, *, pad: bool) -> Any:
    """The samples of a batch in one tensor; other values unchanged."""
    if not isinstance(data, Batch):
        return data
    plain = data.plain
    if not plain.is_dense_tensor():
        if not pad:
            raise ArgumentError(
                f"the samples have different shapes, {data.shape}; use pad=True for zeros behind "
                "the smaller ones"
            )
        plain = run(OPERATORS["pad"], plain)
    return plain.as_tensor()


def batch(tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None) -> Batch:
    """A `Batch` with a copy of the data; see `Batch`.

    >>> images = batch([np.zeros((2, 3)), np.zeros((4, 3))])
    >>> images.batch_size, images.shape
    (2, [(2, 3), (4, 3)])
    """
    return Batch(tensors, dtype, device, layout, copy=True)


def as_batch(
    tensors: Any, dtype: Any = None, device: Any = None, layout: str | None = None
) -> Batch:
    """A `Batch` that shares the memory of the data where that is possible; see `Batch`.

    >>> as_batch([[1, 2], [3]]).shape, as_batch(np.zeros((2, 4, 6, 3)), layout="HWC").layout
    ([(2,), (1,)], 'HWC')
    """
    if isinstance(tensors, Batch) and dtype is device is layout is None:
        return tensors
    return Batch(tensors, dtype, device, layout)


def wrapped(plain: Any) -> Any:
    """A `Batch` or `Tensor` of a value that an operator gave; of several in a tuple."""
    if isinstance(plain, tuple):
        return tuple(map(wrapped, plain))
    made: Any = object.__new__(Batch if isinstance(plain, TensorList) else Tensor)
    made.plain = plain if isinstance(plain, TensorList | PlainTensor) else PlainTensor(plain)
    if EvalMode.current() is EvalMode.sync_full and plain.device.type == "cuda":
        torch.cuda.synchronize(plain.device)
    return made


def _converted(plain: Any, dtype: Any, device: Any, *, copy: bool) -> Any:
    """A `TensorList` or tensor of another type, on another device; or a copy."""
    before = plain
    if device is not None:
        plain = wrapped(plain).to_device(device).plain
    if dtype is not None and dtype_of(plain.dtype) != dtype_of(dtype):
        made = run(OPERATORS["cast"], plain, dtype=type_id(dtype))
        plain = made if isinstance(made, TensorList) else PlainTensor(made, plain.layout())
    return copied(plain) if copy and plain is before else plain
