"""A folder of files with a limit, which several processes write."""

import os
import time

from videoloader.system.kept_files import KeptFiles


def key(number):
    return f"{number:032x}"


def test_what_another_process_is_writing_counts_and_stays(tmp_path):
    kept = KeptFiles(tmp_path, "block", 100, what="blocks")
    kept.write(key(1), b"a" * 50)
    path = kept.path(key(2))
    unfinished = path.with_name(f"{path.name}.0a1b.partial")
    unfinished.write_bytes(b"b" * 40)
    os.utime(unfinished, (begun := time.time() - 60, begun))  # longer ago than any other
    kept.write(key(3), b"c" * 50)
    assert [kept.path(key(number)).exists() for number in (1, 3)] == [False, True]
    assert unfinished.exists()
    kept.write(key(4), b"d" * 70)  # has no room beside it, whatever is removed
    assert not kept.path(key(4)).exists()
    assert unfinished.exists()
    assert kept.writes


def test_what_a_killed_process_left_goes(tmp_path):
    kept = KeptFiles(tmp_path, "block", 100, what="blocks")
    kept.write(key(1), b"a" * 50)
    path = kept.path(key(2))
    left = path.with_name(f"{path.name}.0a1b.partial")
    left.write_bytes(b"b" * 90)
    os.utime(left, (begun := time.time() - 7200, begun))
    KeptFiles(tmp_path, "block", 100, what="blocks").write(key(3), b"c" * 50)
    assert [kept.path(key(number)).exists() for number in (1, 3)] == [True, True]
    assert not left.exists()
