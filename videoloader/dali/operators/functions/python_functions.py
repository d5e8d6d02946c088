"""Operators that call functions of the user on the data of a pipeline.

A function is called by one thread at a time, batch after batch and sample after
sample, once for each. It gets copies, and what it gives is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arguments import BOOL, INT, REQUIRED, Argument, Kind
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import to_tensor
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from videoloader.machinery.cuda.streams import as_cupy
from videoloader.machinery.system.eager_calls import eager


def _function(value: Any) -> Any:
    if not callable(value):
        raise TypeError
    return value


def _layouts(value: Any) -> str | tuple[str, ...]:
    return value if isinstance(value, str) else tuple(map(str, value))


def _num_outputs(arguments: Any) -> int:
    count: int = arguments["num_outputs"]
    return count


def _check(given: Any, arguments: Any) -> None:
    layouts, count = arguments["output_layouts"], arguments["num_outputs"]
    if isinstance(layouts, tuple) and len(layouts) > count:
        raise ArgumentError(
            f"output_layouts has {len(layouts)} layouts, more than the {count} outputs"
        )


def _described(*, batch_processing: bool, extra: Sequence[Argument] = ()) -> dict[str, Any]:
    """The common declaration of the operators of this module."""
    return {
        "inputs": (Input("inputs", is_optional=True, is_repeated=True),),
        "arguments": (
            Argument("function", Kind("callable", _function), REQUIRED, "what is called"),
            Argument("num_outputs", INT, 1, "of the function; 0: it is called anyway", least=0),
            Argument(
                "batch_processing",
                BOOL,
                default=batch_processing,
                doc="call it once a batch with a list of samples for each input, not once a sample",
            ),
            Argument(
                "output_layouts",
                Kind("str or list of str", _layouts),
                None,
                "layouts of the outputs; a str is for all",
            ),
            *extra,
        ),
        "num_outputs": _num_outputs,
        "check": _check,
        "infer": None,
        "whole_batch": True,
        "has_effects": True,
    }


@declare("python_function", **_described(batch_processing=False))
def python_function(context: Context, *inputs: Batch, **arguments: Any) -> tuple[Batch, ...]:
    """Call a Python function on NumPy arrays, on a GPU on CuPy arrays.

    It gets one sample of each input, and gives one array or a tuple of them. In a pipeline it is
    called by one thread, in the order of samples and batches, once for each sample, up to
    `prefetch_queue_depth` batches ahead; with a depth of 1 only as `run` asks for a batch. With
    `exec_async=False` that is so too, and it is called in the thread of `run`.
    """
    on_gpu = context.device != "cpu"
    give = _from_dlpack(context) if on_gpu else torch.Tensor.numpy
    return _call(context, inputs, give, **arguments)


@declare("torch_python_function", **_described(batch_processing=False))
def torch_python_function(context: Context, *inputs: Batch, **arguments: Any) -> tuple[Batch, ...]:
    """Call a Python function on PyTorch tensors; see `python_function`.

    On a GPU the stream of the pipeline is the current one.
    """
    return _call(context, inputs, lambda tensor: tensor, **arguments)


@declare(
    "dl_tensor_python_function",
    **_described(
        batch_processing=True,
        extra=(
            Argument(
                "synchronize_stream",
                BOOL,
                default=True,
                doc="on a GPU wait until the inputs are there before the call",
            ),
        ),
    ),
)
def dl_tensor_python_function(
    context: Context, *inputs: Batch, synchronize_stream: bool, **arguments: Any
) -> tuple[Batch, ...]:
    """Call a Python function on DLPack capsules; see `python_function`."""
    if synchronize_stream and context.stream is not None:
        context.stream.synchronize()
    return _call(context, inputs, _capsule, **arguments)


def _capsule(tensor: torch.Tensor) -> Any:
    to_dlpack: Any = torch.utils.dlpack.to_dlpack  # type: ignore[attr-defined]
    return to_dlpack(tensor)


def _from_dlpack(context: Context) -> Callable[[torch.Tensor], Any]:
    """Gives a tensor as a CuPy array; the stream of the operator becomes CuPy's."""
    try:
        import cupy
    except ImportError as error:
        raise UnsupportedError(
            'fn.python_function with device="gpu" needs CuPy: pip install "videoloader[cuda]"; '
            "or use fn.torch_python_function"
        ) from error
    as_cupy(context.stream).use()
    from_dlpack: Callable[[torch.Tensor], Any] = cupy.from_dlpack
    return from_dlpack


def _call(
    context: Context,
    inputs: Sequence[Batch],
    give: Callable[[torch.Tensor], Any],
    *,
    function: Callable[..., Any],
    num_outputs: int,
    batch_processing: bool,
    output_layouts: str | tuple[str, ...] | None,
) -> tuple[Batch, ...]:
    """Call the function on all samples as `give` shows them, and put its outputs together."""
    function = eager()(function)
    given = [[give(sample.clone()) for sample in batch] for batch in inputs]
    if batch_processing:
        columns = _row(function(*given), num_outputs)
        samples = [_samples(column) for column in columns]
        for column in samples:
            if len(column) != context.count:
                raise ArgumentError(
                    f"the function gave {len(column)} samples for a batch of {context.count}"
                )
    else:
        taken = []
        for position in range(context.count):
            row = _row(function(*(column[position] for column in given)), num_outputs)
            taken.append([_taken(value) for value in row])  # it may use its memory again
        samples = [[row[number] for row in taken] for number in range(num_outputs)]
    layouts = _layouts_of(output_layouts, num_outputs)
    return tuple(
        _batch(context, column, layout) for column, layout in zip(samples, layouts, strict=True)
    )


def _row(result: Any, num_outputs: int) -> tuple[Any, ...]:
    """The outputs of a call."""
    if num_outputs == 0:
        return ()
    if not isinstance(result, tuple):
        if num_outputs > 1:
            raise ArgumentTypeError(
                f"a function with num_outputs={num_outputs} gives a tuple, "
                f"got {type(result).__name__}"
            )
        return (result,)
    if len(result) != num_outputs:
        raise ArgumentError(
            f"the function gave {len(result)} outputs, expected num_outputs={num_outputs}"
        )
    row: tuple[Any, ...] = result
    return row


def _samples(column: Any) -> list[torch.Tensor]:
    """One output of a whole batch."""
    if isinstance(column, list | tuple):
        return [_taken(value) for value in column]
    tensor = _taken(column)
    if tensor.ndim == 0:
        raise ArgumentTypeError("with batch_processing a function gives lists of samples")
    return list(tensor.unbind())


def _taken(value: Any) -> torch.Tensor:
    if value is None:
        raise ArgumentTypeError("the function gave None; num_outputs=0 is for functions that do")
    tensor = to_tensor(np.asarray(value) if isinstance(value, np.generic) else value)
    return tensor.clone(memory_format=torch.contiguous_format)


def _layouts_of(given: str | tuple[str, ...] | None, count: int) -> list[str]:
    if isinstance(given, str):
        return [given] * count
    return [*(given or ()), *[""] * count][:count]


def _batch(context: Context, samples: list[torch.Tensor], layout: str) -> Batch:
    for sample in samples:
        if layout and len(layout) != sample.ndim:
            raise ArgumentError(
                f"output layout {layout!r} does not fit a sample of shape {tuple(sample.shape)}"
            )
        if (sample.dtype, sample.ndim) != (samples[0].dtype, samples[0].ndim):
            raise ArgumentTypeError(
                "the samples of an output have one element type and number of dimensions: "
                f"{samples[0].dtype} with {samples[0].ndim}, then {sample.dtype} with {sample.ndim}"
            )
    return Batch([sample.to(context.device) for sample in samples], layout)
