"""What `tune` says of a loader: counts beside those of a run, the limit, and what changes it."""

import json
import re
import time

import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.datasets import tuning
from videoloader.datasets.tuning.tuner import _Tuner
from videoloader.demo.videos import encode_video
from videoloader.errors import VideoError

SIZE = (160, 96)
KINDS = {
    "one long GOP": ("libx264", {"x264-params": "threads=1:keyint=120:scenecut=0:bframes=0"}),
    "B-frames": ("libx264", {"x264-params": "threads=1:keyint=60:scenecut=0:bframes=3"}),
    "VP9": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8", "g": "60"}),
}
QUICK = {"seconds": 0.05, "batch_size": 2, "workers": 0, "size": (48, 64)}
"""The fewest batches of each run."""


def make_folder(folder, kind, count=4, frames=120):
    folder.mkdir()
    codec, options = KINDS[kind]
    for number in range(count):
        path = folder / f"{number}.mp4"
        encode_video(path, frames=frames, size=SIZE, codec=codec, options=options)
    return folder


@pytest.fixture(scope="module")
def long_gops(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("tune") / "videos", "one long GOP")


@pytest.fixture(scope="module")
def found(long_gops):
    return vl.tune(long_gops, vl.RandomClip(8, stride=4), step=0.001, **QUICK)


def counted(videos, clips, epochs=8):
    """Packets and frames of a clip, as a loader decodes them."""
    packets = used = number = 0
    options = {name: QUICK[name] for name in ("batch_size", "workers", "size")}
    with vl.Loader(videos, clips, shuffle=True, **options) as loader:
        for _ in range(epochs):
            number += sum(len(batch["sample"]) for batch in loader)
            work = loader.stats().work
            packets, used = packets + work.packets, used + work.used
    return packets / number, used / number


def test_what_a_clip_takes_is_counted(found, long_gops):
    packets, used = counted(long_gops, vl.RandomClip(8, stride=4))
    assert found.frames_per_clip == used == 8
    assert found.packets_per_clip == pytest.approx(packets, rel=0.2)
    assert found.packets_by_gop[1] == 8
    assert [*found.packets_by_gop.values()] == sorted(found.packets_by_gop.values())
    assert found.decoded_per_clip == found.packets_per_clip
    bytes_of_all = sum(path.stat().st_size for path in long_gops.iterdir()) / 4
    assert 0 < found.bytes_per_clip < bytes_of_all
    assert found.decode_seconds > 0 < found.convert_seconds


@pytest.mark.parametrize("clips", [vl.RandomClip(6, stride=4), vl.UniformClip(4)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_transcoding_gives_the_packets_that_were_predicted(tmp_path, kind, clips):
    videos = make_folder(tmp_path / "videos", kind, count=3)
    options = QUICK | {"size": (SIZE[1], SIZE[0])}  # so that pieces are not made smaller
    predicted = vl.tune(videos, clips, **options).packets_by_gop[16]
    vl.transcode(videos, tmp_path / "short", gop=16, workers=0)
    assert counted(tmp_path / "short", clips)[0] == pytest.approx(predicted, rel=0.25)


def test_long_groups_are_the_limit_and_transcoding_is_advised(found):
    assert found.limit == "long GOPs"
    (advice,) = [each for each in found.advice if each.change == "transcode(gop=16)"]
    assert not advice.is_measured
    assert advice.clips_per_second > found.given.clips_per_second
    assert "packets a clip become" in advice.note
    rates = [each.clips_per_second for each in found.advice]
    assert rates == sorted(rates, reverse=True)


def test_a_loader_that_a_step_waits_for_waits_less_after_a_change(found):
    assert 0 < found.given.waited_share < 1
    for each in found.advice:
        if each.clips_per_second > found.given.clips_per_second:
            assert each.waited_share <= found.given.waited_share


def test_a_step_that_takes_longer_than_a_batch_is_the_limit(long_gops):
    found = vl.tune(long_gops, vl.UniformClip(2), step=0.25, **QUICK)
    assert found.limit == "step"
    assert found.given.waited_share < 0.2


def test_a_slow_transform_is_the_limit(long_gops):
    def slow(frames):
        time.sleep(0.05)
        return frames

    assert vl.tune(long_gops, vl.UniformClip(2), transform=slow, **QUICK).limit == "transform"


def test_slow_storage_is_the_limit(long_gops, monkeypatch):
    monkeypatch.setattr(_Tuner, "_bytes_per_second", lambda _, size: size / 2)
    found = vl.tune(long_gops, vl.UniformClip(2), **QUICK)
    assert found.limit == "storage"
    assert found.given.clips_per_second == pytest.approx(0.5)
    assert found.storage_clips_per_second == pytest.approx(0.5)


def test_clips_that_come_again_are_kept_in_a_cache(long_gops):
    found = vl.tune(long_gops, vl.UniformClip(4), **QUICK)
    (advice,) = [each for each in found.advice if each.change == "cache=FOLDER"]
    assert advice.is_measured
    assert advice.clips_per_second > 2 * found.given.clips_per_second


@pytest.mark.parametrize(
    ("clips", "options"),
    [
        (vl.RandomClip(4), {}),
        (vl.UniformClip(4), {"random_flip": 0.5}),
        (vl.UniformClip(4), {"random_resized_crop": ((0.5, 1), (1, 1))}),
    ],
)
def test_clips_that_differ_each_time_are_not(long_gops, clips, options):
    told = []
    vl.tune(long_gops, clips, progress=lambda *words: told.append(words), **QUICK, **options)
    parts = [what for _, _, what in told]
    assert "cache" not in parts
    assert "the loader as given" in parts
    assert all(done <= total for done, total, _ in told)
    assert told[-1][0] == told[-1][1]


def test_large_videos_are_tried_smaller(tmp_path):
    encode_video(tmp_path / "a.mp4", frames=60, size=(320, 240))
    found = vl.tune(tmp_path, vl.RandomClip(4), **{**QUICK, "size": 64, "batch_size": 1})
    names = [each.change for each in found.advice]
    assert "transcode(gop=16, resize_shorter=74)" in names


def test_parts_of_videos_labels_and_damaged_files_are_taken(long_gops, tmp_path):
    videos = [long_gops / f"{number}.mp4" for number in range(3)]
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    pairs = [(video, "a") for video in [*videos, tmp_path / "bad.mp4"]]
    assert vl.tune(iter(pairs), vl.RandomClip(4), **QUICK).frames_per_clip == 4
    rows = {"video": [str(video) for video in videos], "start": [0.5] * 3, "end": [2.0] * 3}
    assert vl.tune(vl.Segments(rows), vl.RandomClip(4), **QUICK).frames_per_clip == 4


def test_what_cannot_be_measured_is_an_error(long_gops, tmp_path):
    with pytest.raises(TypeError, match="unknown"):
        vl.tune(long_gops, vl.RandomClip(4), **QUICK, unknown=1)
    for wrong in ({"step": 0}, {"seconds": -1}, {"batch_size": 0}):
        with pytest.raises(VideoError):
            vl.tune(long_gops, vl.RandomClip(4), **{**QUICK, **wrong})
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with pytest.raises(VideoError, match=r"bad\.mp4"):
        vl.tune([tmp_path / "bad.mp4"], vl.RandomClip(4), **QUICK)


def test_the_report_says_all_in_words(found):
    text = str(found)
    assert text.startswith("limit: long groups of pictures")
    assert "transcode(gop=16): " in text
    assert re.search(r"gop=1 +8 █", text)
    assert "transcode(gop=16)" in found._repr_html_()
    assert json.loads(json.dumps(found.as_dict()))["given"]["change"] == "as given"
    assert set(tuning.__all__) == {"Advice", "Tuning", "tune"}


def run(*words):
    return CliRunner().invoke(app, ["tune", *map(str, words)])


def test_the_command_prints_the_same(long_gops):
    words = [long_gops, "--seconds", "1", "--batch", "2", "--workers", "0", "--size", "48"]
    told = run(*words, "--clips", "8x4", "--step", "1ms")
    assert told.exit_code == 0, told.output
    assert "long groups of pictures" in told.output
    assert "as given" in told.output
    made = json.loads(run(*words, "--clips", "4", "--json").output)
    assert made["frames_per_clip"] == 4
    assert made["step"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--clips", "16*4"], "--clips is COUNTxSTRIDE or COUNT"),
        (["--step", "fast"], "--step is a time such as 80ms"),
        (["--step", "0ms"], "step must be a number above 0"),
    ],
)
def test_values_that_mean_nothing_are_told(long_gops, words, message):
    told = run(long_gops, *words)
    assert told.exit_code == 2
    assert message in told.output
