"""The command `videoloader`: its options, and what it leaves when it is stopped."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
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
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout


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
    job = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(count), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
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
