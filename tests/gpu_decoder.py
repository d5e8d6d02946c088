"""A batch decoder on a GPU made of FFmpeg, and the stream of who uses it: fixtures."""

from contextlib import nullcontext

import pytest
import torch
from fake_gpu import FakeStream, fake_gpu  # noqa: F401  (a fixture)

import videoloader as vl
from videoloader.decoding.nvdec import engine as gpu_engine


class Consumer(FakeStream):
    """The stream of the caller; counts the events that it waits for."""

    def __init__(self):
        self.waited = 0

    def wait_event(self, event):
        self.waited += 1


def follow(monkeypatch):
    """Streams of torch on that GPU; gives the one that is current."""
    stream = Consumer()
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: stream)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: None)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    monkeypatch.setattr(gpu_engine, "as_cupy", lambda stream: stream)
    return stream


def make_decoder():
    decoder = vl.BatchDecoder(workers=0)
    decoder.device = torch.device("cuda", 0)
    decoder._is_on_gpu = True
    engine = decoder._gpu_engine()
    engine._device = torch.device("cpu")  # the memory of this GPU
    return decoder


@pytest.fixture
def consumer(fake_gpu, monkeypatch):
    return follow(monkeypatch)


@pytest.fixture
def decoder(consumer):
    with make_decoder() as decoder:
        yield decoder
