"""A rate may be text, such as of a command line; a long number in it costs no time."""

from fractions import Fraction

import pytest

import videoloader as vl
from videoloader.indexing.rates import read_rate


def test_a_fraction_is_read():
    assert read_rate("30000/1001") == Fraction(30000, 1001)


@pytest.mark.parametrize("text", ["1e99999999", "1E999999999", "9" * 5000, "0." + "3" * 100])
def test_a_number_that_takes_long_is_refused(text):
    with pytest.raises(vl.errors.ArgumentError, match="fps must be a number above 0"):
        read_rate(text)
