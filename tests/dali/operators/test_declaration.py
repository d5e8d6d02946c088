import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader.dali import fn, types
from videoloader.dali.operators.arguments import FLOAT, INT, Argument
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, UnsupportedError

pytestmark = pytest.mark.usefixtures("eager")


def test_every_operator_is_documented_and_its_kernel_takes_its_arguments():
    for operator in OPERATORS.values():
        assert operator.doc.strip()
        assert all(argument.doc for argument in operator.arguments)
        parameters = inspect.signature(operator.run).parameters
        if "plan" in parameters:  # in the place of the arguments, which made it
            parameters = inspect.signature(operator.infer).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            missing = {argument.name for argument in operator.arguments} - set(parameters)
            assert missing <= {"seed"}, operator.name


def test_an_operator_cannot_be_declared_twice():
    with pytest.raises(ArgumentError, match="resize is declared twice"):
        declare("resize")(lambda: None)


@given(st.integers(-(2**40), 2**40))
def test_a_number_is_a_number_in_any_clothes(value):
    declared = Argument("x", INT)
    clothes = [value, [value], np.int64(value), torch.tensor(value), torch.tensor([value])]
    assert {declared.bind(worn, "op") for worn in clothes} == {value}


@pytest.mark.parametrize("value", ["3", None, [1, 2], float("nan"), torch.zeros(2), {}])
def test_what_is_no_number_is_an_error(value):
    with pytest.raises(ArgumentError, match=r"fn\.op: x must be float, at most 1, got"):
        Argument("x", FLOAT, 0.0, most=1).bind(value, "op")


def test_random_numbers_with_a_seed_are_the_same_again():
    drawn = fn.random.uniform(range=(3, 4), shape=[1000], seed=7)
    assert ((drawn >= 3) & (drawn < 4)).all()
    assert torch.equal(drawn, fn.random.uniform(range=(3, 4), shape=[1000], seed=7))
    assert fn.random.uniform(values=[5], seed=1).item() == 5


@pytest.mark.parametrize("dtype", [types.FLOAT16, types.FLOAT, types.FLOAT64])
def test_the_upper_end_of_a_range_is_never_drawn(dtype):
    high = 1.0 + 2.0**-9
    drawn = fn.random.uniform(range=(1, high), shape=[5000], seed=7, dtype=dtype)
    assert drawn.max().item() < high


def test_a_coin_falls_as_often_as_it_should():
    flips = fn.random.coin_flip(probability=0.3, shape=[20000], seed=1)
    assert flips.dtype == torch.int32
    # Six standard deviations of the mean of 20,000 flips.
    assert abs(flips.double().mean().item() - 0.3) < 6 * (0.3 * 0.7 / 20000) ** 0.5


@pytest.mark.parametrize("arguments", [{"range": (1, 1)}, {"range": (1,)}, {"values": []}])
def test_nothing_to_draw_from_is_an_error(arguments):
    with pytest.raises(ArgumentError):
        fn.random.uniform(seed=1, **arguments)


def test_a_dense_batch_shares_memory_and_a_ragged_one_is_no_tensor():
    block = torch.arange(24).reshape(2, 3, 4)
    batch = TensorList(block)
    assert batch.block is block
    assert batch.as_tensor().data_ptr() == block.data_ptr()
    assert batch[1].data_ptr() == block[1].data_ptr()
    ragged = TensorList([torch.zeros(2, 3), torch.zeros(4, 3)])
    with pytest.raises(UnsupportedError, match=r"shapes are \(2, 3\), \(4, 3\)"):
        ragged.as_tensor()
    stacked = TensorList(list(block))
    assert torch.equal(stacked.as_tensor(), block)
    np.testing.assert_array_equal(stacked.as_array(), block.numpy())


def test_a_batch_describes_itself():
    batch = TensorList(torch.zeros(2, 4, 5, 3, dtype=torch.uint8), "HWC")
    assert (len(batch), batch.layout(), batch.dtype) == (2, "HWC", types.UINT8)
    assert batch.shape() == [(4, 5, 3), (4, 5, 3)]
    assert repr(batch) == (
        "TensorListCPU(\n"
        "    dtype=DALIDataType.UINT8,\n"
        '    layout="HWC",\n'
        '    device="cpu",\n'
        "    num_samples=2,\n"
        "    shape=[(4, 5, 3), (4, 5, 3)])"
    )
    assert [sample.shape for sample in batch] == [(4, 5, 3)] * 2
    assert isinstance(batch.at(0), np.ndarray)
    assert batch.as_cpu() is batch


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([torch.zeros(2), torch.zeros(2, 2)], "one number of dimensions"),
        ([torch.zeros(2), torch.zeros(2, dtype=torch.uint8)], "one element type"),
        ([torch.zeros(2), 3], "sample 1 is a int"),
        (torch.tensor(3), "got a scalar"),
    ],
)
def test_what_is_no_batch_is_an_error(samples, message):
    with pytest.raises(ArgumentError, match=message):
        TensorList(samples)
    with pytest.raises(ArgumentError, match="layout 'HWC' names 3 dimensions"):
        TensorList(torch.zeros(2, 2), "HWC")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_batch_says_that_there_is_no_gpu():
    with pytest.raises(UnsupportedError, match="finds none on this machine; drop the call"):
        TensorList(torch.zeros(2, 2)).gpu()


def test_old_and_new_names_of_types_are_one():
    assert types.DALIDataType is types.DataType
    assert types.FLOAT is types.DataType.of(torch.float32) is types.DataType.of("float32")
    assert [name for name in types.__all__ if not hasattr(types, name)] == []


def test_none_stands_for_an_argument_that_is_not_given():
    operator = OPERATORS["brightness_contrast"]
    assert operator.bind({"brightness": None, "dtype": None}) == operator.bind({})
    with pytest.raises(ArgumentError, match="no argument 'brigthness'"):
        operator.bind({"brigthness": None})
    with pytest.raises(ArgumentError, match="needs indices"):
        OPERATORS["permute_batch"].bind({"indices": None})


def test_every_argument_of_a_reader_that_is_a_path_takes_a_path():
    names = {"file_root", "file_list", "path", "paths", "files", "filenames", "annotations_file"}
    names |= {"index_path", "index_paths", "preprocessed_annotations", "manifest_filepaths"}
    taken = set()
    for operator in OPERATORS.values():
        for argument in operator.arguments if operator.kind == "source" else ():
            if argument.name in names:
                taken.add(argument.name)
                given = argument.convert(Path("some", "where"), operator.name)
                assert given in ("some/where", ("some/where",)), (operator.name, argument.name)
                for wrong in (7, b"some"):
                    with pytest.raises(ArgumentError, match=argument.name):
                        argument.convert(wrong, operator.name)
    assert taken == names
