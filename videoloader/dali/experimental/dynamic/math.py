"""Arithmetic of `Tensor`s and `Batch`es, and the functions of `videoloader.dali.math`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from videoloader.dali import math
from videoloader.dali.experimental.dynamic.context import Device
from videoloader.dali.experimental.dynamic.plain import array_of
from videoloader.dali.experimental.dynamic.values import Batch, Tensor, Value, wrapped
from videoloader.dali.fn.eager_math import compute_now
from videoloader.errors import ArgumentError
from videoloader.machinery.system.spelling import no_attribute

__all__ = list(math.__all__)


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in __all__:
        raise no_attribute(__name__, name, __all__)
    function = getattr(math, name)
    bind = inspect.signature(function).bind

    @wraps(function)
    def call(*operands: Any, **named: Any) -> Any:
        return compute(name, *bind(*operands, **named).args)

    return call


def compute(function: str, *operands: Any) -> Any:
    """A mathematical function or an operator of Python, such as "add"; see `compute_now`.

    Operands are `Tensor`s, `Batch`es, arrays and numbers. Beside a batch, whatever is none is the
    same for every sample.
    """
    kinds = {each.device.device_type for each in operands if isinstance(each, Value)}
    if len(kinds) > 1:
        raise ArgumentError("one operand is on the CPU, another on the GPU; use .cpu() or .gpu()")
    sizes = {each.batch_size for each in operands if isinstance(each, Batch)}
    if len(sizes) > 1:
        raise ArgumentError(f"the operands are batches of {sorted(sizes)} samples")
    place = Device.current() if kinds == {"gpu"} else Device.CPU
    plain = [_operand(each, place) for each in operands]
    layouts = [each.layout for each in operands if isinstance(each, Value) and each.layout]
    made = wrapped(compute_now(function, *plain))
    if layouts and len(layouts[0]) == made.ndim and made.layout is None:
        made.plain.set_layout(layouts[0])
    return made


Value._expression = staticmethod(compute)


def _operand(value: Any, place: Device) -> Any:
    if isinstance(value, Value):
        return value.plain
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        array_of(value)
        return value if -(1 << 31) <= value < 1 << 31 else np.uint32(value)
    return Tensor(value, device=place).plain
