"""`roi` and `size` of `fn.decoders.video`, and what operators behind it make of them."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn, pipeline_def, types
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError, FrameRangeError, OperatorError, VideoError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(encode_video(tmp_path_factory.mktemp("windows") / "a.mp4", size=(64, 48), frames=4))


def run(path, define, batch_size=1):
    @pipeline_def(batch_size=batch_size, num_threads=1, device_id=None)
    def pipeline():
        made = define(fn.external_source(lambda: [path] * batch_size))
        return tuple(made) if isinstance(made, list | tuple) else made

    with pipeline() as made:
        return [[torch.as_tensor(sample).clone() for sample in output] for output in made.run()]


@pytest.mark.parametrize("size", [None, [24, 32], [97, 71]])
@pytest.mark.parametrize("more", [{}, {"output": "gray"}, {"output_type": types.YCbCr}])
def test_a_window_is_a_part_of_the_frames(path, size, more):
    whole = fn.decoders.video(path, size=size, **more)
    part = fn.decoders.video(path, size=size, roi=[3, 5, 20, 11], **more)
    assert torch.equal(part, whole[:, 3:23, 5:16])


def test_every_sample_has_a_window_of_its_own(path):
    whole = fn.decoders.video(path)
    one, other = fn.decoders.video([path] * 2, roi=[[0, 0, 48, 64], [40, 60, 8, 4]])
    assert torch.equal(one, whole)
    assert torch.equal(other, whole[:, 40:, 60:])


def test_a_window_may_be_data_of_a_pipeline(path):
    windows = [np.array([1, 2, 30, 40]), np.array([7, 0, 30, 40])]

    def define(files):
        return fn.decoders.video(files, roi=fn.external_source(lambda: windows))

    ((one, other),) = run(path, define, batch_size=2)
    whole = fn.decoders.video(path)
    assert torch.equal(one, whole[:, 1:31, 2:42])
    assert torch.equal(other, whole[:, 7:37, :40])


def both_ways(path, operator, **arguments):
    """What an operator makes of a clip when the decoder does it, and when it runs by itself."""

    def apart(files):
        clip = fn.decoders.video(files, **arguments)
        return operator(clip), clip

    (fused,) = run(path, lambda files: operator(fn.decoders.video(files, **arguments)))
    return fused[0], run(path, apart)[0][0]


@pytest.mark.parametrize(
    "operator",
    [
        lambda clip: fn.crop(clip, crop=[9, 8]),
        lambda clip: fn.crop(clip, crop=[9, 8], crop_pos_x=0.0, crop_pos_y=1.0),
        lambda clip: fn.flip(fn.crop(fn.flip(clip), crop=[9, 8], crop_pos_x=0.1)),
    ],
)
@pytest.mark.parametrize("size", [None, [24, 32], [97, 71]])
@pytest.mark.parametrize("roi", [None, [2, 3, 21, 17]])
def test_a_crop_cuts_from_the_frames_of_a_size_and_window(path, operator, size, roi):
    fused, apart = both_ways(path, operator, size=size, roi=roi)
    assert fused.shape == (4, 9, 8, 3)
    assert torch.equal(fused, apart)


@pytest.mark.parametrize("size", [[24, 32], [97, 71]])
@pytest.mark.parametrize("roi", [None, [2, 3, 21, 17]])
def test_so_does_crop_mirror_normalize(path, size, roi):
    fused, apart = both_ways(
        path,
        lambda clip: fn.crop_mirror_normalize(clip, crop=[9, 8], std=[2.0] * 3, mirror=1),
        size=size,
        roi=roi,
    )
    assert (fused - apart).abs().max() <= 0.26  # half of the rounding to whole numbers


def test_a_resize_takes_the_frames_of_a_size(path):
    fused, apart = both_ways(path, lambda clip: fn.resize(clip, size=[50, 60]), size=[24, 32])
    assert torch.equal(fused, apart)


def test_a_size_that_is_data_counts_too(path):
    def define(files):
        sizes = fn.external_source(lambda: [np.array([24, 32]), np.array([20, 40])])
        return fn.crop(fn.decoders.video(files, size=sizes), crop=[10, 10])

    ((one, other),) = run(path, define, batch_size=2)
    assert torch.equal(one, fn.decoders.video(path, size=[24, 32])[:, 7:17, 11:21])
    assert torch.equal(other, fn.decoders.video(path, size=[20, 40])[:, 5:15, 15:25])


@pytest.mark.parametrize("roi", [[0, 0, 49, 10], [40, 0, 9, 10], [0, 60, 4, 5]])
def test_a_window_outside_the_frames_is_an_error(path, roi):
    with pytest.raises(ArgumentError, match=r"roi .* reaches outside .* 48 x 64"):
        fn.decoders.video(path, roi=roi)
    with pytest.raises(OperatorError, match=r"a\.mp4.*roi .* reaches outside"):
        run(path, lambda files: fn.decoders.video(files, roi=roi))


@pytest.mark.parametrize("roi", [[0, 0, 4], [0, 0, 4, 0], [-1, 0, 4, 4], [0, 0, 4, 4, 4], 5])
def test_what_is_no_window_is_an_error(path, roi):
    with pytest.raises(ArgumentError, match=r"roi must be \(top, left, height, width\)"):
        fn.decoders.video(path, roi=roi)


def test_a_listed_frame_outside_the_video_is_filled_in_a_graph_and_an_error_in_an_eager_call(
    tmp_path,
):
    path = tmp_path / "short.mp4"
    encode_video(path, frames=3, size=(64, 48))
    data = np.frombuffer(path.read_bytes(), np.uint8)
    for outside in (3, 10**9, -1):
        with pytest.raises(
            FrameRangeError, match=rf"frame {outside} requested, .* has 3 frames \(0-2\)"
        ):
            fn.decoders.video(data, frames=[0, outside])
        black = fn.decoders.video(data, frames=[0, outside], pad_mode="constant")
        assert [bool(frame.any()) for frame in black] == [True, False]
        ((filled,),) = run(path, lambda files: fn.decoders.video(files, frames=[0, outside]))  # noqa: B023
        assert torch.equal(filled, black)  # as in DALI


@pytest.mark.parametrize(
    ("arguments", "outside"),
    [
        ({"start_frame": 1, "sequence_length": 4}, 3),
        ({"start_frame": 1, "end_frame": 5}, 3),
        ({"start_frame": 2, "stride": -2, "sequence_length": 3}, -2),
        ({"start_frame": 10, "sequence_length": 1}, 10),
        ({"times": [0.0, 100.0]}, None),
    ],
    ids=str,
)
def test_a_range_that_leaves_the_video_is_treated_as_listed_frames_are(
    tmp_path, arguments, outside
):
    path = encode_video(tmp_path / "short.mp4", frames=3, size=(64, 48))
    told = "100" if outside is None else rf"frame {outside} requested, .* has 3 frames \(0-2\)"
    with pytest.raises(VideoError, match=told):
        fn.decoders.video(str(path), **arguments)
    black = fn.decoders.video(str(path), pad_mode="constant", **arguments)
    assert not black[-1].any()
    ((filled,),) = run(path, lambda files: fn.decoders.video(files, **arguments))
    assert torch.equal(filled, black)
