"""What is opened: regular files, which may shrink at any moment, and nothing else."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.sources.opening import open_member
from videoloader.sources.source import rows_at


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return encode_video(tmp_path_factory.mktemp("kinds") / "clip.mp4", frames=8, size=(64, 48))


def refused(path, *words):
    """Whether each way in refuses a path, at once and by its kind."""
    ways = [open_source, vl.index_video, vl.Video, lambda path: vl.decode_batch([(path, [0])])]
    for way in ways:
        with pytest.raises(vl.errors.SourceError) as caught:
            way(path)
        for word in (str(path), *words):
            assert word in str(caught.value)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path, clip):
    os.mkfifo(tmp_path / "clip.mp4")
    refused(tmp_path / "clip.mp4", "is a pipe, not a file")
    dataset = vl.index_dataset([tmp_path / "clip.mp4", clip], tmp_path / "set.parquet", 1)
    with dataset:
        assert len(dataset.videos) == 1
        assert "is a pipe" in dataset.errors["error"][0].as_py()


def test_a_pipe_that_somebody_writes_into_is_refused_too(tmp_path):
    os.mkfifo(tmp_path / "clip.mp4")
    end = os.open(tmp_path / "clip.mp4", os.O_RDWR)
    refused(tmp_path / "clip.mp4", "is a pipe, not a file")
    os.close(end)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # its name may be no longer than 108 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("clip.mp4")
        refused(tmp_path / "clip.mp4", "is a socket, not a file")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/stdin"])
def test_a_device_is_refused(device):
    if device == "/dev/stdin":  # a pipe in a test, or a terminal
        refused_by = subprocess.run(
            [sys.executable, "-c", f"import videoloader as vl; vl.index_video({device!r})"],
            stdin=subprocess.PIPE,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "is a pipe, not a file" in refused_by.stderr
    else:
        refused(Path(device), "is a device, not a file")


def test_a_folder_is_refused(tmp_path):
    refused(tmp_path, "is a directory; name a video file in it")


def test_a_link_to_a_file_is_one(tmp_path, clip):
    (tmp_path / "link.mp4").symlink_to(clip)
    assert vl.index_video(tmp_path / "link.mp4").num_frames == 8


# -- Files that another process truncates while they are indexed. --

PROGRAM = """
import faulthandler, os, sys
import videoloader as vl

headers = sys.argv[1] == "headers"
calls, last, left, told = 0, -1, 0, 0

def shrinking(frame, event, argument):
    global calls
    calls += 1
    if calls == last:
        os.truncate(path, int(left * len(whole)))

for path in sys.argv[2:]:
    child = os.fork()  # the package is imported once
    if not child:
        break
    print(path, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

faulthandler.dump_traceback_later(100, exit=True)
whole = open(path, "rb").read()
vl.index_video(path, headers)
sys.setprofile(shrinking)
vl.index_video(path, headers)
count = calls
for left in (0, 0.5, 0.9):
    for part in range(20):
        last = count * part // 20
        with open(path, "wb") as file:
            file.write(whole)
        calls = 0
        try:
            vl.index_video(path, headers)
        except vl.VideoError as error:
            told += 1
assert told, "never found out"
"""

KINDS = {
    "mp4": {},
    "mkv": {},
    "webm": {"codec": "libvpx-vp9"},
    "ts": {},
    "flv": {},
    "avi": {"codec": "mpeg4"},
    "ivf": {"codec": "libvpx"},
    "h264": {},
    "hevc": {"codec": "libx265", "options": {"x265-params": "log-level=none"}},
    "obu": {"codec": "libsvtav1"},
    "mpg": {},
}


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shrinking")
    return [
        encode_video(folder / f"clip.{suffix}", frames=30, size=(128, 96), **how)
        for suffix, how in KINDS.items()
    ]


@pytest.mark.parametrize("headers", ["plain", "headers"])
def test_files_that_are_truncated_meanwhile_end_no_process(videos, tmp_path, headers):
    """Whatever is read next may be gone; a mapped file would end the process with SIGBUS."""
    paths = [shutil.copy(video, tmp_path) for video in videos]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, headers, *paths], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"{path} 0" for path in paths], done.stderr


# -- Reading at many places. --


def test_bytes_are_gathered_wherever_they_lie(tmp_path):
    rng = np.random.default_rng(5)
    data = rng.bytes(40_000)
    (tmp_path / "bytes").write_bytes(data)
    file = (tmp_path / "bytes").open("rb")
    sources = [open_source(tmp_path / "bytes"), open_source(data), open_source(file)]
    for places in (
        rng.integers(0, len(data), 500),
        np.sort(rng.integers(0, len(data), 9000)),
        np.arange(len(data))[::-1][:5000],
        np.array([0, 39_990, 39_999, 39_999, 7]),
        np.empty(0, dtype=np.int64),
    ):
        for width in (1, 3, 24):
            padded = data + bytes(width)
            expected = [list(padded[at : at + width]) for at in places.tolist()]
            for source in sources:
                found = source.gather(places, width)
                assert found.shape == (len(places), width)
                assert found.tolist() == expected
            found = rows_at(np.frombuffer(data, np.uint8), places, width)
            assert found.tolist() == expected
    file.close()
    sources[0].close()


def test_nothing_is_gathered_behind_a_member_of_an_archive(tmp_path):
    (tmp_path / "bytes").write_bytes(bytes(range(200)))
    with open_member(tmp_path / "bytes", name="part", offset=50, size=100) as part:
        found = part.gather(np.array([0, 98]), 4)
    assert found.tolist() == [[50, 51, 52, 53], [148, 149, 0, 0]]


def test_a_file_that_has_shrunk_is_not_taken_for_zeros(tmp_path):
    (tmp_path / "bytes").write_bytes(bytes(100_000))
    with open_source(tmp_path / "bytes") as source:
        os.truncate(tmp_path / "bytes", 50_000)
        assert not source.gather(np.array([0, 40_000]), 8).any()
        for places in ([0, 49_999], [60_000], [10, 99_999]):
            with pytest.raises(vl.errors.SourceError, match="truncated or was changed"):
                source.gather(np.array(places), 8)


def test_threads_may_gather_from_one_source(tmp_path):
    data = np.random.default_rng(6).bytes(1 << 20)
    (tmp_path / "bytes").write_bytes(data)
    wrong = []
    with open_source(tmp_path / "bytes") as source:

        def gather(seed):
            places = np.random.default_rng(seed).integers(0, len(data) - 8, 3000)
            rows = source.gather(places, 8)
            wrong.extend(
                at
                for at, row in zip(places.tolist(), rows, strict=True)
                if row.tobytes() != data[at : at + 8]
            )

        threads = [threading.Thread(target=gather, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
