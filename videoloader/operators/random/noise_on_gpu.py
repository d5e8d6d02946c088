"""Salt and pepper on the GPU, a ragged batch in one launch, with the numbers that numpy draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from videoloader.operators.batch import Batch, Context
from videoloader.operators.fills.fills_on_gpu import SIZES, bits_of
from videoloader.operators.kernels import (
    LETTERS,
    Kernel,
    Launch,
    are_frames,
    groups_in,
    row_type,
    rows_of,
)

__all__ = ["salt_on_gpu"]

_SALT = Kernel(
    "random/noise.cu",
    "salt_and_pepper",
    row_type(
        ("counter", "u8", 4),
        ("key", "u8", 2),
        *(("prob", "f8"), ("salt_share", "f8"), ("salt", "u8"), ("pepper", "u8")),
        *(("order", "i8", 4), ("count", "i8")),
    ),
)


def salt_on_gpu(
    context: Context,
    values: Batch,
    drawn: Sequence[Sequence[int]],
    prob: Sequence[float],
    salt_share: Sequence[float],
    extremes: Sequence[tuple[float, float]],
) -> Any:
    """Replace some values; NotImplemented for batches that the kernel does not take.

    Args:
        context: of the call.
        values: the samples.
        drawn: the shape of what is drawn for each sample, twice; 1 along channels of whole pixels.
        prob: of a change, for each sample.
        salt_share: part of salt in the changes.
        extremes: salt and pepper of each sample.
    """
    out = context.empty()
    if not are_frames(values, out, dtypes=SIZES):
        return NotImplemented
    generators = [context.random(position).bit_generator for position in range(context.count)]
    if not all(isinstance(each, np.random.Philox) for each in generators):
        return NotImplemented
    states: list[Any] = [each.state for each in generators]
    if any(each["buffer_pos"] != 4 for each in states):  # it has drawn already
        return NotImplemented
    rows, _ = rows_of(_SALT.row, values, out)
    for name in ("counter", "key"):
        rows[name] = [each["state"][name] for each in states]
    rows["prob"], rows["salt_share"] = prob, salt_share
    bits = [bits_of(pair, values.spec.dtype, is_rounded=True)[:2] for pair in extremes]
    rows["salt"], rows["pepper"] = np.array(bits).T
    sides = np.array(drawn, np.int64)
    steps = np.cumprod(np.column_stack([sides[:, 1:], np.ones(len(sides), int)])[:, ::-1], axis=1)
    steps = np.where(sides > 1, steps[:, ::-1], 0)
    for at, letter in enumerate(values.layout):
        rows["order"][:, LETTERS.index(letter)] = steps[:, at]
    rows["count"] = sides.prod(axis=1)
    channels = int(rows["target"]["sizes"][0, 3])
    macros = {"SIZE": SIZES[values.spec.dtype], "CHANNELS": channels}
    return Launch(out, _SALT, rows, groups_in(rows), macros, values.spec.device)
