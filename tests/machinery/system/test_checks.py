"""Numbers, choices and truth values are taken where allowed, and refused with their name."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.checks import check_truth, one_of, real_number, whole_number


@pytest.mark.parametrize("value", [3, np.uint8(3), np.int64(3), np.array(3), torch.tensor(3)])
def test_integers_of_any_origin_become_ints(value):
    assert type(whole_number("n", value)) is int
    assert whole_number("n", value) == whole_number("n", value, least=3, most=3) == 3


@pytest.mark.parametrize("value", [3.0, np.float64(3), "3", b"3", None, [3], True, np.bool_(1)])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(ArgumentTypeError, match=r"^n must be a whole number of at least 0, got "):
        whole_number("n", value)


@pytest.mark.parametrize(
    ("value", "limits", "words"),
    [
        (-1, {}, "n must be a whole number of at least 0, got -1"),
        (0, {"least": 1}, "n must be a whole number of at least 1, got 0"),
        (5, {"most": 4}, "n must be a whole number from 0 to 4, got 5"),
        (5, {"least": None, "most": 4}, "n must be a whole number of at most 4, got 5"),
    ],
)
def test_an_integer_outside_its_range_is_refused(value, limits, words):
    with pytest.raises(ArgumentError) as error:
        whole_number("n", value, **limits)
    assert str(error.value) == words
    assert not isinstance(error.value, TypeError)


def test_any_integer_is_taken_where_there_is_no_least():
    assert whole_number("seed", -(10**30), least=None) == -(10**30)


@pytest.mark.parametrize(
    "value", [0.5, Fraction(1, 2), Decimal("0.5"), np.float32(0.5), torch.tensor(0.5)]
)
def test_numbers_of_any_origin_become_floats(value):
    assert type(real_number("x", value)) is float
    assert real_number("x", value) == real_number("x", value, least=0.5, most=0.5) == 0.5


@pytest.mark.parametrize("value", ["1", b"1", None, [1], True, 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ArgumentTypeError, match=r"^x must be a number of at least 0, got "):
        real_number("x", value)


@pytest.mark.parametrize(
    ("value", "limits", "words"),
    [
        (-0.5, {}, "x must be a number of at least 0, got -0.5"),
        (math.inf, {}, "x must be a number of at least 0, got inf"),
        (math.nan, {"most": math.inf}, "x must be a number of at least 0, got nan"),
        (1.5, {"most": 1}, "x must be a number from 0 to 1, got 1.5"),
        (0, {"above": 0}, "x must be a number above 0, got 0"),
        (math.nan, {"above": 0}, "x must be a number above 0, got nan"),
    ],
)
def test_a_number_outside_its_range_is_refused(value, limits, words):
    with pytest.raises(ArgumentError) as error:
        real_number("x", value, **limits)
    assert str(error.value) == words
    assert not isinstance(error.value, TypeError)


def test_infinity_is_taken_where_it_is_the_maximum():
    assert real_number("x", math.inf, above=0, most=math.inf) == math.inf


@pytest.mark.parametrize("value", [True, False, 0, 1, None, np.bool_(1)])
def test_truth_values_may_be_anything_but_text(value):
    check_truth("shuffle", value)
    with pytest.raises(ArgumentTypeError, match=r"^shuffle must be True or False, not text, got "):
        check_truth("shuffle", str(value))


def test_a_choice_is_returned_as_it_stands_among_the_choices():
    assert one_of("mode", "b", ("a", "b")) == "b"
    assert one_of("mode", np.str_("b"), {"a": 1, "b": 2}) == "b"
    assert type(one_of("mode", np.str_("b"), ["b"])) is str


@pytest.mark.parametrize("value", ["c", "", None, 1, ["a"], ("a", "b"), {}])
def test_what_is_no_choice_is_refused(value):
    with pytest.raises(ArgumentError) as error:
        one_of("mode", value, {"a": 1, "b": 2}, hint="c is a here")
    assert str(error.value) == f"mode must be one of a, b, got {value!r}; c is a here"


def test_integers_beyond_all_floats_are_outside_the_range():
    for value in (10**400, -(10**400)):
        with pytest.raises(ArgumentError, match=r"^n must be a number of at least 0, got -?10"):
            real_number("n", value)
    assert real_number("n", 10**400, most=math.inf) == math.inf
