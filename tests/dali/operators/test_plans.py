"""What follows from specs and arguments is worked out once, for eager calls and in pipelines."""

import sys

import numpy as np
import pytest
import torch

import videoloader
from videoloader.dali import fn
from videoloader.dali.fn.function import Function
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.arguments import FLOAT, Argument
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch

LIBRARY = videoloader.__path__[0]


@pytest.fixture
def scaled():
    """An operator whose plan is a table of factors, and the shapes that it was planned for."""
    planned = []

    def infer(context, values, *, factor):
        planned.append(values.shapes)
        return Planned((values,), torch.tensor(factor.values))

    @declare(
        "scaled",
        inputs=(Input("values"),),
        arguments=(Argument("factor", FLOAT, 2.0, "of values", per_sample=True),),
        infer=infer,
    )
    def scaled(context, values, plan):
        """Scale values."""
        return Batch([value * factor for value, factor in zip(values, plan, strict=True)])

    yield Function("scaled"), planned
    del OPERATORS["scaled"]


def test_eager_calls_alike_are_planned_once(scaled):
    function, planned = scaled
    for value in range(3):
        assert function(torch.full((2,), value), factor=3).tolist() == [3 * value] * 2
    assert len(planned) == 1
    assert function(torch.ones(4), factor=3).tolist() == [3] * 4
    assert function(torch.ones(4), factor=4).tolist() == [4] * 4
    assert function(torch.ones(4), factor=3).tolist() == [3] * 4
    assert planned == [((2,),), ((4,),), ((4,),)]


def test_values_for_samples_are_those_of_each_call(scaled):
    function, _ = scaled
    for factors in ([1, 2], [5, 6], [1, 2]):
        made = function(TensorList(torch.ones(2, 1)), factor=factors)
        assert made.as_tensor().flatten().tolist() == factors
    for factor in (np.float32(3), torch.tensor(4.0)):  # not kept
        assert function(torch.ones(1), factor=factor).tolist() == [float(factor)]


def test_any_number_of_other_arguments_gives_what_it_is_to_give(scaled):
    function, _ = scaled
    for factor in [*range(40)] * 2:
        assert function(torch.ones(1), factor=factor).tolist() == [factor]
    assert len(function._known) < 40


def test_batches_that_differ_in_their_origins_alone_are_planned_once(scaled):
    _, planned = scaled
    declared, inferred = OPERATORS["scaled"], {}
    for origin in "abc":
        context = Context(2, inferred=inferred)
        (made,) = apply_operator(
            declared, context, [Batch(torch.ones(2, 1), "", [origin] * 2)], {"factor": 2}
        )
        assert list(made.source_info) == [origin] * 2
    assert len(planned) == 1


def test_arguments_of_other_types_are_others_though_they_are_equal():
    data = torch.arange(8)
    for _ in range(2):
        assert fn.slice(data, anchor=[1], shape_input=[1], axes=[0]).tolist() == [1]
        assert fn.slice(data, anchor=[0.5], shape_input=[0.5], axes=[0]).tolist() == [4, 5, 6, 7]
        assert fn.slice(data, anchor=[0], shape_input=[1.0], axes=[0]).tolist() == [*range(8)]
        assert fn.slice(data, anchor=[0], shape_input=[1], axes=[0]).tolist() == [0]


def test_an_eager_resize_takes_few_calls():
    clip, calls = torch.zeros(4, 120, 160, 3, dtype=torch.uint8), []

    def note(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(LIBRARY):
            calls.append(frame.f_code)

    for _ in range(3):
        calls.clear()
        sys.setprofile(note)
        try:
            fn.resize(clip, size=(64, 64))
        finally:
            sys.setprofile(None)
    assert 20 < len(calls) <= 80
