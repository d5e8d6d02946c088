"""Frame numbers outside the video: laws, against `numpy.pad` and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.sampling import PAD_MODES, pad_frames

lengths = st.integers(1, 40)
frame_lists = st.lists(st.integers(-200, 200), max_size=30)

# What numpy calls the modes, for frames at most `reach` outside.
NUMPY_MODES = {
    "edge": "edge",
    "reflect_1001": "symmetric",
    "reflect_101": "reflect",
    "wrap": "wrap",
}


@given(lengths, st.integers(0, 150), st.sampled_from(sorted(NUMPY_MODES)))
def test_modes_agree_with_numpy_pad(length, reach, mode):
    asked = np.arange(-reach, length + reach)
    expected = np.pad(np.arange(length), reach, mode=NUMPY_MODES[mode])
    indices, mask = pad_frames(asked, length, mode)
    assert indices.tolist() == expected.tolist()
    assert mask.tolist() == np.pad(np.ones(length, dtype=bool), reach).tolist()


@given(frame_lists, lengths, st.sampled_from([m for m in PAD_MODES if m != "none"]))
def test_every_frame_lands_inside_or_is_filled(frames, length, mode):
    indices, mask = pad_frames(frames, length, mode)
    assert indices.shape == mask.shape == (len(frames),)
    inside = [0 <= frame < length for frame in frames]
    assert mask.tolist() == inside
    is_filled = ~mask if mode == "constant" else np.zeros_like(mask)
    assert (indices[is_filled] == -1).all()
    shown = indices[~is_filled]
    assert ((shown >= 0) & (shown < length)).all()
    assert [i for i, ok in zip(indices.tolist(), inside, strict=True) if ok] == [
        f for f, ok in zip(frames, inside, strict=True) if ok
    ]


@given(frame_lists, lengths)
def test_constant_fills_exactly_what_lies_outside(frames, length):
    _, mask = pad_frames(frames, length, "constant")
    assert mask.tolist() == [0 <= frame < length for frame in frames]


@given(frame_lists, lengths)
def test_none_accepts_only_frames_inside(frames, length):
    if all(0 <= frame < length for frame in frames):
        assert pad_frames(frames, length, "none")[0].tolist() == frames
    else:
        with pytest.raises(FrameRangeError):
            pad_frames(frames, length, "none")


@given(
    st.lists(st.integers(-50, 80), min_size=1, max_size=20),
    st.integers(1, 15),
    st.integers(0, 10),
    st.integers(0, 10),
    st.sampled_from(sorted(NUMPY_MODES)),
)
def test_a_range_behaves_like_a_video_of_its_own(frames, length, before, after, mode):
    whole = pad_frames(frames, before + length + after, mode, start=before, stop=before + length)[0]
    alone = pad_frames(np.array(frames) - before, length, mode)[0] + before
    assert whole.tolist() == alone.tolist()
    assert ((whole >= before) & (whole < before + length)).all()


@pytest.mark.parametrize(
    ("alias", "name"),
    [("repeat", "edge"), ("symmetric", "reflect_1001"), ("reflect", "reflect_101")],
)
def test_aliases_are_the_same_mode(alias, name):
    frames = np.arange(-20, 30)
    assert (pad_frames(frames, 7, alias)[0] == pad_frames(frames, 7, name)[0]).all()


def test_a_single_frame_reflects_onto_itself():
    for mode in NUMPY_MODES:
        assert pad_frames([-3, 0, 5], 1, mode)[0].tolist() == [0, 0, 0]


def test_the_error_names_file_frame_and_length():
    with pytest.raises(
        FrameRangeError, match=r"clip\.mp4: frame 912 .* has 900 frames \(0-899\).*edge"
    ):
        pad_frames([3, 912], 900, "none", name="clip.mp4")
    with pytest.raises(IndexError):
        pad_frames([-1], 900, "none")


def test_an_empty_video_can_only_be_filled():
    assert pad_frames([0, 1], 0, "constant")[0].tolist() == [-1, -1]
    assert pad_frames([], 0, "edge")[0].tolist() == []
    with pytest.raises(FrameRangeError):
        pad_frames([0], 0, "edge")


def test_an_unknown_mode_is_refused_with_the_known_ones():
    with pytest.raises(ArgumentError, match="reflect_101"):
        pad_frames([0], 1, "mirror")
