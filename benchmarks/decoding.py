"""How long it takes to decode wanted frames on the CPU, beside our peers.

    make bench                                  after indexing, everything, over ten minutes
    python benchmarks/decoding.py --quick       the first case of each video, two repetitions
    python benchmarks/decoding.py --video h264-1080p --case uniform --contender videoloader

Every contender has a process of its own for each case, with its library imported beforehand; the
files lie in the page cache and are opened in the measured time. Every picture is compared with a
full decode by FFmpeg in the same run: its number is read from it, and the whole is compared
coarsely. A fast wrong frame is marked so in the table, and fails the run if it is ours.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from decoders import CONTENDERS, EVERY, NEEDED, OURS, Job
from footage import SHORT, VIDEOS, Reference, make_all
from goals import Goal, judge
from machine import RESULTS, environment, link_ffmpeg, machine, today
from rich.console import Console
from rich.table import Table

PACKAGES = (
    "videoloader",
    "av",
    "torchcodec",
    "decord2",
    "opencv-python-headless",
    "torch",
    "numpy",
)
SIZE = 224
CLIP, STRIDE = 16, 4
CHUNK = 32
FLOORS = (NEEDED, EVERY)
LIMIT = 240  # seconds for one answer
# Beside a busy thread stand these alone; short files are many, so those that gain nothing stay out.
BUSY = (OURS, "torchcodec, approx.", "PyAV by hand")
NOT_SHORT = ("torchcodec, exact", "OpenCV", EVERY)
MATRIX = {
    "h264-1080p": ("uniform", "random", "clips", "clips-224", "consecutive", "whole", "chunks"),
    "h264-360p": ("uniform", "random", "clips", "clips-224"),
    "hevc-1080p": ("uniform", "random", "clips", "clips-224"),
    "av1-1080p": ("uniform", "clips-224"),
    "vp9-720p": ("uniform", "consecutive", "whole"),
    "short": ("8 of 60",),
}
BUSY_CASES = {
    ("h264-1080p", "uniform"),
    ("h264-1080p", "clips-224"),
    ("h264-360p", "clips-224"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One contender's figures for one case, as they stand in the JSON."""

    video: str
    case: str
    busy: bool
    contender: str
    repetitions: int
    median_ms: float
    fastest_ms: float
    slowest_ms: float
    cpu_ms: float
    peak_memory_mib: float
    frames: int
    wrong_frames: int
    difference: float

    @property
    def is_right(self) -> bool:
        return self.wrong_frames == 0 and self.difference < 8


def job_of(video: str, case: str) -> Job:
    """The frames of a case, the same in every run."""
    generator = np.random.default_rng(7)
    if video == "short":
        clip = tuple(np.linspace(0, SHORT[0].frames - 1, 8).round().astype(int).tolist())
        return Job(tuple(str(one.path) for one in SHORT), (clip,) * len(SHORT))
    path, count = str(VIDEOS[video].path), VIDEOS[video].frames
    clips: list[Any] = []
    match case:
        case "uniform":
            clips = [np.linspace(0, count - 1, 16).round()]
        case "random":
            clips = [generator.integers(0, count, 24)]
            clips = [generator.permutation(np.append(clips[0], clips[0][:8]))]
        case "clips" | "clips-224":
            starts = generator.integers(0, count - (CLIP - 1) * STRIDE, 10)
            clips += [start + STRIDE * np.arange(CLIP) for start in starts]
        case "consecutive":
            clips = [np.arange(count // 3, count // 3 + 64)]
    numbers = tuple(tuple(int(number) for number in clip) for clip in clips)
    size, chunk = SIZE if case == "clips-224" else None, CHUNK if case == "chunks" else None
    return Job((path,), numbers, size, chunk)


# -- The parent: asks one server a contender, each of which forks for each case. --


class Server:
    """A process that has imported a contender's library and forks for each case: `serve.py`."""

    def __init__(self, contender: str) -> None:
        self.contender = contender
        command = [sys.executable, str(Path(__file__).with_name("serve.py")), contender]
        self._process: Any = subprocess.Popen(
            command,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ask(self, line: str) -> dict[str, Any]:
        """One command and its answer; a contender that fails or hangs is done with this case."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return self._answer()

    def begin(self, job: Job, references: str, *, busy: bool) -> bool:
        """Have a process for one case, warm; False with a line said if it cannot do it."""
        request = {"job": asdict(job), "references": references, "busy": busy}
        return self._is_well(self.ask(json.dumps(request)))

    def run(self) -> tuple[float, float] | None:
        """Milliseconds of one repetition, and of processor time."""
        answer = self.ask("run")
        return (answer["ms"], answer["cpu_ms"]) if self._is_well(answer) else None

    def end(self) -> dict[str, Any] | None:
        """What was found in the frames, and the peak of memory."""
        verdict = self.ask("end")
        return {**verdict, **self._answer()} if self._is_well(verdict) else None

    def close(self) -> None:
        self._process.communicate()  # the end of its input ends it

    def _is_well(self, answer: dict[str, Any]) -> bool:
        if "peak_memory_mib" in answer:  # said by the server: its child is gone
            answer = {"error": "its process died"}
        elif "error" in answer and self._process.poll() is None:
            self._answer()
        if "error" in answer:
            print(f"{self.contender} left out: {answer['error']}", file=sys.stderr)
        return "error" not in answer

    def _answer(self) -> dict[str, Any]:
        if not select.select([self._process.stdout], [], [], LIMIT)[0]:
            os.killpg(self._process.pid, signal.SIGKILL)
            return {"error": f"no answer in {LIMIT} s"}
        line = self._process.stdout.readline()
        if not line:
            errors = self._process.stderr.read().strip().splitlines()
            self._process.wait()
            return {"error": errors[-1] if errors else "it ended"}
        answer: dict[str, Any] = json.loads(line)
        return answer


def reference_files(videos: list[str], folder: Path) -> dict[str, str]:
    """Decode every video from end to end, for the comparison."""
    files = {}
    for name in videos:
        paths = [one.path for one in SHORT] if name == "short" else [VIDEOS[name].path]
        grids: list[Any] = []
        for place, path in enumerate(paths):
            if name == "short" and place >= (distinct := len({one.seed for one in SHORT})):
                grids.append(grids[place % distinct])
            else:
                grids.append(Reference.decode(path).grids)
        file = folder / f"{name}.npy"
        np.save(file, np.array(grids))
        files[name] = str(file)
    return files


def run_all(
    cells: list[tuple[str, str, bool]], names: list[str], repetitions: int
) -> list[Measurement]:
    """Measure case by case."""
    servers = [Server(name) for name in names]
    measurements = []
    with tempfile.TemporaryDirectory() as folder:
        references = reference_files(list(dict.fromkeys(cell[0] for cell in cells)), Path(folder))
        for video, case, busy in cells:
            chosen = [server for server in servers if stands(server.contender, video, case, busy)]
            rows = measure_case(chosen, video, case, references[video], repetitions, busy=busy)
            show(rows)
            measurements += rows
    for server in servers:
        server.close()
    return measurements


def stands(contender: str, video: str, case: str, busy: bool) -> bool:
    """Whether a contender takes part: the exact mode costs one scan more, which one case shows."""
    if busy:
        return contender in BUSY
    if video == "short":
        return contender not in NOT_SHORT
    return contender != "torchcodec, exact" or case == "uniform"


def measure_case(
    servers: list[Server], video: str, case: str, references: str, repetitions: int, *, busy: bool
) -> list[Measurement]:
    """All contenders turn by turn, so that what disturbs the machine meets them alike."""
    job = job_of(video, case)
    times: dict[Server, list[tuple[float, float]]] = {
        server: [] for server in servers if server.begin(job, references, busy=busy)
    }
    for _ in range(repetitions):
        for server in list(times):
            if (figures := server.run()) is None:
                del times[server]
            else:
                times[server].append(figures)
    rows = []
    for server, found in times.items():
        if (last := server.end()) is None:
            continue
        elapsed = [one[0] for one in found]
        rows.append(
            Measurement(
                video=video,
                case=case,
                busy=busy,
                contender=server.contender,
                repetitions=repetitions,
                median_ms=round(statistics.median(elapsed), 3),
                fastest_ms=round(min(elapsed), 3),
                slowest_ms=round(max(elapsed), 3),
                cpu_ms=round(statistics.median(one[1] for one in found), 1),
                **last,
            )
        )
    return sorted(rows, key=lambda row: row.median_ms)


# -- What is printed. --


def show(rows: list[Measurement]) -> None:
    """One case as a table; ratios are to ours, or else to the fastest."""
    if not rows:
        return
    base = next((row for row in rows if row.contender == OURS), rows[0])
    busy = ", beside a busy thread" if base.busy else ""
    table = Table(title=f"{base.video}, {base.case}{busy}")
    table.add_column("contender", no_wrap=True)
    for column in ("ms", "fastest", "ratio", "CPU ms", "MiB", "differs"):
        table.add_column(column, justify="right")
    table.add_column("frames")
    for row in rows:
        judged = row.contender not in FLOORS
        said = f"{row.frames - row.wrong_frames} of {row.frames}" if judged else "-"
        table.add_row(
            row.contender,
            f"{row.median_ms:.1f}",
            f"{row.fastest_ms:.1f}",
            f"{row.median_ms / base.median_ms:.2f}",
            f"{row.cpu_ms:.0f}",
            f"{row.peak_memory_mib:.0f}",
            f"{row.difference:.1f}" if judged else "-",
            said if row.is_right else f"[bold red]WRONG: {said}",
        )
    Console(width=110).print(table)


def show_goals(goals: list[Goal]) -> None:
    table = Table(title="Goals")
    for column in ("case", "goal", "measured", ""):
        table.add_column(column, no_wrap=True)
    for goal in goals:
        said = "met" if goal.is_met else "[bold red]missed"
        table.add_row(goal.case, f"{goal.what} {goal.bound:.2f}", f"{goal.measured:.2f}", said)
    Console(width=110).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one case a video, two repetitions")
    parser.add_argument("--video", choices=MATRIX, action="append", help="the default is all")
    parser.add_argument("--case", action="append", help="such as uniform; the default is all")
    parser.add_argument("--contender", choices=CONTENDERS, action="append")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    videos = arguments.video or list(MATRIX)
    cells = [
        (video, case, False)
        for video in videos
        for case in MATRIX[video][: 1 if arguments.quick else None]
        if not arguments.case or case in arguments.case
    ]
    if not arguments.quick:
        cells += [(*cell[:2], True) for cell in cells if cell[:2] in BUSY_CASES]
    begin = time.perf_counter()
    load = os.getloadavg()[0]  # of others: over a half or so, waiting is measured too
    make_all([video for video in videos if video != "short"], short="short" in videos)
    link_ffmpeg()
    names = arguments.contender or list(CONTENDERS)
    repetitions = 2 if arguments.quick else arguments.repetitions
    measurements = run_all(cells, names, repetitions)
    goals = judge(measurements)
    show_goals(goals)
    seconds = time.perf_counter() - begin
    print(f"{len(measurements)} measurements in {seconds:.0f} s; load before: {load:.1f}")
    if not (arguments.quick or arguments.video or arguments.case or arguments.contender):
        report = {
            "benchmark": "decoding",
            **machine(PACKAGES),
            "seconds": round(seconds),
            "load_before": round(load, 2),
            "bytes": {name: VIDEOS[name].path.stat().st_size for name in videos if name in VIDEOS},
            "measurements": [asdict(one) for one in measurements],
            "goals": [asdict(goal) | {"met": goal.is_met} for goal in goals],
        }
        RESULTS.mkdir(exist_ok=True)
        result = RESULTS / f"decoding-{today()}.json"
        result.write_text(json.dumps(report, indent=1) + "\n")
    if any(one.contender == OURS and not one.is_right for one in measurements):
        sys.exit("our frames are not those of a full decode")


if __name__ == "__main__":
    main()
