"""The command `videoloader`: its options, and what it leaves when it is stopped."""

import json
import os
import re
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from programs import Program, run_program
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.videos import encode_video


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("words", [["--version"], ["-h"], ["check", "-h"], ["index", "--help"]])
def test_help_and_version_are_given_by_module_and_command(words):
    told = run(*words)
    assert told.exit_code == 0
    expected = vl.__version__ if "--version" in words else "Usage: videoloader"
    assert expected in told.output
    for module in ("videoloader", "videoloader.cli"):
        command = [sys.executable, "-m", module, *words]
        assert run_program(command, check=True).stdout


def test_help_shows_each_command_in_one_group():
    told = run("--help").output
    groups = re.findall(r"^╭─ (.+?) ─+╮$", told, flags=re.M)
    names = re.findall(r"^│ ([a-z]+) {2,}", told, flags=re.M)
    assert groups[1:] == [
        "Data sets",
        "Look at videos",
        "Select videos",
        "Write videos",
        "This machine",
    ]
    assert sorted(names) == sorted(each.callback.__name__ for each in app.registered_commands)


def test_no_command_is_an_error_that_shows_the_help():
    told = run()
    assert told.exit_code == 2
    assert "Usage: videoloader" in told.output


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chosen")
    for number in range(20):
        place = folder / "videos" / str(number % 5) / f"{number}.mp4"
        place.parent.mkdir(parents=True, exist_ok=True)
        encode_video(place, frames=number % 4 + 2, size=(32, 16))
    vl.index_dataset(folder / "videos", folder / "set.parquet", workers=0).close()
    rows = "".join(f"{number},text {number},{number % 3}\n" for number in range(20))
    (folder / "captions.csv").write_text(f"name,caption,n\n{rows}")
    return folder / "set.parquet"


def keys_of(path):
    with vl.open_dataset(path) as opened:
        return opened.keys


def test_split_writes_the_parts_that_the_call_gives(dataset, tmp_path):
    out = [tmp_path / f"{part}.parquet" for part in range(3)]
    words = [word for path in out for word in ("-o", path)]
    told = run("split", dataset, 0.4, 0.3, *words, "--seed", 5)
    assert told.exit_code == 0, told.output
    with vl.open_dataset(dataset) as opened:
        parts = [part["key"].to_pylist() for part in opened.split(0.4, 0.3, seed=5)]
    assert [keys_of(path) for path in out] == parts
    assert f"{out[0]}: {len(parts[0])} of 20 videos" in told.output.replace("\n", "")
    run("split", dataset, 0.5, *words[:4], "--by", "num_frames")
    with vl.open_dataset(out[0]) as first, vl.open_dataset(out[1]) as second:
        assert {*first["num_frames"].to_pylist()}.isdisjoint(second["num_frames"].to_pylist())
    for wrong in ((0.5, *words), (0.5, 0.5, *words), (1.5, *words[:2])):
        assert run("split", dataset, *wrong).exit_code == 2


def test_join_adds_the_columns_of_a_table(dataset, tmp_path):
    out, table = tmp_path / "joined.parquet", dataset.parent / "captions.csv"
    told = run("join", dataset, table, "-o", out, "--on", "stem", "--key", "name")
    assert told.exit_code == 0, told.output
    assert "20 of 20 videos, with caption, n" in told.output.replace("\n", "")
    with vl.open_dataset(out) as joined:
        names = [Path(key).stem for key in joined.keys]
        assert joined["caption"].to_pylist() == [f"text {name}" for name in names]
    one = (*("--on", "stem", "--key", "name"), "--column", "n")
    assert run("join", dataset, table, "-o", out, *one).exit_code == 0
    with vl.open_dataset(out) as joined:
        assert "n" in joined.column_names
        assert "caption" not in joined.column_names
    assert run("join", dataset, table, "-o", out).exit_code == 2
    assert run("join", dataset, table, "-o", out, *one, "--missing", "maybe").exit_code == 2


@pytest.mark.parametrize(("videos", "count"), [("3", 3), ("0.3", 6), ("1.0", 20)])
def test_sample_writes_random_videos_of_a_data_set(dataset, tmp_path, videos, count):
    out = tmp_path / "few.parquet"
    told = run("sample", dataset, "--videos", videos, "-o", out, "--seed", 2, "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.output) == {"out": str(out), "videos": count, "of": 20}
    with vl.open_dataset(dataset) as opened:
        assert keys_of(out) == opened.sample(count, seed=2)["key"].to_pylist()
    assert run("sample", dataset, "--videos", videos, "-o", out).output.endswith("videos\n")


def test_sample_says_what_is_wrong_with_its_number(dataset, tmp_path):
    for words in (("--videos", 3), ("--videos", "few", "-o", tmp_path / "few.parquet")):
        assert run("sample", dataset, *words).exit_code == 2
    assert run("sample", dataset, "--videos", 21, "-o", tmp_path / "few.parquet").exit_code == 2


def test_sample_draws_clips_of_random_videos_of_a_data_set(dataset, tmp_path):
    out = tmp_path / "sheet.png"
    told = run("sample", dataset, "-o", out, "--clips", 3, "--count", 2, "--json")
    assert told.exit_code == 0, told.output
    found = json.loads(told.output)
    assert found["out"] == str(out)
    assert out.read_bytes()[:4] == b"\x89PNG"
    names = [clip["file"] for clip in found["clips"]]
    with vl.open_dataset(dataset) as opened:
        chosen = opened.sample(3)
        assert names == [chosen.item(number).name for number in range(3)]
    one = json.loads(run("sample", names[0], "-o", out, "--clips", 2, "--json").output)
    assert [clip["file"] for clip in one["clips"]] == [names[0]] * 2
    assert all(len(clip["frames"]) == len(clip["times"]) == 8 for clip in one["clips"])


def test_names_of_files_are_printed_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(":cat:[red].mp4").write_text("no video")
    told = run("index", ":cat:[red].mp4")
    assert ":cat:[red].mp4: no video file" in told.output


def test_numbers_that_are_not_finite_are_null_in_json(dataset):
    pytest.importorskip("duckdb")  # the extra query
    told = run("query", dataset, "--by", "['nan'::double, '-inf'::double, 1.5]", "--json")
    assert json.loads(told.output, parse_constant=pytest.fail)["value"] == [None, None, 1.5]


def test_inspect_prints_its_facts_as_json(dataset):
    with vl.open_dataset(dataset) as opened:
        name = opened.item(3).name
        told = json.loads(run("inspect", name, "--json").output)
        assert (told["file"], told["num_frames"]) == (name, opened[3].num_frames)
        assert (told["codec"], told["warnings"]) == ("h264", [])


# Runs the command; Ctrl-C comes when so many videos are done.
STOPPED = """
import os, signal, sys
from videoloader.cli import main
from videoloader.indexing.dataset.journal import Journal

add, left = Journal.add, [int(sys.argv.pop(1))]

def stop(self, *row):
    add(self, *row)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGINT)

Journal.add = stop
main()
"""


def stopped(count, *words):
    """The command, interrupted; a session of its own shows whom it leaves behind."""
    command = [sys.executable, "-c", STOPPED, str(count), *words]
    with Program(command, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True) as job:
        out, err = job.communicate(timeout=120)
    sessions = [of(path) for path in Path("/proc").glob("[0-9]*")]
    assert job.pid not in sessions
    return job.returncode, out + err


def of(process):
    """The session of a process."""
    try:
        return os.getsid(int(process.name))
    except ProcessLookupError:
        return None


def test_ctrl_c_says_what_it_leaves_and_the_same_command_goes_on(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(4):
        encode_video(folder / f"{number}.mp4", frames=5, size=(64, 64))
    out = tmp_path / "set.parquet"
    job = ["index", folder, "-o", out, "--workers", "1"]
    code, told = stopped(2, *job)
    assert code == 130
    said = f"interrupted; what is done is kept in {out}.journal, run again to resume"
    assert said in told.replace("\n", "")
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.glob("set*")] == ["set.parquet.journal"]
    assert run(*job).exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("set*")) == [out.name, f"{out.name}.cache"]
    job = ["check", out, "--workers", "1", "--shard", "0/1"]
    code, told = stopped(1, *job)
    assert code == 130
    assert "set.damage.parquet.journal, run again to resume" in told.replace("\n", "")
    assert run(*job).exit_code == 0
    assert not list(tmp_path.glob("*.journal"))
    assert run("check", out, "--workers", "0", "--shard", "1/2").exit_code == 0
    assert (tmp_path / "set.damage.1of2.parquet").exists()


def test_ctrl_c_without_a_file_to_write_is_short(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("videoloader.indexing.dataset.find_items", stop)
    told = run("index", tmp_path)
    assert told.exit_code == 130
    assert told.stderr.strip() == "interrupted"
