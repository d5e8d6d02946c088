"""How long it takes to know every frame of a long video, beside our peers.

    make bench                                  all contenders, in an environment made for it
    python benchmarks/indexing.py --only peers  without ours

Every contender runs in a process of its own on the same file, already in the page cache. What it
reports about the frames is compared with what PyAV's demuxer says: a fast wrong answer is marked
so in the table, and fails the run if it is ours.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from contenders import CONTENDERS, OURS, PACKAGES, REFERENCE
from machine import environment, link_ffmpeg, machine
from many_files import JOB, index_of_many, measure_files
from reads import corpus_sizes, our_figures
from rich.console import Console
from rich.table import Table
from videos import CASES, make_small_files

BENCHMARKS = Path(__file__).parent
SMALL = "small files"
FIGURES = "figures of our index"


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
    """Run one contender in a process of its own; None, with a line said, when it cannot run.

    This process stays small meanwhile: the peak memory of a new one begins with that of its parent.
    """
    command = [sys.executable, __file__, "--contender", name, "--case", case]
    command += ["--repetitions", str(repetitions)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
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


def compare_files(names: list[str], repetitions: int) -> list[dict[str, Any]]:
    """Many small files, one contender after the other; how many frames each finds is compared."""
    found = [measure_apart(name, SMALL, repetitions) for name in names]
    measured = [figures for figures in found if figures is not None]
    for figures in measured:
        figures["agrees"] = figures["frames_a_file"] == measured[0]["frames_a_file"]
    return sorted(measured, key=lambda figures: -figures["files_a_second"])


def report_of(names: list[str], chosen: list[str], repetitions: int) -> dict[str, Any]:
    """Measure everything that was asked for, and show it on the way."""
    cases: dict[str, Any] = {}
    for case in (case for case in chosen if case != SMALL):
        CASES[case].make()
        path = CASES[case].path
        measurements = compare([name for name in names if name != JOB], case, repetitions)
        show(case, measurements)
        cases[case] = {
            "bytes": path.stat().st_size,
            "measurements": [asdict(measurement) for measurement in measurements],
        }
        if OURS in names:
            cases[case]["ours"] = measure_apart(FIGURES, case, repetitions)
            print(json.dumps(cases[case]["ours"]))
    report = {"benchmark": "indexing", **machine(PACKAGES), "cases": cases}
    if SMALL in chosen:
        folder = make_small_files()
        report["small_files"] = compare_files(names, repetitions)
        if OURS in names:
            report["dataset"] = index_of_many(folder, repetitions)
        print(json.dumps([report["small_files"], report.get("dataset")], indent=1))
    if OURS in names and (corpus := os.environ.get("VIDEOLOADER_CORPUS")):
        report["corpus"] = corpus_sizes(Path(corpus) / "video")
        print(json.dumps(report["corpus"]))
    report["load_average"] = [round(load, 2) for load in os.getloadavg()]
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=("ours", "peers"), help="the default is both")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--case", choices=[*CASES, SMALL], help="the default is all")
    parser.add_argument("--contender", choices=[*CONTENDERS, JOB, FIGURES], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    repetitions = arguments.repetitions
    if arguments.contender:
        if arguments.contender == FIGURES:
            figures = our_figures(CASES[arguments.case].path, repetitions)
        elif arguments.case == SMALL:
            figures = measure_files(arguments.contender, make_small_files(), repetitions)
        else:
            figures = measure(arguments.contender, CASES[arguments.case].path, repetitions)
        print(json.dumps(figures))
        return

    link_ffmpeg()
    peers = [name for name in CONTENDERS if name not in (REFERENCE, OURS)]
    ours = [OURS, JOB]
    names = [REFERENCE, *{"ours": ours, "peers": peers}.get(arguments.only, ours + peers)]
    report = report_of(names, [arguments.case] if arguments.case else [*CASES, SMALL], repetitions)
    if arguments.only is None and arguments.case is None:
        result = BENCHMARKS / "results" / f"indexing-{report['date'][:10]}.json"
        result.parent.mkdir(exist_ok=True)
        result.write_text(json.dumps(report, indent=2) + "\n")
    everything = [one for case in report["cases"].values() for one in case["measurements"]]
    everything += report.get("small_files", [])
    if any(one["contender"] in (OURS, JOB) and not one["agrees"] for one in everything):
        sys.exit("our index disagrees with the demuxer about the frames")


if __name__ == "__main__":
    main()
