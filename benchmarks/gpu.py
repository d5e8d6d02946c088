"""How long decoding takes on the GPU, beside its own ceiling and our peers: one command, one table.

    python benchmarks/gpu.py                                    everything, about fifteen minutes
    python benchmarks/gpu.py --video h264-1080p --case clips    some
    python benchmarks/gpu.py --video vp9-720p --out gpu.json    one more video for a report
    python benchmarks/gpu.py --quick                            whether anything became slower
    python benchmarks/gpu.py --dry-run                          every path of it on the CPU, no GPU

The ceiling is NVDEC's own in the same run: packets through PyNvVideoCodec's decoders, no output.
Every contender has a process of its own for each video. Every frame is compared with a full decode
by FFmpeg: its number is read from the picture, and the whole is compared coarsely.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from footage import DATA, VIDEOS, Reference, make_all
from gpu_contenders import CASES, CEILING, COMPILED, CONTENDERS, OURS, Work, measure
from gpu_goals import judge, share
from machine import RESULTS, environment, link_ffmpeg, machine, today
from rich.console import Console
from rich.table import Table

PACKAGES = ("videoloader", "av", "torchcodec", "PyNvVideoCodec", "cupy-cuda13x", "torch", "numpy")
COPIES = 112
MATRIX = {
    "h264-1080p": CASES,
    "h264-360p": CASES[:3],
    "hevc-1080p": CASES[:3],
    "vp9-720p": CASES[:3],
}
QUICK = {
    "h264-1080p": ("clips", "uniform", "first"),
    "h264-360p": ("sequential",),
    "vp9-720p": ("sequential",),
}
LOADER = "h264-360p"  # the videos with which `--quick` measures a training loop
SHARES = ("clips_per_second", "beside_a_step", "beside_a_graph")
LOST = 0.9  # of the share of the ceiling that was measured before
MIXED = ("h264-360p", "vp9-720p", "hevc-1080p", "h264-1080p")  # sizes and codecs in turn
LIMIT = 300  # seconds for one process


def copies(name: str, count: int) -> list[str]:
    """Files with the same content: a decoder takes each for another."""
    folder = DATA / "copies"
    folder.mkdir(parents=True, exist_ok=True)
    source = VIDEOS[name].path
    paths = [folder / f"{source.stem}-{number:03}{source.suffix}" for number in range(count)]
    for path in paths:
        if not path.exists() or path.stat().st_size != source.stat().st_size:
            shutil.copyfile(source, path)
    return [str(path) for path in paths]


def work_of(name: str, case: str, reference: str, *, dry: bool, repetitions: int) -> Work:
    """The files and frames of a case, the same in every run."""
    generator = np.random.default_rng(11)
    frames = VIDEOS[name].frames
    scale = 14 if dry else 1
    starts = generator.integers(0, frames - 60, COPIES // scale)
    clips = {
        "sequential": [list(range(frames))] * max(14 // scale, 1),
        "clips": [list(range(start, start + 64, 4)) for start in starts.tolist()],
        "uniform": [np.linspace(0, frames - 1, 16).round().astype(int).tolist()] * (56 // scale),
        "first": [[number] for number in generator.integers(0, frames, 21).tolist()][:: scale or 1],
    }
    chosen = clips[case]
    files = copies(name, COPIES // scale + len(clips["first"]))
    if case == "first":  # files that no other case opens
        files = files[COPIES // scale :]
    return Work(
        case=case,
        paths=tuple(files[: len(chosen)]),
        clips=tuple(tuple(clip) for clip in chosen),
        size=(VIDEOS[name].size[1], VIDEOS[name].size[0]),
        reference=reference,
        device="cpu" if dry else "cuda",
        repetitions=repetitions,
    )


class MemoryWatch:
    """The GPU's used memory over what it was before, in MiB, as its driver says."""

    def __init__(self) -> None:
        self.base = self.now()
        self.peak = 0

    @staticmethod
    def now() -> int:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        try:
            return int(subprocess.run(command, capture_output=True, text=True).stdout.split()[0])
        except (FileNotFoundError, IndexError):
            return 0

    def __enter__(self) -> MemoryWatch:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.peak = max(self.peak, self.now() - self.base)


def measure_apart(contender: str, works: list[Work], *, busy: bool) -> dict[str, Any]:
    """All cases of one contender and video, in a process of its own."""
    request = {"contender": contender, "works": [asdict(work) for work in works], "busy": busy}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file, MemoryWatch() as memory:
        json.dump(request, file)
        file.flush()
        command = [sys.executable, __file__, "--serve", file.name]
        try:
            done = subprocess.run(
                command, env=environment(), capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return {"error": f"took more than {LIMIT} s"}
    figures: dict[str, Any] = {}
    for line in done.stdout.splitlines():  # one for each case, so that a crash loses one only
        if line.startswith("{"):
            figures |= json.loads(line)
    if done.returncode:
        figures["error"] = (done.stderr.strip().splitlines() or ["it died"])[-1]
        print(done.stderr[-3000:], file=sys.stderr)
    return {**figures, "gpu_memory_mib": memory.peak}


def serve(file: str) -> None:
    request = json.loads(Path(file).read_text())
    for fields in request["works"]:
        work = Work(**{**fields, "clips": tuple(map(tuple, fields["clips"]))})
        for busy in (False, True) if request["busy"] else (False,):
            name = f"{work.case}{', busy' if busy else ''}"
            print(json.dumps({name: measure(request["contender"], work, busy=busy)}), flush=True)


def run_all(
    arguments: argparse.Namespace, folder: Path, keep: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Measure; what there is so far is kept after every contender, since runs may be cut off."""
    dry: bool = arguments.dry_run
    repetitions = 1 if dry else arguments.repetitions
    results: dict[str, Any] = {}
    for name in arguments.video or MATRIX:
        reference = str(folder / f"{name}.npy")
        np.save(reference, Reference.decode(VIDEOS[name].path).grids)
        works = [
            work_of(name, case, reference, dry=dry, repetitions=repetitions)
            for case in MATRIX[name]
            if not arguments.case or case in arguments.case
        ]
        results[name] = {}
        for contender in arguments.contender or CONTENDERS:
            if dry and not CONTENDERS[contender].runs_on_cpu:
                continue
            chosen = [work for work in works if work.case in CONTENDERS[contender].cases]
            if not chosen or (name != "h264-1080p" and not CONTENDERS[contender].all_videos):
                continue
            found = measure_apart(contender, chosen, busy=contender in (OURS, COMPILED))
            if "error" in found:
                print(f"{name}: {contender}: {found['error']}", file=sys.stderr)
            results[name][contender] = found
            values = {case: cell(one) for case, one in found.items() if isinstance(one, dict)}
            print(f"{name}: {contender}: {values}", flush=True)
            keep(results)
        show(name, results[name])
    if arguments.case is None or "flat" in arguments.case:
        results["mixed"] = {OURS: flat(folder, dry=dry)}
        keep(results)
        print(f"10,000 mixed clips: {results['mixed'][OURS]}")
    return results


def flat(folder: Path, *, dry: bool) -> dict[str, Any]:
    """GPU memory over many clips of files in turn."""
    count = 40 if dry else 10_000
    paths = [copies(name, 1)[0] for name in MIXED]
    work = Work(
        case="flat",
        paths=tuple(paths[number % len(paths)] for number in range(count)),
        clips=tuple((number % 8, number % 8 + 1) for number in range(count)),
        size=(0, 0),
        reference=str(folder / f"{MIXED[0]}.npy"),
        device="cpu" if dry else "cuda",
        repetitions=1,
    )
    return measure_apart(OURS, [work], busy=False)


def quick(folder: Path) -> bool:
    """One row of each case beside its ceiling, and the share measured last; whether all held."""
    kinds = ("gpu", "sequential-gpu", "training")
    before = {kind: json.loads(newest(kind).read_text())["results"] for kind in kinds}
    now: dict[str, Any] = {}
    for name, cases in QUICK.items():
        reference = str(folder / f"{name}.npy")
        np.save(reference, Reference.decode(VIDEOS[name].path).grids)
        works = [work_of(name, case, reference, dry=False, repetitions=3) for case in cases]
        now[name] = {who: measure_apart(who, works, busy=False) for who in (OURS, CEILING)}
    shares = {
        f"{name}, {case}": (
            share(now[name], case),
            share(before["sequential-gpu" if case == "sequential" else "gpu"].get(name, {}), case),
        )
        for name, cases in QUICK.items()
        for case in cases
    }
    out = folder / "training.json"
    options = ["--files", "16", "--repetitions", "3", "--contender", "Loader", "--out", str(out)]
    command = [sys.executable, str(Path(__file__).with_name("training.py")), "--video", LOADER]
    subprocess.run([*command, *options], env=environment(), check=True, stdout=subprocess.DEVNULL)
    rows = loader_shares(json.loads(out.read_text())["results"]), loader_shares(before["training"])
    shares |= {f"{LOADER}, {key}": (rows[0].get(key), rows[1].get(key)) for key in SHARES}
    table = Table("case", "of the ceiling", "measured last", title="quick")
    held = True
    for row, (found, last) in shares.items():
        lost = found is None or (last is not None and found < LOST * last)
        held &= not lost
        texts = (
            "failed" if found is None else f"{found:.2f}",
            "-" if last is None else f"{last:.2f}",
        )
        table.add_row(row, *texts, style="bold red" if lost else "")
    Console(width=100).print(table)
    return held


def loader_shares(results: dict[str, Any]) -> dict[str, float]:
    """What a `Loader` reached of NVDEC alone, and of itself beside training steps."""
    found = results.get(LOADER, {})
    ours, top = found.get("Loader", {}), found.get(CEILING, {}).get("clips_per_second")
    shares = {key: ours[key] for key in SHARES if key in ours}
    if top is None:
        shares.pop("clips_per_second", None)
    else:
        shares["clips_per_second"] /= top
    return shares


def newest(kind: str) -> Path:
    """The last measurement of a kind that is in the repository."""
    return max(RESULTS.glob(f"{kind}-2*.json"))


def show(video: str, results: dict[str, Any]) -> None:
    """One video: contenders down, cases across."""
    table = Table(title=video)
    table.add_column("contender", no_wrap=True)
    cases = dict.fromkeys(
        case for found in results.values() for case, one in found.items() if isinstance(one, dict)
    )
    for case in cases:
        table.add_column(case, justify="right")
    table.add_column("GPU MiB", justify="right")
    for contender, found in results.items():
        cells = [cell(found.get(case)) for case in cases]
        table.add_row(contender, *cells, str(found.get("gpu_memory_mib", "-")))
    Console(width=150).print(table)


def cell(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    if "error" in one:
        return "failed"
    wrong = "" if one.get("right", True) else " [bold red]WRONG"
    return f"{one['value']:,.1f} {one['unit']}{wrong}"


def gpu() -> dict[str, str]:
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return {}
    name, _, driver = said.partition(", ")
    return {"gpu": name, "driver": driver}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--video", choices=MATRIX, action="append", help="the default is all")
    parser.add_argument("--case", choices=[*CASES, "flat"], action="append")
    parser.add_argument("--contender", choices=CONTENDERS, action="append")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="fail if a case lost a tenth")
    parser.add_argument("--dry-run", action="store_true", help="on the CPU, little of everything")
    parser.add_argument(
        "--out",
        type=Path,
        help="the JSON, in which other videos stay; the default is in benchmarks/results",
    )
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    begin = time.perf_counter()
    if arguments.quick:
        make_all([*QUICK])
        link_ffmpeg()
        with tempfile.TemporaryDirectory() as folder:
            held = quick(Path(folder))
        print(f"{time.perf_counter() - begin:.0f} s")
        sys.exit(not held)
    mixed = MIXED if arguments.case is None or "flat" in arguments.case else ()
    make_all(list(dict.fromkeys([*(arguments.video or MATRIX), *mixed])))
    link_ffmpeg()
    out = arguments.out or RESULTS / f"gpu-{today()}.json"
    is_partial = arguments.video or arguments.case or arguments.contender or arguments.dry_run
    facts = {**machine(PACKAGES), **gpu()}
    before = json.loads(out.read_text()) if arguments.out and out.exists() else {}

    def keep(results: dict[str, Any]) -> None:
        if is_partial and not arguments.out:
            return
        runs = before.get("runs", {}) | dict.fromkeys(results, facts)
        everything = before.get("results", {}) | results
        goals = [asdict(goal) | {"met": goal.is_met} for goal in judge(everything)]
        report = {"benchmark": "gpu", "runs": runs, "results": everything, "goals": goals}
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(report, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as folder:
        if (arguments.case and "flat" in arguments.case) or arguments.case is None:
            np.save(Path(folder) / f"{MIXED[0]}.npy", np.zeros((1, 1)))
        results = run_all(arguments, Path(folder), keep)
    for goal in judge(results):
        said = "met" if goal.is_met else "MISSED"
        bound = f"{goal.what} {goal.bound:g}"
        print(f"{said:7}{goal.case:28}{bound:58}{goal.measured:10.2f}")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
