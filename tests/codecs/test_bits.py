"""Reading bits, beside texts of zeros and ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.codecs.bits import BitReader
from videoloader.errors import FormatError

FIELDS = st.lists(
    st.one_of(
        st.tuples(st.just("ue"), st.integers(0, (1 << 32) - 2)),
        st.tuples(st.just("flag"), st.booleans()),
        st.tuples(st.integers(1, 100), st.integers(0, (1 << 100) - 1)),
    ),
    max_size=60,
)


def written(kind, value):
    """A field as text (ITU-T H.264, section 9.1)."""
    if kind == "ue":
        code = f"{value + 1:b}"
        return "0" * (len(code) - 1) + code
    if kind == "flag":
        return str(int(value))
    return f"{value % (1 << kind):0{kind}b}"


@given(FIELDS)
def test_fields_are_read_as_they_were_written(fields):
    text = "".join(written(*field) for field in fields)
    data = bytes(int(text[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(text), 8))
    bits = BitReader(data)
    for kind, value in fields:
        if kind == "ue":
            assert bits.ue() == value
        elif kind == "flag":
            assert bits.flag() is value
        else:
            assert bits.u(kind) == value % (1 << kind)


@given(st.integers(0, 300), st.integers(0, 40))
def test_a_code_that_ends_early_or_is_too_long_is_an_error(before, zeros):
    data = bytes([255]) * before + bytes(zeros // 8) + bytes([1 << (7 - zeros % 8)])
    bits = BitReader(data)
    bits.u(8 * before)
    if zeros <= min(32, 7 - zeros % 8):  # as many bits follow as zeros stand in front
        assert bits.ue() == (1 << zeros) - 1
    else:
        with pytest.raises(FormatError):
            bits.ue()
    with pytest.raises(FormatError):
        BitReader(bytes(before)).ue()
