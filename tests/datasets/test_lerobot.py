"""LeRobotDataset as a destination of `transcode`, read back by the format and by LeRobot."""

import json
import shutil

import av
import numpy as np
import pyarrow.parquet as pq
import pytest

import videoloader as vl
from videoloader.compat.lerobot import decode_video_frames
from videoloader.compat.video_cache import VideoCache
from videoloader.demo.videos import encode_video, read_frame_number

CAMERA = "observation.images.top"
LENGTHS = (7, 12, 5)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Three videos of one rate and size, then one of another rate, one of another size, one bad."""
    folder = tmp_path_factory.mktemp("sources")
    for number, length in enumerate(LENGTHS):
        encode_video(folder / f"{number}.mp4", frames=length, size=(64, 48), fps=10)
    encode_video(folder / "3-rate.mp4", frames=4, size=(64, 48), fps=12)
    encode_video(folder / "4-size.mp4", frames=4, size=(96, 48), fps=10)
    (folder / "5-bad.mp4").write_bytes(b"no video")
    return folder


def convert(sources, out, **options):
    options = {"lerobot": CAMERA, "workers": 0, "gop": 4, **options}
    return vl.transcode(sources, out, **options)


@pytest.fixture(scope="module")
def written(sources, tmp_path_factory):
    out = tmp_path_factory.mktemp("lerobot") / "set"
    made = convert(sources, out)
    assert [failure.name.rpartition("/")[2] for failure in made.failures] == [
        "3-rate.mp4",
        "4-size.mp4",
        "5-bad.mp4",
    ]
    return out


def decoded(path):
    """All frames and their times by PyAV."""
    with av.open(str(path)) as container:
        return [(frame.to_ndarray(format="rgb24"), frame.time) for frame in container.decode()]


def test_every_frame_has_a_row_and_its_place_in_a_video(written):
    info = json.loads((written / "meta/info.json").read_text())
    assert info["codebase_version"] == "v3.0"
    assert (info["total_episodes"], info["total_frames"]) == (len(LENGTHS), sum(LENGTHS))
    assert info["fps"] == 10
    assert info["features"][CAMERA]["shape"] == [48, 64, 3]
    assert {*info["features"]} - {CAMERA} == {
        *("timestamp", "frame_index", "episode_index", "index", "task_index")
    }
    episodes = pq.read_table(written / "meta/episodes").to_pylist()
    rows = pq.read_table(written / "data").to_pylist()
    assert [row["index"] for row in rows] == [*range(sum(LENGTHS))]
    for episode, length in zip(episodes, LENGTHS, strict=True):
        begin, end = episode["dataset_from_index"], episode["dataset_to_index"]
        assert end - begin == episode["length"] == length
        path = info["video_path"].format(
            video_key=CAMERA,
            chunk_index=episode[f"videos/{CAMERA}/chunk_index"],
            file_index=episode[f"videos/{CAMERA}/file_index"],
        )
        frames = decoded(written / path)
        assert len(frames) == length
        start = episode[f"videos/{CAMERA}/from_timestamp"]
        assert episode[f"videos/{CAMERA}/to_timestamp"] == pytest.approx(start + length / 10)
        for number, (picture, time) in enumerate(frames):
            row = rows[begin + number]
            assert row["episode_index"] == episode["episode_index"]
            assert row["frame_index"] == number == read_frame_number(picture)
            assert abs(start + row["timestamp"] - time) < 1e-4


def test_the_drop_in_finds_each_frame_by_its_time(written):
    cache = VideoCache(4)
    for episode in pq.read_table(written / "meta/episodes").to_pylist():
        rows = pq.read_table(
            written / "data", filters=[("episode_index", "=", episode["episode_index"])]
        )
        path = written / f"videos/{CAMERA}/chunk-000/file-{episode['episode_index']:03}.mp4"
        times = rows["timestamp"].to_pylist()
        found = decode_video_frames(path, times, 1e-4, return_uint8=True, cache=cache)
        pictures = found.permute(0, 2, 3, 1).numpy()
        assert [read_frame_number(each) for each in pictures] == [*range(episode["length"])]
    cache.clear()


def test_statistics_are_those_of_the_frames(written):
    stats = json.loads((written / "meta/stats.json").read_text())
    paths = sorted((written / f"videos/{CAMERA}").rglob("*.mp4"))
    pictures = []
    for path in paths:
        with vl.Video(path) as video:
            pictures.append(video[:].numpy())
    frames = np.concatenate(pictures) / 255
    for name, function in (("mean", np.mean), ("std", np.std), ("min", np.min), ("max", np.max)):
        expected = function(frames, axis=(0, 1, 2)).reshape(3, 1, 1)
        np.testing.assert_allclose(stats[CAMERA][name], expected, atol=1e-6)
    assert stats[CAMERA]["count"] == [sum(LENGTHS)]
    times = pq.read_table(written / "data")["timestamp"].to_numpy()
    assert stats["timestamp"]["mean"] == [pytest.approx(times.astype(float).mean())]


def test_a_video_that_comes_later_is_added(sources, tmp_path):
    folder = tmp_path / "sources"
    folder.mkdir()
    for name in ("0", "2"):
        shutil.copy(sources / f"{name}.mp4", folder)
    assert convert(folder, tmp_path / "out").written == 2
    assert convert(folder, tmp_path / "out").written == 0
    shutil.copy(sources / "1.mp4", folder)
    assert convert(folder, tmp_path / "out").written == 2  # the third has another number now
    whole = tmp_path / "whole"
    convert(folder, whole)
    for path in sorted(path.relative_to(whole) for path in whole.rglob("*.*") if path.is_file()):
        if path.suffix != ".journal":
            assert (tmp_path / "out" / path).read_bytes() == (whole / path).read_bytes(), path


def test_uneven_frames_and_other_folders_are_refused(sources, tmp_path):
    uneven = encode_video(tmp_path / "rounded to ms.mkv", frames=4, size=(64, 48), fps=30)
    made = convert([uneven], tmp_path / "uneven")
    assert "evenly spaced" in made.failures[0].reason
    other = tmp_path / "other/meta/info.json"
    other.parent.mkdir(parents=True)
    other.write_text("{}")
    with pytest.raises(vl.errors.ArgumentError, match="has a data set already"):
        convert(sources, tmp_path / "other")
    assert other.read_text() == "{}"
    for options in ({"lerobot": "a/b"}, {"lerobot": "index"}, {"videos_per_shard": 3}):
        with pytest.raises(vl.errors.ArgumentError, match="lerobot"):
            convert(sources, tmp_path / "out", **options)


@pytest.mark.needs("lerobot")
def test_lerobot_reads_it(written, monkeypatch):
    """LeRobot's own data set, with its decoder replaced by the drop-in."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    from videoloader.compat import lerobot

    lerobot.install()
    dataset = LeRobotDataset("nobody/set", root=written, delta_timestamps={CAMERA: [-0.1, 0.0]})
    assert len(dataset) == sum(LENGTHS)
    place = 0
    for length in LENGTHS:
        for number in range(length):
            pictures = (dataset[place][CAMERA] * 255).round().byte().permute(0, 2, 3, 1).numpy()
            wanted = [max(number - 1, 0), number]
            assert [read_frame_number(each) for each in pictures] == wanted
            place += 1
    assert dataset[0]["task"] == ""
    assert dataset.meta.stats[CAMERA]["mean"].shape == (3, 1, 1)
