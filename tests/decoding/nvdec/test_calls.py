"""Calls that a chunk of a read and a clip of a batch cost on a GPU, which is made of FFmpeg here.

Python is the limit there for small pictures: each call of the library is time in which no other
thread gets the interpreter, and each call of the decoder is one that waits to get it back.
"""

import sys
import threading
from pathlib import Path

import pytest
from fake_gpu import fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import follow, make_decoder

import videoloader as vl
from videoloader.decoding.nvdec import reader

ROOT = str(Path(vl.__file__).parent)


class Calls:
    """Calls of functions of the library in this thread, and in those that start while it counts."""

    def __init__(self):
        self.count = 0

    def __call__(self, frame, event, _):
        self.count += event == "call" and frame.f_code.co_filename.startswith(ROOT)

    def __enter__(self):
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.fixture
def calls(fake_gpu, monkeypatch):
    """The calls of the library, and a decoder whose threads are counted too."""
    follow(monkeypatch)
    with Calls() as calls, make_decoder() as decoder:
        yield calls, decoder


def test_a_chunk_of_a_read_takes_few_calls(calls, fake_gpu, demo_folder, monkeypatch):
    counted, decoder = calls
    monkeypatch.setattr("videoloader.decoding.batch_decoder.shared_decoder", lambda device: decoder)
    monkeypatch.setattr(reader, "MOST", 8)
    for name, most in {"h264.mp4": (310, 2.2), "vp9.webm": (440, 2.1)}.items():
        with vl.Video(demo_folder / name) as video:
            video._is_on_gpu = True
            for _ in range(2):  # warm the second time
                counted.count, before = 0, len(fake_gpu.calls)
                frames = sum(1 for _ in video)
            chunks = frames / 8
            of_library, of_decoder = counted.count / chunks, (len(fake_gpu.calls) - before) / chunks
            assert 100 < of_library <= most[0]
            assert 1 < of_decoder <= most[1]


def test_a_clip_of_a_batch_takes_few_calls(calls, fake_gpu, demo_folder):
    counted, decoder = calls
    for name, most in {"h264.mp4": (170, 0.6), "vp9.webm": (420, 2.2)}.items():
        requests = [(demo_folder / name, [start, start + 4]) for start in range(0, 64, 16)]
        for _ in range(3):
            counted.count, before = 0, len(fake_gpu.calls)
            decoder.decode(requests, size=(24, 32))
        of_library, of_decoder = counted.count / 4, (len(fake_gpu.calls) - before) / 4
        assert 100 < of_library <= most[0]
        assert 0 < of_decoder <= most[1]
