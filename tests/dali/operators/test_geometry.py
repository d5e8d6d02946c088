import inspect

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader.dali import fn
from videoloader.dali.operators.arguments import PerSample
from videoloader.dali.operators.geometry.crop_windows import (
    CROPPED,
    anchor,
    crop_window,
    crop_windows,
)
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Spec
from videoloader.errors import ArgumentError


def frames(*shape, seed=0):
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=_generator(seed))


def _generator(seed):
    return torch.Generator().manual_seed(seed)


@given(st.floats(0, 1, width=32), st.integers(0, 4000))
def test_a_window_lies_inside_the_frame(position, room):
    assert 0 <= anchor(position, room) <= room


@given(st.integers(0, 4000))
def test_the_extreme_positions_are_the_edges_and_the_middle_rounds_up(room):
    assert anchor(0.0, room) == 0
    assert anchor(1.0, room) == room
    assert anchor(0.5, room) == (room + 1) // 2
    assert anchor(0.5, room, "truncate") == room // 2


@given(st.data())
def test_the_windows_of_a_batch_are_those_of_its_samples(data):
    count = data.draw(st.integers(2, 5))

    def some(values):  # one for all, or one for each
        drawn = data.draw(st.lists(values, min_size=count, max_size=count))
        return PerSample(tuple(drawn if data.draw(st.booleans()) else drawn[:1] * count))

    sides = some(st.tuples(st.integers(1, 4000), st.integers(1, 4000)))
    length, place = st.floats(0, 5000, width=32), st.floats(0, 1, width=32)
    by_pair = data.draw(st.booleans())
    arguments = {
        "crop": some(st.tuples(length, length)) if by_pair else PerSample((None,) * count),
        "crop_d": PerSample((None,) * count),
        **{f"crop_{side}": some(length | st.none()) for side in "hw" if not by_pair},
        **{f"crop_{side}": PerSample((None,) * count) for side in "hw" if by_pair},
        **{f"crop_pos_{axis}": some(place) for axis in "xyz"},
        "rounding": data.draw(st.sampled_from(["round", "truncate"])),
        "out_of_bounds_policy": data.draw(st.sampled_from(["pad", "trim_to_shape"])),
    }
    spec = Spec(tuple((*own, 3) for own in sides), torch.uint8, "HWC")
    for position, (window,) in enumerate(crop_windows(spec, arguments)):
        own = {k: v[position] if isinstance(v, PerSample) else v for k, v in arguments.items()}
        assert window == crop_window(sides[position], **own)


def test_values_are_normalized_in_single_precision():
    rng = np.random.default_rng(0)
    for _ in range(20):
        mean, std, shift = rng.normal(100, 30, 3), rng.uniform(0.1, 60, 3), float(rng.normal())
        made = fn.crop_mirror_normalize(
            frames(6, 7, 3), mean=mean.tolist(), std=std.tolist(), shift=shift, output_layout="HWC"
        )
        factor = (1 / torch.from_numpy(std).float().double()).float()  # arguments are float32
        offset = torch.tensor(shift).float() - torch.from_numpy(mean).float() * factor
        assert torch.equal(made, frames(6, 7, 3).float() * factor + offset)


def test_crop_takes_the_window_that_numpy_slices():
    clip = frames(3, 10, 12, 3)
    window = fn.crop(clip, crop_h=4, crop_w=5, crop_pos_x=0.25, crop_pos_y=1.0)
    left = int(np.floor(0.25 * 7 + 0.5))
    np.testing.assert_array_equal(window.numpy(), clip.numpy()[:, 6:10, left : left + 5])


def test_crop_of_a_clip_is_the_crop_of_each_frame():
    clip = frames(3, 10, 12, 3)
    whole = fn.crop(clip, crop=(4, 5), crop_pos_x=0.3)
    each = torch.stack([fn.crop(frame, crop=(4, 5), crop_pos_x=0.3) for frame in clip])
    assert torch.equal(whole, each)


def test_a_side_of_zero_is_kept_whole():
    assert fn.crop(frames(10, 12, 3), crop_h=0, crop_w=5).shape == (10, 5, 3)


def test_a_window_that_does_not_fit_is_an_error():
    with pytest.raises(ArgumentError, match=r"window of 11 x 5 does not fit .* 10 x 12"):
        fn.crop(frames(10, 12, 3), crop=(11, 5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"crop": (4, 4), "crop_h": 4}, "either crop or crop_h and crop_w"),
        ({"crop_h": 4}, "come together"),
        ({"crop": (4, 4), "crop_pos_x": 1.5}, r"fn\.crop: crop_pos_x must be float, at least 0"),
        ({"crop": "big"}, r"fn\.crop: crop must be"),
        ({"crop": (4, 4), "crop_pos_X": 0.5}, "did you mean .*crop_pos_x"),
    ],
)
def test_arguments_without_a_meaning_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fn.crop(frames(10, 12, 3), **arguments)


@pytest.mark.parametrize("layout", ["HWC", "FHWC", "DHWC", "FDHWC"])
def test_channels_may_be_anywhere(layout):
    sides = dict(zip("FDHWC", (2, 5, 10, 12, 3), strict=True))
    clip = frames(*(sides[letter] for letter in layout))
    expected = fn.crop(clip, crop=(4, 5), crop_pos_x=0.2, layout=layout)
    for at in range(len(layout) - 1):
        moved = f"{layout[:at]}C{layout[at:-1]}"
        if moved not in CROPPED:
            continue
        result = fn.crop(clip.movedim(-1, at), crop=(4, 5), crop_pos_x=0.2, layout=moved)
        assert torch.equal(result, expected.movedim(-1, at))


def test_what_lies_outside_is_filled_also_for_each_frame():
    clip = frames(2, 4, 7, 3)[:, :, :4]
    cropped = fn.crop(
        clip,
        layout="FHWC",
        crop=(6, 4),
        crop_pos_y=[0.0, 1.0],
        out_of_bounds_policy="pad",
        fill_values=[1, 2, 3],
    )
    assert torch.equal(cropped[0, :4], clip[0])
    assert torch.equal(cropped[1, 2:], clip[1])
    assert cropped[0, 4:].reshape(-1, 3).unique(dim=0).tolist() == [[1, 2, 3]]
    assert cropped[1, :2].reshape(-1, 3).unique(dim=0).tolist() == [[1, 2, 3]]


def test_volumes_alone_are_flipped_depthwise():
    volume = frames(3, 4, 5, 2)
    assert torch.equal(fn.flip(volume, horizontal=0, depthwise=1, layout="DHWC"), volume.flip(0))
    clip = fn.flip(volume, horizontal=0, depthwise=1, layout="FHWC")  # no depth, no effect: DALI's
    assert torch.equal(clip, volume)


@pytest.mark.parametrize(("horizontal", "vertical", "code"), [(1, 0, 1), (0, 1, 0), (1, 1, -1)])
def test_flip_agrees_with_opencv(horizontal, vertical, code):
    clip = frames(2, 6, 7, 3)
    flipped = fn.flip(clip, horizontal=horizontal, vertical=vertical)
    expected = np.stack([cv2.flip(frame, code) for frame in clip.numpy()])
    np.testing.assert_array_equal(flipped.numpy(), expected)


def test_flip_without_arguments_mirrors_and_twice_gives_the_frame_back():
    clip = frames(2, 6, 7, 3)
    assert not torch.equal(fn.flip(clip), clip)
    assert torch.equal(fn.flip(fn.flip(clip)), clip)


def test_channels_first_gives_the_same_picture():
    clip = frames(2, 6, 7, 3)
    planes = TensorList(clip.permute(0, 1, 2, 3).movedim(-1, -3)[None].contiguous(), "FCHW")
    flipped = fn.flip(planes)
    assert flipped.layout() == "FCHW"
    assert torch.equal(flipped[0].movedim(-3, -1), fn.flip(clip))


def test_every_sample_may_have_its_own_value():
    batch = TensorList(frames(3, 4, 5, 3), "HWC")
    flipped = fn.flip(batch, horizontal=[0, 1, 0])
    assert torch.equal(flipped[0], batch[0])
    assert torch.equal(flipped[1], fn.flip(batch[1], layout="HWC"))
    as_tensors = fn.flip(batch, horizontal=TensorList(torch.tensor([0, 1, 0])))
    assert torch.equal(as_tensors.as_tensor(), flipped.as_tensor())


def test_values_for_another_number_of_samples_are_an_error():
    with pytest.raises(ArgumentError, match="different numbers of samples"):
        fn.flip(TensorList(frames(3, 4, 5, 3), "HWC"), horizontal=[0, 1])
    with pytest.raises(ArgumentError, match="needs a TensorList"):
        fn.flip(frames(4, 5, 3), horizontal=[0, 1])


def test_a_layout_that_an_operator_does_not_take_is_an_error():
    with pytest.raises(ArgumentError, match=r"fn\.flip takes layouts HWC, .* got no layout"):
        fn.flip(torch.zeros(3))


def test_an_operator_documents_itself():
    assert "Mirror frames" in fn.flip.__doc__
    assert "horizontal: swap left and right (bool (0 or 1); default True; may be per sample" in (
        fn.flip.__doc__
    )
    parameters = inspect.signature(fn.crop).parameters
    assert parameters["crop_pos_x"].default == 0.5
    assert next(iter(parameters)) == "frames"


def test_a_channels_first_clip_is_known_by_its_shape():
    clip = frames(8, 20, 30, 3)
    planes = clip.movedim(-1, -3)
    for operator, arguments in (
        (fn.flip, {}),
        (fn.resize, {"resize_shorter": 10}),
        (fn.crop, {"crop": (7, 9)}),
    ):
        expected = operator(clip, **arguments).movedim(-1, -3)
        assert torch.equal(operator(planes, **arguments), expected)
        assert torch.equal(operator(planes, layout="FCHW", **arguments), expected)
        assert torch.equal(operator(planes[0], **arguments), expected[0])


def test_a_shape_that_may_be_two_layouts_is_an_error_without_one():
    both = frames(5, 3, 7, 3)
    with pytest.raises(ArgumentError, match=r"\(5, 3, 7, 3\) may be FHWC or FCHW; .* layout="):
        fn.flip(both)
    assert torch.equal(fn.flip(both, layout="FHWC"), both.flip(-2))
    assert torch.equal(fn.flip(both, layout="FCHW"), both.flip(-1))
    with pytest.raises(ArgumentError, match=r"layout='HWC' does not fit shape \(5, 3, 7, 3\)"):
        fn.flip(both, layout="HWC")
    with pytest.raises(ArgumentError, match="may be anything"):
        fn.flip(frames(5, 20, 7, 9))
    with pytest.raises(ArgumentError, match="layout is for eager calls"):
        pipeline_def(lambda: fn.flip(fn.external_source([both]), layout="FHWC"))(batch_size=1)
