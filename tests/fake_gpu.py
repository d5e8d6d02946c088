"""A GPU made of FFmpeg and memory of this machine: what NVDEC and CUDA are told to do, it does.

Decoders take elementary streams as NVDEC's parser does: several pictures a call, timestamps of
the first picture of a call alone, those of others interpolated, frames in presentation order
and delayed, their memory good until the next call. The first stream fixes how many surfaces a
decoder has; see `FakeDecoder.begin_sequence`.
"""

import ctypes
import sys
import threading
from contextlib import nullcontext
from enum import Enum
from types import SimpleNamespace

import av
import numpy as np
import pytest
from kernel_machines import Compiled
from sequence_headers import read_sequence

from videoloader.decoding.nvdec import convert, hardware, session
from videoloader.decoding.nvdec import hardware_decoder as hardware_feed
from videoloader.decoding.nvdec import pool as nvdec
from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE
from videoloader.decoding.nvdec.targets import GpuClip, nvdec_job
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.surface import Surface
from videoloader.demo.videos import read_frame_number
from videoloader.indexing import index_video
from videoloader.sampling.plan import merge_runs
from videoloader.sources.opening import open_source

CODECS = Enum("CODECS", "H264 HEVC VP8 VP9 MPEG1 MPEG2 MPEG4 JPEG AV1")
CHROMA = Enum("CHROMA", ["420", "422", "444"])
NAMES = {"H264": "h264", "HEVC": "hevc", "VP8": "vp8", "VP9": "vp9", "MPEG2": "mpeg2video"}
DELAY = 4
SURVIVORS = 3  # of so many pictures one finds no surface where they are too few
STEP = 33  # what the parser adds to a timestamp for each picture that has none

UINT8 = OutputFormat()
OPENED = []  # sources that the fixture closes


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
        self.alive = 0  # decoders
        # How NVIDIA's parser counts the surfaces that a stream needs is not known.
        self.count_surfaces = lambda header: max(header.buffered, header.references)

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
        self.coded, self.surfaces, self.most, self.short = None, 0, 0, False
        library.alive += 1
        self.begin()

    def __del__(self):
        self.library.alive -= 1

    def begin(self):
        self.context = av.CodecContext.create(self.name, "r")
        self.context.options = {"strict": "1"}
        # Without threads: a fork that frees a context would wait for threads that it lacks.
        self.context.thread_type = "NONE"
        self.parser = self.name in ("h264", "hevc", "mpeg2video")
        self.tags, self.waiting, self.shown, self.last = [], [], 0, 0

    def setReconfigParams(self, width, height):
        pass

    def begin_sequence(self, header):
        """What PyNvVideoCodec does when its parser meets a sequence parameter set.

        It makes the decoder for the first one, and makes it anew within the limits of that one if
        the coded size changes. If not, the surfaces stay as many as they are, without a word.
        """
        size, needed = (header.width, header.height), self.library.count_surfaces(header)
        if self.coded is None:
            self.surfaces = self.most = needed
        elif size != self.coded:
            self.surfaces = min(needed, self.most)
        self.coded = size
        self.short = needed > self.surfaces

    def Decode(self, packet):
        self.library.calls.append((packet.bsl, threading.get_ident()))
        if not packet.bsl:
            frames = self.out(self.pictures(b"", None) + list(self.context.decode(None)), 0)
            self.begin()
            return frames
        data = ctypes.string_at(packet.bsl_data, packet.bsl)
        for header in read_sequence(self.name, data):
            self.begin_sequence(header)
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
            made = self.context.decode(packet)
            for frame in made[1:]:  # of a superframe
                frame.pts = None
            frames += made
        return frames

    def tag_of(self, size):
        """The tag of the call in which a picture of `size` bytes begins, once."""
        left, tag = self.tags[0]
        while self.tags and size >= left:
            size -= left
            self.tags.pop(0)
            left = self.tags[0][0] if self.tags else 0
        if self.tags and size:
            self.tags[0] = (left - size, None)
        return -1 if tag is None else tag

    def out(self, frames, delay):
        self.waiting += frames
        ready = self.waiting[: max(len(self.waiting) - delay, 0)]
        del self.waiting[: len(ready)]
        given = []
        for frame in ready:
            self.last = self.last + STEP if frame.pts in (None, -1) else frame.pts
            lost = self.short and self.shown % SURVIVORS == SURVIVORS - 1
            if not lost and self.shown not in self.library.drops:
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

    def synchronize(self):
        pass


class FakeStream:
    ptr = 0

    def __init__(self, non_blocking=False, priority=0):
        pass

    def wait_event(self, event):
        pass

    def synchronize(self):
        pass


def put_in_place(monkeypatch):
    """NVDEC and CUDA of this machine in the place of a GPU's; gives the decoders' library."""
    library = FakeNvdec()
    cuda = SimpleNamespace(
        Device=FakeDevice,
        Stream=FakeStream,
        Event=FakeEvent,
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    hardware.capabilities.cache_clear()
    hardware._decoder_kind.cache_clear()
    for module in (hardware, hardware_feed):
        monkeypatch.setattr(module, "library", lambda: library)
    monkeypatch.setattr(
        session, "pinned_table", lambda capacity: np.zeros(capacity, dtype=SURFACE_DTYPE)
    )
    monkeypatch.setattr(nvdec, "gpu_memory", lambda gpu: 16 << 30)
    monkeypatch.setattr(convert, "Converter", FakeConverter)
    return library


@pytest.fixture
def fake_gpu(monkeypatch):
    """The library of `put_in_place`, until the test ends."""
    yield put_in_place(monkeypatch)
    while OPENED:
        OPENED.pop().close()
    hardware.capabilities.cache_clear()
    hardware._decoder_kind.cache_clear()


def jobs_of(path, clips, output=UINT8):
    """The jobs that decode clips (lists of frames) of a video, and the memory they fill."""
    index, source = index_video(path), open_source(path)
    OPENED.append(source)
    size = (index.height, index.width)
    memory = [np.zeros((len(frames), *size, 3), output.numpy_dtype) for frames in clips]
    targets = {
        number: GpuClip(
            clip.ctypes.data,
            tuple(stride // clip.itemsize for stride in clip.strides),
            View(size),
        )
        for number, clip in enumerate(memory)
    }
    merged = merge_runs(index, {number: np.array(frames) for number, frames in enumerate(clips)})
    converter = FakeConverter(output)
    options = {"orientation": index.orientation, "converter": converter}
    return memory, [
        nvdec_job(run, targets, index=index, source=source, output=output, **options)
        for run in merged
    ]


def decode(pool, path, clips):
    """The number that each frame of each clip bears."""
    memory, jobs = jobs_of(path, clips)
    for future in pool.submit(jobs):
        future.result()
    return [[read_frame_number(frame) for frame in clip] for clip in memory]
