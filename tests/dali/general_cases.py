"""Calls of general operators that mean the same in DALI; `references/general.py` stores them.

A case is a function of `fn`, `types` and `source`, which makes a data node of the samples of a
batch. It gives one node or several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["CASES", "DTYPES"]

DTYPES = {
    name: np.dtype(dtype)
    for name, dtype in {
        "BOOL": bool,
        "INT8": np.int8,
        "INT16": np.int16,
        "INT32": np.int32,
        "INT64": np.int64,
        "UINT8": np.uint8,
        "UINT16": np.uint16,
        "UINT32": np.uint32,
        "UINT64": np.uint64,
        "FLOAT16": np.float16,
        "FLOAT": np.float32,
        "FLOAT64": np.float64,
    }.items()
}

COMPUTED = [name for name in DTYPES if name not in ("BOOL", "FLOAT16", "FLOAT64")]
"""Element types that DALI computes with."""

CASES: dict[str, Callable[[Any, Any, Callable[..., Any]], Any]] = {}


def case(call: Callable[..., Any], name: str | None = None, **fixed: Any) -> None:
    """Add a case; `fixed` are further arguments of the call."""
    label = ", ".join(f"{key}={value}" for key, value in fixed.items())
    name = name or call.__name__
    CASES[f"{name}({label})"] = lambda fn, types, source: call(fn, types, source, **fixed)


def numbers(dtype: np.dtype[Any], *shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers all over the range that sums and squares of a type stay exact for."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return (rng.integers(-64, 64, shape) / 4).astype(dtype)
    low = 0 if dtype.kind == "u" else -100
    return rng.integers(low, 100, shape).astype(dtype)


def ragged(dtype: np.dtype[Any] = DTYPES["FLOAT"]) -> list[np.ndarray[Any, Any]]:
    """Three samples of layout HWC."""
    return [numbers(dtype, *shape) for shape in [(3, 4, 2), (2, 5, 2), (1, 2, 2)]]


def cast(fn, types, source, to):
    return [
        fn.cast(source([np.array([0, 1, 100], d), np.array([3], d)]), dtype=getattr(types, to))
        for d in DTYPES.values()
    ]


def cast_like(fn, types, source, to):
    like = source([np.zeros((2, 2), DTYPES[to]), np.zeros((), DTYPES[to])[None, None]])
    return fn.cast_like(source([np.float32([-1.5, 2.5]), np.float32([300])]), like)


for each in DTYPES:
    case(cast, to=each)
    case(cast_like, to=each)


def copy(fn, types, source):
    return fn.copy(source(ragged(), "HWC"))


def shapes(fn, types, source, **arguments):
    return fn.shapes(source(ragged(), "HWC"), **arguments)


case(copy)
case(shapes)


@case
def shapes_of_a_type(fn, types, source):
    return fn.shapes(source(ragged()), dtype=types.FLOAT), fn.shapes(
        source([np.uint8(1)] * 3), dtype=types.INT32
    )


# What is made of nothing.


@case
def zeros_and_ones(fn, types, source):
    return (
        fn.zeros(shape=(2, 3)),
        fn.ones(shape=[2], dtype=types.UINT16),
        fn.ones(shape=3, dtype=types.FLOAT16, layout="X"),
        fn.zeros(shape=(), dtype=types.BOOL),
    )


@case
def zeros_and_ones_like(fn, types, source):
    data = source(ragged(DTYPES["UINT32"]), "HWC")
    return fn.zeros_like(data), fn.ones_like(data), fn.ones_like(data, dtype=types.FLOAT64)


@case
def zeros_of_shapes(fn, types, source):
    return fn.zeros(shape=source([np.int32([2, 3]), np.int32([4, 1])]))


@case
def full(fn, types, source):
    fill = source([np.int16([1, 2, 3]), np.int16([4, 5, 6])])
    return (
        fn.full(fill, shape=(2, 3)),
        fn.full(fill, shape=source([np.int32([2, 3]), np.int32([1, 3])]), layout="HW"),
        fn.full(source([np.float64(1.5), np.float64(2)]), shape=(2, 2)),
        fn.full(source([np.ones((2, 1), np.uint64)] * 2), shape=(3, 2, 2)),
    )


@case
def full_that_does_not_fit(fn, types, source):
    return fn.full(source([np.int16([1, 2])] * 2), shape=(2, 3))


@case
def full_like(fn, types, source):
    data = source(ragged(DTYPES["INT16"]), "HWC")
    fill = source([np.float32(2.5), np.float32(-1), np.float32(9)])
    return fn.full_like(data, fill)


@case
def constant(fn, types, source):
    return (
        fn.constant(fdata=(1.25, 2.5, 3)),
        fn.constant(idata=(1, 2, 3, 4), shape=(2, 1, 2), layout="ABC"),
        fn.constant(idata=(-1, 1, 300), dtype=types.UINT8),
        fn.constant(fdata=(0.25, 1.5, -2.5), dtype=types.INT16),
        fn.constant(fdata=5.5, shape=(2, 3)),
        fn.constant(idata=-4, shape=()),
        fn.constant(idata=[0, 1, 0], dtype=types.BOOL),
        fn.constant(idata=7),
    )


for wrong in (
    {},
    {"fdata": 1.0, "idata": 1},
    {"idata": (1, 2, 3), "shape": (2, 2)},
    {"idata": (1, 2), "layout": "AB"},
):
    case(lambda fn, types, source, **given: fn.constant(**given), "wrong_constant", **wrong)


# One hot.


@case
def one_hot_of_scalars(fn, types, source):
    classes = source([np.int32(1), np.int32(3), np.int32(0)])
    return (
        fn.one_hot(classes, num_classes=4),
        fn.one_hot(classes, num_classes=2),
        fn.one_hot(classes, num_classes=4, dtype=types.INT16, on_value=7, off_value=-2),
        fn.one_hot(classes, num_classes=4, axis_name="C"),
    )


@case
def one_hot_of_single_elements(fn, types, source):
    classes = source([np.int64([[1]]), np.int64([[2]])])
    return (
        fn.one_hot(classes, num_classes=3),
        fn.one_hot(classes, num_classes=3, axis=0),
        fn.one_hot(classes, num_classes=3, axis=-1),
    )


@case
def one_hot_along_an_axis(fn, types, source):
    classes = source([np.uint8([[0, 1, 2], [2, 5, 0]]), np.uint8([[1]])], "HW")
    return [
        *(fn.one_hot(classes, num_classes=3, axis=axis) for axis in (-1, 0, 1, 2)),
        fn.one_hot(classes, num_classes=3, axis=1, axis_name="C"),
        fn.one_hot(classes, num_classes=3),
    ]


case(
    lambda fn, types, source: fn.one_hot(source([np.int32([1, 2])]), num_classes=2, axis=2),
    "one_hot_axis",
)
case(
    lambda fn, types, source: fn.one_hot(source([np.float32([1.5, 2, -1])]), num_classes=3),
    "one_hot_of_floats",
)
case(lambda fn, types, source: fn.one_hot(source([np.int32([1, 2])])), "one_hot_of_no_classes")
case(
    lambda fn, types, source: fn.one_hot(
        source([np.int32([1, 2])], "X"), num_classes=3, axis_name="AB"
    ),
    "one_hot_names",
)


# Shapes of the same elements.


def reshape(fn, types, source, **arguments):
    return fn.reshape(
        source([numbers(DTYPES["UINT16"], *s) for s in [(4, 6, 2), (2, 3, 2)]], "HWC"), **arguments
    )


for given in (
    {"shape": (-1,)},
    {"shape": [2, -1]},
    {"shape": [2, -1], "layout": "AB"},
    {"shape": [-1, 3, 2]},
    {"shape": [-1, 3, 2], "layout": ""},
    {"layout": "XYZ"},
    {"layout": ""},
    {"layout": "XY"},
    {"shape": (5, -1)},
    {"shape": (-1, -1)},
    {"shape": (3, 3)},
    {"rel_shape": (0.5, 2, 1)},
    {"rel_shape": (1, -1)},
    {"rel_shape": (-1, 1)},
    {"rel_shape": (1, 1, 1, 1)},
    {"rel_shape": (1, 1, 1, -1)},
    {"rel_shape": (1, 1, 1, -1), "layout": "ABCD"},
    {"rel_shape": (1, 1, -1, 1)},
    {"rel_shape": (0.3, -1)},
    {"rel_shape": (-1, -1)},
    {"src_dims": (2, 0, 1)},
    {"src_dims": (2, 1, 0), "rel_shape": (1, 1, 1)},
    {"src_dims": (2, 1, 0), "rel_shape": (1, -1)},
    {"src_dims": (1, -1, 0), "rel_shape": (1, 4, -1)},
    {"src_dims": (0, 3)},
    {"src_dims": (0, 1)},
    {"src_dims": (0, 1, 2), "shape": (-1,)},
    {"shape": (-1,), "rel_shape": (-1,)},
    {},
):
    case(reshape, **given)


@case
def reshape_to_inputs(fn, types, source):
    data = source([numbers(DTYPES["INT8"], 4, 6), numbers(DTYPES["INT8"], 2, 3)], "HW")
    sides = source([np.int32([3, 8]), np.int32([-1, 2])])
    flat = source([np.int64([24]), np.int64([6])])
    return (
        fn.reshape(data, sides),
        fn.reshape(data, sides, layout="AB"),
        fn.reshape(data, shape=sides),
        fn.reshape(data, rel_shape=source([np.float32([0.5, 2]), np.float32([1, -1])])),
        fn.reshape(data, flat, layout="X"),
    )


@case
def reshape_by_an_input_and_a_shape(fn, types, source):
    return fn.reshape(source([np.zeros(4)]), source([np.int32([2, 2])]), shape=(2, 2))


@case
def reshape_scalars(fn, types, source):
    data = source([np.float32(1), np.float32(2)])
    return fn.reshape(data, shape=(1, 1)), fn.reshape(source([np.ones((1, 1))] * 2), shape=[])


def reinterpret(fn, types, source, to, **arguments):
    data = source(
        [np.arange(24, dtype=np.int16).reshape(3, 8), np.arange(8, dtype=np.int16).reshape(2, 4)],
        "HW",
    )
    return fn.reinterpret(data, dtype=getattr(types, to), **arguments)


for each in DTYPES:
    case(reinterpret, to=each)
case(reinterpret, to="INT32", shape=(-1,))
case(reinterpret, to="INT32", shape=(2, -1), layout="AB")
case(reinterpret, to="UINT8", rel_shape=(2, -1))
case(reinterpret, to="INT32", rel_shape=(1, -1))
case(reinterpret, to="INT32", rel_shape=(1, 1))
case(reinterpret, to="INT32", shape=(5, -1))
case(reinterpret, to="INT16", layout="AB")


def squeeze(fn, types, source, **arguments):
    return fn.squeeze(
        source([np.ones((1, 3, 1), np.uint8), np.ones((1, 2, 1), np.uint8)], "ABC"), **arguments
    )


for given in (
    {"axes": 0},
    {"axes": [0, 2]},
    {"axes": [2, 0]},
    {"axes": [1]},
    {"axes": [0, 0]},
    {"axes": [0], "axis_names": "A"},
    {"axis_names": "A"},
    {"axis_names": "CA"},
    {"axis_names": "Z"},
    {"axes": []},
    {},
):
    case(squeeze, **given)


def expand_dims(fn, types, source, layout="AB", **arguments):
    return fn.expand_dims(
        source([np.ones((2, 3), np.int64), np.ones((1, 2), np.int64)], layout), **arguments
    )


for given in (
    {"axes": 0},
    {"axes": [0, 2]},
    {"axes": [2]},
    {"axes": [3, 2]},
    {"axes": [0, 0]},
    {"axes": [4]},
    {"axes": [-1]},
    {"axes": [0, 2], "new_axis_names": "XY"},
    {"axes": [2, 0], "new_axis_names": "XY"},
    {"axes": [0, 2], "new_axis_names": "X"},
    {"axes": [0], "new_axis_names": "X", "layout": ""},
    {"axes": []},
    {"new_axis_names": "X"},
):
    case(expand_dims, **given)


def transpose(fn, types, source, layout="HWC", **arguments):
    return fn.transpose(source(ragged(DTYPES["UINT16"]), layout), **arguments)


for given in (
    {"perm": (2, 0, 1)},
    {"perm": [1, 0, 2], "transpose_layout": False},
    {"perm": [1, 0, 2], "output_layout": "XYZ"},
    {"perm": [1, 0, 2], "output_layout": "XYZ", "transpose_layout": False},
    {"perm": [1, 0, 2], "layout": ""},
    {},
    {"output_layout": "CWH"},
    {"perm": [1, 0]},
    {"perm": [1, 1, 0]},
    {"perm": [0, 1, 3]},
    {"perm": [-1, 0, 1]},
    {"perm": [1, 0, 2], "output_layout": "XY"},
):
    case(transpose, **given)


@case
def transpose_of_other_dimensions(fn, types, source):
    five = source([numbers(DTYPES["FLOAT16"], 2, 3, 1, 2, 4)] * 2)
    return (
        fn.transpose(five, perm=(4, 2, 0, 1, 3)),
        fn.transpose(source([np.float32(1), np.float32(3)]), perm=[]),
        fn.transpose(source([np.int8([1, 2]), np.int8([3])]), perm=[0]),
    )


# Several tensors to one.


def stack(fn, types, source, layout="AB", **arguments):
    return fn.stack(
        *(
            source([numbers(DTYPES["UINT32"], *s, seed=seed) for s in [(2, 3), (1, 2)]], layout)
            for seed in range(3)
        ),
        **arguments,
    )


for given in (
    {},
    {"axis": 1},
    {"axis": 2},
    {"axis": -1},
    {"axis": -2},
    {"axis": -3},
    {"axis": 3},
    {"axis": 0, "axis_name": "N"},
    {"axis": 1, "axis_name": "N"},
    {"axis": 1, "axis_name": "N", "layout": ""},
    {"axis": 1, "axis_name": "NN"},
):
    case(stack, **given)


@case
def stack_of_scalars(fn, types, source):
    one, two = source([np.int16(1), np.int16(3)]), source([np.int16(2), np.int16(4)])
    return fn.stack(one, two), fn.stack(one, two, axis_name="A"), fn.stack(one)


case(lambda fn, types, source: fn.stack(source([np.ones(2)]), source([np.ones(3)])), "stack_shapes")
case(
    lambda fn, types, source: fn.stack(source([np.ones(2)]), source([np.ones(2, np.int32)])),
    "stack_types",
)
case(
    lambda fn, types, source: fn.stack(source([np.ones(2)], "A"), source([np.ones(2)], "B")),
    "stack_layouts",
)
case(
    lambda fn, types, source: fn.stack(source([np.ones(2)], "A"), source([np.ones(2)])),
    "stack_of_one_layout",
)


def cat(fn, types, source, layout="AB", **arguments):
    return fn.cat(
        *(
            source([numbers(DTYPES["UINT64"], *s, seed=seed) for s in sides], layout)
            for seed, sides in enumerate([[(2, 3), (1, 2)], [(2, 1), (1, 4)], [(2, 0), (1, 1)]])
        ),
        **arguments,
    )


for given in (
    {"axis": 1},
    {"axis": -1},
    {"axis": 1, "layout": ""},
    {"axis_name": "B"},
    {"axis_name": "Z"},
    {"axis_name": "B", "layout": ""},
    {"axis_name": "B", "axis": 1},
    {"axis": 2},
    {"axis": -3},
    {},
):
    case(cat, **given)


case(
    lambda fn, types, source: fn.cat(source([np.ones(2)], "A"), source([np.ones(2)])),
    "cat_of_one_layout",
)
case(
    lambda fn, types, source: fn.cat(source([np.ones(2)], "A"), source([np.ones(2)], "B")),
    "cat_layouts",
)
case(
    lambda fn, types, source: fn.cat(source([np.float32(1)]), source([np.float32(1)])),
    "cat_of_scalars",
)
case(
    lambda fn, types, source: fn.cat(source([np.ones(2)]), source([np.ones((2, 2))])),
    "cat_dimensions",
)


def pad(fn, types, source, dtype="FLOAT", **arguments):
    return fn.pad(source(ragged(DTYPES[dtype]), "HWC"), **arguments)


for given in (
    {},
    {"fill_value": -1},
    {"fill_value": 2, "dtype": "UINT8"},
    {"fill_value": 7, "dtype": "UINT16"},
    {"fill_value": 7, "dtype": "UINT64"},
    {"fill_value": 1, "dtype": "BOOL"},
    {"axes": 0},
    {"axes": (1,)},
    {"axes": (-3,)},
    {"axes": (0, 1), "align": 4},
    {"axes": (0, 1), "align": (4, 8)},
    {"axes": (1, 0), "align": (4, 8), "shape": (1, 1)},
    {"axes": (0, 1), "shape": (5, -1)},
    {"axes": (0, 1), "shape": (1, 1)},
    {"shape": (3, 7, 4)},
    {"axis_names": "H"},
    {"axis_names": "WH", "align": (4, 8)},
    {"axis_names": "Z"},
    {"axis_names": "H", "axes": 0},
    {"axes": 3},
    {"axes": (0, 0)},
    {"axes": (0, 1), "align": (1, 2, 3)},
    {"axes": (0, 1), "shape": (3,)},
    {"align": 0},
    {"axes": ()},
):
    case(pad, **given)


@case
def pad_by_sample(fn, types, source):
    data = source([np.int32([1, 2, 3]), np.int32([4]), np.int32([5, 6])])
    sides = source([np.int32([4]), np.int32([2]), np.int32([1])])
    fills = source([np.float32(7), np.float32(8), np.float32(9)])
    return fn.pad(data, axes=0, shape=sides, fill_value=fills), fn.pad(
        data, fill_value=fills, align=2
    )


# Elements and orders.


def elements(fn, types, source, layout="FH", **arguments):
    return fn.element_extract(
        source([numbers(DTYPES["UINT32"], 4, 2), numbers(DTYPES["UINT32"], 3, 1)], layout),
        **arguments,
    )


for given in (
    {"element_map": [2, 0]},
    {"element_map": 1},
    {"element_map": (1, 1), "layout": ""},
    {"element_map": [3]},
    {"element_map": [-1]},
    {"element_map": [0], "layout": "HF"},
    {"element_map": []},
):
    case(elements, **given)


def permuted(fn, types, source, indices):
    return fn.permute_batch(source(ragged(DTYPES["UINT16"]), "HWC"), indices=indices)


for order in ([2, 0, 1], [0, 0, 0], [0, 1], [0, 1, 3], [-1, 0, 1]):
    case(permuted, indices=order)


@case
def permuted_by_data(fn, types, source):
    data = source(ragged())
    return fn.permute_batch(data, indices=source([np.int32(1), np.int32(1), np.int32(0)]))


def rearranged(fn, types, source, layout="FH", **arguments):
    return fn.sequence_rearrange(
        source([numbers(DTYPES["UINT16"], 4, 2), numbers(DTYPES["UINT16"], 3, 1)], layout),
        **arguments,
    )


for given in (
    {"new_order": [2, 0]},
    {"new_order": [1, 1, 1, 1, 1], "layout": ""},
    {"new_order": [3]},
    {"new_order": [-1]},
    {"new_order": []},
    {"new_order": [0], "layout": "HF"},
    {"new_order": 1},
):
    case(rearranged, **given)


@case
def rearranged_by_data(fn, types, source):
    data = source([numbers(DTYPES["UINT64"], 4, 2), numbers(DTYPES["UINT64"], 3, 1)])
    return fn.sequence_rearrange(data, new_order=source([np.int32([3, 0]), np.int32([1])]))


def lookup(fn, types, source, dtype="UINT8", to=None, **arguments):
    values = [
        np.array([[0, 1, 2], [3, 5, 100]]).astype(DTYPES[dtype]),
        np.array([[4]]).astype(DTYPES[dtype]),
    ]
    if to is not None:
        arguments["dtype"] = getattr(types, to)
    return fn.lookup_table(source(values, "HW"), **arguments)


TABLE = {"keys": [0, 2, 3, 5, 3], "values": [0.25, 2.5, 300, -1, 7]}
for each in DTYPES:
    case(lookup, dtype=each, **TABLE)
    case(lookup, to=each, default_value=3.5, **TABLE)
case(lookup)
case(lookup, keys=[1, 2], values=[1.0])
case(lookup, keys=[-1], values=[1.0])
case(lookup, keys=[70000], values=[1.0])
case(lookup, keys=[65535], values=[1.0], dtype="UINT16")
case(lookup, keys=1, values=2.0)


# Reductions.

REDUCTIONS = ("sum", "mean", "mean_square", "rms", "min", "max")


def reduced(
    fn, types, source, by, dtype="FLOAT", to=None, shapes=((3, 4, 2), (2, 5, 2)), **arguments
):
    if to is not None:
        arguments["dtype"] = getattr(types, to)
    data = source([numbers(DTYPES[dtype], *shape) for shape in shapes], "HWC"[: len(shapes[0])])
    reduction = getattr(fn.reductions, by)
    if by in ("std_dev", "variance"):
        mean = fn.reductions.mean(
            data, **{k: v for k, v in arguments.items() if k in ("axes", "axis_names")}
        )
        return reduction(data, mean, **arguments)
    return reduction(data, **arguments)


for by in (*REDUCTIONS, "std_dev", "variance"):
    for each in COMPUTED:
        case(reduced, by=by, dtype=each)
    for given in (
        {"axes": 0},
        {"axes": (0, 1)},
        {"axes": (1, 0), "keep_dims": True},
        {"axes": -1},
        {"axes": (0, 1, 2)},
        {"axis_names": "WH"},
        {"axis_names": "C", "keep_dims": True},
        {"keep_dims": True},
    ):
        case(reduced, by=by, **given)
for by in ("sum", "mean", "mean_square", "rms"):
    for each in ("INT8", "UINT8", "INT16", "UINT16", "FLOAT"):
        case(reduced, by=by, to="FLOAT", dtype=each)
for each in ("INT8", "UINT8", "INT16", "UINT16"):
    case(reduced, by="sum", to="INT64" if each[0] == "I" else "UINT64", dtype=each)
for given in (
    {"axes": 3},
    {"axes": -4},
    {"axes": (0, 0)},
    {"axes": 0, "axis_names": "H"},
    {"axis_names": "Z"},
    {"axes": ()},
    {"axes": 0, "shapes": ((0, 4, 2), (2, 5, 2))},
    {"axes": 1, "shapes": ((0, 4, 2), (2, 5, 2))},
    {"shapes": ((), ())},
    {"shapes": ((4,), (1,))},
):
    for by in ("sum", "mean", "max"):
        case(reduced, by=by, **given)
for ddof in (1, 2):
    case(reduced, by="std_dev", axes=0, ddof=ddof)
    case(reduced, by="variance", axes=(0, 1), ddof=ddof, keep_dims=True)


# Normalize.


def normalized(fn, types, source, dtype="FLOAT", to=None, means=None, stddevs=None, **arguments):
    if to is not None:
        arguments["dtype"] = getattr(types, to)
    if means is not None:
        arguments["mean"] = source([np.full(means, 0.5, np.float32)] * 2)
    if stddevs is not None:
        arguments["stddev"] = source([np.full(stddevs, 2.0, np.float32)] * 2)
    data = source([numbers(DTYPES[dtype], *s) for s in [(3, 4, 2), (2, 4, 2)]], "HWC")
    return fn.normalize(data, **arguments)


for given in (
    {},
    *({"dtype": each} for each in COMPUTED if "64" not in each),
    *({"to": each, "scale": 20.0, "shift": 30.0} for each in COMPUTED if "64" not in each),
    {"axes": (0,)},
    {"axes": (0, 1)},
    {"axes": 2},
    {"axis_names": "HW"},
    {"axis_names": "C"},
    {"axes": (0, 1), "ddof": 1},
    {"axes": (0, 1), "epsilon": 4.0},
    {"axes": (0, 1), "ddof": 100},
    {"batch": True},
    {"batch": True, "axes": (0, 1)},
    {"batch": True, "axes": (0,), "ddof": 1},
    {"batch": True, "axes": (1,)},
    {"batch": True, "mean": 1.0},
    {"batch": True, "stddev": 3.0, "axes": (0, 1)},
    {"mean": 1.0},
    {"stddev": 2.0},
    {"mean": 1.0, "stddev": 2.0},
    {"mean": 1.0, "stddev": 2.0, "epsilon": 5.0},
    {"mean": 1.0, "stddev": 2.0, "axes": (0,)},
    {"stddev": 0.0},
    {"means": (1, 1, 2)},
    {"stddevs": (1, 1, 2)},
    {"means": (1, 1, 2), "stddevs": (1, 1, 2)},
    {"means": (1, 4, 1), "stddevs": (1, 1, 1)},
    {"means": (1, 1, 1), "stddevs": (1, 1, 2), "axes": (0, 1)},
    {"means": (1, 3, 1)},
    {"means": (1, 1, 2), "axes": (0, 2)},
    {"means": (2,)},
    {"means": (1, 1, 2), "batch": True},
    {"axes": (0,), "axis_names": "H"},
    {"axes": (3,)},
    {"axes": (-1,)},
    {"axis_names": "Z"},
    {"axes": ()},
):
    case(normalized, **given)


@case
def normalize_what_is_alike(fn, types, source):
    data = source([np.full((2, 3), 5, np.uint8), np.ones((1, 1), np.uint8)])
    return fn.normalize(data), fn.normalize(data, epsilon=1.0), fn.normalize(data, shift=3)


@case
def normalize_other_dimensions(fn, types, source):
    five = source([numbers(DTYPES["INT16"], 2, 3, 2, 2, 2)] * 2)
    return (
        fn.normalize(five, axes=(1, 3)),
        fn.normalize(source([np.zeros((0, 2), np.float32)] * 2)),
    )
