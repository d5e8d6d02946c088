"""Tensors and batches as text, with their elements, in the form that DALI prints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from videoloader.dali.types import DataType

_INDENT = " " * 4
_EDGE = 2  # samples, rows and columns that are shown at either end of what is long
_MOST_ELEMENTS = 1000  # of a batch that is shown as a whole
_MOST_SHAPES = 16
_WIDTH = 80  # of the line with the shapes; longer ones have a line for each shape


def print_tensor(tensor: torch.Tensor, layout: str) -> str:
    """A tensor as text.

    >>> print(print_tensor(torch.arange(3), "X"))
    TensorCPU(
        [0 1 2],
        dtype=DALIDataType.INT64,
        layout="X",
        device="cpu",
        shape=(3,))
    """
    facts = [_elements(tensor), *_facts(tensor, layout), f"shape={tuple(tensor.shape)}"]
    return _joined(f"Tensor{_device(tensor).upper()}", facts)


def print_batch(
    samples: Sequence[torch.Tensor], like: torch.Tensor, layout: str, *, with_elements: bool = True
) -> str:
    """A batch as text; `like` has its type and device, also where there is no sample.

    >>> print(print_batch([torch.tensor(1), torch.tensor(2)], torch.tensor(1), ""))
    TensorListCPU(
        [1, 2],
        dtype=DALIDataType.INT64,
        device="cpu",
        num_samples=2,
        shape=[(), ()])
    """
    facts = [*_facts(like, layout), f"num_samples={len(samples)}", _shapes(samples)]
    if with_elements:
        facts.insert(0, _batch_elements(samples))
    return _joined(f"TensorList{_device(like).upper()}", facts)


def _batch_elements(samples: Sequence[torch.Tensor]) -> str:
    count = len(samples)
    elements = sum(max(sample.numel(), 1) for sample in samples)
    is_long = count > 2 * _EDGE + 1 and elements > _MOST_ELEMENTS
    shown = [*samples[:_EDGE], *samples[-_EDGE:]] if is_long else list(samples)
    texts = [_elements(sample) for sample in shown]
    if is_long:
        texts.insert(_EDGE, "...")
    ndim = samples[0].ndim if samples else 0
    between = ", " if ndim == 0 else "," + "\n" * ndim + _INDENT
    return f"[{between.join(texts)}]"


def _shapes(samples: Sequence[torch.Tensor]) -> str:
    shapes = [str(tuple(sample.shape)) for sample in samples]
    if len(shapes) > _MOST_SHAPES:
        shapes = [*shapes[:_EDGE], "...", *shapes[-_EDGE:]]
    line = f"shape=[{', '.join(shapes)}]"
    if len(line) <= _WIDTH:
        return line
    between = ",\n" + " " * len(f"{_INDENT}shape=[")
    return f"shape=[{between.join(shapes)}]"


def distinct_shapes(samples: Sequence[torch.Tensor]) -> str:
    """The shapes that occur, up to four of them, for messages.

    >>> distinct_shapes([torch.zeros(2, 3), torch.zeros(4, 3), torch.zeros(2, 3)])
    '(2, 3), (4, 3)'
    """
    distinct = list(dict.fromkeys(tuple(sample.shape) for sample in samples))
    more = f" and {len(distinct) - 4} more" if len(distinct) > 4 else ""
    return ", ".join(map(str, distinct[:4])) + more


def type_name(dtype: torch.dtype) -> str:
    """DALI's name of an element type; torch's where DALI has none.

    >>> type_name(torch.float32), type_name(torch.bfloat16)
    ('FLOAT', 'torch.bfloat16')
    """
    try:
        return DataType.of(dtype).name
    except ValueError:
        return str(dtype)


def _elements(tensor: torch.Tensor) -> str:
    tensor = tensor.detach().cpu()
    array = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return np.array2string(array, prefix=_INDENT, edgeitems=_EDGE, threshold=_MOST_ELEMENTS)


def _facts(tensor: torch.Tensor, layout: str) -> list[str]:
    name = type_name(tensor.dtype)
    dtype = name if name.startswith("torch.") else f"DALIDataType.{name}"
    named = [f'layout="{layout}"'] if layout else []
    return [f"dtype={dtype}", *named, f'device="{_device(tensor)}"']


def _device(tensor: torch.Tensor) -> str:
    return "gpu" if tensor.is_cuda else "cpu"


def _joined(name: str, facts: list[str]) -> str:
    return f"{name}(\n{_INDENT}" + f",\n{_INDENT}".join(facts) + ")"
