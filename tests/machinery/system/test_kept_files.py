"""A folder of files with a limit, which several processes write."""

import hashlib
import os
import time

import pytest

from videoloader.machinery.system.kept_files import KeptFiles

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
    assert kept.read(key(2)) == b"a" * (60 - CRC)


@pytest.mark.parametrize("damage", [b"", b"abc", b"whole file of another", b"a" * 50], ids=len)
def test_what_is_damaged_is_removed(tmp_path, damage):
    kept = KeptFiles(tmp_path, "block", 1000, what="blocks")
    kept.write(key(1), b"frames", b"and sound")
    memory = bytearray(6)
    assert kept.read(key(1)) == b"framesand sound"
    assert kept.read(key(1), memoryview(memory)) == b"and sound"
    assert memory == b"frames"
    assert kept.read(key(2)) is None
    kept.path(key(1)).write_bytes(damage)
    assert kept.read(key(1), memoryview(memory)) is None
    assert not kept.path(key(1)).exists()


def test_a_renamed_file_is_damaged(tmp_path):
    kept = KeptFiles(tmp_path, "block", 1000, what="blocks")
    kept.write(key(1), b"a" * 50)
    kept.path(key(1)).rename(kept.path(key(2)))
    assert kept.read(key(2)) is None
