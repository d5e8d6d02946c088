"""How long it takes to know every frame of a long video, beside our peers.

    make bench                                  all contenders, in an environment made for it
    python benchmarks/indexing.py --only peers  without ours

Every contender runs in a process of its own on the same file, already in the page cache. What it
reports about the frames is compared with what PyAV's demuxer says: a fast wrong answer is marked
so in the table, and fails the run if it is ours.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

BENCHMARKS = Path(__file__).parent
FPS, MINUTES = 30, 10
VIDEO = BENCHMARKS / "data" / f"h264-360p-{MINUTES}min.mp4"
# The same stream in other containers, and twelve times over: format, options, repeats.
CASES: dict[str, tuple[Path, str, dict[str, str], int]] = {
    "MP4": (VIDEO, "mp4", {}, 1),
    "fragmented MP4": (
        VIDEO.with_name(f"h264-360p-{MINUTES}min-fragments.mp4"),
        "mp4",
        {"movflags": "frag_keyframe+empty_moov"},
        1,
    ),
    "MKV": (VIDEO.with_suffix(".mkv"), "matroska", {}, 1),
    "TS": (VIDEO.with_suffix(".ts"), "mpegts", {}, 1),
    "MP4, 2 hours": (VIDEO.with_name("h264-360p-120min.mp4"), "mp4", {}, 12),
}
LIBRARIES = BENCHMARKS / "data" / "ffmpeg"  # FFmpeg's libraries under the names peers look for
PACKAGES = ("videoloader", "av", "torchcodec", "decord2", "torch", "numpy")
REFERENCE = "PyAV, demux"
OURS = "videoloader"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a contender says about the frames; a field that it does not know is None."""

    num_frames: int | None
    seconds: NDArray[np.float64] | None = None  # presentation time of each frame, ascending


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One contender's figures, as they stand in the JSON."""

    contender: str
    repetitions: int
    first_ms: float
    median_ms: float
    fastest_ms: float
    slowest_ms: float
    median_cpu_ms: float
    peak_memory_mib: float
    num_frames: int | None
    times_known: bool
    agrees: bool


# -- Contenders: each imports its library outside the measured time, and gives what is measured and
# -- what is made of its result afterwards. "Known" means that a list of all pts is at hand. --

Contender = tuple[Callable[[str], Any], Callable[[Any], Claim]]


def ours() -> Contender:
    import videoloader

    def index(path: str) -> tuple[NDArray[np.int64], Fraction]:
        index = videoloader.index_video(path)
        return index.pts, index.time_base

    return index, lambda known: Claim(len(known[0]), known[0] * float(known[1]))


def pyav_demux() -> Contender:
    import av

    def scan(path: str) -> tuple[list[int], Fraction | None]:
        with av.open(path) as container:
            stream = container.streams.video[0]
            pts = [packet.pts for packet in container.demux(stream) if packet.pts is not None]
            return sorted(pts), stream.time_base

    return scan, lambda known: Claim(len(known[0]), np.asarray(known[0]) * float(known[1]))


def pyav_index_entries() -> Contender:
    import av

    def read(path: str) -> list[int]:
        with av.open(path) as container:
            entries = container.streams.video[0].index_entries
            return [entry.timestamp for entry in entries]

    return read, lambda decoding_times: Claim(len(decoding_times))


def torchcodec(seek_mode: str) -> Callable[[], Contender]:
    def contender() -> Contender:
        from torchcodec.decoders import VideoDecoder

        def open_decoder(path: str) -> Any:
            return VideoDecoder(path, seek_mode=seek_mode)

        return open_decoder, lambda decoder: Claim(decoder.metadata.num_frames)

    return contender


def decord2() -> Contender:
    import decord

    def claim(reader: Any) -> Claim:
        times = reader.get_frame_timestamp(range(len(reader)))[:, 0]
        return Claim(len(reader), np.sort(times))

    return lambda path: decord.VideoReader(path, num_threads=1), claim


CONTENDERS: dict[str, Callable[[], Contender]] = {
    REFERENCE: pyav_demux,
    OURS: ours,
    "PyAV, index_entries": pyav_index_entries,
    "torchcodec, exact": torchcodec("exact"),
    "torchcodec, approx.": torchcodec("approximate"),
    "decord2": decord2,
}


# -- One contender, in its own process. --


def measure(name: str, video: Path, repetitions: int) -> dict[str, Any]:
    """Run one contender here; its figures and its claim, ready for JSON.

    The first call, which also sets up what a library sets up once, stands apart. Closing and
    freeing a result is in nobody's time.
    """
    run, claim_of = CONTENDERS[name]()
    with video.open("rb") as file:  # into the page cache
        while file.read(1 << 20):
            pass
    known: Any = None
    elapsed, cpu = [], []
    for _ in range(repetitions + 1):
        known = None
        start, start_cpu = time.perf_counter(), time.process_time()
        known = run(str(video))
        elapsed.append(1e3 * (time.perf_counter() - start))
        cpu.append(1e3 * (time.process_time() - start_cpu))
    claim = claim_of(known)
    first, *elapsed = elapsed
    return {
        "repetitions": repetitions,
        "first_ms": round(first, 4),
        "median_ms": round(statistics.median(elapsed), 4),
        "fastest_ms": round(min(elapsed), 4),
        "slowest_ms": round(max(elapsed), 4),
        "median_cpu_ms": round(statistics.median(cpu[1:]), 4),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "num_frames": claim.num_frames,
        "seconds": None if claim.seconds is None else claim.seconds.tolist(),
    }


def measure_apart(name: str, case: str, repetitions: int) -> dict[str, Any] | None:
    """Run one contender in a process of its own; None, with a line said, when it cannot run."""
    command = [sys.executable, __file__, "--contender", name, "--case", case]
    command += ["--repetitions", str(repetitions)]
    libraries = [str(LIBRARIES), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        "OPENBLAS_NUM_THREADS": "1",  # NumPy's idle threads spin, which is no one's CPU time here
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{name}: left out ({reason})", file=sys.stderr)
        return None
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare(names: list[str], case: str, repetitions: int) -> list[Measurement]:
    """Measure every contender, the reference first, and judge what each says."""
    measurements = []
    reference: dict[str, Any] = {}
    for name in names:
        figures = measure_apart(name, case, repetitions)
        if figures is None:
            continue
        seconds = figures.pop("seconds")
        reference = reference or {"num_frames": figures["num_frames"], "seconds": seconds}
        agrees = figures["num_frames"] == reference["num_frames"] and (
            seconds is None or np.allclose(seconds, reference["seconds"], rtol=0, atol=1e-3)
        )
        measurements.append(
            Measurement(contender=name, times_known=seconds is not None, agrees=agrees, **figures)
        )
    return sorted(measurements, key=lambda measurement: measurement.median_ms)


# -- What is measured, and where. --


def make_video() -> None:
    """Encode the video once: B-frames, keyframes every 250 frames, the index at the end."""
    from videoloader.demo_videos import encode_video

    if VIDEO.exists():
        return
    VIDEO.parent.mkdir(exist_ok=True)
    print("Encoding ten minutes of video, once ...", file=sys.stderr)
    unfinished = VIDEO.with_name(f"unfinished-{VIDEO.name}")
    encode_video(
        unfinished,
        size=(640, 360),
        fps=FPS,
        frames=FPS * 60 * MINUTES,
        options={
            "preset": "ultrafast",
            "crf": "32",
            "x264-params": "bframes=3:b-adapt=0",
        },
    ).replace(VIDEO)


def remux(path: Path, format_name: str, options: dict[str, str], repeats: int) -> None:
    """Put the packets of the video into another container, one copy behind the other."""
    import av

    if path.exists():
        return
    unfinished = path.with_name(f"unfinished-{path.name}")
    with av.open(str(unfinished), "w", format=format_name, options=options) as target:
        stream = None
        for repeat in range(repeats):
            with av.open(str(VIDEO)) as source:
                video = source.streams.video[0]
                if stream is None:
                    stream = target.add_stream_from_template(video)
                assert video.time_base is not None
                shift = round(repeat * MINUTES * 60 / video.time_base)
                for packet in source.demux(video):
                    if packet.dts is not None and packet.pts is not None:
                        packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                        packet.stream = stream
                        target.mux(packet)
    unfinished.replace(path)


def link_ffmpeg() -> None:
    """Give FFmpeg's libraries in PyAV's wheel their plain names too, so that peers use the same."""
    import av

    LIBRARIES.mkdir(parents=True, exist_ok=True)
    for old in LIBRARIES.iterdir():
        old.unlink()
    for library in Path(av.__file__).parents[1].joinpath("av.libs").iterdir():
        (LIBRARIES / library.name).symlink_to(library)  # they look for each other under these
        if name := re.fullmatch(r"(lib(?:av|sw)[a-z]+)-[0-9a-f]+\.so\.(\d+)[.\d]*", library.name):
            (LIBRARIES / f"{name[1]}.so.{name[2]}").symlink_to(library)


def machine() -> dict[str, Any]:
    """The processor and its cores, the libraries' versions, and the state of the tree."""
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": processor[1] if processor else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := version_of(name))},
        "commit": git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(git("status", "--porcelain")),
    }


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def git(*arguments: str) -> str | None:
    """What git says about this tree; None where there is no git or nothing committed."""
    command = ["git", "-C", str(BENCHMARKS), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def show(case: str, measurements: list[Measurement]) -> None:
    """Print medians, peak memory and agreement; ratios are to ours, or else to the fastest."""
    base = next((one for one in measurements if one.contender == OURS), measurements[0])
    table = Table(title=f"{case}: {base.num_frames or 0:,} frames, warm cache")
    table.add_column("contender", no_wrap=True)
    for column in ("first ms", "ms", "ratio", "CPU", "MiB", "frames"):
        table.add_column(column, justify="right")
    table.add_column("times")
    for one in measurements:
        times = "agree" if one.times_known else "-"
        table.add_row(
            one.contender,
            f"{one.first_ms:.1f}",
            f"{one.median_ms:.2f}",
            f"{one.median_ms / base.median_ms:.1f}",
            f"{one.median_cpu_ms:.2f}",
            f"{one.peak_memory_mib:.0f}",
            str(one.num_frames),
            times if one.agrees else "[bold red]WRONG",
        )
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=("ours", "peers"), help="the default is both")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--case", choices=CASES, help="the default is all")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        video = CASES[arguments.case][0]
        print(json.dumps(measure(arguments.contender, video, arguments.repetitions)))
        return

    make_video()
    link_ffmpeg()
    names = {"ours": [REFERENCE, OURS], "peers": [name for name in CONTENDERS if name != OURS]}
    chosen = names.get(arguments.only, list(CONTENDERS))
    cases = {}
    for case in [arguments.case] if arguments.case else CASES:
        remux(*CASES[case])
        cases[case] = compare(chosen, case, arguments.repetitions)
        show(case, cases[case])
    report = {
        "benchmark": "indexing",
        **machine(),
        "cases": {
            case: {
                "bytes": CASES[case][0].stat().st_size,
                "measurements": [asdict(measurement) for measurement in measurements],
            }
            for case, measurements in cases.items()
        },
    }
    if arguments.only is None and arguments.case is None:
        date = datetime.datetime.now(datetime.UTC).date()
        result = BENCHMARKS / "results" / f"indexing-{date}.json"
        result.parent.mkdir(exist_ok=True)
        result.write_text(json.dumps(report, indent=2) + "\n")
    everything = (one for measurements in cases.values() for one in measurements)
    if any(one.contender == OURS and not one.agrees for one in everything):
        sys.exit("our index disagrees with the demuxer about the frames")


if __name__ == "__main__":
    main()
