"""Pipelines as PaddlePaddle iterators: dicts of `paddle.Tensor`.

Importing this needs no PaddlePaddle; using it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from videoloader.dali.plugin.data_and_label import DataAndLabel
from videoloader.dali.plugin.dense import dense
from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.iteration import BatchIterator
from videoloader.dali.tensors import TensorList
from videoloader.errors import UnsupportedError
from videoloader.machinery.cuda.streams import keep_for

if TYPE_CHECKING:
    import paddle

__all__ = [
    "ClassificationIterator",
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "GenericIterator",
    "LastBatchPolicy",
    "feed_ndarray",
]

Tensors = dict[str, "paddle.Tensor"]


class GenericIterator(BatchIterator[list[Tensors]]):
    """Iterates over pipelines that run in step, epoch by epoch.

    Each item is a list with one dict for each pipeline, from output name to a `paddle.Tensor`
    (N, ...) on the device of the output, whose memory it shares.

    Args:
        output_map: a name for each output; as in DALI also a pair (name, 0). Other levels of
            detail (LoD) than 0 are not supported: samples have one shape.

    The other arguments are those of `videoloader.dali.plugin.pytorch.GenericIterator`.
    """

    def _named(self, output_map: Sequence[str | tuple[str, int]]) -> list[str]:
        _import_paddle()
        return [_name(each) for each in output_map]

    def _item(self, batches: Sequence[tuple[Sequence[TensorList], int]]) -> list[Tensors]:
        return [
            {
                name: to_paddle(name, dense(name, output, count))
                for name, output in zip(self.output_map, outputs, strict=True)
            }
            for outputs, count in batches
        ]


class ClassificationIterator(DataAndLabel[list[Tensors]], GenericIterator):
    """`GenericIterator` over pipelines with two outputs, which it names "data" and "label"."""


DALIClassificationIterator = ClassificationIterator
DALIGenericIterator = GenericIterator


def feed_ndarray(dali_tensor: Any, ptr: Any, cuda_stream: Any = None) -> Any:
    """Copy a tensor, or a batch, contiguously to an address on the same device.

    Args:
        dali_tensor: a `TensorList` or a tensor.
        ptr: the address, an int or a `ctypes.c_void_p`. Nothing checks that the memory is large
            enough.
        cuda_stream: on a GPU, the stream that copies; by default the current one.

    Returns:
        `ptr`.
    """
    batch = dali_tensor if isinstance(dali_tensor, TensorList) else TensorList([dali_tensor])
    batch.copy_to_external(ptr, cuda_stream)
    return ptr


def to_paddle(name: str, tensor: torch.Tensor) -> paddle.Tensor:
    """A tensor of Paddle with the memory of one of PyTorch; `name` of the output, for errors."""
    from_dlpack = _import_paddle().utils.dlpack.from_dlpack
    if tensor.dtype is torch.uint16:
        raise UnsupportedError(
            f"output {name!r} has elements of 16 bits without sign, which Paddle takes for "
            "bfloat16; give it another type in the pipeline (fn.cast)"
        )
    return from_dlpack(_Shared(tensor.contiguous()) if tensor.is_cuda else tensor)


class _Shared:
    """A tensor on a GPU whose memory is not used again before Paddle's stream has read it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        device = self._tensor.device
        is_default = stream is None or stream <= 2  # the protocol's numbers of default streams
        keep_for(
            torch.cuda.default_stream(device)
            if is_default
            else torch.cuda.ExternalStream(stream, device=device),
            [self._tensor],
        )
        return self._tensor.__dlpack__(stream=stream, **options)


def _name(entry: str | tuple[str, int]) -> str:
    name, level = (entry, 0) if isinstance(entry, str) else entry
    if level != 0:
        raise UnsupportedError(
            f"output {name!r} with a level of detail of {level}: only 0 is supported; take samples "
            "of several shapes with RaggedIterator (videoloader.dali.plugin.pytorch)"
        )
    return name


def _import_paddle() -> Any:
    try:
        import paddle
        import paddle.utils.dlpack
    except ImportError as error:
        raise UnsupportedError(
            "videoloader.dali.plugin.paddle needs PaddlePaddle: pip install paddlepaddle, or "
            "paddlepaddle-gpu"
        ) from error
    return paddle
