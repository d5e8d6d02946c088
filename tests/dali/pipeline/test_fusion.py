"""Operators that decoders do by themselves: the pixels of the unfused graph, in fewer steps."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.demo.videos import encode_video
from videoloader.errors import OperatorError

# Pale and lossless. At sharp edges of saturated colours the order of steps shows: colours out of
# range are cut off before or after resizing, and shared chroma is repeated or interpolated.
_PALE = "gradients=c0=0x202428:c1=0xd8d0c8:n=2:seed=3"
VIDEOS = {
    "full_chroma.mp4": {"pixel_format": "yuv444p", "picture": _PALE},
    "turned.mp4": {"pixel_format": "yuv444p", "picture": _PALE, "rotation": 90},
    "half_chroma.mp4": {"picture": _PALE, "size": (320, 180)},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("fusion")
    for name, options in VIDEOS.items():
        encode_video(made / name, frames=8, options={"qp": "0"}, **options)
    return made


OPERATORS = {
    "resize": lambda clips: fn.resize(clips, resize_x=120, resize_y=90),
    "resize_shorter": lambda clips: fn.resize(clips, resize_shorter=97, subpixel_scale=False),
    "resize_each": lambda clips: fn.resize(
        clips, resize_shorter=fn.random.uniform(range=(60, 140)), subpixel_scale=False
    ),
    "bilinear": lambda clips: fn.resize(clips, size=(150, 170), antialias=False),
    "crop": lambda clips: fn.crop(clips, crop=(53, 55), crop_pos_x=0.2),
    "crop_each": lambda clips: fn.crop(
        clips,
        crop=(53, 55),
        crop_pos_x=fn.random.uniform(range=(0, 1)),
        crop_pos_y=fn.random.uniform(range=(0, 1)),
    ),
    "flip": lambda clips: fn.flip(clips),
    "flip_each": lambda clips: fn.flip(clips, horizontal=fn.random.coin_flip()),
    "normalize": lambda clips: fn.crop_mirror_normalize(
        clips,
        crop=(40, 44),
        crop_pos_x=fn.random.uniform(range=(0, 1)),
        mirror=fn.random.coin_flip(),
        mean=[120.0, 110.0, 100.0],
        std=[60.0, 61.0, 62.0],
        scale=60.0,
        shift=3.0,
    ),
    "half": lambda clips: fn.cast(clips, dtype=types.FLOAT16),
}
LAST = {"normalize", "half"}


def clips_of(folder, names, device, *, fuse):
    @pipeline_def(batch_size=len(VIDEOS), seed=3, num_threads=2, fuse=fuse)
    def graph():
        clips = fn.readers.video(
            filenames=[folder / name for name in VIDEOS],
            sequence_length=2,
            stride=3,
            step=500,
            device=device,
        )
        for name in names:
            clips = OPERATORS[name](clips)
        return clips

    with graph() as pipe:
        described = pipe.describe()
        (clips,) = pipe.run()
        return [clip.float().cpu().numpy() for clip in clips], described


PAIRS = [
    (first, second)
    for first in OPERATORS
    for second in OPERATORS
    if first not in LAST and first != second
] + [("half",), ("normalize",), ("resize_shorter", "crop_each", "flip_each", "normalize")]


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_a_fused_graph_gives_the_pixels_of_the_unfused_one(folder, names, device):
    unfused, described = clips_of(folder, names, device, fuse=False)
    assert " + " not in described
    fused, described = clips_of(folder, names, device, fuse=True)
    assert " + " in described
    for one, other in zip(fused, unfused, strict=True):
        assert one.shape == other.shape
        difference = np.abs(one - other)
        assert difference.mean() <= 0.5
        assert difference.max() <= 3


def test_nearest_pixels_are_picked_by_the_operator(videos):
    """Of two that are equally near it takes the one that DALI takes, decoders do not always."""
    assert " + " not in described(
        lambda clips: fn.resize(clips, size=9, interp_type=types.INTERP_NN)
    )


@pytest.mark.parametrize("mean", [0.0, 0.4, 120.0])
def test_a_std_that_decoders_refuse_is_left_to_the_operator(folder, mean):
    @pipeline_def(batch_size=1, num_threads=1)
    def graph():
        clips = fn.readers.video(filenames=[folder / "half_chroma.mp4"], sequence_length=2)
        normal = fn.crop_mirror_normalize(clips, mean=[mean], std=[0.5], output_layout="FHWC")
        return clips, normal

    with graph() as pipe:
        assert " + " not in pipe.describe()
        clips, normal = (batch[0].float().numpy() for batch in pipe.run())
    assert np.allclose(normal, (clips - mean) / 0.5, atol=1e-3)


def described(*steps, **arguments):
    """The stages of a pipeline that reads a file and sends it through steps."""

    def graph():
        clips = fn.readers.video(filenames=["a.mp4"], sequence_length=2, **arguments)
        for step in steps:
            clips = step(clips)
        return clips

    with pipeline_def(graph)(batch_size=1) as pipe:
        return pipe.describe()


def test_what_is_fused_is_described(videos):
    lines = described(OPERATORS["resize_shorter"], OPERATORS["normalize"]).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("plan: random.uniform")
    assert lines[1] == (
        "decode: readers.video 'video_0' + resize 'resize_1' + "
        "crop_mirror_normalize 'crop_mirror_normalize_4'"
    )


@pytest.mark.parametrize(
    "steps",
    [
        [lambda clips: fn.resize(clips, size=9), lambda clips: fn.resize(clips, size=5)],
        [lambda clips: fn.flip(clips, vertical=1), lambda clips: fn.crop(clips, crop=(2, 2))],
        [lambda clips: fn.resize(clips, size=9, interp_type=types.INTERP_CUBIC)],
        [lambda clips: fn.brightness_contrast(clips), lambda clips: fn.flip(clips)],
        [lambda clips: fn.crop_mirror_normalize(clips, mean=[[1.0], [2.0]][:1])],
        [lambda clips: clips[::2], lambda clips: fn.flip(clips)],
    ],
)
def test_what_a_decoder_cannot_do_is_left_to_its_operator(videos, steps):
    assert "\ncpu: " in described(*steps)


def test_a_value_that_somebody_else_needs_is_not_fused_away(videos):
    def graph():
        clips = fn.readers.video(filenames=["a.mp4"], sequence_length=2)
        return clips, fn.flip(clips)

    with pipeline_def(graph)(batch_size=1) as pipe:
        assert pipe.describe().splitlines()[1] == "cpu: flip 'flip_1'"
        clips, flipped = pipe.run()
    assert torch.equal(clips.as_tensor().flip(-2), flipped.as_tensor())


def test_an_error_of_a_fused_operator_names_it_and_the_file(videos):
    def graph():
        clips = fn.readers.video(filenames=["a.mp4"], sequence_length=2)
        return fn.crop(clips, crop=(50, 50), name="cut")

    with (
        pipeline_def(graph)(batch_size=1) as pipe,
        pytest.raises(OperatorError, match=r"fn\.crop 'cut' .*test_fusion\.py:.*sample 0.*a\.mp4"),
    ):
        pipe.run()


def test_nodes_that_no_output_needs_do_not_run(videos):
    def graph():
        clips = fn.readers.video(filenames=["a.mp4"], sequence_length=2)
        fn.crop(clips, crop=(50, 50))
        fn.external_source(lambda: pytest.fail("not needed"))
        return fn.flip(clips)

    with pipeline_def(graph)(batch_size=1) as pipe:
        assert len(pipe.run()[0]) == 1
