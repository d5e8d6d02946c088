"""Results of DALI that are stored in `references/`, and ours for the same cases."""

import operator
from functools import cache
from pathlib import Path

import numpy as np
import torch

from videoloader.dali import fn, types
from videoloader.dali.tensors import TensorList

__all__ = ["called", "stored"]


@cache
def stored(name):
    """The arrays of a file that holds them packed."""
    arrays, at = [], 0
    with np.load(Path(__file__).parent / "references" / f"{name}.npz") as file:
        packed = file["packed"]
        for shape, dtype in zip(file["shapes"].tolist(), file["dtypes"].tolist(), strict=True):
            sides = [side for side in shape if side]
            size = int(np.prod(sides)) * np.dtype(dtype).itemsize
            arrays.append(packed[at : at + size].view(dtype).reshape(sides))
            at += size
    assert at == len(packed)
    return arrays


def called(cases, name, kinds, arguments):
    """What our operator gives for a case."""
    given = {k: getattr(types, v, v) if isinstance(v, str) else v for k, v in arguments.items()}
    given |= {"dtype": getattr(torch, given["dtype"])} if "dtype" in given else {}
    arrays = [cases.inputs()[kind] for kind in kinds]
    batches = [TensorList([torch.from_numpy(array)], layout) for array, layout in arrays]
    made = operator.attrgetter(name)(fn)(*batches, **given)
    if isinstance(made, tuple):
        return np.stack([each[0].numpy() for each in made])
    return made[0].numpy()
