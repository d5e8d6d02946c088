"""What wanted pictures depend on, against a decoder that knows only what it was fed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from videoloader.sampling import needed_pictures


@st.composite
def streams(draw):
    """What each of some pictures refers to, and which are wanted."""
    count = draw(st.integers(0, 12))
    refers = [
        draw(st.sets(st.integers(0, n - 1), max_size=3)) if n else set() for n in range(count)
    ]
    wanted = np.array([draw(st.booleans()) for _ in range(count)], dtype=np.bool_)
    return refers, wanted


def decode(refers, fed):
    """The pictures that come out whole."""
    whole = set()
    for picture in sorted(fed):
        if refers[picture] <= whole:
            whole.add(picture)
    return whole


@given(streams())
def test_wanted_pictures_come_out_whole_and_none_is_fed_in_vain(stream):
    refers, wanted = stream
    needed = set(np.flatnonzero(needed_pictures(refers, wanted)).tolist())
    asked = set(np.flatnonzero(wanted).tolist())
    assert asked <= decode(refers, needed)
    for picture in needed:
        assert not asked <= decode(refers, needed - {picture})
