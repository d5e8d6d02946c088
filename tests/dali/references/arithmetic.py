"""Makes arithmetic.npz: what DALI computes for every pair of element types.

Run with a Python that has nvidia-dali: `python tests/dali/references/arithmetic.py`. DALI has no
FLOAT16 arithmetic on the CPU, so that type is left out. Comparisons are of integers only: DALI
takes every negative integer for less than every floating point number, -7 < -10.5 too.
"""

import itertools
import operator
from pathlib import Path

import numpy as np

TYPES = [
    np.bool_,
    np.uint8,
    np.int8,
    np.uint16,
    np.int16,
    np.uint32,
    np.int32,
    np.uint64,
    np.int64,
    np.float32,
    np.float64,
]
FUNCTIONS = {
    "div": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "fdiv": operator.truediv,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "eq": operator.eq,
    "lt": operator.lt,
    "geq": operator.ge,
}


def left(kind: type) -> np.ndarray:
    """Numbers at the limits of a type, and between."""
    if kind is np.bool_:
        return np.array([True, False, True, True, False])
    if np.issubdtype(kind, np.floating):
        return np.array([3.5, -7.25, 1e10, np.nan, 0.5], kind)
    limits = np.iinfo(kind)
    return np.array([limits.max, limits.min, 7 if limits.min == 0 else -7, 3, 100], kind)


def right(kind: type) -> np.ndarray:
    """Numbers but 0 and -1: a CPU cannot divide by the one, nor the lowest integer by the other."""
    if kind is np.bool_:
        return np.array([True, True, True, True, True])
    if np.issubdtype(kind, np.floating):
        return np.array([2, -0.5, np.nan, 3, 7], kind)
    limits = np.iinfo(kind)
    return np.array([2, 7, 3 if limits.min == 0 else -3, limits.max, 13], kind)


def pairs(name: str) -> list[tuple[type, type]]:
    """The types of the operands of a function, in the order of the table."""
    kinds = TYPES[:-2] if name in ("eq", "lt", "geq") else TYPES
    return list(itertools.product(kinds, repeat=2))


def main() -> None:
    """Write the table."""
    import warnings

    from nvidia.dali import fn, pipeline_def

    warnings.simplefilter("ignore")

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pair(function, a, b):
        sources = [itertools.repeat([data]) for data in (a, b)]
        return function(*map(fn.external_source, sources))

    table = {}
    for name, function in FUNCTIONS.items():
        results = []
        for one, other in pairs(name):
            try:
                pipe = pair(function, left(one), right(other))
                pipe.build()
                results.append(np.array(pipe.run()[0][0]))
            except RuntimeError:
                results.append(np.zeros(0, np.uint8))  # refused
        table[f"{name}.types"] = np.array(
            [str(each.dtype) if each.size else "" for each in results]
        )
        table[f"{name}.bytes"] = np.frombuffer(b"".join(e.tobytes() for e in results), np.uint8)
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **table)


if __name__ == "__main__":
    main()
