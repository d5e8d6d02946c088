"""Ctrl-C at any wait: the call ends, what is still at work is not used again."""

import gc
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from audio_files import make_signal, write_sound
from programs import run_program

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.machinery.workers import process, supervisor

pytestmark = pytest.mark.usefixtures("forked_workers")

COUNT = 72


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupts")
    options = {"g": "12", "x264-params": "scenecut=0"}
    return encode_video(folder / "clip.mp4", frames=COUNT, size=(96, 64), options=options)


BEGIN = """
import os, signal, sys, threading
from collections import Counter
import videoloader as vl
from videoloader.decoding.cpu import frame_decoder, local
from videoloader.demo.videos import read_frame_number
path, way = sys.argv[1:]
local.LITTLE_WORK = 0
main, is_over = threading.main_thread(), threading.Event()
joining, abandoned = threading.Event(), threading.Event()

interrupts = []
def handle(*arguments):
    interrupts.append(arguments)
    if len(interrupts) == 1:
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, handle)
def interrupt(release):
    # One that comes just before a wait does not end it.
    while not is_over.wait(0.02):
        signal.pthread_kill(main.ident, signal.SIGINT)
    assert release.wait(60)

# Which decoders are at work, and that none is used by two calls at once.
at_work, decode = Counter(), frame_decoder.CpuDecoder.decode
def counted(self, plan, **options):
    at_work[id(self)] += 1
    assert at_work[id(self)] == 1, "a decoder that another thread uses"
    self.keep = at_work  # its id is of no other
    try:
        yield from decode(self, plan, **options)
    finally:
        at_work[id(self)] -= 1
frame_decoder.CpuDecoder.decode = counted

make_packet, join = frame_decoder.make_packet, threading.Thread.join
def watched_packet(*arguments):
    if threading.current_thread() is not main and not is_over.is_set():
        assert joining.wait(60)
        interrupt(abandoned)
    return make_packet(*arguments)
def watched_join(self, *arguments):
    joining.set()
    join(self, *arguments)
"""

THREADS = """
frame_decoder.make_packet, threading.Thread.join = watched_packet, watched_join
def read():
    with_threads = {"video": video.get_frames, "batch": read_batch}[way]
    return with_threads(range(72))
def read_batch(frames):
    return decoder.decode([(video_source, frames)]).clips[0]
video = vl.Video(path, threads=2)
video_source, decoder = path, vl.BatchDecoder(workers=0, threads=2)
try:
    read()
except KeyboardInterrupt as error:
    kept = error  # with all that it passed through, as a notebook keeps it
    is_over.set()
else:
    raise SystemExit("no interrupt")
for time in range(4):
    if time == 2:
        abandoned.set()  # the thread of the first call goes on
    frames = read().frames
    assert [read_frame_number(frame.numpy()) for frame in frames] == [*range(72)]
for thread in threading.enumerate():
    if thread is not main:
        join(thread)
video.close(), decoder.close()
print("right")
"""


def run(program, *arguments):
    done = run_program([sys.executable, "-c", program, *arguments])
    assert (done.returncode, done.stdout.strip()) == (0, "right"), done.stderr


@pytest.mark.parametrize("way", ["video", "batch"])
def test_threads_that_an_interrupt_leaves_at_work_share_nothing_with_later_calls(path, way):
    run(BEGIN + THREADS, path, way)


WORKERS = """
from multiprocessing.connection import wait
from videoloader.machinery.workers import supervisor
def watched_wait(connections, timeout):
    if not is_over.is_set():
        is_over.set()
        os.kill(os.getpid(), signal.SIGINT)
    return wait(connections, timeout)
supervisor.wait = watched_wait
def read():
    return vl.decode_batch([(path, range(72)), (path, range(71, -1, -1))], workers=2)
kept = []
try:
    read()
except KeyboardInterrupt as error:
    kept.append(error)
assert kept, "no interrupt"
for _ in range(2):
    for clip, wanted in zip(read().clips, (range(72), range(71, -1, -1))):
        assert [read_frame_number(frame.numpy()) for frame in clip.frames] == [*wanted]
print("right")
"""


def test_an_interrupted_batch_leaves_nothing_to_the_next(path):
    run(BEGIN + WORKERS, path, "workers")


def interrupted(function, *, at):
    """The function, interrupted before or after it does its work, the first time."""
    calls = []

    def call(*arguments, **options):
        calls.append(0)
        if at == "before" and len(calls) == 1:
            raise KeyboardInterrupt
        result = function(*arguments, **options)
        if at == "after" and len(calls) == 1:
            raise KeyboardInterrupt
        return result

    return call


PLACES = {
    "sending": (process.Connection, "send_bytes"),
    "receiving": (process.Connection, "recv"),
    "waiting": (supervisor, "wait"),
    "dismissing": (supervisor.WorkerProcess, "stop"),
}


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize("place", PLACES)
def test_results_of_an_interrupted_batch_are_never_those_of_the_next(path, monkeypatch, place, at):
    owner, name = PLACES[place]
    kept = []
    with vl.BatchDecoder(workers=2) as decoder:
        decoder.decode([(path, [0]), (path, [70])])
        if place == "dismissing":  # a second interrupt, where the first is treated
            monkeypatch.setattr(supervisor, "wait", interrupted(supervisor.wait, at="before"))
        monkeypatch.setattr(owner, name, interrupted(getattr(owner, name), at=at))
        try:
            decoder.decode([(path, range(30, 40)), (path, range(0, 60, 5)), (path, range(9))])
        except KeyboardInterrupt as error:
            kept.append(error)
        assert kept
        wanted = [range(60, 70), range(20, 5, -1), range(0, 72, 9)]
        clips = decoder.decode([(path, frames) for frames in wanted]).clips
        found = [[read_frame_number(frame.numpy()) for frame in clip.frames] for clip in clips]
    assert found == [[*frames] for frames in wanted]
    kept.clear()
    gc.collect()  # a process or a connection that nobody ended would warn here


class Interrupted:
    """An open file, one of whose reads is interrupted."""

    def __init__(self, path, at):
        self._file = io.BytesIO(Path(path).read_bytes())
        self._left = at

    def read(self, size=-1):
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        return self._file.read(size)

    def __getattr__(self, name):
        return getattr(self._file, name)


def interrupted_reads(path, use):
    """Use a file with each of its reads interrupted in turn; how many there were."""
    for at in range(1, 200):
        file = Interrupted(path, at)
        try:
            use(file)
        except KeyboardInterrupt:
            continue
        assert file._left > 0, "an interrupt was lost"
        return at - 1
    raise AssertionError("so many reads")


@pytest.mark.parametrize("name", ["a.mp3", "a.flac", "a.m4a", "a.ogg"])
def test_an_interrupt_of_a_read_of_sound_is_no_damage(tmp_path, name):
    codec = {"a.mp3": "libmp3lame", "a.flac": "flac", "a.m4a": "aac", "a.ogg": "libopus"}[name]
    path = write_sound(tmp_path / name, make_signal(1.0, 48000), 48000, codec)
    with vl.Audio(path) as audio:
        wanted = audio.get_samples().numpy()

    def use(file):
        with vl.Audio(file) as audio:
            assert np.array_equal(audio.get_samples().numpy(), wanted)

    assert interrupted_reads(path, use) > 1


def test_a_sound_goes_on_after_an_interrupt(tmp_path):
    path = write_sound(tmp_path / "a.mp3", make_signal(3.0, 48000), 48000, "libmp3lame")
    file = Interrupted(path, 0)
    with vl.Audio(path) as audio, vl.Audio(file) as other:
        wanted = audio.get_samples().numpy()
        file._left = 1
        with pytest.raises(KeyboardInterrupt):
            other.get_samples()
        assert np.array_equal(other.get_samples().numpy(), wanted)


def test_an_interrupt_while_ffmpeg_indexes_a_file_is_no_damage(tmp_path):
    path = encode_video(tmp_path / "a.nut", frames=9, size=(64, 48))
    wanted = vl.index_video(path)
    assert wanted.exactness == "demux"

    def use(file):
        assert len(vl.index_video(file)) == len(wanted)

    assert interrupted_reads(path, use) > 1
