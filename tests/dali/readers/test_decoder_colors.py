"""`output_type` of `fn.decoders.video` and `image_type` of readers: Y'CbCr, grey and BGR."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn, pipeline_def, types
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError

SPACES = [types.RGB, types.BGR, types.GRAY, types.YCbCr]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(encode_video(tmp_path_factory.mktemp("colors") / "a.mp4", size=(32, 24), frames=9))


@pytest.fixture(scope="module")
def pixels(path):
    return np.asarray(fn.decoders.video(path))


def converted(pixels, space):
    """Pixels of another space, by the coefficients of ITU-R BT.601."""
    red, green, blue = np.moveaxis(pixels.astype(float) / 255, -1, 0)
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    channels = {
        types.RGB: [255 * red, 255 * green, 255 * blue],
        types.BGR: [255 * blue, 255 * green, 255 * red],
        types.GRAY: [255 * luma],
        types.YCbCr: [
            16 + 219 * luma,
            128 + 224 * (blue - luma) / (2 * (1 - 0.114)),
            128 + 224 * (red - luma) / (2 * (1 - 0.299)),
        ],
    }
    return np.stack(channels[space], axis=-1)


def check(frames, pixels, space):
    frames = np.asarray(frames)
    wanted = converted(pixels, space)
    assert frames.dtype == np.uint8
    assert frames.shape == wanted.shape
    assert np.abs(frames - wanted).max() < 0.52


def test_the_pictures_have_colours(pixels):
    assert pixels.std(axis=(0, 1, 2)).min() > 10
    assert np.abs(pixels[..., 0].astype(int) - pixels[..., 2]).mean() > 10


@pytest.mark.parametrize("space", SPACES)
def test_a_decoder_gives_other_colours(path, pixels, space):
    check(fn.decoders.video(path, output_type=space), pixels, space)
    one, other = fn.decoders.video([path, path], frames=[[1, 2], [8]], output_type=space)
    check(one, pixels[[1, 2]], space)
    check(other, pixels[[8]], space)


@pytest.mark.parametrize("space", SPACES)
def test_a_decoder_in_a_pipeline_gives_other_colours(path, pixels, space):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        files = fn.external_source(lambda: [path] * 2)
        frames, numbers = fn.decoders.video(
            files, frames=[3, 0], output_type=space, enable_frame_num="sequence"
        )
        return frames, fn.crop(frames, crop=[16, 16]), numbers

    with pipeline() as made:
        frames, cropped, numbers = made.run()
    check(frames[1], pixels[[3, 0]], space)
    check(cropped[0], pixels[[3, 0], 4:20, 8:24], space)
    assert numbers[0].tolist() == [3, 0]


@pytest.mark.parametrize("space", SPACES[1:])
def test_a_reader_gives_other_colours(path, pixels, space):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        common = {"filenames": [path], "sequence_length": 4, "image_type": space}
        frames, labels = fn.readers.video(labels=[7], name="Reader", **common)
        small = fn.readers.video_resize(size=[12, 16], interp_type=types.INTERP_NN, **common)
        return frames, labels, small

    with pipeline() as made:
        assert made.epoch_size("Reader") == 2
        frames, labels, small = made.run()
    check(frames[1], pixels[4:8], space)
    assert labels[0].tolist() == [7]
    check(small[1], pixels[4:8, 1::2, 1::2], space)


def test_it_survives_being_written_as_text(path, pixels):
    from videoloader.dali.pipeline import Pipeline

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return fn.readers.video(filenames=[path], sequence_length=4, image_type=types.YCbCr)

    with Pipeline.deserialize(pipeline().serialize()) as made:
        check(made.run()[0][0], pixels[:4], types.YCbCr)


def test_filled_frames_have_the_colour_in_rgb(path):
    frames = fn.decoders.video(
        path, frames=[99], pad_mode="constant", fill_value=[255, 0, 0], output_type=types.YCbCr
    )
    check(frames, np.full((1, 24, 32, 3), [255, 0, 0]), types.YCbCr)
    assert fn.decoders.video(path, frames=[], output_type=types.GRAY).shape == (0, 24, 32, 1)


@pytest.mark.parametrize("space", [types.GRAY, types.YCbCr])
def test_luma_has_no_other_colours(path, space):
    with pytest.raises(ArgumentError, match=r'decoders\.video: output="gray" .* output_type'):
        fn.decoders.video(path, output="gray", output_type=space)
    with pytest.raises(ArgumentError, match=r'readers\.video: output="gray" .* image_type'):
        fn.readers.video(filenames=[path], sequence_length=2, output="gray", image_type=space)


def test_other_types_are_refused(path):
    with pytest.raises(ArgumentError, match="output_type must be one of"):
        fn.decoders.video(path, output_type=types.ANY_DATA)
    assert torch.as_tensor(fn.decoders.video(path, output="gray", output_type=types.RGB)).shape == (
        9,
        24,
        32,
        1,
    )


@pytest.mark.parametrize("space", SPACES[1:])
def test_normalised_frames_of_a_reader_have_other_colours(path, space):
    def read(**more):
        return fn.readers.video(filenames=[path], sequence_length=4, **more)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return read(normalized=True), read(normalized=True, image_type=space)

    with pipeline() as made:
        rgb, frames = (np.asarray(output[0]) for output in made.run())
    assert frames.dtype == np.float32
    assert np.abs(frames - converted(255 * rgb, space) / 255).max() < 1e-5
    with pytest.raises(ArgumentError, match="YCbCr goes with uint8 or normalized=True"):
        read(dtype=types.FLOAT, image_type=types.YCbCr)
