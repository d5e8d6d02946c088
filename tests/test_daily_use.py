"""Small things that are met every day: names of element types, sizes, values printed, messages."""

import os
import re
import shutil
import tarfile

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.compat.webdataset import VideoHandler
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import find_items

CLIP = vl.UniformClip(2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("daily")
    encode_video(path / "a.mp4", frames=5, fps=60, size=(160, 120), codec="mpeg4")
    return path


@pytest.fixture(scope="module")
def clip(folder):
    return folder / "a.mp4"


def every_way(clip, **options):
    """The frames of clips in each way that takes `options`."""
    with vl.Video(clip) as video:
        yield video.get_frames([0, 1], layout="FCHW", **options).frames
        yield video.get_frames_at_times([0.0, 0.05], layout="FCHW", **options).frames
    yield vl.decode_batch([(clip, [0, 1])], workers=0, layout="FCHW", **options).frames[0]
    (batch,) = vl.Loader([clip], CLIP, batch_size=1, workers=0, **options)
    yield batch["frames"][0]
    yield vl.ClipDataset([clip], CLIP, **options)[0]["frames"]
    yield VideoHandler(layout="FCHW", **options)("x.mp4", clip.read_bytes())[0]


@pytest.mark.parametrize("dtype", [torch.float32, np.float32, np.dtype("float32"), "float32"])
def test_element_types_are_taken_by_name_and_as_torch_and_numpy_have_them(clip, dtype):
    for frames in every_way(clip, dtype=dtype):
        assert frames.dtype == torch.float32
    with vl.Video(clip) as video:
        assert video.get_frames([0], dtype=torch.bfloat16).frames.dtype == torch.bfloat16
    for wrong in (torch.int64, np.float64, float, 3):
        with pytest.raises(vl.errors.ArgumentError, match="dtype must be one of uint8"):
            vl.decode_batch([(clip, [0])], workers=0, dtype=wrong)


UNIT_SCALE = [((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), (0.5, 0.5), (1, [1.0])]
UNIT_SCALE += [((123.0, 116, 103), (0.229, 0.224, 0.225)), (0.0, 0.5), (None, 0.5)]
UNIT_SCALE += [((0.485, 0.456, 0.406), None), (0.5, None), (1, None)]


@pytest.mark.parametrize(("mean", "std"), UNIT_SCALE)
def test_mean_and_std_of_pixels_from_0_to_1_are_refused_everywhere(clip, mean, std):
    options = {"dtype": "float32", "mean": mean, "std": std}
    for read in (
        lambda: next(every_way(clip, **options)),
        lambda: vl.Loader([clip], CLIP, batch_size=1, **options),
        lambda: vl.ClipDataset([clip], CLIP, **options),
        lambda: vl.decode_batch([(clip, [0])], workers=0, **options),
    ):
        with pytest.raises(
            vl.errors.ArgumentError, match="0 to 255; multiply those of 0 to 1 by 255"
        ):
            read()


@pytest.mark.parametrize(("mean", "std"), [(0, 1), (0.5, 127.5), (None, 1), (2, 1)])
def test_mean_and_std_that_may_be_meant_so_are_taken(clip, mean, std):
    with vl.Video(clip) as video:
        found = video.get_frames([0], dtype="float32", mean=mean, std=std).frames
        plain = video.get_frames([0], dtype="float32").frames
    assert torch.allclose(found * std + (mean or 0), plain, atol=1e-2)


@pytest.mark.parametrize(
    ("layout", "ours"), [("TCHW", "FCHW"), ("NCHW", "FCHW"), ("NHWC", "FHWC"), ("CTHW", "CFHW")]
)
def test_layouts_of_other_libraries_are_taken(clip, layout, ours, tmp_path):
    with vl.Video(clip) as video:
        expected = video.get_frames([0, 1], layout=ours).frames
        assert torch.equal(video.get_frames([0, 1], layout=layout).frames, expected)
    vl.write_video(expected, tmp_path / "a.mkv", fps=30, layout=layout, codec="ffv1")
    with vl.Video(tmp_path / "a.mkv") as video:
        assert torch.equal(video.get_frames(layout=ours).frames, expected)
    batch = vl.decode_batch([(clip, [0, 1])], workers=0, layout=layout)
    assert torch.equal(batch.frames[0], expected)
    (batch,) = vl.Loader([clip], CLIP, batch_size=1, workers=0, layout=layout)
    assert batch["frames"].shape[1:] == expected.shape
    assert vl.ClipDataset([clip], CLIP, layout=layout)[0]["frames"].shape == expected.shape
    patches = vl.patchify(expected, (1, 8, 8), layout=layout)
    assert torch.equal(patches, vl.patchify(expected, (1, 8, 8), layout=ours))
    (back,) = vl.unpatchify(patches, [(2, 120, 160)], (1, 8, 8), layout=layout)
    assert torch.equal(back, expected)


def test_other_layouts_are_answered_with_those_there_are(clip):
    for wrong, hint in (("HWC", "$"), ("CHW", "$"), ("NCTHW", "; .* without the batch$"), (3, "$")):
        with pytest.raises(vl.errors.ArgumentError, match=rf"FHWC, FCHW, CFHW, got .*{hint}"):
            vl.decode_batch([(clip, [0])], workers=0, layout=wrong)


def test_the_shorter_side_can_be_given_wherever_a_size_can(clip):
    for frames in every_way(clip, resize_shorter=60):
        assert frames.shape[-2:] == (60, 80)
    request = vl.ClipRequest(clip, [0], resize_shorter=30)
    other = vl.ClipRequest(clip, [0], size=(20, 20))
    batch = vl.decode_batch([request, other, (clip, [0])], workers=0, resize_shorter=60)
    assert [each.shape[1:3] for each in batch.frames] == [(30, 40), (20, 20), (60, 80)]
    cropped = vl.ClipRequest(clip, [0], crop=(0, 0, 100, 50), resize_shorter=25)
    assert vl.decode_batch([cropped], workers=0).frames.shape == (1, 1, 50, 25, 3)
    with vl.Video(clip) as video:
        assert [frame.shape for frame in video.iterate(resize_shorter=60)] == [(60, 80, 3)] * 5
        whole = video.get_frames([1], resize_shorter=60).frames
        assert torch.equal(whole, video.get_frames([1], size=(60, 80)).frames)


@pytest.mark.parametrize("wrong", [{"size": 8, "resize_shorter": 8}, {"resize_shorter": 0}])
def test_sizes_that_contradict_each_other_are_refused_everywhere(clip, wrong):
    with vl.Video(clip) as video:
        ways = [
            lambda: video.get_frames([0], **wrong),
            lambda: list(video.iterate(**wrong)),
            lambda: vl.decode_batch([(clip, [0])], workers=0, **wrong),
            lambda: vl.ClipRequest(clip, [0], **wrong),
            lambda: vl.Loader([clip], CLIP, batch_size=1, **wrong),
        ]
        for way in ways:
            with pytest.raises(vl.errors.ArgumentError, match="resize_shorter"):
                way()


def test_planes_have_no_shorter_side(clip):
    with pytest.raises(vl.errors.ArgumentError, match="leave size, crop, flip"):
        vl.decode_batch([(clip, [0])], workers=0, output="yuv", resize_shorter=60)


def test_a_video_says_its_size_and_rate(clip, tmp_path):
    turned = encode_video(tmp_path / "turned.mp4", frames=6, fps=30, rotation=90, codec="mpeg4")
    with vl.Video(clip) as video, vl.Video(turned) as other:
        assert (video.height, video.width) == video.size == video[0].shape[:2] == (120, 160)
        assert (other.height, other.width) == other[0].shape[:2] == (320, 240)
        assert (video.fps, other.fps) == (60.0, 30.0)
        assert video.duration == pytest.approx(5 / 60)


def test_values_are_printed_in_one_line(clip):
    with vl.Video(clip) as video:
        found = video.get_frames([1, 3, 9], pad_mode="constant", size=(30, 40))
    assert repr(found) == "<Clip of 3, frames 1-3, 1 filled: uint8 (3, 30, 40, 3) on cpu>"
    (empty,) = vl.decode_batch([(clip, [])], workers=0).clips
    assert repr(empty) == "<Clip of 0: uint8 (0, 120, 160, 3) on cpu>"
    dataset = vl.ClipDataset([clip], CLIP, labels=["x"], clips_per_video=3)
    assert repr(dataset) == "ClipDataset(3 samples of 1 videos, 1 classes)"
    with vl.Loader([clip], CLIP, batch_size=1, workers=0) as loader:
        list(loader)
        for stats in (loader.stats(), dataset.stats()):
            assert repr(stats) == f"<RunStats: {stats}>"
            assert "\n" not in repr(stats)


def test_dir_shows_the_public_names():
    assert set(vl.__all__) <= set(dir(vl))


@pytest.mark.parametrize("batches", ["packs", "buckets"])
def test_few_frames_at_a_target_rate_are_called_that(folder, clip, tmp_path, batches):
    index = vl.index_dataset(folder, tmp_path / "set.parquet", 0)
    made, name = {
        "packs": (vl.Packing(4096, patchify=(2, 16, 16)), "Packing"),
        "buckets": (vl.Buckets([(2, 64, 64)], batch_size=1), "Buckets"),
    }[batches]
    message = r"1 of 1 videos are in no batch: 1 with too few frames \(RandomClip\(.*fps=8"
    with pytest.raises(vl.errors.ArgumentError, match=message) as caught:
        vl.Loader(index, vl.RandomClip(16, fps=8), batches=made)
    assert f'{name}(..., on_unfit="skip") leaves them out' in str(caught.value)
    small = {
        "packs": (vl.Packing(4096, patchify=(2, 256, 16)), "smaller than a patch of 256x16"),
        "buckets": (vl.Buckets([(2, 256, 64)], batch_size=1), "fill none of the buckets"),
    }[batches]
    with pytest.raises(vl.errors.ArgumentError, match=small[1]):
        vl.Loader(index, vl.RandomClip(2), batches=small[0])


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_commands_say_what_is_wrong_with_files_of_other_kinds(folder, clip, tmp_path):
    vl.index_dataset(folder, tmp_path / "set.parquet", 0).close()
    packed = tmp_path / "x.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(clip, "a.mp4")
    plain = tmp_path / "y.bin"
    with tarfile.open(plain, "w") as archive:
        archive.add(clip, "a.mp4")
    zipped = shutil.make_archive(str(tmp_path / "z"), "zip", folder)
    for words, message in (
        (("index", tmp_path / "set.parquet"), "no video but a Parquet file"),
        (("index", packed), "no video but a gzip file, such as .tar.gz; unpack it first"),
        (("inspect", plain), "no video but a tar archive"),
        (("index", zipped), "no video but a zip file"),
        (("check", clip), "index the videos first"),
        (("check", folder), "is a folder, no data set index; index the videos first"),
    ):
        result = run(*words)
        assert result.exit_code in (1, 2)
        assert message in " ".join(result.output.split()), words


def test_names_of_files_are_not_wrapped(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    name = "a long [red]name :cat: of a video " * 3 + ".mp4"
    shutil.copy(folder / "a.mp4", tmp_path / name)
    for words in (["index", tmp_path], ["inspect", tmp_path / name]):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert name in result.stdout.splitlines()[1]
    vl.index_dataset(tmp_path, tmp_path / "set.parquet", 0).close()
    result = CliRunner().invoke(app, ["query", str(tmp_path / "set.parquet")])
    assert name in result.stdout.splitlines()[1]


def test_index_counts_what_it_skips_by_reason(folder, tmp_path, caplog):
    place = tmp_path / "videos"
    shutil.copytree(folder, place)
    for name in ("1.jpg", "2.JPG", "notes.txt", "README", "deep.tar.gz"):
        (place / name).touch()
    (place / "gone.mp4").symlink_to("nowhere")
    (place / "more").symlink_to("elsewhere")
    (place / "again").symlink_to(place)
    with tarfile.open(place / "b.tar", "w") as archive:
        archive.add(place / "a.mp4", "x.mp4")
        archive.add(place / "1.jpg", "x.jpg")
    expected = {
        "3 with the ending .jpg",
        "1 with the ending .txt",
        "1 compressed archives, which are not read: unpack them, or pack them as .tar",
        "1 without an ending",
        "2 links that lead nowhere, and what is no file",
        "1 links to folders gone through already",
    }
    for words in (("index", place), ("index", place, "-o", tmp_path / "o.parquet", "--workers", 0)):
        result = run(*words)
        assert result.exit_code == 0, result.output
        (line,) = [x for x in result.output.splitlines() if x.startswith("skipped: ")]
        assert set(re.split(r", (?=\d)", line.removeprefix("skipped: "))) == expected
    caplog.set_level("INFO", "videoloader")
    vl.index_dataset(place, tmp_path / "p.parquet", 0).close()
    (record,) = [each for each in caplog.records if "skipped: " in each.message]
    assert record.levelname == "WARNING"
    assert all(reason in record.message for reason in expected)
    (place / "a.mp4").unlink()
    (place / "b.tar").unlink()
    with pytest.raises(vl.errors.SourceError, match=r"skipped: .*1 compressed archives"):
        find_items(place)
    shutil.rmtree(place)
    place.mkdir()
    shutil.copy(folder / "a.mp4", place)
    caplog.clear()
    assert "skipped" not in run("index", place).output
    assert [os.path.basename(item.path) for item in find_items([place, place])] == ["a.mp4"]
    assert [each.levelname for each in caplog.records] == ["INFO"]  # named twice


def test_decoders_of_pipelines_take_the_shorter_side(clip, tmp_path):
    tall = encode_video(tmp_path / "tall.mp4", frames=2, size=(120, 160), codec="mpeg4")

    def graph(**options):
        @vl.dali.pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def define():
            encoded, _ = vl.dali.fn.readers.file(files=[clip, tall])
            return vl.dali.fn.decoders.video(encoded, frames=[1], **options)

        return define()

    with graph(resize_shorter=60) as pipe:
        (frames,) = pipe.run()
        assert [tuple(frames.at(number).shape) for number in range(2)] == [
            (1, 60, 80, 3),
            (1, 80, 60, 3),
        ]
    with vl.Video(clip, chroma="centered") as video:
        expected = video.get_frames([1], size=(60, 80)).frames
    assert torch.equal(torch.as_tensor(np.asarray(frames.at(0))), expected)
    with pytest.raises(vl.errors.ArgumentError, match="give size or resize_shorter"):
        graph(resize_shorter=60, size=60)
