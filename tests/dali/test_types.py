"""Element types, enumerations and constants under DALI's names."""

import pickle

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.errors import ArgumentError, ArgumentTypeError

NUMERIC = [dtype for dtype in types.DataType if dtype.is_numeric]


def test_members_have_dalis_numbers():
    first = "NO_TYPE UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FLOAT16 FLOAT FLOAT64 BOOL"
    assert [int(getattr(types, name)) for name in first.split()] == list(range(-1, 12))
    assert (int(types.STRING), int(types.IMAGE_TYPE), int(types.PYTHON_OBJECT)) == (12, 20, 24)
    assert [int(kind) for kind in types.InterpType] == list(range(6))
    assert int(types.INTERP_TRIANGULAR) == 4
    assert [int(kind) for kind in types.ImageType] == list(range(5))


@pytest.mark.parametrize("kind", [types.DataType, types.InterpType, types.ImageType])
def test_members_come_back_from_their_numbers_and_from_pickle(kind):
    for member in kind:
        assert kind(int(member)) is kind(np.int32(int(member))) is member
        assert pickle.loads(pickle.dumps(member)) is member
    with pytest.raises(ValueError, match="99"):
        kind(99)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_a_type_is_one_in_every_library(dtype):
    assert types.to_torch_type(dtype) == types.to_torch(dtype.numpy) == dtype == dtype.torch
    assert np.dtype(types.to_numpy_type(dtype)) == torch.empty(0, dtype=dtype.torch).numpy().dtype
    assert types.to_dali_type(dtype.torch) is types.to_dali_type(str(dtype.torch)) is dtype
    assert types.to_dali_type(np.dtype(dtype.numpy)) is types.to_dali_type(dtype.numpy) is dtype


def test_a_type_equals_its_torch_dtype_and_no_other():
    table = {types.FLOAT: "here"}
    assert table[torch.float32] == "here"
    assert torch.float64 not in table
    assert torch.float32 == types.FLOAT
    assert types.FLOAT != types.FLOAT64
    assert torch.float32 != types.STRING


@pytest.mark.parametrize(("name", "dtype"), [("float", types.FLOAT), ("torch.long", types.INT64)])
def test_names_of_frameworks_have_their_meaning(name, dtype):
    assert types.to_dali_type(name) is dtype


def test_python_types_have_32_bits_or_are_refused():
    assert types.to_dali_type(float) is types.DataType.of(float) is types.FLOAT
    assert types.to_dali_type(bool) is types.BOOL
    assert types.to_numpy_type(9) is np.float32


@pytest.mark.parametrize(
    "dtype", ["text", "complex64", None, int, 99, types.STRING, torch.bfloat16]
)
def test_what_no_tensor_has_is_refused(dtype):
    with pytest.raises((TypeError, ValueError)):
        types.to_torch_type(dtype)
    with pytest.raises(ArgumentError, match=r"dtype(: | must be )element type"):
        fn.cast(torch.zeros(2), dtype=dtype)


def test_a_type_that_is_no_type_is_an_error_of_ours():
    with pytest.raises(ArgumentTypeError, match="'text' names no element type"):
        types.to_dali_type("text")


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, None, (True, types.BOOL)),
        (3, None, (3, types.INT32)),
        (0.5, None, (0.5, types.FLOAT)),
        (np.int64(7), None, (7, types.INT64)),
        (torch.tensor(7, dtype=torch.uint8), None, (7, types.UINT8)),
        (2.7, types.UINT16, (2, types.UINT16)),
        (2, types.FLOAT16, (2.0, types.FLOAT16)),
        (0.3, types.BOOL, (True, types.BOOL)),
    ],
)
def test_a_number_is_a_scalar_constant(value, dtype, expected):
    constant = types.Constant(value, dtype)
    assert isinstance(constant, types.ScalarConstant)
    assert (constant.value, constant.dtype) == expected
    assert type(constant.value) is type(expected[0])


@pytest.mark.parametrize("dtype", NUMERIC)
def test_a_scalar_constant_takes_another_type(dtype):
    name = "float32" if dtype is types.FLOAT else dtype.name.lower()
    constant = getattr(types.Constant(1), name)()
    assert constant == types.ScalarConstant(1, dtype)
    assert constant.dtype is dtype


def test_a_scalar_constant_is_a_number_of_its_kind_only():
    assert int(types.Constant(3)) == 3
    assert float(types.Constant(0.5)) == 0.5
    assert not types.Constant(0)
    for convert, constant in ((int, 0.5), (bool, 0.5), (float, 3)):
        with pytest.raises(TypeError):
            convert(types.Constant(constant))
    with pytest.raises(TypeError):
        types.ScalarConstant("text")
    with pytest.raises(TypeError):
        types.ScalarConstant(1, types.STRING)


def test_an_operand_that_is_a_node_computes_with_constants():
    class Node:
        def __radd__(self, other):
            return "add", other

        def __eq__(self, other):
            return "equal", other

        __hash__ = None

    constant = types.Constant(3)
    assert (constant == Node()) == ("equal", constant)


@pytest.mark.parametrize(
    ("value", "arguments", "expected", "dtype"),
    [
        ([1, 2], {}, np.array([1, 2], np.int32), types.INT32),
        ([1, 2.5], {}, np.array([1, 2.5], np.float32), types.FLOAT),
        ([True, False], {}, np.array([True, False]), types.BOOL),
        (np.arange(3), {}, np.arange(3, dtype=np.int32), types.INT32),
        (np.arange(3), {"dtype": types.INT64}, np.arange(3), types.INT64),
        (torch.ones(2, 2), {}, np.ones((2, 2), np.float32), types.FLOAT),
        (3, {"shape": (2, 2)}, np.full((2, 2), 3, np.int32), types.INT32),
        (3, {"device": "cpu"}, np.array(3, np.int32), types.INT32),
        ([1, 2, 3, 4], {"shape": [2, 2]}, np.array([[1, 2], [3, 4]], np.int32), types.INT32),
        (types.BGR, {}, np.array(1, np.int32), types.IMAGE_TYPE),
        ([types.FLOAT, types.INT8], {}, np.array([9, 4], np.int32), types.DATA_TYPE),
        ([types.INTERP_CUBIC], {}, np.array([2], np.int32), types.INTERP_TYPE),
    ],
)
def test_anything_else_is_an_array_constant(value, arguments, expected, dtype):
    constant = types.Constant(value, **arguments)
    assert constant.dtype is dtype
    assert constant.array.dtype == expected.dtype
    np.testing.assert_array_equal(constant.array, expected)
    assert constant.array.shape == expected.shape


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ([1, 2, 3], {"shape": (2, 2)}),
        ([1, "text"], {}),
        ([types.RGB, types.FLOAT], {}),
        ([1, 2], {"layout": "HWC"}),
        ([1, 2], {"device": "tpu"}),
    ],
)
def test_a_constant_without_a_meaning_is_an_error(value, arguments):
    with pytest.raises(ArgumentError):
        types.Constant(value, **arguments)
