"""Frames spread over one long video, as models that look at whole videos ask for them.

    python benchmarks/long_video.py                        on a GPU if there is one
    python benchmarks/long_video.py --device cpu --minutes 2 --repetitions 2

The video is 1080p H.264 of 10 minutes, a shorter one repeated, with GOPs of 250 frames at most. 16
and 768 frames at equal distances become 384 x 384. On a GPU the ceiling is NVDEC alone: the packets
that reach these frames through 14 decoders (16 frames: through as many as there are keyframes to
begin at), no picture touched. `first frame` opens the video and reads a frame from the middle of a
GOP, of a file and of a server on this machine that answers ranges, in a process that has decoded
before; NVDEC alone gets the same packets, ready in memory, through one decoder.

Each frame carries its number, which is read and compared.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import itertools
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from footage import DATA, VIDEOS, make_all
from gpu import gpu
from machine import RESULTS, machine, today
from rich.console import Console
from rich.table import Table

import videoloader as vl
from videoloader.demo.videos import read_frame_number

PACKAGES = ("videoloader", "PyNvVideoCodec", "torch", "numpy", "av", "obstore")
SOURCE = "h264-1080p"
SIDE = 384
COUNTS = (16, 768)
DECODERS = 14


def long_video(minutes: int) -> Path:
    """The video, made once by repeating the packets of a shorter one."""
    import av

    make_all([SOURCE])
    short = VIDEOS[SOURCE]
    path = DATA / f"long-{minutes}min.mp4"
    if path.exists():
        return path
    unfinished = path.with_name(f"unfinished-{path.name}")
    with av.open(str(unfinished), "w") as out:
        made = None
        for turn in range(minutes * 1800 // short.frames):
            with av.open(str(short.path)) as container:
                stream = container.streams.video[0]
                made = made or out.add_stream_from_template(stream)
                assert stream.time_base is not None
                length = int(short.frames / 30 / stream.time_base)
                for packet in container.demux(stream):
                    if packet.dts is not None and packet.pts is not None:
                        packet.pts += turn * length
                        packet.dts += turn * length
                        packet.stream = made
                        out.mux(packet)
    unfinished.replace(path)
    return path


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """Answers requests for a range of bytes, on connections that stay open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the range, or the whole file."""
        path = Path(self.translate_path(self.path))
        size = path.stat().st_size
        unit, _, span = (self.headers.get("Range") or "").partition("=")
        first, _, last = span.partition("-")
        start = int(first) if first else max(size - int(last or size), 0)
        stop = min(int(last) + 1, size) if first and last else size
        self.send_response(206 if unit else 200)
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header("Content-Length", str(stop - start))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        with path.open("rb") as file:
            file.seek(start)
            self.wfile.write(file.read(stop - start))

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on this machine's loopback interface."""
    handler: Any = partial(_Ranges, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def seconds_of(call: Callable[[], Any], repetitions: int) -> float:
    """Median, after one run that warms."""
    call()
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def check(frames: torch.Tensor, numbers: list[int]) -> None:
    """Fail unless each frame (H, W, C) is the one that was asked for."""
    for frame, number in zip(frames.cpu().numpy(), numbers, strict=True):
        found = read_frame_number(frame)
        if found != number % VIDEOS[SOURCE].frames:
            raise SystemExit(f"frame {number} reads as {found}")


def uniform(path: Path, count: int, device: str, repetitions: int) -> dict[str, float]:
    """Milliseconds for frames at equal distances, ours and NVDEC's alone."""
    with vl.Video(str(path), device=device) as video:
        numbers = np.linspace(0, len(video) - 1, count).round().astype(int).tolist()
        check(video.get_frames(numbers, size=(SIDE, SIDE)).frames, numbers)

        def ours() -> None:
            video.get_frames(numbers, size=(SIDE, SIDE))
            if device != "cpu":
                torch.cuda.synchronize()

        found = {"ours_ms": 1e3 * seconds_of(ours, repetitions)}
        if device != "cpu":
            runs = runs_of(path, vl.index_video(str(path), headers=True), numbers)
            found["nvdec_ms"] = 1e3 * alone(runs, DECODERS, repetitions)
    return found


def runs_of(path: Path, index: vl.VideoIndex, numbers: list[int]) -> list[list[bytes]]:
    """The needed packets of each run, in Annex B form."""
    from gpu_ceiling import packets_of

    from videoloader.sampling import plan_decode

    packets = iter(packets_of(str(path), tuple(numbers)))
    plan = plan_decode(index, numbers)  # of an index with headers, as that of the packets
    return [list(itertools.islice(packets, len(run.packets))) for run in plan]


def alone(runs: list[list[bytes]], count: int, repetitions: int) -> float:
    """Seconds of NVDEC's decoders for the runs, with nothing around them."""
    from gpu_ceiling import decoder_for, feed_all

    video = VIDEOS[SOURCE]
    size = (video.size[1], video.size[0])
    decoders = [decoder_for("h264", size) for _ in range(min(count, len(runs)))]
    pictures = feed_all(decoders, runs, 32)
    if pictures < sum(map(len, runs)):
        raise SystemExit(f"NVDEC gave {pictures} pictures for {sum(map(len, runs))} packets")
    calls = (partial(feed_all, decoders, runs, chunk) for chunk in (8, 32))
    return min(seconds_of(call, repetitions) for call in calls)


def first_frame(source: str, device: str, numbers: list[int]) -> list[float]:
    """Milliseconds from the opening of a video to each of its frames; the video anew each time."""
    times = []
    for number in numbers[:1] + numbers:  # the first one warms
        begin = time.perf_counter()
        with vl.Video(source, device=device) as video:
            frames = video.get_frames([number], size=(SIDE, SIDE)).frames
            if device != "cpu":
                torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - begin))
            check(frames, [number])
    return times[1:]


def beside(ours: list[float], alone: list[float]) -> dict[str, float]:
    """Medians, and that of what ours takes longer: frames lie at different places of GOPs."""
    found = {"ours_ms": statistics.median(ours)}
    if alone:
        found["nvdec_ms"] = statistics.median(alone)
        pairs = zip(ours, alone, strict=True)
        found["longer_ms"] = statistics.median(one - bare for one, bare in pairs)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / f"long-video-{today()}.json")
    arguments = parser.parse_args()
    device = arguments.device
    path = long_video(arguments.minutes)
    results: dict[str, dict[str, float]] = {}
    for count in COUNTS:
        results[f"{count} frames"] = uniform(path, count, device, arguments.repetitions)
    index = vl.index_video(str(path), headers=True)
    numbers = [250 * place + 125 for place in range(1, 2 * arguments.repetitions + 2)]
    bare = []
    if device != "cpu":
        bare = [1e3 * alone([run], 1, 3) for run in runs_of(path, index, numbers)]
    found = first_frame(str(path), device, numbers)
    results["first frame, file"] = beside(found, bare)
    with served(path.parent) as address:
        found = first_frame(f"{address}/{path.name}", device, numbers)
    results["first frame, HTTP"] = beside(found, bare)
    table = Table(title=f"{path.name}, {index.num_frames} frames, {device}")
    for column in ("case", "ours ms", "NVDEC alone ms", "of NVDEC", "longer ms"):
        table.add_column(column, justify="right")
    for case, one in results.items():
        ceiling = one.get("nvdec_ms", float("nan"))
        of_it = ceiling / one["ours_ms"]
        longer = one.get("longer_ms", one["ours_ms"] - ceiling)
        table.add_row(
            case, f"{one['ours_ms']:.1f}", f"{ceiling:.1f}", f"{of_it:.2f}", f"{longer:.1f}"
        )
    Console(width=100).print(table)
    facts = {**machine(PACKAGES), **gpu()}
    report = {"benchmark": "long-video", "run": facts, "results": results}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
