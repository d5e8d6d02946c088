"""Arithmetic against DALI's own results, Python's integers and numpy."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from references import arithmetic as reference

from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.arithmetic.arithmetic import (
    ARITHMETIC,
    broadcast_shape,
    common_layout,
)
from videoloader.dali.operators.arithmetic.expression import Expression
from videoloader.dali.operators.arithmetic.functions import FUNCTIONS, promote
from videoloader.dali.operators.context import Context
from videoloader.dali.tensors.batch import Batch
from videoloader.dali.types import DataType, ScalarConstant
from videoloader.errors import ArgumentError

INTEGERS = [kind for kind in reference.TYPES if np.issubdtype(kind, np.integer)]
EVERY_TYPE = [*reference.TYPES, np.float16]
TABLE = np.load(Path(reference.__file__).with_suffix(".npz"))


def write_expression(function, operands):
    return Expression(FUNCTIONS[function], operands).text


def compute(function, *operands, device="cpu"):
    """A function of arrays and constants, on a batch of one sample."""
    inputs, described = [], []
    for operand in operands:
        if isinstance(operand, ScalarConstant):
            described.append(operand)
        else:
            described.append(len(inputs))
            inputs.append(Batch(torch.from_numpy(np.asarray(operand))[None].to(device)))
    text = write_expression(function, tuple(described))
    context = Context(1, str(inputs[0].spec.device))
    (result,) = apply_operator(ARITHMETIC[len(inputs)], context, inputs, {"expression": text})
    return result[0].cpu().numpy()


def wrapped(value, kind):
    """An integer as the type has it after an overflow."""
    bits = 8 * np.dtype(kind).itemsize
    value %= 1 << bits
    return value - (1 << bits) if np.iinfo(kind).min < 0 and value >= 1 << (bits - 1) else value


@pytest.mark.parametrize("name", reference.FUNCTIONS)
def test_every_pair_of_types_gives_what_dali_gives(name):
    types, data = TABLE[f"{name}.types"], TABLE[f"{name}.bytes"].tobytes()
    start = 0
    for (one, other), kind in zip(reference.pairs(name), types, strict=True):
        a, b = reference.left(one), reference.right(other)
        if not kind:
            with pytest.raises(ArgumentError):
                compute(name, a, b)
            continue
        stop = start + len(a) * np.dtype(kind).itemsize
        expected = np.frombuffer(data[start:stop], kind)
        start = stop
        result = compute(name, a, b)
        assert result.dtype == kind, (one, other)
        if expected.dtype.kind == "f":  # the libraries of C round powers differently
            np.testing.assert_allclose(result, expected, rtol=3e-6, err_msg=f"{one} {other}")
        else:
            np.testing.assert_array_equal(result, expected, err_msg=f"{one} {other}")
    assert start == len(data)


numbers = st.one_of(st.integers(-(2**63), 2**64 - 1), st.integers(-300, 300))


@given(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), numbers, numbers)
def test_integers_wrap_around_in_the_common_type(one, other, a, b):
    a, b = wrapped(a, one), wrapped(b, other)
    kind = np.promote_types(one, other)
    kind = np.dtype(np.int64) if kind.kind == "f" else kind  # numpy gives up on 64 bits
    x, y = wrapped(a, kind), wrapped(b, kind)
    left, right = np.array([a], one), np.array([b], other)
    expected = {
        "add": x + y,
        "sub": x - y,
        "mul": x * y,
        "bitand": x & y,
        "bitor": x | y,
        "bitxor": x ^ y,
        "min": min(x, y),
        "max": max(x, y),
    }
    if y:
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        expected |= {"div": quotient, "mod": x - quotient * y}
    if y >= 0:
        expected["pow"] = pow(x, y, 1 << 64)
    for function, value in expected.items():
        result = compute(function, left, right)
        assert result.dtype == kind
        assert result.item() == wrapped(value, kind), (function, a, b)
    for function, value in {
        "eq": a == b,
        "neq": a != b,
        "lt": a < b,
        "leq": a <= b,
        "gt": a > b,
        "geq": a >= b,
    }.items():
        assert compute(function, left, right).item() is value, (function, a, b)


@given(st.sampled_from(INTEGERS), numbers)
def test_functions_of_one_integer_wrap_around(kind, value):
    value = wrapped(value, kind)
    for function, expected in {"minus": -value, "bitnot": ~value, "abs": abs(value)}.items():
        result = compute(function, np.array([value], kind))
        assert (result.dtype, result.item()) == (kind, wrapped(expected, kind))


def test_floating_point_wins_and_the_larger_of_two():
    for one, other in itertools.product(map(DataType.of, EVERY_TYPE), repeat=2):
        common = promote(one, other)
        floats = [kind for kind in (one, other) if kind.is_floating_point]
        if floats:
            assert common is max(floats, key=lambda kind: kind.torch.itemsize)
        assert common is promote(other, one)


FUNCTIONS_OF_ONE = {
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "fabs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_ONE)
@pytest.mark.parametrize("kind", [kind for kind in EVERY_TYPE if kind is not np.bool_])
def test_functions_agree_with_numpy(name, kind):
    is_float = np.issubdtype(kind, np.floating)
    result_kind = kind if is_float else np.float32
    values = np.array([0, 1, 2, 7, 100, 0.25, 0.75], kind)
    if np.dtype(kind).kind in "fi":
        values = np.concatenate([values, -values])
    with np.errstate(all="ignore"):
        expected = FUNCTIONS_OF_ONE[name](values.astype(np.float64)).astype(result_kind)
    result = compute(name, values)
    assert result.dtype == result_kind
    tolerance = {2: 2e-3, 4: 1e-6, 8: 1e-13}[np.dtype(result_kind).itemsize]
    np.testing.assert_allclose(result, expected, rtol=tolerance)


def test_a_cube_root_keeps_zeros_infinities_and_tiny_numbers():
    values = np.array([-8, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, -1e300, 5e-324])
    np.testing.assert_allclose(compute("cbrt", values), np.cbrt(values), rtol=1e-14)
    assert np.signbit(compute("cbrt", values)).tolist()[:3] == [True, False, True]


def test_nan_and_limits_in_the_wrong_order_behave_as_in_dali():
    nan = np.nan
    a, b = np.array([nan, 1], np.float32), np.array([1, nan], np.float32)
    np.testing.assert_array_equal(compute("min", a, b), [1, nan])
    np.testing.assert_array_equal(compute("max", a, b), [1, nan])
    for function in ("eq", "lt", "leq", "gt", "geq"):
        assert not compute(function, a, b).any()
    assert compute("neq", a, b).all()
    value, low, high = ([nan, 1, 1, 3], [0, nan, 0, 5], [2, 2, nan, 1])
    limits = [np.array(each, np.float32) for each in (value, low, high)]
    np.testing.assert_array_equal(compute("clamp", *limits), [nan, 1, 1, 1])
    wide = np.array([2**63 + 5, 3], np.uint64)
    clamped = compute("clamp", wide, ScalarConstant(5).uint64(), ScalarConstant(2**64 - 1).uint64())
    assert clamped.tolist() == [2**63 + 5, 5]


def test_what_a_cpu_traps_on_does_not_kill_the_process():
    for kind in (np.int8, np.int16, np.int32, np.int64):
        lowest = np.array([np.iinfo(kind).min, 7], kind)
        assert compute("div", lowest, np.array([-1, -1], kind)).tolist() == [lowest[0], -7]
        assert compute("mod", lowest, np.array([-1, -1], kind)).tolist() == [0, 0]
    for kind, function in itertools.product(INTEGERS, ("div", "mod")):
        with pytest.raises(ArgumentError, match="division of an integer by zero"):
            compute(function, np.array([1], kind), np.array([0], kind))


@pytest.mark.parametrize(
    ("constant", "kind"),
    [
        (ScalarConstant(1), np.int32),
        (ScalarConstant(2.5), np.float32),
        (ScalarConstant(1).bool(), np.uint8),
        (ScalarConstant(200).uint8(), np.uint8),
        (ScalarConstant(200).int16(), np.int16),
        (ScalarConstant(2.5).float64(), np.float64),
        (ScalarConstant(2.5).float16(), np.float16),
        (ScalarConstant(2**64 - 1).uint64(), np.uint64),
        (ScalarConstant(-(2**63)).int64(), np.int64),
    ],
)
def test_a_constant_counts_as_a_tensor_of_its_type(constant, kind):
    values = np.array([0, 1, 100], np.uint8)
    as_array = np.array(constant.value, constant.dtype.numpy)
    for function in ("add", "mul", "lt", "max"):
        result = compute(function, values, constant)
        np.testing.assert_array_equal(result, compute(function, values, as_array))
        assert result.dtype == (np.bool_ if function == "lt" else kind)


def test_a_float_constant_has_single_precision():
    assert compute("mul", np.ones(1), ScalarConstant(0.1)).item() == np.float32(0.1)
    assert compute("mul", np.ones(1), ScalarConstant(0.1).float64()).item() == 0.1


def test_a_number_that_does_not_fit_its_type_is_refused():
    with pytest.raises(ArgumentError, match=r"1099511627776 does not fit INT32; .*\.int64"):
        write_expression("add", (0, ScalarConstant(2**40)))


def test_bool_is_for_logic_and_floating_point_not_for_bits():
    flags, floats = np.array([True, False]), np.array([1.0, 2.0], np.float32)
    for function in ("add", "sub", "fdiv", "div", "mod", "pow", "fpow", "min", "max", "atan2"):
        with pytest.raises(ArgumentError, match="must not all be BOOL"):
            compute(function, flags, flags)
    for function in ("minus", "abs", "fabs", *FUNCTIONS_OF_ONE):
        with pytest.raises(ArgumentError, match="must not all be BOOL"):
            compute(function, flags)
    for function in ("bitand", "bitor", "bitxor", "lshift", "rshift"):
        with pytest.raises(ArgumentError, match="must be integers or BOOL"):
            compute(function, floats, flags)
    assert compute("mul", flags, flags).tolist() == [True, False]
    assert compute("bitnot", flags).tolist() == [False, True]
    assert compute("bitxor", flags, ~flags).tolist() == [True, True]


shapes = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@given(st.lists(shapes, min_size=1, max_size=3))
def test_shapes_broadcast_as_in_numpy(given_shapes):
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(ArgumentError, match="do not fit each other"):
            broadcast_shape(*given_shapes)
    else:
        assert broadcast_shape(*given_shapes) == expected


@pytest.mark.parametrize(
    ("layouts", "ndim", "expected"),
    [
        (("HWC", "C"), 3, "HWC"),
        (("", "HWC"), 3, "HWC"),
        (("", "C"), 4, ""),
        (("ABCD", "CD", "D"), 4, "ABCD"),
        (("", ""), 2, ""),
        (("HWC", "CHW"), 3, None),
        (("HWC", "HW"), 3, None),
    ],
)
def test_the_layout_is_the_longest_of_which_the_others_are_ends(layouts, ndim, expected):
    if expected is None:
        with pytest.raises(ArgumentError, match="do not fit"):
            common_layout(layouts, ndim)
    else:
        assert common_layout(layouts, ndim) == expected


@given(st.data())
def test_dense_and_ragged_batches_and_scalars_mix(data):
    """Every mix of one block, samples of their own and scalars: sample by sample as numpy."""
    count = data.draw(st.integers(1, 4))
    ragged = [np.arange(6 * (at + 1)).reshape(at + 1, 2, 3) for at in range(count)]
    dense = np.arange(count * 6).reshape(count, 1, 2, 3)
    columns = {
        "ragged": [torch.from_numpy(each) for each in ragged],
        "dense": torch.from_numpy(dense),
        "rows": torch.arange(count * 3).reshape(count, 3),
        "scalars": torch.arange(count),
    }
    names = data.draw(st.lists(st.sampled_from(sorted(columns)), min_size=2, max_size=2))
    inputs = [Batch(columns[name]) for name in names]
    text = write_expression("sub", (0, 1))
    (result,) = apply_operator(ARITHMETIC[2], Context(count), inputs, {"expression": text})
    for at in range(count):
        expected = inputs[0][at].numpy() - inputs[1][at].numpy()
        np.testing.assert_array_equal(result[at].numpy(), expected)
    assert (result.block is not None) == ("ragged" not in names or count == 1)


def test_a_batch_without_samples_or_elements_is_fine():
    empty = Batch(torch.empty(0, 2, 3))
    (result,) = apply_operator(ARITHMETIC[1], Context(0), [empty], {"expression": "sqrt(&0)"})
    assert len(result) == 0
    assert compute("mul", np.zeros((0, 3), np.float32), ScalarConstant(42)).shape == (0, 3)


def test_expressions_are_text_that_reads_back():
    values = [1, -3, True, 2.5, 1e-30, math.inf, -math.inf]
    for value in values:
        text = write_expression("add", (0, ScalarConstant(value)))
        parsed = ARITHMETIC[1].argument("expression").convert(text, "arithmetic_1")
        expected = np.array([1.0], np.float32) + np.float32(value)
        batch = Batch(torch.ones(1, 1))
        (result,) = apply_operator(ARITHMETIC[1], Context(1), [batch], {"expression": parsed})
        assert result[0].item() == expected.item()


def _left(kind):
    return (
        np.array([3, -7, 9999, np.nan, 0.5], kind) if kind is np.float16 else reference.left(kind)
    )


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_gpu_computes_what_the_cpu_does(name):
    """Every function on every type; division by zero is left out, it is undefined there."""
    arity = FUNCTIONS[name].arity
    for kinds in itertools.product(EVERY_TYPE, repeat=min(arity, 2)):
        values = [_left(kinds[0]), reference.right(kinds[-1]), _left(kinds[-1])]
        try:
            expected = compute(name, *values[:arity])
        except ArgumentError:
            continue
        result = compute(name, *values[:arity], device="cuda")
        assert result.dtype == expected.dtype
        tolerance = 3e-3 if expected.dtype == np.float16 else 3e-6
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(result, expected, rtol=tolerance, err_msg=str(kinds))
        else:
            np.testing.assert_array_equal(result, expected, err_msg=str(kinds))
