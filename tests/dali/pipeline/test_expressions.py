import itertools
import operator

import numpy as np
import pytest
import torch

import videoloader
from videoloader.dali import fn, math, pipeline_def, types
from videoloader.dali.tensors import Tensor, TensorList
from videoloader.errors import ArgumentError, ArgumentTypeError

A = np.arange(12, dtype=np.uint8).reshape(2, 6) + 1
B = np.array([[3, 1, 2, 1, 2, 3], [1, 2, 3, 1, 2, 3]], dtype=np.uint8)


def run(definition, *batches, layout=None, **arguments):
    """The outputs of a pipeline over data nodes for batches."""

    @pipeline_def(batch_size=len(batches[0]), **arguments)
    def pipe():
        sources = [itertools.repeat(batch) for batch in batches]
        return definition(*(fn.external_source(each, layout=layout) for each in sources))

    with pipe() as built:
        return built.run()


OPERATORS = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    math.min: np.minimum,
    math.max: np.maximum,
}


@pytest.mark.parametrize("function", OPERATORS)
def test_operators_take_nodes_and_numbers_on_both_sides(function):
    """With numbers of its own type nothing is promoted: results are those of numpy."""
    like = OPERATORS[function]
    two = types.Constant(2).uint8()
    results = run(lambda a, b: (function(a, b), function(a, two), function(two, b)), A, B)
    expected = like(A, B), like(A, np.uint8(2)), like(np.uint8(2), B)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.as_array(), wanted)
        assert result.as_array().dtype == wanted.dtype


def test_unary_operators_and_division():
    minus, inverted, absolute, plus, half, over = run(
        lambda a: (-a, ~a, abs(-a), +a, a / 2, 2 / a), A.astype(np.int32)
    )
    np.testing.assert_array_equal(minus.as_array(), -A.astype(np.int32))
    np.testing.assert_array_equal(inverted.as_array(), ~A.astype(np.int32))
    np.testing.assert_array_equal(absolute.as_array(), A)
    np.testing.assert_array_equal(plus.as_array(), A)
    np.testing.assert_array_equal(half.as_array(), A.astype(np.float32) / 2)
    np.testing.assert_array_equal(over.as_array(), 2 / A.astype(np.float32))


def test_python_numbers_have_32_bits_and_scalars_of_numpy_their_own_type():
    results = run(
        lambda a: (
            a + 1,
            a + 1.5,
            a + True,
            a + np.uint8(1),
            a + np.int64(1),
            a + np.float64(1),
            a + np.array(1, np.int16),
            a + torch.tensor(1, dtype=torch.int16),
            np.float16(1) + a,
        ),
        A,
    )
    kinds = [result.dtype for result in results]
    names = ["INT32", "FLOAT", "UINT8", "UINT8", "INT64", "FLOAT64", "INT16", "INT16", "FLOAT16"]
    assert [kind.name for kind in kinds] == names


def test_arrays_and_lists_are_the_same_for_every_sample():
    row = np.arange(6, dtype=np.float32)
    results = run(
        lambda a: (
            a + row,
            row + a,
            a + list(range(6)),
            a * torch.from_numpy(row),
            a + types.Constant(row, layout="X"),
        ),
        A,
    )
    for result, expected in zip(
        results, [A + row, row + A, A + row, A * row, A + row], strict=True
    ):
        np.testing.assert_array_equal(result.as_array(), expected)
    assert results[-1].layout() == "X"


def test_constants_of_arrays_compute_among_themselves():
    """Unlike scalars: in DALI an array constant is a data node already."""
    row = types.Constant(np.arange(6, dtype=np.float32), layout="X")
    results = run(
        lambda a: (
            row * 2,
            np.ones(6) + row,
            row + row,
            row[1:3],
            row.shape(),
            math.sqrt(row),
        ),
        A,
    )
    numbers = np.arange(6)
    for result, expected in zip(
        results,
        [numbers * 2, numbers + 1, numbers * 2, numbers[1:3], [6], np.sqrt(numbers)],
        strict=True,
    ):
        np.testing.assert_allclose(result.as_array()[1], expected, rtol=1e-6)
    assert [result.layout() for result in results[:4]] == ["X"] * 4
    with pytest.raises(TypeError):
        types.Constant(1) + 2


def test_what_is_no_operand_is_refused():
    for other in ("a", None, 1j, object(), {}):
        with pytest.raises(ArgumentTypeError, match="takes data nodes, numbers and arrays"):
            run(lambda a, other=other: a + other, A)
    with pytest.raises(ArgumentTypeError, match="data nodes in it"):
        run(lambda a, b: operator.add(a, [b]), A, B)
    with pytest.raises(ArgumentError, match=r"does not fit INT32"):
        run(lambda a: a + 2**40, A)


def test_a_node_is_neither_true_nor_iterable_but_may_be_a_key():
    for use in (bool, list, lambda a: 1 if a == 1 else a, lambda a: min(a, 1)):
        with pytest.raises(TypeError, match=r"no value while|not iterable"):
            run(use, A)
    assert run(lambda a: {a: a}[a], A)[0].shape() == [(6,), (6,)]


def test_shapes_layouts_and_names_of_the_source_are_data():
    samples = [np.zeros((2, 3, 1)), np.zeros((4, 1, 2))]
    with pytest.warns(DeprecationWarning, match=r"fn\.shapes is deprecated; use DataNode\.shape"):
        shape, as_float, layout, public = run(
            lambda a: (a.shape(), a.shape(dtype=types.FLOAT), a.property("layout"), fn.shapes(a)),
            samples,
            layout="HWC",
        )
    assert [sample.tolist() for sample in shape] == [[2, 3, 1], [4, 1, 2]]
    assert (shape.dtype, as_float.dtype) == (types.INT64, types.FLOAT)
    assert [bytes(sample.tolist()) for sample in layout] == [b"HWC", b"HWC"]
    np.testing.assert_array_equal(public.as_array(), shape.as_array())
    scalars, nothing = run(lambda a: (a.shape(), a.property("source_info")), np.zeros(2))
    assert scalars.shape() == nothing.shape() == [(0,), (0,)]
    with pytest.raises(ArgumentError, match="key must be one of 'source_info', 'layout'"):
        run(lambda a: a.property("color"), A)


def test_the_source_of_samples_travels_through_operators():
    batch = TensorList(list(torch.ones(2, 4, 4, 3)), "HWC", source_info=["a.jpg", "b.jpg"])

    def definition(a, unknown):
        changed = fn.flip(a[1:]) * 2 + np.ones(3)
        mixed = unknown + fn.random.coin_flip() * a
        known = changed.source_info(), fn.get_property(mixed, key="source_info")
        return changed, mixed, a, a[:, ::-2], *known

    for threads in (1, 3):
        others = np.ones((2, 1, 1, 3))
        outputs = run(definition, batch, others, layout="HWC", num_threads=threads)
        for output in outputs:
            assert output.source_info() == ["a.jpg", "b.jpg"]
        assert outputs[0][1].source_info() == "b.jpg"
        for texts in outputs[4:]:
            assert [bytes(text.tolist()) for text in texts] == [b"a.jpg", b"b.jpg"]


def test_eager_calls_take_arrays_and_containers_and_keep_what_they_know():
    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    np.testing.assert_array_equal(fn.flip(image, layout="HWC").numpy(), image[:, ::-1])
    np.testing.assert_array_equal(fn.flip(Tensor(image, "HWC")).numpy(), image[:, ::-1])
    for samples in (image[None], [torch.from_numpy(image)]):
        batch = TensorList(samples, "HWC", source_info=["a.jpg"])
        flipped = fn.flip(batch) * 2
        assert (flipped.layout(), flipped.source_info()) == ("HWC", ["a.jpg"])


def test_a_node_knows_its_operator():
    def definition(a):
        total = a + 1
        assert total.source.operator.name == "arithmetic_1"
        assert (total.device, total.cpu() is total) == ("cpu", True)
        return total

    run(definition, A)


def test_functions_of_tensors_and_batches_are_computed_at_once():
    values = torch.tensor([4.0, 9.0])
    assert math.sqrt(values).tolist() == [2, 3]
    assert math.clamp(values, 5, 8).tolist() == [5, 8]
    assert math.pow(2, 10).item() == 1024
    assert math.atan2(np.ones(1), 1).item() == pytest.approx(np.pi / 4)
    batch = TensorList([torch.tensor([[4]]), torch.tensor([[9, 16]])], "XY")
    roots = math.sqrt(batch)
    assert [sample.tolist() for sample in roots] == [[[2]], [[3, 4]]]
    assert (roots.layout(), roots.dtype) == ("XY", types.FLOAT)
    assert [each.tolist() for each in math.max(batch, torch.tensor([10]))] == [[[10]], [[10, 16]]]
    doubled = 1 + batch * 2.5
    assert [sample.tolist() for sample in doubled] == [[[11]], [[23.5, 41]]]
    assert [sample.tolist() for sample in -batch % 3] == [[[-1]], [[0, -1]]]
    assert [sample.tolist() for sample in batch > 4] == [[[False]], [[True, True]]]
    assert (np.ones(1, np.float32) + Tensor([1.0, 2.0])).tolist() == [2, 3]
    assert batch == batch
    with pytest.raises(ArgumentTypeError, match="takes data nodes, tensors, batches and numbers"):
        math.sqrt("4")


def test_every_function_of_the_module_has_a_node_form():
    arity = {"min": 2, "max": 2, "pow": 2, "fpow": 2, "atan2": 2, "clamp": 3}
    ones = np.ones((1, 2), np.float32)
    for name in videoloader.dali.math.__all__:
        function, count = getattr(math, name), arity.get(name, 1)
        (result,) = run(lambda a, f=function, n=count: f(*[a] * n), ones)
        assert result.as_array().tolist() == function(*[torch.from_numpy(ones)] * count).tolist()


def test_values_per_frame_may_be_computed():
    clips = np.arange(2 * 3 * 2 * 2 * 1, dtype=np.uint8).reshape(2, 3, 2, 2, 1)
    flags = np.array([[1, 0, 1], [0, 0, 1]], np.int32)

    @pipeline_def(batch_size=2)
    def pipe():
        data = fn.external_source(lambda: clips, layout="FHWC")
        flip = fn.per_frame(fn.external_source(lambda: flags))
        return fn.flip(data, horizontal=1 - flip)

    with pipe() as built:
        (result,) = built.run()
    expected = [
        [frame[:, ::-1] if not flag else frame for frame, flag in zip(clip, own, strict=True)]
        for clip, own in zip(clips, flags, strict=True)
    ]
    np.testing.assert_array_equal(result.as_array(), expected)


def test_per_frame_names_the_first_dimension():
    data = np.zeros((1, 3, 2))
    for layout, arguments, expected in [
        (None, {}, "F*"),
        ("FX", {}, "FX"),
        ("XY", {"replace": True}, "FY"),
    ]:
        (result,) = run(lambda a, more=arguments: fn.per_frame(a, **more), data, layout=layout)
        assert result.layout() == expected
    for batch, layout, message in [
        (data, "XY", "layout XY does not count frames"),
        (np.zeros(1), None, "a scalar has no dimension that counts frames"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            run(fn.per_frame, batch, layout=layout)
