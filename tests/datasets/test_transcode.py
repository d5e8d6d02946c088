"""Transcoding jobs: what they write, what they do again, and what killing them leaves."""

import json
import os
import shutil
import signal
import sys
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest
from audio_files import make_signal, write_sound
from programs import Program
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.sampling import generator, pad_frames, plan_decode
from videoloader.writing.gain import Gain

pytestmark = pytest.mark.usefixtures("forked_workers")

FAST = {"preset": "ultrafast"}
NAMES = ("cats/a.mp4", "cats/b.mkv", "dogs/a.webm")


def transcode(source, out, **options):
    """The job in this process, with small settings."""
    settings = {"gop": 5, "resize_shorter": 48, "options": FAST, "workers": 0, **options}
    return vl.transcode(source, out, **settings)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    for number, name in enumerate(NAMES):
        (folder / name).parent.mkdir(exist_ok=True)
        codec = "libvpx-vp9" if name.endswith("webm") else "libx264"
        options = {"deadline": "realtime", "cpu-used": "8"} if codec != "libx264" else None
        size = (160, 96) if number else (96, 160)
        encode_video(folder / name, frames=20 + number, size=size, codec=codec, options=options)
    return folder


@pytest.fixture
def source(originals, tmp_path):
    """A folder of videos that a test may change."""
    return Path(shutil.copytree(originals, tmp_path / "in"))


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def frame_numbers(path):
    with vl.Video(path) as video:
        return [read_frame_number(frame) for frame in video]


def test_frames_keep_their_numbers_at_a_smaller_size_and_in_short_groups(source, tmp_path):
    made = transcode(source, tmp_path / "out")
    assert (made.written, made.kept, made.failures) == (3, 0, ())
    assert files(made.out) == ["cats/a.mp4", "cats/b.mp4", "dogs/a.mp4", "transcode.journal"]
    for number, name in enumerate(["cats/a.mp4", "cats/b.mp4", "dogs/a.mp4"]):
        index = vl.index_video(made.out / name)
        before = vl.index_video(source / NAMES[number])
        assert (min(index.width, index.height), max(index.width, index.height)) == (48, 80)
        assert np.diff(index.keyframes, append=index.num_frames).max() <= 5
        assert np.abs(index.boundaries - before.boundaries).max() < 0.0011
        assert frame_numbers(made.out / name) == list(range(20 + number))
    sizes = [
        sum(path.stat().st_size for path in folder.rglob("*.*")) for folder in (source, made.out)
    ]
    assert made.bytes_before == sizes[0]
    assert made.bytes_after == sizes[1] - (made.out / "transcode.journal").stat().st_size


def test_only_what_is_new_changed_or_missing_is_done_again(source, tmp_path):
    out = tmp_path / "out"
    transcode(source, out)
    times = {name: (out / name).stat().st_mtime_ns for name in files(out)}
    again = transcode(source, out)
    assert (again.written, again.kept, again.bytes_before) == (0, 3, 0)
    (out / "cats/b.mp4").unlink()
    encode_video(source / "dogs/a.webm", frames=9, codec="libvpx-vp9", options={"cpu-used": "8"})
    encode_video(source / "dogs/new.mp4", frames=7)
    more = transcode(source, out)
    assert (more.written, more.kept) == (3, 1)
    assert (out / "cats/a.mp4").stat().st_mtime_ns == times["cats/a.mp4"]
    assert len(vl.index_video(out / "dogs/a.mp4")) == 9
    assert transcode(source, out, gop=7).written == 4
    with open(out / "cats/a.mp4", "ab") as file:  # no longer what was written
        file.write(b"more")
    assert transcode(source, out, gop=7).written == 1


def test_no_video_is_written_over_another(tmp_path):
    folder = tmp_path / "in"
    names = ("a.mp4", "a.mkv", "a.mp4.mp4", "b/c.mp4", "d.mp4", "d.mkv", "e.mp4")
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        encode_video(folder / name, frames=number + 1, size=(32, 32))
    with tarfile.open(folder / "b.tar", "w") as tar:
        tar.add(folder / "e.mp4", "c.mp4")
    assert transcode(folder, tmp_path / "out").written == 8
    assert files(tmp_path / "out") == [
        *("a.mkv.mp4", "a.mp4.mp4", "a.mp4.mp4.mp4"),
        *("b.tar/c.mp4.mp4", "b/c.mp4.mp4", "d.mkv.mp4", "d.mp4.mp4", "e.mp4"),
        "transcode.journal",
    ]
    lengths = {name: len(vl.index_video(tmp_path / "out" / f"{name}.mp4")) for name in names[:-1]}
    assert lengths == {name: number + 1 for number, name in enumerate(names[:-1])}
    assert len(vl.index_video(tmp_path / "out" / "b.tar" / "c.mp4.mp4")) == 7


def test_videos_of_one_name_are_refused_but_in_archives(source, tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name in ("c.mp4", "./c.mp4"):
            tar.add(source / NAMES[0], name)
    with pytest.raises(vl.errors.ArgumentError, match=r"c\.mp4 and .*c\.mp4 would both be written"):
        transcode(tmp_path / "a.tar", tmp_path / "out")
    assert transcode(tmp_path / "a.tar", tmp_path / "out", videos_per_shard=2).written == 2


def test_names_that_differ_in_their_suffix_only_keep_it(source, tmp_path):
    shutil.copy(source / "cats/b.mkv", source / "cats/a.mkv")
    made = transcode(source / "cats", tmp_path / "out")
    assert files(made.out) == ["a.mkv.mp4", "a.mp4.mp4", "b.mp4", "transcode.journal"]


def test_a_failing_file_is_reported_and_the_others_are_done(source, tmp_path):
    (source / "dogs/b.mp4").write_bytes(b"no video at all")
    broken = bytearray((source / "cats/a.mp4").read_bytes())
    place = broken.index(b"mdat") + 900
    broken[place : place + 500] = bytes(500)
    (source / "dogs/c.mp4").write_bytes(broken)
    out = tmp_path / "out"
    made = transcode(source, out, workers=2)
    assert made.written == 3
    found = {Path(failure.name).name: failure for failure in made.failures}
    assert sorted(found) == ["b.mp4", "c.mp4"]
    assert found["b.mp4"].kind == "FormatError"
    assert found["c.mp4"].kind == "DecodeError"
    assert "frame" in found["c.mp4"].reason
    assert files(out) == ["cats/a.mp4", "cats/b.mp4", "dogs/a.mp4", "transcode.journal"]
    encode_video(source / "dogs/b.mp4", frames=4)
    again = transcode(source, out)
    assert (again.written, again.kept, len(again.failures)) == (1, 3, 1)


def test_a_video_that_takes_too_long_fails_alone(tmp_path):
    (tmp_path / "in").mkdir()
    for name, frames, size in (("a", 4, (96, 64)), ("long", 500, (640, 360)), ("z", 4, (96, 64))):
        encode_video(tmp_path / f"in/{name}.mp4", frames=frames, size=size, options=FAST)
    options = {"preset": "placebo"}
    settings = {"workers": 1, "resize_shorter": None, "options": options}
    made = transcode(tmp_path / "in", tmp_path / "out", time_limit=4, **settings)
    assert [(Path(f.name).name, f.kind) for f in made.failures] == [("long.mp4", "TimeLimit")]
    assert made.written == 2
    (tmp_path / "in/long.mp4").unlink()
    assert transcode(tmp_path / "in", tmp_path / "out", **settings).kept == 2
    assert files(tmp_path / "out") == ["a.mp4", "transcode.journal", "z.mp4"]


def test_archives_hold_the_videos_and_their_sources(source, tmp_path):
    out = tmp_path / "out"
    made = transcode(source, out, videos_per_shard=2)
    assert files(out) == ["000000.tar", "000001.tar", "transcode.journal"]
    with tarfile.open(out / "000000.tar") as tar:
        names = ["00000000.mp4", "00000000.json", "00000001.mp4", "00000001.json"]
        assert tar.getnames() == names
        facts = json.load(tar.extractfile("00000001.json"))
    assert facts["source"] == str(source / "cats/b.mkv")
    assert facts["num_frames"] == 21
    with vl.index_dataset(sorted(out.glob("*.tar")), tmp_path / "set.parquet", 0) as dataset:
        assert [index.num_frames for index in dataset] == [20, 21, 22]
    assert (made.written, transcode(source, out, videos_per_shard=2).kept) == (3, 3)
    # Only the archive of a video that has changed is made again.
    kept = (out / "000000.tar").stat().st_mtime_ns
    encode_video(source / "dogs/a.webm", frames=9, codec="libvpx-vp9", options={"cpu-used": "8"})
    more = transcode(source, out, videos_per_shard=2)
    assert (more.written, more.kept) == (1, 2)
    assert (out / "000000.tar").stat().st_mtime_ns == kept
    with tarfile.open(out / "000001.tar") as tar:
        assert json.load(tar.extractfile("00000002.json"))["num_frames"] == 9
    assert transcode(source, out, videos_per_shard=3).written == 3
    assert files(out) == ["000000.tar", "transcode.journal"]


def test_videos_in_archives_are_transcoded_too(source, tmp_path):
    with tarfile.open(tmp_path / "in.tar", "w") as tar:
        for name in NAMES:
            tar.add(source / name, name)
    made = transcode(tmp_path / "in.tar", tmp_path / "out")
    assert made.written == 3
    assert transcode(tmp_path / "in.tar", tmp_path / "out").kept == 3
    assert files(made.out)[:3] == ["cats/a.mp4", "cats/b.mp4", "dogs/a.mp4"]


def test_a_data_set_index_names_the_sources(source, tmp_path):
    (source / "bad.mp4").write_bytes(b"nothing")
    vl.index_dataset(source, tmp_path / "set.parquet", 0).close()
    made = transcode(tmp_path / "set.parquet", tmp_path / "out")
    assert (made.written, made.failures) == (3, ())
    assert files(made.out)[:3] == ["cats/a.mp4", "cats/b.mp4", "dogs/a.mp4"]


def test_the_gain_is_that_of_plans_with_the_written_files(source, tmp_path):
    sampler = vl.RandomClip(4, stride=3)
    told = []
    made = transcode(source, tmp_path / "out", sampler=sampler, on_gain=told.append)

    def counted(paths, index_of):
        packets = []
        for number, name in enumerate(paths):
            for draw in range(8):
                rng = generator(draw, sample=number)
                index = vl.index_video(source / NAMES[number])
                frames = vl.sampling.sample_frames(sampler, index, rng=rng)
                frames, _ = pad_frames(frames, index.num_frames, "edge")
                packets.append(plan_decode(index_of(name), frames).num_packets)
        return np.mean(packets)

    before = counted(NAMES, lambda name: vl.index_video(source / name, headers=True))
    assert told[0].before == made.gain.before == pytest.approx(before)
    written = ["cats/a.mp4", "cats/b.mp4", "dogs/a.mp4"]
    after = counted(written, lambda name: vl.index_video(made.out / name, headers=True))
    assert made.gain.after == pytest.approx(after)
    assert after <= told[0].predicted < before
    assert "3 videos" in str(made.gain)
    assert "no gain" not in str(told[0])


def test_a_prediction_that_is_no_gain_is_told_as_none():
    gain = Gain(3, before=2.0, predicted=4.5)
    assert str(gain).endswith("2.0 before, 4.5 predicted if no packet is left out")
    after = str(gain._replace(after=4.0))
    assert after.endswith("4.5 predicted if no packet is left out, 4.0 after (no gain)")


def test_odd_sides_become_even_where_the_encoder_needs_that(tmp_path):
    (tmp_path / "in").mkdir()
    options = {"deadline": "realtime"}
    size = (83, 61)
    encode_video(tmp_path / "in/a.webm", frames=5, size=size, codec="libvpx-vp9", options=options)
    for codec, wanted in (("h264", (82, 60)), ("ffv1", size)):
        made = transcode(
            tmp_path / "in",
            tmp_path / codec,
            codec=codec,
            suffix=".mkv",
            resize_shorter=None,
            options={},
        )
        index = vl.index_video(made.out / "a.mkv")
        assert (index.width, index.height) == wanted


def test_sound_stays_with_the_frames(tmp_path):
    (tmp_path / "in").mkdir()
    write_sound(tmp_path / "in/a.mp4", make_signal(0.5), 44100, "aac", with_video=True)
    made = transcode(tmp_path / "in", tmp_path / "out")
    assert made.written == 1
    with_sound = vl.Audio(tmp_path / "out/a.mp4")
    assert with_sound.get_samples().shape[1] == pytest.approx(22050, abs=1100)
    with_sound.close()
    transcode(tmp_path / "in", tmp_path / "silent", audio=False)
    with pytest.raises(vl.errors.FormatError, match="no sound"):
        vl.Audio(tmp_path / "silent/a.mp4")


@pytest.mark.parametrize("videos_per_shard", [None, 3])
def test_a_killed_job_goes_on_and_ends_like_one_that_was_not(originals, tmp_path, videos_per_shard):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for number in range(4):
        shutil.copy(originals / "cats/a.mp4", source / f"{number}.mp4")
    # libx264 gives the same bytes with these options only.
    options = {"preset": "veryslow", "x264-params": "threads=1:no-mbtree=1"}
    settings = {"gop": 5, "options": options, "workers": 1}
    settings["videos_per_shard"] = videos_per_shard
    words = "import json, sys, videoloader as vl\nsource, out, settings = sys.argv[1:]\n"
    words += "vl.transcode(source, out, **json.loads(settings))"
    process = Program([sys.executable, "-c", words, source, out, json.dumps(settings)])
    place = out if videos_per_shard is None else out / ".staged"
    while len(list(place.glob("*.mp4"))) < 2:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.2)  # the worker ends with its parent
    for path in place.glob("*.mp4"):
        assert len(vl.index_video(path, strict=True)) == 20
    again = vl.transcode(source, out, **settings)
    assert again.kept >= 1
    assert again.written + again.kept == 4
    whole = tmp_path / "whole"
    vl.transcode(source, whole, **settings)
    assert files(out) == files(whole)
    for name in files(whole):
        if name != "transcode.journal":
            assert (out / name).read_bytes() == (whole / name).read_bytes(), name


def test_two_jobs_do_not_write_to_one_folder(source, tmp_path):
    from videoloader.indexing.dataset.journal import Journal

    (tmp_path / "out").mkdir()
    other = Journal(tmp_path / "out/transcode.journal")
    with pytest.raises(vl.errors.SourceError, match="another job is at work"):
        transcode(source, tmp_path / "out")
    other.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"suffix": ".gif"}, "one of .mp4"),
        ({"codec": "mpeg4"}, "codec must be one of"),
        ({"resize_shorter": 1}, "resize_shorter must be"),
        ({"videos_per_shard": 0}, "videos_per_shard must be"),
    ],
)
def test_wrong_settings_are_told_before_anything_is_done(source, tmp_path, options, message):
    with pytest.raises(vl.errors.ArgumentError, match=message):
        transcode(source, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_results_are_no_sources(source):
    made = transcode(source, source / "out")
    assert made.written == 3
    assert transcode(source, source / "out").kept == 3
    with pytest.raises(vl.errors.ArgumentError, match="all sources lie in the folder to write to"):
        transcode(source / "out/cats", source / "out")


def test_commands_cut_and_transcode(source, tmp_path):
    run = CliRunner().invoke
    result = run(app, ["cut", str(source / "cats/a.mp4"), str(tmp_path / "a.mp4"), "--start", "3"])
    assert result.exit_code == 0
    assert "frames 3-19, 20 packets copied" in result.output
    words = ["cut", str(source / "cats/a.mp4"), str(tmp_path / "b.mkv"), "--times", "0.2", "0.5"]
    result = run(app, [*words, "--codec", "ffv1"])
    assert "frames 6-14, encoded\nnot copied: .mkv has no edit list" in result.output
    assert run(app, [*words, "--method", "copy"]).exit_code == 2
    (source / "bad.mp4").write_bytes(b"nothing")
    out = tmp_path / "out"
    words = ["transcode", str(source), "-o", str(out), "--shorter", "48", "--workers", "0"]
    result = run(app, [*words, "--gop", "4"])
    assert result.exit_code == 1
    assert "3 videos written, 0 were done, 1 failed" in result.output
    assert result.output.index("predicted") < result.output.index("videos written")
    result = run(app, [*words, "--gop", "4"])
    assert "0 videos written, 3 were done, 1 failed\n" in result.output
    result = run(app, [*words, "--gop", "4", "--json"])
    facts = json.loads(result.output)
    assert (facts["written"], facts["kept"], len(facts["errors"])) == (0, 3, 1)
    assert not os.path.exists(tmp_path / "set.parquet")
