"""Batches of frames for CUDA kernels of operators, and the comparison with the CPU."""

import operator

import numpy as np
import torch

from videoloader.dali import fn
from videoloader.dali.tensors import TensorList

LAYOUTS = ("HWC", "FHWC", "CHW", "FCHW")
DTYPES = (torch.uint8, torch.uint16, torch.float16, torch.float32)
PAIRS = [  # a kernel is compiled for each
    *zip(DTYPES, DTYPES, strict=True),
    (torch.uint8, torch.float32),
    (torch.float32, torch.uint8),
    (torch.uint16, torch.float16),
    (torch.float16, torch.uint16),
]


def batch_of(
    layout, dtype=torch.uint8, *, channels=3, memory="ragged", seed=0, frames=2, side=None
):
    """Five samples: ragged, in one block, or views of larger ones."""
    rng = np.random.default_rng(seed)
    sides = rng.integers(1, side or 40, (5, 2)).tolist()
    sides[0] = [1, 1]
    if memory == "dense":
        sides = [[17, 24]] * 5
    samples = []
    for rows, columns in sides:
        named = {"F": frames, "H": rows, "W": columns, "C": channels}
        shape = [named[letter] for letter in layout]
        margins = [2 * (letter in "HW" and memory == "views") for letter in layout]
        whole = [side + 2 * margin for side, margin in zip(shape, margins, strict=True)]
        values = torch.from_numpy(rng.random(whole, np.float32))
        if dtype.is_floating_point:
            values = (values * 1.5 - 0.25).to(dtype)
        else:
            values = (values * (torch.iinfo(dtype).max + 0.99)).to(torch.int32).to(dtype)
        window = tuple(slice(at, at + side) for at, side in zip(margins, shape, strict=True))
        samples.append(values[window])
    return TensorList(torch.stack(samples) if memory == "dense" else samples, layout)


def check(machine, name, inputs, arguments, *, bound, off=0.02, kernel=None, launches=1):
    """Compare with the CPU; `bound` is the largest difference, in levels or in parts of the range.

    `off` is the share of values that may differ at all, for integers.
    """
    wanted = operator.attrgetter(name)(fn)(*inputs, **arguments)
    before = machine.launched.total()
    (made,) = machine.run(name, inputs, arguments)
    assert machine.launched.total() - before == launches
    if kernel:
        assert machine.launched[kernel]
    assert (made.shape(), made.layout(), made.dtype) == (
        wanted.shape(),
        wanted.layout(),
        wanted.dtype,
    )
    for got, expected in zip(made, wanted, strict=True):
        error = (got.double() - expected.double()).abs()
        error[got.double() == expected.double()] = 0  # infinite ones too
        if not error.numel():
            continue
        assert not error.isnan().any()
        if bound == 0:
            assert not error.any()
        elif got.dtype.is_floating_point:
            finite = expected.double()[expected.isfinite()]
            size = max(1.0, float(finite.abs().max()) if len(finite) else 1.0)
            assert error.max() <= bound * size
        else:
            assert error.max() <= bound
            assert (error > 0).double().mean() <= max(off, 3 / error.numel())
