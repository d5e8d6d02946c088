"""`matrix` and `color_range`: what they mean, wherever a video is decoded; PyAV is the oracle."""

from contextlib import closing

import numpy as np
import pytest
import torch
from fake_gpu import fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import consumer, decoder  # noqa: F401  (fixtures)
from surface_oracle import to_rgb
from tagged_videos import (
    MATRICES,
    RANGES,
    converted_by_pyav,
    mean_difference,
    scaled_by_ffmpeg,
    tagged_video,
)
from torch.nn.functional import interpolate
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.dali import fn, pipeline_def
from videoloader.decoding.pictures import swscale

pytestmark = pytest.mark.usefixtures("forked_workers")

CHOSEN = {"bt601": "smpte170m", "bt709": "bt709", "bt2020": "bt2020nc"}
SIZES = {"SD": (96, 64), "HD": (720, 64)}
FORMATS = ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le"]
EXACT = 0.3  # of 255: the mean of rounding is 0.25


def first(path, **options):
    with vl.Video(path, **options) as video:
        return video[0].numpy()


def exact(path, matrix, color_range="tv"):
    """The first frame of a video of 8 bits in 4:4:4 by the formula."""
    with vl.Video(path) as video:
        ((_, surface),) = video.decode([0])
        planes = [plane.astype(float) for plane in surface.planes]
    return to_rgb(planes, matrix, color_range == "pc", 8)


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("color_range", RANGES)
@pytest.mark.parametrize("matrix", MATRICES)
def test_swscale_gives_the_very_frames_of_pyav(tmp_path, pixel_format, size, color_range, matrix):
    path = tagged_video(
        tmp_path / "a.mp4",
        size=SIZES[size],
        pixel_format=pixel_format,
        matrix=matrix,
        color_range=color_range,
    )
    assert np.array_equal(first(path, matrix="swscale"), converted_by_pyav(path))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("color_range", RANGES)
@pytest.mark.parametrize("matrix", MATRICES)
def test_auto_goes_by_the_tags_and_untagged_by_the_height(tmp_path, size, color_range, matrix):
    path = tagged_video(
        tmp_path / "a.mp4",
        size=SIZES[size],
        pixel_format="yuv444p",
        matrix=matrix,
        color_range=color_range,
    )
    meant = matrix or {"SD": "smpte170m", "HD": "bt709"}[size]
    assert mean_difference(first(path), exact(path, meant, color_range or "tv")) < EXACT


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("matrix", [None, "bt709", "bt2020nc"])
def test_a_matrix_that_is_named_overrides_the_tag(tmp_path, name, matrix):
    path = tagged_video(tmp_path / "a.mp4", pixel_format="yuv444p", matrix=matrix)
    frame = first(path, matrix=name)
    differences = {other: mean_difference(frame, exact(path, CHOSEN[other])) for other in CHOSEN}
    assert differences.pop(name) < EXACT
    assert min(differences.values()) > 2 * EXACT


@pytest.mark.parametrize("matrix", ["auto", "bt709", "swscale"])
@pytest.mark.parametrize("tag", RANGES)
@pytest.mark.parametrize(("name", "meant"), [("limited", "tv"), ("full", "pc")])
def test_a_range_that_is_named_overrides_the_tag(tmp_path, matrix, tag, name, meant):
    path = tagged_video(tmp_path / "a.mp4", pixel_format="yuv444p", matrix="bt709", color_range=tag)
    frame = first(path, matrix=matrix, color_range=name)
    assert mean_difference(frame, exact(path, "bt709", meant)) < EXACT
    wrong = {"tv": "pc", "pc": "tv"}[meant]
    assert mean_difference(frame, exact(path, "bt709", wrong)) > 4


def test_pictures_of_full_range_by_their_format_can_be_taken_as_limited(tmp_path):
    path = tagged_video(tmp_path / "a.mp4", color_range="pc")
    assert vl.index_video(path).pixel_format == "yuvj420p"
    bright, dark = first(path, color_range="limited")[-2, -1], first(path)[-2, -1]
    assert bright.tolist() == [255, 255, 255]
    assert dark.max() < 240


@pytest.mark.parametrize(("height", "differ"), [(718, False), (720, True)])
def test_untagged_hd_is_where_readers_differ(tmp_path, height, differ):
    path = tagged_video(tmp_path / "a.mp4", size=(height, 64), pixel_format="yuv444p")
    assert (mean_difference(first(path), converted_by_pyav(path)) > 1) == differ
    assert mean_difference(first(path, matrix="bt601"), converted_by_pyav(path)) < EXACT


def test_swscale_holds_for_any_size_dtype_and_turn(tmp_path, demo_folder):
    path = tagged_video(tmp_path / "a.mp4", size=(720, 64))
    reference = converted_by_pyav(path)
    with vl.Video(path, matrix="swscale") as video:
        crop = video.get_frames([0], crop=(101, 7, 300, 31), flip=True).frames[0]
        assert np.array_equal(crop.numpy(), reference[101:401, 7:38][:, ::-1])
        floats = video.get_frames([0], dtype="float32", layout="FCHW").frames[0]
        assert np.abs(floats.permute(1, 2, 0).numpy() - reference).max() < 0.01
        small = video.get_frames([0], size=(150, 20)).frames[0]
        pixels = torch.from_numpy(reference).permute(2, 0, 1)[None].double()
        resized = interpolate(pixels, (150, 20), mode="bilinear", antialias=True)[0]
        assert mean_difference(small, resized.permute(1, 2, 0).numpy()) < 1
    turned = next(path for path in demo_folder.iterdir() if "rot" in path.name)
    assert np.array_equal(first(turned, matrix="swscale"), np.rot90(converted_by_pyav(turned), -1))


@pytest.mark.parametrize("width", [64, 70])  # rows that touch, and rows with a gap
def test_going_through_a_video_converts_each_frame_once(tmp_path, monkeypatch, width):
    path = tagged_video(tmp_path / "a.mp4", size=(64, width))
    converted = []
    convert = swscale.UnscaledRgb.convert

    def noted(*arguments):
        converted.append(convert(*arguments))
        return converted[-1]

    monkeypatch.setattr(swscale.UnscaledRgb, "convert", noted)
    monkeypatch.delattr("videoloader.decoding.cpu.rgb.to_rgb")
    with vl.Video(path, matrix="swscale") as video:
        frames = [frame.numpy() for frame in video]
    assert converted == [True] * len(frames) == [True] * 2
    assert np.array_equal(frames[0], converted_by_pyav(path))


@pytest.mark.parametrize("pixel_format", FORMATS)
@pytest.mark.parametrize("color_range", RANGES)
@pytest.mark.parametrize("matrix", MATRICES)
def test_bicubic_by_swscale_is_ffmpegs_scale_filter(tmp_path, pixel_format, color_range, matrix):
    path = tagged_video(
        tmp_path / "a.mp4", pixel_format=pixel_format, matrix=matrix, color_range=color_range
    )
    with vl.Video(path, matrix="swscale") as video:
        for size in ((50, 40), (200, 130), video.size):
            clip = video.get_frames([0], size=size, interpolation="bicubic")
            assert np.array_equal(clip.frames[0], scaled_by_ffmpeg(path, size))
        part = video.get_frames([0], crop=(7, 11, 30, 40), interpolation="bicubic").frames[0]
        assert torch.equal(part, clip.frames[0][7:37, 11:51])


def test_bicubic_holds_for_any_matrix_part_and_dtype(tmp_path, demo_folder):
    path = tagged_video(tmp_path / "a.mp4")
    size, options = (48, 32), {"size": (48, 32), "interpolation": "bicubic"}
    wanted = scaled_by_ffmpeg(path, size)
    for matrix in ("auto", "swscale"):
        with vl.Video(path, matrix=matrix) as video:
            whole = video.get_frames([0], **options).frames[0]
            floats = video.get_frames([0], dtype="float32", layout="FCHW", **options).frames[0]
            flipped = video.get_frames([0], flip=True, **options).frames[0]
            crop = video.get_frames([0], crop=(0, 0, 96, 64), **options).frames[0]
        pixels = torch.from_numpy(first(path, matrix=matrix)).permute(2, 0, 1)[None].double()
        resized = interpolate(pixels, size, mode="bicubic", antialias=True)[0].clamp(0, 255)
        assert mean_difference(whole, resized.permute(1, 2, 0).numpy()) < 1.5
        assert mean_difference(floats.permute(1, 2, 0), whole.double().numpy()) < 0.5
        assert torch.equal(flipped, whole.flip(1))
        assert mean_difference(crop, whole.double().numpy()) < 1.5
    request = vl.ClipRequest(path, [0], size=size, window=(5, 3, 20, 25))
    output = {"interpolation": "bicubic", "matrix": "swscale"}
    part = vl.decode_batch([request], workers=0, **output).frames[0, 0]
    assert np.array_equal(part, wanted[5:25, 3:28])
    turned = next(path for path in demo_folder.iterdir() if "rot" in path.name)
    with vl.Video(turned, matrix="swscale") as video:
        small = video.get_frames([0], size=(60, 40), interpolation="bicubic").frames[0]
    assert np.array_equal(small, np.rot90(scaled_by_ffmpeg(turned, (40, 60)), -1))


def test_a_gpu_leaves_bicubic_to_the_cpu(decoder, tmp_path):
    path = tagged_video(tmp_path / "a.mp4")
    options = {"size": (50, 40), "interpolation": "bicubic", "matrix": "swscale"}
    frame = decoder.decode([(path, [0])], **options).frames[0, 0]
    assert np.array_equal(frame, scaled_by_ffmpeg(path, (50, 40)))
    assert any("bicubic" in reason for reason in decoder.stats()["routed"])


def test_a_matrix_that_swscale_lacks_is_an_error_that_names_it(tmp_path):
    from dataclasses import replace

    path = tagged_video(tmp_path / "a.mp4")
    index = vl.index_video(path)
    index = replace(index, color=replace(index.color, matrix="ycgco"))
    with (
        vl.Video(path, index=index, matrix="swscale") as video,
        pytest.raises(vl.errors.UnsupportedError, match=r"'ycgco'.*auto"),
    ):
        video[0]


@pytest.mark.parametrize("wrong", [{"matrix": "bt470"}, {"color_range": "tv"}])
def test_other_words_are_refused_and_the_choices_named(tmp_path, wrong):
    path = tagged_video(tmp_path / "a.mp4")
    (name,) = wrong
    choices = "swscale" if name == "matrix" else "limited.*full"
    for way in (
        lambda: vl.Video(path, **wrong),
        lambda: vl.decode_batch([(path, [0])], workers=0, **wrong),
        lambda: vl.ClipDataset([path], vl.RandomClip(1), **wrong),
        lambda: fn.decoders.video(str(path), **wrong),
    ):
        with pytest.raises((vl.VideoError, ValueError), match=choices):
            way()


def by_iteration(path, **options):
    with vl.Video(path, **options) as video:
        return next(iter(video))


def by_time(path, **options):
    with vl.Video(path, **options) as video:
        return video.get_frames_at_times([0]).frames[0]


def by_workers(path, **options):
    with vl.BatchDecoder(workers=1) as decoder:
        return decoder.decode([(path, [0])], **options).frames[0, 0]


def by_dataset(path, **options):
    dataset = vl.ClipDataset([path], vl.UniformClip(1), layout="FHWC", **options)
    return dataset[0]["frames"][0]


def by_loader(path, **options):
    loader = vl.Loader([path], vl.UniformClip(1), batch_size=1, layout="FHWC", workers=0, **options)
    with loader:
        return next(iter(loader))["frames"][0, 0].clone()


def by_reader(path, **options):
    @pipeline_def(batch_size=1, num_threads=1)
    def pipeline():
        return fn.readers.video(filenames=[str(path)], sequence_length=1, **options)

    with closing(pipeline()) as made:
        (clips,) = made.run()
        return torch.as_tensor(clips[0][0]).clone()


WAYS = {
    "a batch": lambda path, **o: vl.decode_batch([(path, [0])], workers=0, **o).frames[0, 0],
    "a worker": by_workers,
    "iteration": by_iteration,
    "times": by_time,
    "a data set": by_dataset,
    "a loader": by_loader,
    "a decoder": lambda path, **o: fn.decoders.video(str(path), frames=[0], **o)[0],
    "a reader": by_reader,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_gives_the_same_colours(tmp_path, way):
    path = tagged_video(tmp_path / "a.mp4", size=(720, 64))
    for options in (
        {"chroma": "nearest"},
        {"chroma": "linear"},
        {"chroma": "centered"},
        {"matrix": "swscale"},
        {"matrix": "bt2020", "color_range": "full", "chroma": "nearest"},
    ):
        assert np.array_equal(WAYS[way](path, **options).numpy(), first(path, **options)), options


def test_the_command_draws_the_colours_that_are_asked_for(tmp_path):
    import cv2

    path, sheet = tagged_video(tmp_path / "a.mp4", size=(720, 64)), tmp_path / "sheet.png"
    drawn = {}
    for matrix in ("auto", "bt601"):
        arguments = ["sample", str(path), "-o", str(sheet), "--count", "1", "--clips", "1"]
        done = CliRunner().invoke(app, [*arguments, "--matrix", matrix])
        assert done.exit_code == 0, done.output
        drawn[matrix] = cv2.imread(str(sheet)).astype(int)
    assert np.abs(drawn["auto"] - drawn["bt601"]).max() > 3
    done = CliRunner().invoke(app, [*arguments, "--matrix", "bt470"])
    assert done.exit_code == 2
    assert "swscale" in done.output


@pytest.mark.parametrize("pixel_format", ["yuv420p", "yuv444p", "yuv420p10le"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("color_range", [None, "pc"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_a_gpu_comes_within_one_of_swscale(
    decoder,
    tmp_path,
    pixel_format,
    size,
    color_range,
    matrix,
):
    path = tagged_video(
        tmp_path / "a.mp4",
        size=SIZES[size],
        pixel_format=pixel_format,
        matrix=matrix,
        color_range=color_range,
    )
    reference = converted_by_pyav(path)
    for dtype in ("uint8", "float32"):
        batch = decoder.decode([(path, [0])], matrix="swscale", dtype=dtype)
        assert not decoder.stats()["routed"]
        frame = batch.frames[0, 0].numpy()
        if pixel_format == "yuv420p":
            assert np.array_equal(frame, reference)
        else:
            assert mean_difference(frame, reference) < 1


@pytest.mark.parametrize("matrix", ["auto", *CHOSEN])
@pytest.mark.parametrize("color_range", ["auto", "limited", "full"])
def test_both_devices_agree_on_what_is_chosen(decoder, tmp_path, matrix, color_range):
    path = tagged_video(tmp_path / "a.mp4", size=(720, 64), matrix="bt2020nc", color_range="pc")
    options = {"matrix": matrix, "color_range": color_range}
    there = decoder.decode([(path, [0])], **options).frames[0, 0]
    assert mean_difference(there, first(path, **options).astype(float)) < EXACT


def test_a_video_on_a_gpu_has_the_colours_that_are_chosen(
    decoder,
    tmp_path,
    monkeypatch,
):
    monkeypatch.setattr("videoloader.decoding.batch_decoder.shared_decoder", lambda device: decoder)
    path = tagged_video(tmp_path / "a.mp4", size=(720, 64))
    with vl.Video(path, matrix="swscale") as video:
        video.device = torch.device("cuda", 0)
        video._is_on_gpu = True
        reference = converted_by_pyav(path)
        assert np.array_equal(video[0].numpy(), reference)
        monkeypatch.setattr(torch.Tensor, "to", lambda tensor, device: tensor)
        assert np.array_equal(next(iter(video)).numpy(), reference)
    assert decoder.stats()["routed"] == {}
