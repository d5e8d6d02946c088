"""What `tune` says of a loader: counts beside those of a run, the limit, and what changes it."""

import itertools
import json
import os
import re
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.datasets import tuning
from videoloader.datasets.tuning import tuner
from videoloader.datasets.tuning.transcoding import GOP, PieceClips, encode_pieces
from videoloader.datasets.tuning.trials import Bench, Trial
from videoloader.datasets.tuning.tuner import _Tuner
from videoloader.demo.videos import encode_video
from videoloader.errors import VideoError
from videoloader.machinery.runtime.run_stats import Work
from videoloader.sources.items import Item

pytestmark = pytest.mark.usefixtures("forked_workers")

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
    """With all changes that were tried."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuner, "_is_better", lambda each, given: True)
        return vl.tune(long_gops, vl.RandomClip(8, stride=4), step=0.001, **QUICK)


def counted(videos, clips, epochs=8, **more):
    """Packets and frames of a clip, as a loader decodes them."""
    packets = used = number = 0
    options = {name: QUICK[name] for name in ("batch_size", "workers", "size")} | more
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


@pytest.fixture(scope="module")
def long_videos(tmp_path_factory):
    """Folders of videos longer than pieces, before and after transcoding.

    Every second of 8 frames spread over one of them is a keyframe then, the others are 8 behind.
    """
    before, after = (tmp_path_factory.mktemp("long") / name for name in ("videos", "short"))
    before.mkdir()
    codec, options = KINDS["B-frames"]
    for frames in (281, 393):
        path = before / f"{frames}.mp4"
        encode_video(path, frames=frames, size=SIZE, codec=codec, options=options)
        for number in range(3):
            os.link(path, before / f"{frames}-{number}.mp4")
    vl.transcode(before, after, gop=GOP, workers=0)
    return before, after


@pytest.mark.parametrize(
    "clips",
    [
        vl.RandomClip(8, stride=4),
        vl.UniformClip(8),
        vl.UniformClip(8, rule="centers"),
        vl.EvenClips(3, 4),
    ],
    ids=str,
)
def test_clips_of_pieces_take_the_packets_of_clips_of_whole_videos(long_videos, clips):
    videos, short = long_videos
    paths = sorted(videos.iterdir())
    options = QUICK | {"batch_size": 8, "size": (SIZE[1], SIZE[0])}
    bench = Bench(paths, clips, options, seconds=options.pop("seconds"))
    items, indexes = [Item(str(path)) for path in paths], [*map(vl.index_video, paths)]
    with closing(encode_pieces(bench, items, indexes)) as sizes:
        trial = next(sizes).bench.run()
    packets, used = counted(short, clips)
    assert trial.each("used") == pytest.approx(used, rel=0.01)
    assert trial.each("packets") == pytest.approx(packets, rel=0.2)


@pytest.mark.parametrize(
    ("clips", "options"),
    [
        (vl.RandomClip(8, stride=4), {}),
        (vl.UniformClip(8), {}),
        (vl.UniformClip(8), {"together": 2, "clips_per_video": 2}),
        (vl.EvenClips(3, 4), {}),
        (vl.DenseClips(8, step=40), {}),
    ],
    ids=str,
)
def test_transcoding_of_long_videos_gives_the_packets_that_were_predicted(
    long_videos, clips, options
):
    videos, short = long_videos
    options = QUICK | {"size": (SIZE[1], SIZE[0])} | options
    predicted = vl.tune(videos, clips, **options).packets_by_gop[GOP]
    del options["seconds"]
    assert predicted == pytest.approx(counted(short, clips, **options)[0], rel=0.2)


@given(
    frames=st.lists(st.integers(0, 999), min_size=1, max_size=12),
    num_frames=st.integers(12, 20).map(lambda groups: groups * GOP),
    draw=st.integers(0, 99),
)
def test_clips_of_pieces_have_the_groups_of_clips_of_whole_videos(frames, num_frames, draw):
    video = SimpleNamespace(name="video", num_frames=1000, average_fps=30.0)
    sampler = SimpleNamespace(frames=lambda num_frames, **_: np.array(frames))
    found = PieceClips(sampler, [video]).frames(num_frames, rng=vl.sampling.generator(draw))
    assert 0 <= found.min() <= found.max() < num_frames
    moved = {}
    for whole, piece in zip(frames, found.tolist(), strict=True):
        assert piece % GOP == whole % GOP
        assert moved.setdefault(whole // GOP, piece // GOP) == piece // GOP
    places = [moved[group] for group in sorted(moved)]
    assert places == [*range(places[0], places[0] + len(places))]


def test_long_groups_are_the_limit_and_transcoding_is_tried(found):
    assert found.limit == "unused frames"
    (advice,) = [each for each in found.advice if each.change == "transcode(gop=16)"]
    assert not advice.is_measured
    assert "packets a clip become" in advice.note
    rates = [each.clips_per_second for each in found.advice]
    assert rates == sorted(rates, reverse=True)
    assert 0 < found.given.waited_share < 1


@pytest.fixture
def measured(monkeypatch):
    """Sets what loaders reach, in place of running them; nothing is encoded."""
    shares = {"transformed": 0.0, "waited": 0.0}
    work = Work(10, 1000, 10, 8, 0.6, 0.2)
    trial = Trial(100.0, work, decoded=1, batches=9, size=2.0, limit="decode", **shares)
    set_trials = {"given": trial}

    def run(bench, *, step=0.0, most=None, **change):
        known = [trial for name, trial in set_trials.items() if name in change]
        return known[0] if known else set_trials["step" if step else "given"]

    monkeypatch.setattr(Bench, "run", run)
    monkeypatch.setattr(tuner, "encode_pieces", lambda bench, items, videos: [])
    monkeypatch.setattr(_Tuner, "_bytes_per_second", lambda _, size: 1e9)

    def set_trial(name="given", **values):
        set_trials[name] = trial._replace(**values)
        return trial

    set_trial("step", waited=0.0)
    return set_trial


GIVEN = {"batch_size": 2, "workers": 0}


def test_the_step_is_the_limit_where_the_loader_is_faster(long_gops, measured):
    for step, limit, waited in ((0.021, "step", 0.0), (0.005, "decode", 0.75)):
        found = vl.tune(long_gops, vl.RandomClip(2), step=step, **GIVEN)
        assert found.limit == limit
        assert found.given.waited_share == pytest.approx(waited)


def test_a_transform_or_storage_is_the_limit_where_it_takes_longest(
    long_gops, measured, monkeypatch
):
    measured(transformed=0.6)
    assert vl.tune(long_gops, vl.RandomClip(2), **GIVEN).limit == "transform"
    monkeypatch.setattr(_Tuner, "_bytes_per_second", lambda _, size: size / 2)
    found = vl.tune(long_gops, vl.RandomClip(2), **GIVEN)
    assert found.limit == "storage"
    assert found.given.clips_per_second == pytest.approx(0.5)
    assert found.storage_clips_per_second == pytest.approx(0.5)


def test_changes_that_help_are_told_the_fastest_first(long_gops, measured):
    measured("workers", rate=101.0)  # within noise
    measured("together", rate=150.0)
    measured("cache", rate=900.0)
    found = vl.tune(long_gops, vl.UniformClip(2), **GIVEN)
    told = [(each.change, each.clips_per_second) for each in found.advice]
    assert told == [("cache=FOLDER", 900), ("together=2, clips_per_video=2", 150)]
    assert [row["times"] for row in found.rows()] == ["1.00", "9.00", "1.50"]


def test_a_machine_that_gets_faster_changes_no_advice(long_gops, measured, monkeypatch):
    measured("together", rate=150.0)
    steady, speeds = Bench.run, itertools.count(10)

    def run(bench, **change):
        trial = steady(bench, **change)
        return trial._replace(rate=trial.rate * next(speeds) / 11)

    monkeypatch.setattr(Bench, "run", run)
    (advice,) = vl.tune(long_gops, vl.RandomClip(2), **GIVEN).advice
    assert advice.clips_per_second == pytest.approx(150)


def test_more_batches_ahead_are_told_where_a_step_waits_for_single_ones(long_gops, measured):
    measured("step", waited=0.3)
    measured("prefetch", waited=0.05)
    found = vl.tune(long_gops, vl.RandomClip(2), step=0.03, **GIVEN)
    (advice,) = found.advice
    assert (advice.change, advice.waited_share) == ("prefetch=4", 0.05)


@pytest.mark.parametrize(
    ("clips", "options", "again"),
    [
        (vl.UniformClip(4), {}, True),
        (vl.RandomClip(400), {}, True),  # of the whole video
        (vl.RandomClip(4), {}, False),
        (vl.UniformClip(4), {"random_flip": 0.5}, False),
        (
            vl.UniformClip(4),
            {"random_resized_crop": ((0.5, 1), (1, 1)), "size": (48, 64)},
            False,
        ),
    ],
)
def test_a_cache_is_tried_where_clips_come_again(long_gops, measured, clips, options, again):
    told = []
    note = {"progress": lambda *words: told.append(words)}
    vl.tune(long_gops, clips, **note, **GIVEN, **options)
    assert ("cache" in [what for _, _, what in told]) is again
    assert all(done <= total for done, total, _ in told)
    assert told[-1][0] == told[-1][1]


def test_a_cache_really_holds_the_clips(long_gops, monkeypatch):
    monkeypatch.setattr(tuner, "_is_better", lambda each, given: True)
    found = vl.tune(long_gops, vl.UniformClip(4), **QUICK)
    (advice,) = [each for each in found.advice if each.change == "cache=FOLDER"]
    clip = 4 * 48 * 64 * 3
    gigabytes = float(re.search(r"([\d.e-]+) GB", advice.note)[1])
    assert 4 * clip <= 1e9 * gigabytes < 5 * clip


def test_large_videos_are_tried_smaller(tmp_path, monkeypatch):
    monkeypatch.setattr(tuner, "_is_better", lambda each, given: True)
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
    assert text.startswith("limit: frames that are decoded only because")
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
    assert "frames that are decoded only because" in told.output
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
