"""NVDEC with nothing around it: packets through PyNvVideoCodec's decoders, no picture touched."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from videoloader import VideoIndex

ENGINES = 7  # of an H100 or H200


def measure_ceiling(
    paths: tuple[str, ...], clips: tuple[tuple[int, ...], ...], size: tuple[int, int]
) -> dict[str, Any]:
    """Needed packets a second, with as many decoders and packets a call as are fastest."""
    runs = [packets_of(path, clip) for path, clip in zip(paths, clips, strict=True)]
    packets = sum(len(run) for run in runs)
    codec = codec_of(paths[0])
    rates: dict[str, float] = {}
    for count in (ENGINES, 2 * ENGINES):
        decoders = [decoder_for(codec, size) for _ in range(count)]
        for chunk in (8, 32) if is_delimited(codec) else (1,):
            feed_all(decoders, runs[: 2 * count], chunk)  # the first pictures of a decoder are slow
            seconds = [timed(lambda: feed_all(decoders, runs, chunk)) for _ in range(3)]  # noqa: B023
            rates[f"{count} decoders, {chunk} a call"] = packets / statistics.median(seconds)
    best = max(rates.values())
    return {
        "value": best,
        "unit": "packets/s",
        "per_second": best / packets * len(paths),
        "packets": packets,
        "rates": {name: round(rate, 1) for name, rate in rates.items()},
    }


def measure_one_engine(
    paths: tuple[str, ...], clips: tuple[tuple[int, ...], ...], size: tuple[int, int]
) -> dict[str, Any]:
    """Milliseconds of a single decoder for the needed packets of each clip."""
    runs = [packets_of(path, clip) for path, clip in zip(paths, clips, strict=True)]
    codec = codec_of(paths[0])
    decoder = decoder_for(codec, size)
    chunk = 8 if is_delimited(codec) else 1
    feed(decoder, runs[0], chunk)
    times = [1e3 * timed(lambda: feed(decoder, run, chunk)) for run in runs[1:]]  # noqa: B023
    return {"value": statistics.median(times), "unit": "ms", "milliseconds": times}


def is_decoded(path: str, device: int = 0) -> bool:
    """Whether NVDEC of this GPU decodes a video."""
    from videoloader import index_video
    from videoloader.decoding.nvdec.hardware import unsupported_reason

    return unsupported_reason(index_video(path), device) is None


def codec_of(path: str) -> str:
    from videoloader import index_video

    return index_video(path).codec


def is_delimited(codec: str) -> bool:
    """Whether a call may take several packets: H.264 and HEVC have start codes between them."""
    return codec in ("h264", "hevc")


def measure_beside(
    paths: tuple[str, ...],
    clips: tuple[tuple[int, ...], ...],
    size: tuple[int, int],
    batch: int,
    step: Callable[[], object],
) -> float:
    """What NVDEC and a training step reach side by side, of the slower of the two alone.

    For a step a batch of clips, as `training.py` measures loaders. Seven decoders, each with a
    stream of its own: on the default one they would wait for the step.
    """
    import cupy

    codec = codec_of(paths[0])
    chunk = 32 if is_delimited(codec) else 1
    runs = [packets_of(path, clip) for path, clip in zip(paths, clips, strict=True)]
    batches = len(runs) / batch
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(ENGINES)]
    decoders = [decoder_for(codec, size, stream=stream.ptr) for stream in streams]
    step()
    feed_all(decoders, runs[: 2 * ENGINES], chunk)
    decoding = timed(lambda: feed_all(decoders, runs, chunk)) / batches
    stepping = timed(lambda: [step() for _ in range(10)]) / 10
    both: list[float] = []
    thread = threading.Thread(
        target=lambda: both.append(timed(lambda: feed_all(decoders, runs, chunk)) / batches)
    )
    count, begin = 0, time.perf_counter()
    thread.start()
    while thread.is_alive():
        step()
        count += 1
    both.append((time.perf_counter() - begin) / count)
    return max(decoding, stepping) / max(both)


def decoder_for(codec: str, size: tuple[int, int], device: int = 0, stream: int = 0) -> Any:
    import PyNvVideoCodec

    return PyNvVideoCodec.CreateDecoder(
        gpuid=device,
        codec=getattr(PyNvVideoCodec.cudaVideoCodec, codec.upper()),
        cudacontext=0,
        cudastream=stream,
        usedevicememory=True,
        maxwidth=size[1],
        maxheight=size[0],
    )


@dataclass(slots=True)
class _Known:
    """Index and packets of a file; copies of it have the same."""

    index: VideoIndex
    packets: list[bytes]


_known: dict[str, _Known] = {}


def packets_of(path: str, clip: tuple[int, ...]) -> list[bytes]:
    """The fewest packets that reach the frames, as NVDEC wants them."""
    from videoloader.sampling import plan_decode

    name = path.rpartition("-")[0] if "/copies/" in path else os.path.realpath(path)
    if name not in _known:
        _known[name] = _read(path)
    plan = plan_decode(_known[name].index, clip)
    return [_known[name].packets[number] for run in plan for number in run.packets.tolist()]


def _read(path: str) -> _Known:
    """Packets with start codes and parameter sets, made by FFmpeg's filter and not by us."""
    import av
    from av.bitstream import BitStreamFilterContext

    from videoloader import index_video

    with av.open(path) as container:
        stream = container.streams.video[0]
        codec = stream.codec_context.name
        packets = [packet for packet in container.demux(stream) if packet.size]
        if codec in ("h264", "hevc"):
            convert = BitStreamFilterContext(f"{codec}_mp4toannexb", stream)
            packets = [made for packet in packets for made in convert.filter(packet)]
        index = index_video(path, headers=True)
        if len(packets) != len(index.packets):
            raise ValueError(f"{path}: {len(packets)} packets, the index has {len(index.packets)}")
        return _Known(index, [bytes(packet) for packet in packets])


def feed_all(decoders: list[Any], runs: list[list[bytes]], chunk: int) -> int:
    """Each decoder in its thread takes run after run; the number of pictures that came out."""
    waiting = iter(runs)
    lock = threading.Lock()
    pictures = [0] * len(decoders)

    def work(place: int) -> None:
        while True:
            with lock:
                run = next(waiting, None)
            if run is None:
                return
            pictures[place] += feed(decoders[place], run, chunk)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(decoders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(pictures)


def feed(decoder: Any, run: list[bytes], chunk: int) -> int:
    import PyNvVideoCodec

    pictures = 0
    for start in range(0, len(run), chunk):
        data = np.frombuffer(b"".join(run[start : start + chunk]), np.uint8)
        packet = PyNvVideoCodec.PacketData()
        packet.bsl_data = data.ctypes.data
        packet.bsl = len(data)
        packet.pts = start
        pictures += len(decoder.Decode(packet))
    end = PyNvVideoCodec.PacketData()
    end.bsl = 0
    return pictures + len(decoder.Decode(end))


def timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
