"""Host time of a clip on NVDEC by stage, without a GPU: python benchmarks/host_time.py

    python benchmarks/host_time.py --video hevc-240p --headers

A `Loader` decodes clips of 16 frames with a stride of 4 from files of a kind, in batches of
distinct files. Decoder and kernel are pretended: a call sleeps as long as NVDEC is busy with it,
and returns frames that nobody decoded. So what is left is what Python does for a clip, all threads
together, in microseconds of processor time: NVDEC waits for it, since one thread at a time has the
interpreter. Median over rounds, the calls of the pretended decoder included. Stages are measured in
rounds of their own, since that takes time.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from footage import DATA, KINDS, distinct

import videoloader as vl
from videoloader.codecs.vpx import count_shown
from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE

SAMPLER = vl.RandomClip(16, stride=4)
ENGINES = 7
CLIPS = 192  # of a round
PICTURE_SECONDS = 4e-5  # of NVDEC, for one of 240p
# What is measured: a function, and the stage that its time counts for, less that of others in it.
STAGES = {
    "training.iterations:LoaderIterator.__next__": "wait and deliver",
    "training.decoding:SampleDecoder.decode": "open",
    "decoding.attempts:requests_for": "choose frames",
    "decoding.assembly:Assembly.__init__": "assemble",
    "decoding.assembly:Assembly.allocate": "assemble",
    "decoding.assembly:Assembly.finish": "assemble",
    "decoding.assembly:Assembly.runs": "plan",
    "decoding.nvdec.engine:GpuEngine._route": "submit",
    "decoding.nvdec.engine:GpuEngine._submit": "submit",
    "decoding.nvdec.engine:GpuEngine._collect": "wait",
    "decoding.nvdec.engine:GpuEngine._settle": "wait",
    "decoding.nvdec.pool:NvdecPool._choose": "pool",
    "decoding.nvdec.pool:NvdecPool._decode": "pool",
    "decoding.nvdec.session:Session.decode": "feed",
    "indexing.payloads:PacketReader.read": "read packets",
    "indexing.payloads:PacketReader.read_head": "read packets",
    "decoding.packets.needed:classify_packets": "choose packets",
    "decoding.packets.needed:_reached": "choose packets",
    "decoding.packets.needed:_without_disposable": "choose packets",
    "decoding.packets.feed:preamble": "convert packets",
    "decoding.nvdec.hardware_decoder:has_film_grain": "convert packets",
    "decoding.nvdec.elementary:ElementaryStream.head": "convert packets",
    "decoding.nvdec.elementary:ElementaryStream.join": "convert packets",
    "decoding.nvdec.hardware_decoder:_ShownOrder.__init__": "identify frames",
    "decoding.nvdec.hardware_decoder:_ShownOrder.identify": "identify frames",
    "decoding.nvdec.session:Session._convert": "convert frames",
}
PRETENDED = "pretended decoder"


class Stages:
    """Processor time of threads by stage."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inside = threading.local()

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The same function, whose time counts for a stage."""

        @wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            outer, self._inside.others = getattr(self._inside, "others", 0.0), 0.0
            begin = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                whole = time.thread_time() - begin
                self.seconds[stage] += whole - self._inside.others
                self._inside.others = outer + whole

        return run

    def watch(self, place: str, stage: str) -> None:
        """Count a function of the package for a stage."""
        module, _, path = place.partition(":")
        owner: Any = importlib.import_module(f"videoloader.{module}")
        *classes, name = path.split(".")
        for one in classes:
            owner = getattr(owner, one)
        setattr(owner, name, self.timed(getattr(owner, name), stage))


class Frame:
    """A frame of the pretended decoder, with an interpolated timestamp."""

    def __init__(self, timestamp: int, shape: tuple[int, int]) -> None:
        self.timestamp, self.shape = timestamp | 1, shape

    def GetPtrToPlane(self, plane: int) -> int:  # noqa: N802
        return plane


class Decoder:
    """Gives a frame for each start code, or shown frame of VP9, at once.

    Those that are no picture's are too many; what feeds the decoder takes as many as it expects.
    """

    def __init__(self, codec: str, maxwidth: int, maxheight: int) -> None:
        self._is_delimited = codec in ("H264", "HEVC")
        self.shape = (maxheight * 3 // 2, maxwidth)

    def setReconfigParams(self, width: int, height: int) -> None:  # noqa: N802
        self.shape = (height * 3 // 2, width)

    def Decode(self, packet: Any) -> list[Frame]:  # noqa: N802
        if not packet.bsl:
            return []
        data = ctypes.string_at(packet.bsl_data, packet.bsl)
        count = data.count(b"\0\0\1") if self._is_delimited else count_shown(data)
        time.sleep(count * PICTURE_SECONDS)
        return [Frame(packet.pts, self.shape)] * count


class Nvdec:
    """Stands in for PyNvVideoCodec."""

    PacketData = SimpleNamespace
    cudaVideoCodec = SimpleNamespace(  # noqa: N815
        H264="H264", HEVC="HEVC", VP9="VP9", AV1="AV1"
    )
    cudaVideoChromaFormat = SimpleNamespace(**{"420": "420"})  # noqa: N815

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size

    def GetDecoderCaps(self, *_: Any) -> dict[str, int]:  # noqa: N802
        sides = {"width_min": 16, "height_min": 16, "width_max": 4096, "height_max": 4096}
        return {"supported": 1, "num_decoder_engines": ENGINES, **sides}

    def CreateDecoder(self, codec: str, **_: Any) -> Decoder:  # noqa: N802
        return Decoder(codec, *self._size)


class Nothing:
    """Streams, events and kernels that do nothing."""

    ptr = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def use(self, *_: Any, **__: Any) -> None:
        pass

    record = synchronize = wait_event = launch = use

    def __enter__(self) -> None:
        pass

    __exit__ = use


def pretend(size: tuple[int, int]) -> vl.BatchDecoder:
    """A decoder of batches on a GPU that does nothing."""
    library = Nvdec(size)
    cuda: Any = torch.cuda
    cuda.current_stream, cuda.Stream = Nothing, Nothing
    cuda.device, cuda.stream = nullcontext, nullcontext
    tensor: Any = torch.Tensor
    tensor.record_stream = Nothing.use
    modules: Any = sys.modules
    modules["cupy"] = SimpleNamespace(
        cuda=SimpleNamespace(Device=Nothing, Stream=Nothing, Event=Nothing)
    )
    replaced: dict[str, dict[str, Any]] = {
        "hardware": {"library": lambda: library},
        "hardware_decoder": {"library": lambda: library},
        "session": {"pinned_table": lambda capacity: np.zeros(capacity, SURFACE_DTYPE)},
        "pool": {"gpu_memory": lambda _: 64 << 30},
        "convert": {"Converter": Nothing},
        "engine": {"as_cupy": Nothing},
    }
    for name, values in replaced.items():
        vars(importlib.import_module(f"videoloader.decoding.nvdec.{name}")).update(values)
    decoder = vl.BatchDecoder(workers=0)
    decoder.device, decoder._is_on_gpu = torch.device("cuda", 0), True
    decoder._gpu_engine()._device = torch.device("cpu")
    return decoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--video", choices=KINDS, default="h264-240p")
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--headers", action="store_true", help="index with headers=True")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    files = distinct([arguments.video], arguments.files)[arguments.video]
    dataset: Any = files
    if arguments.headers:
        dataset = vl.index_dataset(files, str(DATA / "host_time.parquet"), headers=True)
    stages = Stages()
    loaders: Any = importlib.import_module("videoloader.training.loader")
    decoder = pretend(KINDS[arguments.video].size)
    loaders.shared_decoder = lambda *_, **__: decoder
    loader = vl.Loader(
        dataset,
        SAMPLER,
        batch_size=arguments.batch_size,
        size=(224, 224),
        dtype="float16",
        mean=(123.675, 116.28, 103.53),
        std=(58.395, 57.12, 57.375),
    )
    for _ in range(5):
        for _ in loader:
            pass
    rounds = [round_of(loader, stages) for _ in range(arguments.rounds)]
    for place, stage in STAGES.items():
        stages.watch(place, stage)
    pretended: Any = Decoder
    pretended.Decode = stages.timed(Decoder.Decode, PRETENDED)
    watched = [round_of(loader, stages) for _ in range(arguments.rounds)]
    for stage in sorted(watched[0], key=lambda stage: -watched[0][stage]):
        print(f"{stage:20} {statistics.median(one.get(stage, 0) for one in watched):7.0f}")
    totals = [one["other"] for one in rounds]
    print(f"{'host us a clip':20} {statistics.median(totals):7.0f}, least {min(totals):.0f}")


def round_of(loader: vl.Loader, stages: Stages) -> dict[str, float]:
    """Microseconds of a clip by stage; `other` has those that no stage has."""
    stages.seconds.clear()
    begin, clips = time.process_time(), 0
    while clips < CLIPS:
        for batch in loader:
            clips += len(batch["sample"])
    whole = time.process_time() - begin
    found = {stage: 1e6 * seconds / clips for stage, seconds in stages.seconds.items()}
    return {**found, "other": 1e6 * whole / clips - sum(found.values())}


if __name__ == "__main__":
    main()
