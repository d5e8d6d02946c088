"""A folder of files with a limit, which several processes write."""

import hashlib
import os
import threading
import time

import pytest
from shared_folders import give_away, make_shared

from videoloader.errors import ArgumentError
from videoloader.machinery.system import kept_files
from videoloader.machinery.system.kept_files import KeptFiles, as_folder

CRC = 4  # bytes of the checksum


def key(number):
    return f"{number:032x}"


def begin_file(kept, *, size, seconds):
    """What another process began to write, so long ago."""
    path = kept.path(key(2))
    unfinished = path.with_name(f"{path.name}.0a1b.partial")
    unfinished.write_bytes(b"b" * size)
    os.utime(unfinished, (begun := time.time() - seconds, begun))
    return unfinished


def test_what_another_process_is_writing_counts_and_stays(tmp_path):
    kept = KeptFiles(tmp_path, "block", 100, what="blocks")
    kept.write(key(1), b"a" * (50 - CRC))
    unfinished = begin_file(kept, size=40, seconds=60)  # longer ago than any other
    kept.write(key(3), b"c" * (50 - CRC))
    assert [kept.path(key(number)).exists() for number in (1, 3)] == [False, True]
    assert unfinished.exists()
    kept.write(key(4), b"d" * (70 - CRC))  # there is no room for it and the unfinished file
    assert not kept.path(key(4)).exists()
    assert unfinished.exists()
    assert kept.writes


def test_what_another_thread_is_writing_counts(tmp_path, monkeypatch):
    kept = KeptFiles(tmp_path, "block", 100, what="blocks")
    begun, end, checksum = threading.Event(), threading.Event(), kept_files._checksum

    def of_parts(name, *parts):
        if name == key(1):  # the file is there, and has no bytes yet
            begun.set()
            assert end.wait(60)
        return checksum(name, *parts)

    monkeypatch.setattr(kept_files, "_checksum", of_parts)
    thread = threading.Thread(target=kept.write, args=(key(1), b"a" * (60 - CRC)))
    thread.start()
    assert begun.wait(60)
    kept.write(key(2), b"b" * (60 - CRC))
    end.set()
    thread.join()
    assert [kept.path(key(number)).exists() for number in (1, 2)] == [True, False]
    kept.write(key(3), b"c" * (60 - CRC))
    assert [kept.path(key(number)).exists() for number in (1, 3)] == [False, True]


def test_what_a_killed_process_left_goes(tmp_path):
    kept = KeptFiles(tmp_path, "block", 100, what="blocks")
    kept.write(key(1), b"a" * (50 - CRC))
    left = begin_file(kept, size=90, seconds=7200)
    KeptFiles(tmp_path, "block", 100, what="blocks").write(key(3), b"c" * (50 - CRC))
    assert [kept.path(key(number)).exists() for number in (1, 3)] == [True, True]
    assert not left.exists()


def test_of_many_small_files_a_part_is_looked_at_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("videoloader.machinery.system.kept_files.FILES", 50)
    looked, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (looked.append(path.name), scandir(path))[1])
    kept = KeptFiles(tmp_path, "block", 2000, what="blocks", size=10)  # four parts of 50
    keys = [
        hashlib.blake2b(bytes([n & 255, n >> 8]), digest_size=16).hexdigest() for n in range(300)
    ]
    for number, name in enumerate(keys):
        looked.clear()
        kept.write(name, bytes(10 - CRC))
        assert len(looked) in (0, 64)
        os.utime(kept.path(name), (number, number))
        if number % 10 == 0:
            assert len([*tmp_path.glob("*/*.block")]) <= 200
    there = [number for number, name in enumerate(keys) if kept.path(name).exists()]
    assert len(there) > 180
    assert there[0] > 80  # those written first are gone


def test_large_files_are_one_part(tmp_path):
    kept = KeptFiles(tmp_path, "block", 100, what="blocks", size=60)
    kept.write(key(1), b"a" * (60 - CRC))
    kept.write(key(2), b"a" * (60 - CRC))
    assert [kept.path(key(number)).exists() for number in (1, 2)] == [False, True]
    assert kept.read(key(2), most=100) == b"a" * (60 - CRC)


@pytest.mark.parametrize("damage", [b"", b"abc", b"whole file of another", b"a" * 50], ids=len)
def test_what_is_damaged_is_removed(tmp_path, damage):
    kept = KeptFiles(tmp_path, "block", 1000, what="blocks")
    kept.write(key(1), b"frames", b"and sound")
    memory = bytearray(6)
    assert kept.read(key(1), most=100) == b"framesand sound"
    assert kept.read(key(1), memoryview(memory), most=100) == b"and sound"
    assert memory == b"frames"
    assert kept.read(key(2), most=100) is None
    kept.path(key(1)).write_bytes(damage)
    assert kept.read(key(1), memoryview(memory), most=100) is None
    assert not kept.path(key(1)).exists()


def test_a_renamed_file_is_damaged(tmp_path):
    kept = KeptFiles(tmp_path, "block", 1000, what="blocks")
    kept.write(key(1), b"a" * 50)
    kept.path(key(1)).rename(kept.path(key(2)))
    assert kept.read(key(2), most=100) is None


def test_a_longer_file_than_there_can_be_is_removed_unread(tmp_path):
    kept = KeptFiles(tmp_path, "block", 1000, what="blocks")
    kept.write(key(1), b"a" * 50)
    assert kept.read(key(1), most=49) is None
    assert not kept.path(key(1)).exists()
    kept.path(key(1)).touch()
    os.truncate(kept.path(key(1)), 100 << 30)  # a hole, which takes no room
    assert kept.read(key(1), memoryview(bytearray(6)), most=100) is None
    assert not kept.path(key(1)).exists()


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_is_no_file_is_not_read(tmp_path, kind):
    kept = KeptFiles(tmp_path, "block", 1000, what="blocks")
    kept.write(key(1), b"a" * 50)
    path = kept.path(key(1))
    path.rename(tmp_path / "file")
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(tmp_path / "file")
        case "folder":
            path.mkdir()
    assert kept.read(key(1), most=100) is None


def test_the_lock_is_no_link_to_another_file(tmp_path):
    mine = tmp_path / "mine"
    (tmp_path / "remove.lock").symlink_to(mine)
    kept = KeptFiles(tmp_path, "block", 100, what="blocks")
    kept.write(key(1), b"a" * 60)
    kept.write(key(2), b"a" * 60)
    assert not mine.exists()
    assert not kept.writes


def test_the_folder_is_for_its_user_alone(tmp_path):
    KeptFiles(tmp_path / "kept", "block", 100, what="blocks").write(key(1), b"a" * 50)
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


def test_what_another_user_put_there_first_is_neither_read_nor_written(
    tmp_path, monkeypatch, caplog
):
    shared = make_shared(tmp_path / "shared")
    KeptFiles(shared / "theirs", "block", 1000, what="blocks").write(key(1), b"planted")
    KeptFiles(shared, "block", 1000, what="blocks").write(key(1), b"planted")
    give_away(shared / "theirs", monkeypatch)
    give_away(shared / key(1)[:2], monkeypatch)
    with pytest.raises(ArgumentError, match=r"cache=.*theirs.*belongs to another user"):
        as_folder("cache", shared / "theirs")
    for kept in (
        KeptFiles(shared / "theirs", "block", 1000, what="blocks"),  # made before it was theirs
        KeptFiles(shared, "block", 1000, what="blocks"),
    ):
        assert kept.read(key(1), most=100) is None
        kept.write(key(1)[:-1] + "f", b"mine")
        assert not kept.writes
    assert not [*shared.rglob("*f.block")]
    assert caplog.text.count("belongs to another user") == 2
