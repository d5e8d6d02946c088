"""Operators as functions of dynamic mode: they run at once on `Tensor`s and `Batch`es."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from videoloader.dali.experimental.dynamic.context import Device
from videoloader.dali.experimental.dynamic.context import device as device_of
from videoloader.dali.experimental.dynamic.dtypes import DType, type_id
from videoloader.dali.experimental.dynamic.random import RNG, seed_of_call
from videoloader.dali.experimental.dynamic.values import Batch, Tensor, as_tensor, wrapped
from videoloader.dali.fn.function import Function
from videoloader.dali.fn.names import public_functions
from videoloader.dali.operators.operator import Operator
from videoloader.dali.tensors import TensorList, to_tensor
from videoloader.dali.tensors.importing import is_array
from videoloader.errors import ArgumentError, ArgumentTypeError

_ABSENT = ("constant", "python_function", "torch_python_function")
"""As in DALI, these are for graphs."""

_DEPRECATED = (
    "experimental.decoders.image",
    "experimental.decoders.image_crop",
    "experimental.decoders.image_random_crop",
    "experimental.decoders.image_slice",
    "experimental.peek_image_shape",
)
"""Deprecated names of `fn` that DALI's dynamic mode has too."""

_WHOLE_BATCH = ("permute_batch",)
"""Operators whose lists have a value for each sample."""

_NOT_NUMBERS = (str, bytes, Path)


def functions(module: str) -> dict[str, Callable[..., Any]]:
    """The functions of a module below `dynamic`, by name; without readers.

    Of deprecated names those that DALI's dynamic mode has.
    """
    return {
        name: _caller(function)
        for name, function in public_functions(module).items()
        if (not function.instead or f"{module}.{name}" in _DEPRECATED)
        and (function.operator.kind != "source" and name not in _ABSENT)
    }


def _caller(function: Function) -> Callable[..., Any]:
    def call(
        *values: Any,
        batch_size: int | None = None,
        device: Any = None,
        rng: RNG | None = None,
        layout: str | None = None,
        **given: Any,
    ) -> Any:
        return _run(function, values, given, batch_size, device, rng, layout)

    signature = inspect.signature(function)
    own = ("batch_size", "rng") if function.operator.draws else ("batch_size",)
    left = [each for name, each in signature.parameters.items() if name not in ("name", "seed")]
    added = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=None) for each in own]
    setattr(call, "__signature__", signature.replace(parameters=[*left, *added]))  # noqa: B010
    call.__name__ = function.__name__
    call.__qualname__ = function.__qualname__.replace("fn.", "ndd.", 1)
    call.__doc__ = (
        f"{function.__doc__}\n\nIn dynamic mode also:\n"
        "    batch_size: samples of the result, where no input is a batch; a `Tensor` without it.\n"
        "    rng: the `random.RNG` that an operator draws from, in place of `seed`."
    )
    return call


def _run(
    function: Function,
    values: tuple[Any, ...],
    given: dict[str, Any],
    batch_size: int | None,
    device: Any,
    rng: RNG | None,
    layout: str | None,
) -> Any:
    operator, name = function.operator, function.__name__
    while values and values[-1] is None:  # optional inputs, as DALI's signatures have them
        values = values[:-1]
    inputs, positional = operator.split(values)
    if twice := positional.keys() & given.keys():
        raise ArgumentTypeError(f"{name}: {', '.join(sorted(twice))} was given twice")
    given = operator.current({**positional, **given})
    if "seed" in given and operator.draws:
        raise ArgumentTypeError(f"{name} takes rng=ndd.random.RNG(seed) in place of seed")
    if rng is not None and not operator.draws:
        raise ArgumentTypeError(f"{name} draws no random numbers, it takes no rng")
    if layout is not None and operator.declares("layout"):
        given["layout"], layout = layout, None
    sizes = {each.batch_size for each in (*inputs, *given.values()) if isinstance(each, Batch)}
    sizes |= {len(each) for each in inputs if _is_list_of_files(each)}
    if batch_size is not None:
        sizes.add(batch_size)
    if len(sizes) > 1:
        raise ArgumentError(f"{name}: its batches and batch_size differ in size: {sorted(sizes)}")
    is_batch, count = bool(sizes), sizes.pop() if sizes else 1
    place, device = runs_on(operator, device, inputs)
    plain = tuple(_input(each, count, to_cpu=device == "cpu") for each in inputs)
    bound = {key: argument(operator, key, each, count) for key, each in given.items()}
    if operator.draws:
        bound["seed"] = seed_of_call(rng)
    with place:
        made = wrapped(function.run_now(plain, bound, device or "cpu", layout, count))
    if is_batch:
        return made
    return tuple(each.select(0) for each in made) if isinstance(made, tuple) else made.select(0)


def runs_on(
    operator: Operator, device: Any, inputs: Sequence[Any] = ()
) -> tuple[Device, str | None]:
    """Where an operator runs, and its own name for that; None where its inputs are."""
    if device is None:
        on_gpu = [each.device for each in inputs if isinstance(each, Tensor | Batch)]
        on_gpu = [each for each in on_gpu if each.device_type == "gpu"]
        only = operator.devices[0] if len(operator.devices) == 1 else None
        return (on_gpu or [Device.CPU])[0], only
    kind = str(device).partition(":")[0]
    kind = "gpu" if kind in ("cuda", "mixed") else kind
    own = "mixed" if kind == "gpu" and "gpu" not in operator.devices else kind
    if own not in operator.devices:
        raise ArgumentError(
            f"{operator.name} does not run on the {kind.upper()}; its devices are "
            f"{', '.join(operator.devices)}"
        )
    return device_of("gpu" if device == "mixed" else device), own


def _input(value: Any, count: int, *, to_cpu: bool) -> Any:
    """An input as a batch; a value that is no batch is the same for every sample."""
    if isinstance(value, Batch):
        return value.plain.cpu() if to_cpu else value.plain
    if _is_list_of_files(value):
        return list(value)
    if not isinstance(value, Tensor | bool | int | float | list | tuple) and not is_array(value):
        return [value] * count  # a path, bytes, an `Item`
    own = as_tensor(value).plain
    own = own.cpu() if to_cpu else own
    return TensorList.broadcast(own, count)


def argument(operator: Operator, name: str, value: Any, count: int) -> Any:
    """An argument as operators take it; a list is one value, a batch has one for each sample."""
    if isinstance(value, Batch):
        return value.plain
    if isinstance(value, DType):
        return type_id(value)
    if isinstance(value, Device):
        return value.device_type
    if isinstance(value, Tensor):
        value = value.torch()
    if is_array(value):
        value = to_tensor(value).tolist()
    if not isinstance(value, list | tuple) or not operator.declares(name):
        return value
    declared = operator.argument(name)
    is_one = _depth(value) <= declared.kind.rank or len(value) == 1
    if is_one or not declared.per_sample or operator.name in _WHOLE_BATCH:
        return value
    if not declared.per_frame:
        raise ArgumentError(
            f"{operator.name}: {name} must be {declared.describe()}, got a list; "
            "ndd.as_batch(list) has a value for each sample"
        )
    return TensorList.broadcast(torch.tensor(value), count)


def _depth(value: Any) -> int:
    is_list = isinstance(value, list | tuple)
    return 1 + max(map(_depth, value), default=0) if is_list else 0


def _is_list_of_files(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and bool(value)
    return is_list and all(isinstance(each, _NOT_NUMBERS) for each in value)
