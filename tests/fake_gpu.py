"""A GPU made of FFmpeg and memory of this machine: what NVDEC and CUDA are told to do, it does.

Decoders take elementary streams as NVDEC's parser does: several pictures a call, timestamps of
the first picture of a call alone, those of others interpolated, frames in presentation order
and delayed, their memory good until the next call.
"""

import ctypes
import threading
from contextlib import nullcontext
from enum import Enum
from types import SimpleNamespace

import av
import numpy as np
import pytest
from kernel_machines import Compiled

from videoloader.decoding import convert, hardware, hardware_feed, nvdec
from videoloader.decoding.descriptor import SURFACE_DTYPE
from videoloader.decoding.surface import Surface

CODECS = Enum("CODECS", "H264 HEVC VP8 VP9 MPEG1 MPEG2 MPEG4 JPEG AV1")
CHROMA = Enum("CHROMA", ["420", "422", "444"])
NAMES = {"H264": "h264", "HEVC": "hevc", "VP8": "vp8", "VP9": "vp9", "MPEG2": "mpeg2video"}
DELAY = 4
STEP = 33  # what the parser adds to a timestamp for each picture that has none


class FakeNvdec:
    """Stands in for PyNvVideoCodec."""

    cudaVideoCodec = CODECS
    cudaVideoChromaFormat = CHROMA
    PacketData = SimpleNamespace

    def __init__(self):
        self.made = []
        self.calls = []
        self.drops = set()  # numbers of pictures that are lost, in presentation order
        self.unsupported = {CODECS.AV1}

    def GetDecoderCaps(self, gpu, codec, chroma, depth):
        supported = codec not in self.unsupported and chroma is not CHROMA["422"]
        return {
            "supported": supported,
            "num_decoder_engines": 2,
            "width_min": 48,
            "height_min": 16,
            "width_max": 4096,
            "height_max": 4096,
        }

    def CreateDecoder(self, **arguments):
        self.made.append(arguments)
        return FakeDecoder(self, arguments["codec"])


class FakeDecoder:
    def __init__(self, library, codec):
        self.library, self.name = library, NAMES[codec.name]
        self.begin()

    def begin(self):
        self.context = av.CodecContext.create(self.name, "r")
        self.context.options = {"strict": "1"}
        self.parser = self.name in ("h264", "hevc", "mpeg2video")
        self.tags, self.waiting, self.shown, self.last = [], [], 0, 0

    def setReconfigParams(self, width, height):
        pass

    def Decode(self, packet):
        self.library.calls.append((packet.bsl, threading.get_ident()))
        if not packet.bsl:
            frames = self.out(self.pictures(b"", None) + list(self.context.decode(None)), 0)
            self.begin()
            return frames
        data = ctypes.string_at(packet.bsl_data, packet.bsl)
        return self.out(self.pictures(data, packet.pts), DELAY)

    def pictures(self, data, tag):
        if not self.parser:
            packets = [av.Packet(data)] if data else []
        else:
            packets = self.context.parse(data) if data else self.context.parse(b"")
        frames = []
        # The parser of FFmpeg keeps the last picture back, so tags go by picture, not by call.
        if tag is not None:
            self.tags.append((len(data), tag))
        for packet in packets:
            packet.pts = self.tag_of(packet.size)
            frames += self.context.decode(packet)
        return frames

    def tag_of(self, size):
        """The tag of the call in which a picture of `size` bytes begins, once."""
        left, tag = self.tags[0]
        while self.tags and size >= left:
            size -= left
            self.tags.pop(0)
            left = self.tags[0][0] if self.tags else 0
        if self.tags:
            self.tags[0] = (left - size, None)
        return -1 if tag is None else tag

    def out(self, frames, delay):
        self.waiting += frames
        ready = self.waiting[: max(len(self.waiting) - delay, 0)]
        del self.waiting[: len(ready)]
        given = []
        for frame in ready:
            self.last = self.last + STEP if frame.pts in (None, -1) else frame.pts
            if self.shown not in self.library.drops:
                given.append(FakeFrame(frame, self.last))
            self.shown += 1
        for old in getattr(self, "given", []):
            old.memory[:] = 0xEE  # good until the next call, and no longer
        self.given = given
        return given


class FakeFrame:
    def __init__(self, frame, timestamp):
        self.timestamp = timestamp
        wide = frame.format.components[0].bits > 8
        if "444" in frame.format.name:
            form = "yuv444p16le" if wide else "yuv444p"
        else:
            form = "p010le" if wide else "nv12"
        planes = Surface(frame.reformat(format=form)).planes
        self.memory = np.concatenate([plane.reshape(-1, frame.width) for plane in planes])
        self.shape = self.memory.shape

    def GetPtrToPlane(self, plane):
        assert plane == 0
        return self.memory.ctypes.data


class FakeConverter:
    """The kernel on this machine, one launch at a time."""

    lock = threading.Lock()

    def __init__(self, output):
        self.output, self.machine = output, Compiled()
        self.launches = []

    def launch(self, table, stream, tiles=None):
        assert tiles is None or tiles >= table["tiles"].max()
        with self.lock:
            self.launches.append(len(table))
            self.machine.convert(np.ascontiguousarray(table), self.output)


class FakeDevice(nullcontext):
    def use(self):
        pass


class FakeEvent:
    def __init__(self, disable_timing=False):
        pass

    def record(self, stream):
        pass


class FakeStream:
    ptr = 0

    def __init__(self, non_blocking=False):
        pass

    def wait_event(self, event):
        pass

    def synchronize(self):
        pass


@pytest.fixture
def fake_gpu(monkeypatch):
    """NVDEC and CUDA of this machine in the place of a GPU's; gives the decoders' library."""
    library = FakeNvdec()
    cuda = SimpleNamespace(
        Device=FakeDevice,
        Stream=FakeStream,
        Event=FakeEvent,
    )
    monkeypatch.setitem(__import__("sys").modules, "cupy", SimpleNamespace(cuda=cuda))
    hardware.capabilities.cache_clear()
    for module in (hardware, hardware_feed):
        monkeypatch.setattr(module, "library", lambda: library)
    monkeypatch.setattr(
        nvdec, "pinned_table", lambda capacity: np.zeros(capacity, dtype=SURFACE_DTYPE)
    )
    monkeypatch.setattr(convert, "Converter", FakeConverter)
    yield library
    hardware.capabilities.cache_clear()
