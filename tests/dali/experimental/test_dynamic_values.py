"""Tensors and batches of dynamic mode; numpy is the oracle."""

import importlib
import operator

import numpy as np
import pytest
import torch

from videoloader.dali import types
from videoloader.dali.experimental import dynamic as ndd
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, ArgumentIndexError, ArgumentTypeError, NoGpuError

RAGGED = [
    np.arange(6, dtype=np.uint8).reshape(2, 3),
    np.arange(12, dtype=np.uint8).reshape(3, 4),
]


def arrays(batch):
    return [np.asarray(sample) for sample in batch]


def check(batch, expected):
    assert isinstance(batch, ndd.Batch)
    assert batch.batch_size == len(expected)
    for found, wanted in zip(arrays(batch), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (1, "i32"),
        (-5, "i32"),
        (1 << 31, "u32"),
        (True, "bool"),
        (1.5, "f32"),
        ([[1, 2], [3, 4]], "i32"),
    ],
)
def test_numbers_of_python_have_32_bits(data, name):
    tensor = ndd.tensor(data)
    assert str(tensor.dtype) == name
    assert tensor.torch().tolist() == data
    assert tensor.shape == np.shape(data)


@pytest.mark.parametrize("data", [1 << 32, -(1 << 31) - 1, [-1, 1 << 31]])
def test_integers_that_need_more_than_32_bits_need_a_type(data):
    with pytest.raises(ArgumentError, match="does not fit into 32 bits"):
        ndd.tensor(data)
    assert ndd.tensor(data, dtype=ndd.int64).torch().tolist() == data


@pytest.mark.parametrize(
    "kind", ["uint8", "int16", "uint32", "int64", "float16", "float64", "bool"]
)
def test_arrays_keep_their_type(kind):
    array = np.ones((2, 3), kind)
    tensor = ndd.as_tensor(array)
    assert tensor.dtype == getattr(ndd, kind) == kind
    assert (tensor.itemsize, tensor.nbytes, tensor.size) == (array.itemsize, array.nbytes, 6)
    assert np.asarray(tensor).dtype == array.dtype


def test_as_tensor_shares_memory_and_tensor_copies():
    array = np.zeros(3, np.float32)
    shared, own = ndd.as_tensor(array), ndd.tensor(array)
    array[1] = 7
    assert np.asarray(shared).tolist() == [0, 7, 0]
    assert np.asarray(own).tolist() == [0, 0, 0]


def test_as_batch_shares_memory_and_batch_copies():
    array = np.zeros((2, 3), np.float32)
    shared, own = ndd.as_batch(array), ndd.batch(array)
    samples = [array[0], array[1]]
    listed, copied = ndd.as_batch(samples), ndd.batch(samples)
    array[1] = 7
    check(shared, [array[0], array[1]])
    check(listed, [array[0], array[1]])
    check(own, [np.zeros(3, np.float32)] * 2)
    check(copied, [np.zeros(3, np.float32)] * 2)


def test_conversions_saturate():
    assert ndd.tensor(np.array([-3.0, 300.0]), dtype=ndd.uint8).torch().tolist() == [0, 255]
    check(
        ndd.as_batch([[-1, 2], [256, 3]], dtype=types.UINT8),
        [np.array([0, 2], np.uint8), np.array([255, 3], np.uint8)],
    )


def test_numbers_of_a_batch_have_one_type():
    check(
        ndd.as_batch([[1], [2.5, 3]]), [np.array([1], np.float32), np.array([2.5, 3], np.float32)]
    )
    with pytest.raises(ArgumentError, match="one element type"):
        ndd.as_batch([np.zeros(1, np.float32), np.zeros(1, np.int32)])


def test_layouts_are_kept_and_can_be_set():
    picture = ndd.tensor(np.zeros((4, 6, 3), np.uint8), layout="HWC")
    assert picture.layout == "HWC"
    assert ndd.as_tensor(picture).layout == "HWC"
    assert ndd.tensor(picture, dtype=ndd.float32).layout == "HWC"
    assert ndd.tensor([1, 2]).layout is None
    batch = ndd.as_batch([picture, picture])
    assert (batch.layout, batch.ndim, batch.shape) == ("HWC", 3, [(4, 6, 3)] * 2)
    assert ndd.as_tensor(batch).layout == "NHWC"
    assert ndd.as_batch(ndd.as_tensor(batch)).layout == "HWC"
    with pytest.raises(ArgumentError, match="layout"):
        ndd.tensor([1, 2], layout="HWC")


def test_a_batch_gives_its_samples():
    batch = ndd.as_batch(RAGGED)
    assert batch.shape == [(2, 3), (3, 4)]
    assert batch.dtype == ndd.uint8
    assert isinstance(batch.tensors[1], ndd.Tensor)
    np.testing.assert_array_equal(batch.tensors[-1], RAGGED[1])
    np.testing.assert_array_equal(batch.select(0), RAGGED[0])
    check(batch.select([1, 0, 1]), [RAGGED[1], RAGGED[0], RAGGED[1]])
    check(batch.select(slice(1, None)), RAGGED[1:])
    check(batch.tensors[::-1].as_batch(), RAGGED[::-1])
    assert batch.select(...) is batch
    assert batch.select([]).batch_size == 0
    with pytest.raises(IndexError):
        batch.tensors[2]
    with pytest.raises(ArgumentTypeError, match=r"tensors\[\.\.\.\]"):
        batch[0]


@pytest.mark.parametrize(
    "index",
    [
        np.s_[0],
        np.s_[-1],
        np.s_[:, 1],
        np.s_[1:10, -1],
        np.s_[..., 0],
        np.s_[1:, ...],
        np.s_[::-1, ::2],
        np.s_[:, :],
        np.s_[...],
        np.s_[-1, 0:2],
    ],
)
def test_slices_are_those_of_numpy(index):
    array = RAGGED[1]
    found = ndd.as_tensor(array)[index]
    assert found.shape == array[index].shape
    np.testing.assert_array_equal(found, array[index])
    check(ndd.as_batch(RAGGED).slice[index], [each[index] for each in RAGGED])


def test_slices_differ_by_sample():
    batch = ndd.as_batch(RAGGED)
    start, stop, at = ndd.as_batch([0, 1]), ndd.as_batch([1, 3]), ndd.as_batch([2, 0])
    check(batch.slice[start:stop], [RAGGED[0][0:1], RAGGED[1][1:3]])
    check(batch.slice[:, at], [RAGGED[0][:, 2], RAGGED[1][:, 0]])
    check(batch.slice[ndd.tensor(1)], [each[1] for each in RAGGED])


def test_slices_drop_letters_of_the_layout():
    picture = ndd.tensor(np.zeros((4, 6, 3), np.uint8), layout="HWC")
    assert picture[:, 0].layout == "HC"
    assert picture[..., 0].layout == "HW"
    assert ndd.as_batch([picture]).slice[0].layout == "WC"


@pytest.mark.parametrize("index", [5, (0, 0, 0), None, "a", 1.5, (..., ...)])
def test_wrong_indices_are_errors(index):
    for indexed in (ndd.as_tensor(RAGGED[1]), ndd.as_batch(RAGGED).slice):
        with pytest.raises((ArgumentError, ArgumentIndexError)):
            indexed[index]


BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


@pytest.mark.parametrize("function", BINARY)
def test_operators_on_floats_are_those_of_numpy(function):
    left = [np.array([1, 2, 3], np.float32), np.array([4], np.float32)]
    right = [np.array([3, 2, 1], np.float32), np.array([-4], np.float32)]
    expected = [function(*pair) for pair in zip(left, right, strict=True)]
    check(function(ndd.as_batch(left), ndd.as_batch(right)), expected)
    np.testing.assert_array_equal(
        function(ndd.as_tensor(left[0]), ndd.as_tensor(right[0])), expected[0]
    )
    check(function(ndd.as_batch(left), 2.0), [function(each, np.float32(2)) for each in left])
    check(function(2.0, ndd.as_batch(left)), [function(np.float32(2), each) for each in left])


def test_a_tensor_or_an_array_beside_a_batch_is_the_same_for_each_sample():
    batch = ndd.as_batch(np.arange(6, dtype=np.int32).reshape(2, 3))
    expected = [np.array([10, 21, 32], np.int32), np.array([13, 24, 35], np.int32)]
    array = np.array([10, 20, 30], np.int32)
    for other in (array, torch.from_numpy(array), [10, 20, 30], ndd.tensor([10, 20, 30])):
        check(batch + other, expected)
        check(other + batch, expected)
    check(
        batch + ndd.as_batch([1, 2]), [np.array([1, 2, 3], np.int32), np.array([5, 6, 7], np.int32)]
    )


def test_types_meet_as_in_pipelines():
    batch = ndd.as_batch(RAGGED)
    assert (batch + 1).dtype == ndd.int32
    assert (batch + 1.5).dtype == ndd.float32
    assert (batch / 2).dtype == ndd.float32
    assert (batch + batch).dtype == ndd.uint8
    assert (batch > 3).dtype == ndd.bool
    assert (batch + ((1 << 32) - 1)).dtype == ndd.uint32
    assert (-ndd.tensor([1, -2])).torch().tolist() == [-1, 2]
    assert abs(ndd.tensor([1, -2])).torch().tolist() == [1, 2]
    assert ndd.math.sqrt(ndd.tensor([4, 9])).torch().tolist() == [2, 3]
    assert ndd.math.clamp(ndd.as_batch([1, 9]), 2, 5).torch().tolist() == [2, 5]


def test_operands_of_functions_have_the_names_of_dali():
    assert ndd.math.sqrt(input=ndd.tensor(4)).item() == 2
    assert ndd.math.pow(exponent=3, base=ndd.tensor(2)).item() == 8
    assert ndd.math.clamp(9, hi=5, lo=2).item() == 5
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        ndd.math.sqrt(4, x=4)


def test_arithmetic_keeps_layouts():
    picture = ndd.tensor(np.zeros((4, 6, 3), np.uint8), layout="HWC")
    assert (1 - picture).layout == "HWC"
    assert (ndd.as_batch([picture]) * 2.0).layout == "HWC"


def test_operands_that_do_not_fit_are_errors():
    with pytest.raises(ArgumentError, match=r"\[2, 3\]"):
        ndd.as_batch([1, 2]) + ndd.as_batch([1, 2, 3])
    with pytest.raises(ArgumentTypeError):
        ndd.tensor(1) + "a"
    with pytest.raises(TypeError):
        hash(ndd.tensor(1))


def test_truth_is_that_of_one_element():
    assert ndd.tensor(3) == 3
    assert ndd.tensor(3) != 4
    assert not ndd.tensor(3) > 4
    with pytest.raises(ArgumentError, match="2"):
        bool(ndd.tensor([1, 2]))


def test_batches_become_tensors_of_torch():
    dense = ndd.as_batch(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert dense.torch().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert dense.torch().data_ptr() == dense.torch(copy=False).data_ptr()
    assert dense.torch().data_ptr() != dense.torch(copy=True).data_ptr()
    ragged = ndd.as_batch([[1, 2], [3]])
    assert ragged.torch(pad=True).tolist() == [[1, 2], [3, 0]]
    with pytest.raises(ArgumentError, match="pad=True"):
        ragged.torch()
    with pytest.raises(ArgumentError, match="copy=False"):
        ragged.torch(copy=False, pad=True)
    assert torch.from_dlpack(dense.tensors[1]).tolist() == [3, 4, 5]
    assert [each.item() for each in dense.tensors[1]] == [3, 4, 5]


def test_broadcast_repeats_a_sample():
    check(ndd.Batch.broadcast(3, 2), [np.array(3, np.int32)] * 2)
    check(ndd.Batch.broadcast(RAGGED[0], 3, dtype=ndd.float32), [RAGGED[0].astype(np.float32)] * 3)


def test_an_empty_batch_needs_a_type():
    assert ndd.as_batch([], dtype=ndd.uint8).batch_size == 0
    assert ndd.as_batch([], dtype=ndd.uint8).dtype == ndd.uint8
    assert ndd.as_batch([], dtype=ndd.uint8).shape == []
    assert ndd.as_batch([], dtype=ndd.uint8).ndim == 0
    with pytest.raises(ArgumentError, match="dtype"):
        ndd.as_batch([])


NO_NUMBERS = [None, "text", b"bytes", [None], object(), types.RGB, [[1], [2, 3]]]


@pytest.mark.parametrize("data", NO_NUMBERS)
def test_what_is_no_number_makes_no_tensor(data):
    with pytest.raises(ArgumentError, match="numbers"):
        ndd.tensor(data)


def test_values_are_printed_as_dali_does():
    assert repr(ndd.tensor([1, 2, 3], layout="X")) == (
        'Tensor(\n    [1 2 3],\n    dtype=i32,\n    layout="X",\n    device="cpu",\n    shape=(3,))'
    )
    assert repr(ndd.as_batch([1, 2])) == (
        'Batch(\n    [1, 2],\n    dtype=i32,\n    device="cpu",\n    num_samples=2,\n'
        "    shape=[(), ()])"
    )


def test_types_have_dalis_names():
    assert [str(each) for each in (ndd.uint8, ndd.int64, ndd.float16, ndd.bool)] == [
        *("u8", "i64", "f16", "bool")
    ]
    for name in ("f32", "float32", types.FLOAT, np.float32, torch.float32, ndd.float32):
        assert ndd.dtype(name) == ndd.float32 == name
        assert ndd.type_id(name) is types.FLOAT
    assert types.FLOAT == ndd.float32 != types.FLOAT16
    half = ndd.float16
    assert (half.bits, half.bytes, half.exponent_bits, half.significand_bits) == (16, 2, 5, 10)
    assert (ndd.int8.kind, ndd.int8.exponent_bits) == (ndd.DType.Kind.signed, None)
    assert len({ndd.dtype("u8"), ndd.uint8, ndd.int8}) == 2
    assert ndd.uint8 != "no type"
    with pytest.raises(TypeError):
        ndd.dtype("no type")


def test_devices_are_named():
    assert ndd.Device("cpu") == ndd.Device.CPU == ndd.device(torch.device("cpu"))
    assert ndd.device(None) is None
    tensor = ndd.tensor(1)
    assert tensor.device == ndd.Device.CPU
    assert tensor.cpu() is tensor
    assert tensor.evaluate() is tensor
    assert tensor.to_device("cpu", force_copy=True) is not tensor
    for wrong in ("tpu", "cpu:0", "gpu:x", "gpu:-1"):
        with pytest.raises(ArgumentError, match=wrong if wrong != "cpu:0" else "CPU"):
            ndd.Device(wrong)
    with pytest.raises(ArgumentTypeError):
        ndd.device(3)


@pytest.mark.skipif(torch.cuda.is_available(), reason="it has a GPU")
def test_a_machine_without_a_gpu_says_so():
    assert ndd.Device.current() == ndd.Device.CPU
    for ask in (lambda: ndd.Device("gpu"), ndd.tensor(1).gpu, ndd.as_batch([1]).gpu):
        with pytest.raises(NoGpuError):
            ask()
    with pytest.raises(NoGpuError, match="drop the call"):
        TensorList([torch.ones(1)]).gpu()


@pytest.mark.gpu
def test_values_move_to_a_gpu_and_back():
    batch = ndd.as_batch(RAGGED).gpu()
    assert batch.device == ndd.Device("gpu:0")
    check((batch + 1).cpu(), [each.astype(np.int32) + 1 for each in RAGGED])
    with pytest.raises(ArgumentError, match="CPU"):
        batch + ndd.as_batch(RAGGED)
    with pytest.raises(ArgumentTypeError, match="cpu"):
        np.asarray(batch.tensors[0])
    with ndd.Device("gpu:0"):
        assert ndd.Device.current() == ndd.Device("gpu")


def test_modes_and_contexts_hold_within_their_block():
    assert ndd.EvalMode.current() is ndd.EvalMode.eager is ndd.EvalMode.default
    for mode in ndd.EvalMode:
        with mode:
            assert ndd.EvalMode.current() is mode
            assert (ndd.tensor([1, 2]) + 1).torch().tolist() == [2, 3]
            with ndd.EvalContext(num_threads=3) as context, ndd.Device("cpu"):
                assert ndd.EvalContext.current() is context
                assert context.num_threads == 3
                context.evaluate_all()
    assert ndd.EvalMode.current() is ndd.EvalMode.eager
    assert ndd.EvalContext.current().num_threads == ndd.get_num_threads()
    with pytest.raises(ArgumentError, match="num_threads"):
        ndd.EvalContext(num_threads=0)


def test_a_block_ends_with_an_error_too():
    with pytest.raises(ArgumentError), ndd.EvalMode.deferred, ndd.EvalMode.deferred:
        ndd.tensor("a", dtype=ndd.uint8)
    assert ndd.EvalMode.current() is ndd.EvalMode.eager


def test_types_of_enumerations_and_bfloat16_are_named_as_in_dali():
    enumerations = [ndd.DataType, ndd.ImageType, ndd.InterpType]
    assert [str(each) for each in enumerations] == ["DataType", "ImageType", "InterpType"]
    assert [each.type_id for each in enumerations] == [
        types.DATA_TYPE,
        types.IMAGE_TYPE,
        types.INTERP_TYPE,
    ]
    assert {(each.kind, each.bits) for each in enumerations} == {(ndd.DType.Kind.enum, 32)}
    half = ndd.bfloat16
    assert (str(half), half.bits, half.significand_bits, half.exponent_bits, half.kind) == (
        *("bfloat16", 16, 7, 8),
        ndd.DType.Kind.float,
    )
    assert half == half
    assert half not in (ndd.float16, ndd.float32)
    with pytest.raises(ArgumentTypeError, match="bfloat16"):
        ndd.tensor([1.5], dtype=half)


@pytest.mark.parametrize(
    "name",
    [
        *("decoders", "experimental.decoders", "experimental.readers", "io.file", "math", "noise"),
        *("random", "readers", "reductions", "segmentation", "transforms"),
    ],
)
def test_modules_are_imported_as_those_of_dali(name):
    module = importlib.import_module(f"videoloader.dali.experimental.dynamic.{name}")
    assert module is operator.attrgetter(name)(ndd)
    assert any(callable(value) for value in vars(module).values())


@pytest.mark.parametrize("name", ["compile", "Stream", "checkpoint", "ExternalSource"])
def test_what_is_missing_says_what_to_use(name):
    with pytest.raises(AttributeError, match=f"no {name}: "):
        getattr(ndd, name)
    assert not hasattr(ndd, "nothing")
