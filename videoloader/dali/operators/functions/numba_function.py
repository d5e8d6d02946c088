"""`fn.numba_function`: a function of the user's, compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from videoloader.dali.operators.arguments import ANY, BOOL, DTYPES, INTS, REQUIRED, Argument
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError, ArgumentTypeError, UnsupportedError

_compiled: WeakKeyDictionary[Callable[..., Any], Callable[..., None]] = WeakKeyDictionary()


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return len(arguments["out_types"])


def _check(given: Any, arguments: Mapping[str, Any]) -> None:
    for types, ndims in (("out_types", "outs_ndim"), ("in_types", "ins_ndim")):
        if len(arguments[types]) != len(arguments[ndims]):
            raise ArgumentError(
                f"fn.numba_function: {types} has {len(arguments[types])} values, "
                f"{ndims} has {len(arguments[ndims])}"
            )


def _infer(context: Context, *inputs: Spec, **arguments: Any) -> tuple[Spec, ...]:
    """Shapes by `setup_fn`, or the shapes of the inputs."""
    types, ndims = arguments["in_types"], arguments["ins_ndim"]
    if len(inputs) != len(types):
        raise ArgumentError(f"in_types has {len(types)} values for {len(inputs)} inputs")
    for spec, dtype, ndim in zip(inputs, types, ndims, strict=True):
        found = {len(shape) for shape in spec.shapes} or {ndim}
        if spec.dtype != dtype or found != {ndim}:
            raise ArgumentTypeError(
                f"expected an input of {ndim} dimensions and type {DataType.of(dtype).name}, "
                f"got {max(found)} and {DataType.of(spec.dtype).name}"
            )
    shapes = _shapes(context, inputs, arguments["outs_ndim"], arguments["setup_fn"])
    pairs = zip(shapes, arguments["out_types"], strict=True)
    return tuple(Spec(tuple(each), dtype, "", context.device) for each, dtype in pairs)


def _shapes(
    context: Context, inputs: Sequence[Spec], ndims: Sequence[int], setup: Any
) -> list[list[tuple[int, ...]]]:
    given = [[np.array(shape, np.int64) for shape in spec.shapes] for spec in inputs]
    if setup is None:
        for number, ndim in enumerate(ndims):
            if number >= len(inputs) or any(len(shape) != ndim for shape in given[number]):
                raise ArgumentError(
                    "without setup_fn an output has the shape of the input of its number; "
                    f"output {number} with {ndim} dimensions has none"
                )
        return [list(inputs[number].shapes) for number in range(len(ndims))]
    outs = [[np.zeros(ndim, np.int64) for _ in range(context.count)] for ndim in ndims]
    setup(outs, given)
    return [[tuple(map(int, shape)) for shape in column] for column in outs]


@declare(
    "numba_function",
    inputs=(Input("inputs", is_repeated=True),),
    devices=("cpu",),
    arguments=(
        Argument("run_fn", ANY, REQUIRED, "is called with the outputs, which it fills, and inputs"),
        Argument("out_types", DTYPES, REQUIRED, "of the outputs"),
        Argument("in_types", DTYPES, REQUIRED, "of the inputs"),
        Argument("outs_ndim", INTS, REQUIRED, "dimensions of the outputs"),
        Argument("ins_ndim", INTS, REQUIRED, "dimensions of the inputs"),
        Argument(
            "setup_fn",
            ANY,
            None,
            "is called with the shapes of all outputs, which it fills, and of all inputs: arrays "
            "by [input][sample]; without it outputs have the shapes of the inputs",
        ),
        Argument(
            "batch_processing", BOOL, default=False, doc="call `run_fn` once a batch, with lists"
        ),
    ),
    num_outputs=_num_outputs,
    check=_check,
    infer=_infer,
    whole_batch=True,
    unused=("blocks", "threads_per_block"),
)
def numba_function(
    context: Context,
    *inputs: Batch,
    run_fn: Callable[..., None],
    batch_processing: bool,
    **arguments: Any,
) -> tuple[Batch, ...]:
    """Run a function that Numba compiles, on the CPU: it fills arrays that it is given."""
    outputs = tuple(context.empty(number) for number in range(len(context.outputs)))
    run = _compile(run_fn)
    columns = [[sample.numpy() for sample in batch] for batch in (*outputs, *inputs)]
    if batch_processing:
        make: Any = _numba().typed.List
        run(*(make(column) for column in columns))
    else:
        for row in zip(*columns, strict=True):
            run(*row)
    return outputs


def _compile(function: Callable[..., None]) -> Callable[..., None]:
    if function not in _compiled:
        _compiled[function] = _numba().njit(function)
    return _compiled[function]


def _numba() -> Any:
    try:
        import numba
    except ImportError as error:
        raise UnsupportedError(
            'fn.numba_function needs Numba: pip install "videoloader[numba]"'
        ) from error
    return numba
