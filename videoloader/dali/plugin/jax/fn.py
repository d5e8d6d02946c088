"""`jax_function`: functions of JAX as operators of pipelines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from videoloader.dali import fn
from videoloader.dali.plugin.dense import dense
from videoloader.dali.plugin.jax.arrays import import_jax, to_jax
from videoloader.dali.tensors import TensorList, to_tensor
from videoloader.errors import UnsupportedError

__all__ = ["jax_function"]


def jax_function(
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: Any = None,
    device: str | None = None,
    preserve: bool = True,  # noqa: ARG001  such functions are always called here
) -> Any:
    """Make a function of JAX arrays into an operator, for definitions of pipelines.

    The operator gives the function each input as one array (N, ...) on its device; samples have one
    shape. It waits for what the function computes, so that its arrays may not be used later.

    Args:
        function: takes and gives arrays; a tuple of them with `num_outputs` above 1. It may be
            compiled (`jax.jit`) and vectorized (`jax.vmap`).
        num_outputs: of the function; 0 if it gives nothing.
        output_layouts: of samples of the outputs; a str is for all. "" by default: DALI takes over
            the layout of the input at the same place.
        sharding: not supported.
        device: of the operator, "cpu" or "gpu"; that of its inputs by default.
        preserve: accepted for compatibility with DALI; the function is always called.
    """
    if sharding is not None:
        raise UnsupportedError(
            "jax_function does not take a sharding; shard outputs by GenericIterator"
        )
    if function is None:
        return functools.partial(
            jax_function, num_outputs=num_outputs, output_layouts=output_layouts, device=device
        )
    import_jax()

    @functools.wraps(function)
    def operator(*inputs: Any) -> Any:
        options = {} if device is None else {"device": device}
        layouts = {} if output_layouts is None else {"output_layouts": output_layouts}
        return vars(fn)["torch_python_function"](
            *inputs,
            function=functools.partial(_call, function),
            num_outputs=num_outputs,
            batch_processing=True,
            **layouts,
            **options,
        )

    return operator


def _call(function: Callable[..., Any], *inputs: list[torch.Tensor]) -> Any:
    """Call the function on batches, each a list of samples, and wait for it."""
    arrays = [
        to_jax(dense(f"input {place}", TensorList(samples), len(samples)))
        for place, samples in enumerate(inputs)
    ]
    outputs = import_jax().block_until_ready(function(*arrays))
    if outputs is None:
        return None
    if not isinstance(outputs, tuple | list):
        return _tensor(outputs)
    return tuple(map(_tensor, outputs))


def _tensor(array: Any) -> torch.Tensor:
    tensor = to_tensor(array).clone()
    if tensor.is_cuda:  # JAX may use its memory again
        torch.cuda.current_stream(tensor.device).synchronize()
    return tensor
