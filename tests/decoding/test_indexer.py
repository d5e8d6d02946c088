"""Files that FFmpeg has to look at: in a process that may crash, hang and fill its memory."""

import gc
import os
import shutil
import threading
import time
from pathlib import Path

import odd_indexers
import pytest

import videoloader as vl
from videoloader.decoding.opening.indexer import Indexer
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.indexing.dataset import find_items
from videoloader.indexing.video import index_natively
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.tasks import run_tasks

ODD = ("crash", "hang", "memory", "once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One video that takes FFmpeg, under several names, and one that does not."""
    folder = tmp_path_factory.mktemp("apart")
    encode_video(folder / "wmv.wmv", codec="wmv2", frames=8, size=(64, 48))
    encode_video(folder / "mpg.mpg", frames=8, size=(64, 48))
    encode_video(folder / "mp4.mp4", frames=8, size=(64, 48))
    for name in ODD:
        shutil.copy(folder / "wmv.wmv", folder / f"{name}.wmv")
    return folder


@pytest.fixture
def odd(monkeypatch):
    monkeypatch.setattr("videoloader.decoding.opening.indexer.IndexCommand", odd_indexers.OddOrder)


@pytest.fixture
def no_ffmpeg_here(monkeypatch):
    """In this process FFmpeg opens and decodes nothing for an index."""

    def refused(*_, **__):
        raise AssertionError("FFmpeg was called in this process")

    monkeypatch.setattr("videoloader.indexing.libav._choose", refused)
    monkeypatch.setattr("videoloader.indexing.order.decode_scan._decode_all", refused)


def children():
    """Processes that this one has started and not yet buried."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def same(index, other):
    return (
        index.packets.tolist() == other.packets.tolist()
        and index.frame_packets.tolist() == other.frame_packets.tolist()
        and (index.name, index.fingerprint) == (other.name, other.fingerprint)
    )


@pytest.mark.parametrize("name", ["wmv.wmv", "mpg.mpg", "mp4.mp4"])
@pytest.mark.parametrize("form", ["path", "bytes", "file", "item"])
def test_an_index_is_the_same_wherever_it_is_made(folder, name, form, request):
    path = folder / name
    file = path.open("rb")
    given = {"path": path, "bytes": path.read_bytes(), "file": file}
    if form == "item":
        (item,) = find_items(path)
        source, place = item.open(), item
    else:
        source, place = open_source(given[form]), None
    expected = vl.index_video(source)
    request.getfixturevalue("no_ffmpeg_here")
    with file, source:
        indexer = Indexer()
        assert same(indexer.index(source, place), expected)
        assert (indexer._workers is None) == (name == "mp4.mp4")
        indexer.close()


def test_what_is_no_video_is_refused_by_name(folder, tmp_path):
    (tmp_path / "text.mp4").write_text("no video")
    indexer = Indexer()
    source = open_source(tmp_path / "text.mp4")
    with source, pytest.raises(vl.errors.FormatError, match=r"text\.mp4: no video file"):
        indexer.index(source)
    indexer.close()


def test_native_parsers_need_no_process(folder):
    with open_source(folder / "mp4.mp4") as source:
        assert index_natively(source).num_frames == 8
    with open_source(folder / "wmv.wmv") as source:
        assert index_natively(source) is None
        assert vl.index_video(source).num_frames == 8  # and FFmpeg is let in again


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("crash", r"crash\.wmv: FFmpeg had to look at it for its index: .*SIGSEGV"),
        ("hang", r"hang\.wmv: FFmpeg had to look at it for its index: it took longer than 1 s"),
        ("memory", r"memory\.wmv: not enough memory"),
    ],
)
def test_a_process_that_gives_no_index_costs_the_file(folder, odd, name, told):
    indexer = Indexer(time_limit=1, memory_limit=1 << 30)
    with open_source(folder / f"{name}.wmv") as source, pytest.raises(vl.VideoError, match=told):
        indexer.index(source)
    with open_source(folder / "wmv.wmv") as source:
        assert indexer.index(source).num_frames == 8
    indexer.close()


def test_a_process_that_is_killed_from_outside_costs_nothing(folder, odd, tmp_path):
    shutil.copy(folder / "once.wmv", tmp_path / "once.wmv")
    indexer = Indexer()
    with open_source(tmp_path / "once.wmv") as source:
        assert indexer.index(source).num_frames == 8
    assert (tmp_path / "once.wmv.killed").exists()
    indexer.close()


def test_a_batch_loses_the_clips_whose_index_fails(folder, odd):
    names = ["wmv.wmv", "crash.wmv", "mp4.mp4", "hang.wmv", "mpg.mpg"]
    with vl.BatchDecoder(workers=1, time_limit=2) as decoder:
        wanted = [(folder / name, [0, 3]) for name in names]
        begin = time.monotonic()
        batch = decoder.decode(wanted, on_error="skip")
        assert time.monotonic() - begin < 60
        assert batch.requests.tolist() == [0, 2, 4]
        assert {failure.request for failure in batch.failures} == {1, 3}
        with pytest.raises(vl.errors.DecodeError, match=r"crash\.wmv"):
            decoder.decode([(folder / "crash.wmv", [0])])


def test_without_workers_all_is_done_here(folder, odd):
    with vl.BatchDecoder(workers=0) as decoder:
        batch = decoder.decode([(folder / "crash.wmv", [0])])
    assert len(batch) == 1


def test_processes_end_with_their_indexer(folder):
    before = set(children())
    indexer = Indexer()
    with open_source(folder / "wmv.wmv") as source:
        indexer.index(source)
    assert len(set(children()) - before) == 1
    del indexer
    gc.collect()
    assert set(children()) <= before
    decoder = vl.BatchDecoder(workers=1)
    decoder.decode([(folder / "wmv.wmv", [0])])
    decoder.close()
    assert set(children()) <= before


def test_a_fork_has_a_process_of_its_own(folder):
    indexer = Indexer()
    with open_source(folder / "wmv.wmv") as source:
        indexer.index(source)
        before = set(children())
        holder, is_held, is_over = holding(indexer._lock)
        is_held.wait()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = int(indexer.index(source).num_frames != 8 or len(children()) != 1)
                indexer.close()
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        is_over.set()
        holder.join()
        assert indexer.index(source).num_frames == 8
        assert set(children()) == before
    indexer.close()


def holding(lock):
    """A thread that holds a lock until it is told not to."""
    is_held, is_over = threading.Event(), threading.Event()

    def hold():
        with lock:
            is_held.set()
            is_over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    return thread, is_held, is_over


def test_workers_of_jobs_may_take_so_much_memory_and_no_more():
    sizes = [1 << 20, 1 << 30, 1 << 21]
    tasks = run_tasks("odd_indexers:greedy", sizes, workers=1, time_limit=60, memory_limit=1 << 28)
    done = dict(tasks)
    assert isinstance(done.pop(1 << 30), TaskFailure)
    assert done == {size: size for size in done}
