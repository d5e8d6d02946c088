"""Batches of a mixed web data set: 1,200 videos in three codecs and many sizes, lengths and GOPs.

    python benchmarks/web_videos.py                     device cuda if there is one
    python benchmarks/web_videos.py --device cpu --files 120
    python benchmarks/web_videos.py --only-make         makes the videos

The videos are cut, without encoding again, from 120 streams of a minute each, drawn and encoded
once into `benchmarks/data/web` by all processors: H.264, HEVC and VP9, portrait and landscape, GOPs
of 12 to 250 frames. No two cuts are the same. Every frame bears its number in the stream.

Clips of 16 frames with a stride of 4 become 224x224, normalised. The ceiling of the mix is what its
parts reach when nothing is mixed: for each stream, seconds a clip in batches of its own cuts, which
have one size, codec and GOP, and where clips of one file share nothing. The ceiling is the number
of files over the sum of these seconds over the files. Contenders are given the files in one
shuffled order.

Every frame of some files of each codec is compared with a sequential decode by FFmpeg: its number,
and its pixels as swscale converts them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import torch
from footage import DATA
from gpu import gpu
from machine import RESULTS, machine, today
from rich.console import Console
from rich.table import Table

import videoloader as vl
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.machinery.system.scheduling import kept_scheduling

FOLDER = DATA / "web"
STREAMS, CUTS, SECONDS, FPS = 120, 10, 60, 25
SHORT_SIDES = (180, 216, 240, 270, 288, 320, 360, 432)
RATIOS = (16 / 9, 3 / 2, 4 / 3, 1.0, 1.85)
GOPS = (12, 24, 48, 72, 125, 250)
MAX_DIFFERENCE = 3  # of 255, from swscale on another path
PACKAGES = ("videoloader", "PyNvVideoCodec", "cupy-cuda13x", "torch", "numpy", "av")
SAMPLER = vl.RandomClip(16, stride=4)
MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)

Batches = Iterator[list[int]]  # numbers of the files of each batch, once it is ready


# -- The videos. --


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a minute that files are cut from, all its properties by its number."""

    number: int

    @property
    def codec(self) -> str:
        return ("h264", "h264", "h264", "hevc", "vp9")[self.number % 5]

    @property
    def gop(self) -> int:
        return GOPS[self.number // 5 % len(GOPS)]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, both even; another one for each of the first 64 streams and more."""
        side = SHORT_SIDES[self.number % len(SHORT_SIDES)]
        ratio = RATIOS[self.number // len(SHORT_SIDES) % len(RATIOS)]
        long = 2 * round(side * ratio / 2)
        is_portrait = self.number // (len(SHORT_SIDES) * len(RATIOS)) % 2 == 1
        return (side, long) if is_portrait else (long, side)

    @property
    def suffix(self) -> str:
        return ".webm" if self.codec == "vp9" else ".mp4"

    @property
    def paths(self) -> list[Path]:
        """The files that are cut from it."""
        return [FOLDER / f"{self.number:03}-{cut}{self.suffix}" for cut in range(CUTS)]

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """First GOP and number of GOPs of each cut: no two the same, short ones more often."""
        rng = np.random.default_rng(self.number)
        gops = SECONDS * FPS // self.gop
        cuts: dict[tuple[int, int], None] = {}
        while len(cuts) < CUTS:
            count = round(np.exp(rng.uniform(0, np.log(SECONDS))) * FPS / self.gop)
            count = min(max(count, round(FPS / self.gop), 1), gops)
            cuts[int(rng.integers(gops - count + 1)), count] = None
        return list(cuts)

    @property
    def options(self) -> tuple[str, dict[str, str]]:
        """Encoder and its options, for closed GOPs of equal length and one thread."""
        gop = str(self.gop)
        if self.codec == "h264":
            parameters = f"threads=1:keyint={gop}:min-keyint={gop}:scenecut=0:open-gop=0:crf=34"
            preset = "superfast" if self.number % 2 else "ultrafast"
            return "libx264", {"x264-params": parameters + ":bframes=3", "preset": preset}
        if self.codec == "hevc":
            parameters = f"keyint={gop}:min-keyint={gop}:scenecut=0:open-gop=0:crf=36"
            parameters += ":pools=none:frame-threads=1:log-level=none"
            return "libx265", {"x265-params": parameters, "preset": "ultrafast"}
        quick = {"deadline": "realtime", "cpu-used": "8", "threads": "1", "auto-alt-ref": "0"}
        return "libvpx-vp9", {**quick, "g": gop, "keyint_min": gop, "crf": "45", "b": "0"}


def make(stream: Stream) -> None:
    """Encode a stream and cut it; its files are there whole or not at all."""
    encoder, options = stream.options
    whole = FOLDER / f"whole-{stream.number:03}{stream.suffix}"
    frames = SECONDS * FPS // stream.gop * stream.gop
    encode_video(whole, codec=encoder, size=stream.size, fps=FPS, frames=frames, options=options)
    with av.open(str(whole)) as container:
        video = container.streams.video[0]
        packets = [packet for packet in container.demux(video) if packet.pts is not None]
        keys = [place for place, packet in enumerate(packets) if packet.is_keyframe]
        if len(keys) != frames // stream.gop:
            raise RuntimeError(f"{whole.name}: {len(keys)} keyframes, GOPs of {stream.gop}")
        for path, (first, count) in zip(stream.paths, stream.cuts, strict=True):
            end = keys[first + count] if first + count < len(keys) else len(packets)
            _write(path, video, packets[keys[first] : end])
    whole.unlink()


def _write(path: Path, video: Any, packets: Sequence[Any]) -> None:
    """Packets as a file of their own; they are numbered from 0 in time."""
    part = path.with_stem(f"part-{path.stem}")
    begin = min(packet.pts for packet in packets if packet.pts is not None)
    with av.open(str(part), "w") as out:
        stream = out.add_stream_from_template(video)
        for packet in packets:
            copy = av.Packet(bytes(packet))
            copy.pts, copy.dts = packet.pts - begin, packet.dts - begin
            copy.time_base, copy.is_keyframe = packet.time_base, packet.is_keyframe
            copy.duration, copy.stream = packet.duration, stream
            out.mux(copy)
    part.rename(path)


def make_all(streams: Sequence[Stream], processes: int | None = None) -> None:
    """Make the files that are missing, slow encoders first."""
    missing = [s for s in streams if not all(path.exists() for path in s.paths)]
    if not missing:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    print(f"Encoding {len(missing)} streams, once ...", file=sys.stderr)
    missing.sort(key=lambda stream: (stream.codec == "h264", -stream.size[0] * stream.size[1]))
    count = processes or len(os.sched_getaffinity(0))
    context = multiprocessing.get_context("spawn")
    with kept_scheduling(), ProcessPoolExecutor(count, mp_context=context) as pool:
        list(pool.map(make, missing))
    print(f"  {time.perf_counter() - begin:.0f} s", file=sys.stderr)


# -- What is measured. --


class Mix:
    """The files, and ways to batches of them."""

    def __init__(self, streams: Sequence[Stream], device: str, batch_size: int) -> None:
        self.streams, self.device, self.batch_size = streams, device, batch_size
        self.files = [str(path) for stream in streams for path in stream.paths]
        self.order = np.random.default_rng(0).permutation(len(self.files)).tolist()
        self.indexes = [vl.index_video(file) for file in self.files]
        self.epoch = 0
        self.options: dict[str, Any] = {
            "size": (224, 224),
            "dtype": "float16" if device == "cuda" else "float32",
            "layout": "FCHW",
            "mean": MEAN,
            "std": STD,
        }

    def decode(self, files: Sequence[int]) -> None:
        """Decode a batch of one clip of each file, and wait for it."""
        self.epoch += 1
        requests = []
        for place, file in enumerate(files):
            rng = vl.sampling.generator(place, sample=file, epoch=self.epoch)
            frames = vl.sampling.sample_frames(SAMPLER, self.indexes[file], rng=rng)
            path = Path(self.files[file])
            # A file that comes again has another name, so that its clips share nothing.
            name = f"{path.parent}/{'./' * files[:place].count(file)}{path.name}"
            requests.append(vl.ClipRequest(name, frames, pad_mode="edge"))
        vl.decode_batch(requests, device=self.device, **self.options)
        self.wait()

    def wait(self) -> None:
        """Until the GPU has done what it was given."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def decode_batch(self) -> Batches:
        for first in range(0, len(self.order), self.batch_size):
            files = self.order[first : first + self.batch_size]
            self.decode(files)
            yield files

    def loader(self) -> Batches:
        loader = vl.Loader(
            [self.files[file] for file in self.order],
            SAMPLER,
            batch_size=self.batch_size,
            device=self.device,
            **self.options,
        )
        with loader:
            for batch in loader:
                self.wait()
                yield batch["sample"].tolist()

    def seconds_alone(self, stream: int, repetitions: int) -> float:
        """Seconds a clip of the files of one stream, on average over some batches."""
        files = [stream * CUTS + place % CUTS for place in range(self.batch_size)]
        self.decode(files)
        begin = time.perf_counter()
        for _ in range(repetitions):
            self.decode(files)
        return (time.perf_counter() - begin) / repetitions / len(files)

    def routed(self) -> Counter[str]:
        """Runs that the CPU took over from the GPU so far, by reason."""
        return Counter(shared_decoder(self.device).stats().get("routed", {}))


def clips_per_second(mix: Mix, batches: Callable[[], Batches], repetitions: int) -> float:
    """Median over passes through all files, the first one left out."""
    for _ in batches():
        pass
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        count = sum(map(len, batches()))
        times.append(time.perf_counter() - begin)
        assert count == len(mix.files)
    return len(mix.files) / statistics.median(times)


def check(mix: Mix, count: int) -> dict[str, Any]:
    """Every frame of some files of each codec beside FFmpeg's sequential decode."""
    found: dict[str, Any] = {"files": 0, "frames": 0, "wrong": 0, "largest_difference": 0}
    for codec in ("h264", "hevc", "vp9"):
        numbers = [n for n, stream in enumerate(mix.streams) if stream.codec == codec]
        for stream in numbers[:: max(1, len(numbers) // max(1, count))][:count]:
            shortest = min(range(CUTS), key=lambda cut: len(mix.indexes[stream * CUTS + cut]))
            _check_file(mix, stream * CUTS + shortest, found)
    return found


def _check_file(mix: Mix, file: int, found: dict[str, Any]) -> None:
    with av.open(mix.files[file]) as container:
        expected = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
    frames = list(range(len(mix.indexes[file])))
    batch = vl.decode_batch(
        [(mix.files[file], frames)], device=mix.device, size=None, matrix="swscale"
    )
    pictures = batch.clips[0].frames.cpu().numpy()
    found["files"] += 1
    found["frames"] += len(frames)
    if len(expected) != len(frames):
        found["wrong"] += len(frames)
        return
    for picture, reference in zip(pictures, expected, strict=True):
        difference = int(np.abs(picture.astype(np.int16) - reference).max())
        is_same = read_frame_number(picture) == read_frame_number(reference)
        found["wrong"] += not is_same or difference > MAX_DIFFERENCE
        found["largest_difference"] = max(found["largest_difference"], difference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--files", type=int, default=STREAMS * CUTS, help="of 1200, whole streams")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--checked", type=int, default=6, help="files of each codec")
    parser.add_argument("--processes", type=int, help="that encode")
    parser.add_argument("--only-make", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / f"web-videos-{today()}.json")
    arguments = parser.parse_args()
    wanted = max(1, min(arguments.files // CUTS, STREAMS))
    streams = [Stream(7 * number % STREAMS) for number in range(wanted)]  # of every kind
    make_all(streams, arguments.processes)
    if arguments.only_make:
        return
    mix = Mix(streams, arguments.device, arguments.batch_size)
    results: dict[str, Any] = {
        "files": len(mix.files),
        "sizes": len({stream.size for stream in streams}),
        "codecs": dict(Counter(index.codec for index in mix.indexes)),
        "seconds": [min(i.duration for i in mix.indexes), max(i.duration for i in mix.indexes)],
        "bytes": sum(os.path.getsize(file) for file in mix.files),
        "check": check(mix, arguments.checked),
    }
    print(results, flush=True)
    before = mix.routed()
    alone = [mix.seconds_alone(number, arguments.repetitions) for number in range(len(streams))]
    results["ceiling"] = len(streams) / sum(alone)
    results["slowest_streams"] = {
        f"{streams[n].codec} {streams[n].size} GOP {streams[n].gop}": 1 / alone[n]
        for n in sorted(range(len(streams)), key=lambda n: -alone[n])[:5]
    }
    print("ceiling", results["ceiling"], results["slowest_streams"], flush=True)
    results["routed_alone"] = dict(mix.routed() - before)
    table = Table(title=f"{len(mix.files)} files, {results['sizes']} sizes, {arguments.device}")
    for column in ("contender", "clips/s", "of the ceiling", "runs on the CPU"):
        table.add_column(column, justify="right")
    table.add_row("ceiling", f"{results['ceiling']:.1f}", "", str(results["routed_alone"]))
    for name, batches in (("decode_batch", mix.decode_batch), ("Loader", mix.loader)):
        before = mix.routed()
        rate = clips_per_second(mix, batches, arguments.repetitions)
        routed = dict(mix.routed() - before)
        results[name] = {"clips_per_second": rate, "routed": routed}
        print(name, results[name], flush=True)
        table.add_row(name, f"{rate:.1f}", f"{rate / results['ceiling']:.2f}", str(routed))
        facts = {**machine(PACKAGES), **gpu()}
        report = {"benchmark": "web-videos", "run": facts, "results": results}
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")
    Console(width=110).print(table)
    if results["check"]["wrong"]:
        sys.exit(f"{results['check']['wrong']} frames are wrong")


if __name__ == "__main__":
    main()
