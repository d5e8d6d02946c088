"""What a killed process leaves of a file that it was writing, and who removes it."""

import os
import signal
import sys
import time
from contextlib import suppress
from subprocess import PIPE

import pytest
from programs import Program

import videoloader as vl
from videoloader.machinery.system import writing
from videoloader.machinery.system.writing import written_whole

WRITER = """
import sys, time
import torch
import videoloader as vl

def frames():
    for number in range(10_000):
        if number == 20:
            print("begun", flush=True)
        yield torch.full((64, 64, 3), number % 256, dtype=torch.uint8)
        time.sleep(0.01 * (number > 20))

vl.write_video(frames(), sys.argv[1])
"""


@pytest.fixture(autouse=True)
def unseen(monkeypatch):
    """Folders that this process has not written to."""
    monkeypatch.setattr(writing, "_looked_at", set())


def age(path, seconds=2 * writing.ABANDONED):
    then = time.time() - seconds
    os.utime(path, (then, then))


def write(target, data=b"new"):
    with written_whole(target) as partial:
        partial.write_bytes(data)


@pytest.fixture
def writer(tmp_path):
    """A process that writes a video, and its unfinished file."""

    process = Program([sys.executable, "-c", WRITER, tmp_path / "a.mp4"], stdout=PIPE)
    assert process.stdout.readline() == b"begun\n"
    (partial,) = tmp_path.iterdir()
    yield process, partial
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_next_write_to_a_folder_removes_what_a_killed_one_left(tmp_path, writer):
    process, partial = writer
    assert partial.name.startswith("a.mp4.")
    process.send_signal(signal.SIGKILL)
    process.wait()
    write(tmp_path / "b.json")
    assert partial.exists()  # it may be of another machine, which still writes it
    writing._looked_at.clear()
    age(partial)
    write(tmp_path / "c.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.json", "c.json"]


def test_what_a_process_is_writing_stays_however_long_it_takes(tmp_path, writer):
    process, partial = writer
    process.send_signal(signal.SIGSTOP)
    age(partial)
    write(tmp_path / "b.json")
    assert partial.exists()
    process.send_signal(signal.SIGCONT)


def test_what_this_process_is_writing_stays(tmp_path):
    with written_whole(tmp_path / "a") as partial:
        partial.write_bytes(b"whole")
        age(partial)
        write(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_other_files_stay(tmp_path, monkeypatch):
    names = ["a.partial", "a.12345678", "a.1234567g.partial", "a.12345678.partial.mp4", ".partial"]
    for name in names:
        (tmp_path / name).touch()
        age(tmp_path / name)
    folder, link = tmp_path / "a.00000000.partial", tmp_path / "a.00000001.partial"
    folder.mkdir()
    age(folder)
    link.symlink_to(tmp_path / "a.partial")
    write(tmp_path / "b")
    assert {path.name for path in tmp_path.iterdir()} == {*names, folder.name, link.name, "b"}


def test_a_folder_is_looked_at_once(tmp_path, monkeypatch):
    looked, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (looked.append(path), scandir(path))[1])
    for number in range(5):
        write(tmp_path / str(number))
    assert len(looked) == 1


def test_an_error_leaves_nothing_behind(tmp_path):
    with suppress(ZeroDivisionError), written_whole(tmp_path / "a") as partial:
        partial.write_bytes(b"half")
        1 / 0  # noqa: B018
    assert not [*tmp_path.iterdir()]
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        write(tmp_path / "a")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", ["a\0b.mp4", "a\ud800b.mp4"])
def test_a_name_that_no_file_has_is_an_error_of_ours(tmp_path, name):
    import torch

    frames = torch.zeros(2, 16, 16, 3, dtype=torch.uint8)
    with pytest.raises(vl.errors.SourceError, match="no file has such a name"):
        vl.write_video(frames, tmp_path / name)
    with pytest.raises(vl.errors.SourceError, match="no file has such a name"):
        vl.write_video(frames, str(tmp_path / name / "c.mp4"))
