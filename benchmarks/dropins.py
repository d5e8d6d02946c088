"""How long our drop-ins take, beside the libraries that they stand in for, under one API.

    make dropins                                        every row
    python benchmarks/dropins.py --only random          rows with this in their library or protocol
    python benchmarks/dropins.py --save                 also into benchmarks/results

Both sides run the same function, which opens the file in the measured time; they take turns, after
one run each that is not counted, and the median counts. `CPU` is the processor time of all threads,
which holds on a busy machine, too. A peer that is not installed is printed as absent; a row whose
drop-in needs a library that is not installed is left out. `differs` is the largest mean difference
of a frame from the peer's, of 255.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from dropin_rows import Row
from machine import RESULTS, environment, link_ffmpeg, machine, today
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

MODULES = ("dropin_decord", "dropin_hooks", "dropin_torchcodec")
PACKAGES = ("videoloader", "decord2", "torchcodec", "av", "torch", "numpy")
_MARK = "VIDEOLOADER_DROPINS"  # set where the libraries that peers look for can be found


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured of a row: (elapsed, CPU) milliseconds; None where the peer is absent."""

    library: str
    protocol: str
    ours: tuple[float, float]
    peer: tuple[float, float] | None
    differs: float | None
    note: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="part of the library's name or the protocol")
    parser.add_argument("--repeats", type=int, help="of each measurement, in place of the row's")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    arguments = parser.parse_args()
    _find_ffmpeg()
    rows = [
        row
        for module in MODULES
        for row in importlib.import_module(module).ROWS
        if arguments.only.lower() in f"{row.library} {row.protocol}".lower()
    ]
    if not rows:
        parser.error(f"no row has {arguments.only!r} in its library or protocol")
    results = []
    for row in rows:
        print(f"{row.library}: {row.protocol} ...", file=sys.stderr)
        try:
            drop_in = row.loaded(row.drop_in)
        except ModuleNotFoundError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        results.append(measure(row, drop_in, arguments.repeats or row.repeats))
    Console(width=None if sys.stdout.isatty() else 130).print(table(results))
    if arguments.save:
        save(results)


def measure(row: Row, drop_in: Any, repeats: int) -> Result:
    """Run a row by our drop-in and by the peer in turns."""
    material = row.prepare()
    sides = [drop_in]
    note = ""
    try:
        sides.append(row.loaded(row.library))
    except (ImportError, OSError, RuntimeError) as error:  # libraries of FFmpeg may be absent
        note = f"absent: {str(error).strip().partition(chr(10))[0]:.60}"
    times: list[list[tuple[float, float]]] = [[] for _ in sides]
    shown = [_run(row, side, material)[1] for side in sides]
    for _ in range(repeats):
        for side, taken in zip(sides, times, strict=True):
            taken.append(_run(row, side, material)[0])
    ours, *peer = ((_median(taken, 0), _median(taken, 1)) for taken in times)
    return Result(
        row.library,
        row.protocol,
        ours,
        peer[0] if peer else None,
        _difference(*shown) if peer else None,
        note,
    )


def _run(row: Row, module: Any, material: Any) -> tuple[tuple[float, float], NDArray[Any]]:
    """Seconds, elapsed and of the processors, and the frames."""
    begin, cpu = time.perf_counter(), time.process_time()
    frames = row.run(module, material)
    return (time.perf_counter() - begin, time.process_time() - cpu), frames


def _median(taken: list[tuple[float, float]], which: int) -> float:
    return 1e3 * statistics.median(pair[which] for pair in taken)


def _difference(ours: NDArray[Any], peer: NDArray[Any]) -> float:
    if ours.shape != peer.shape:
        raise ValueError(f"frames of shape {ours.shape} here, {peer.shape} there")
    each = np.abs(ours.astype(np.float32) - peer).reshape(len(ours), -1).mean(axis=1)
    return float(each.max())


def table(results: list[Result]) -> Table:
    found = Table(title="Drop-ins beside their libraries, ms")
    for name in ("library", "protocol", "ours", "theirs", "ratio", "CPU", "theirs", "ratio"):
        found.add_column(name, justify="left" if name in ("library", "protocol") else "right")
    found.add_column("differs", justify="right")
    for result in results:
        cells: list[str] = []
        for which in (0, 1):
            ours = result.ours[which]
            peer = None if result.peer is None else result.peer[which]
            cells += [f"{ours:.1f}"]
            cells += ["", ""] if peer is None else [f"{peer:.1f}", f"{peer / ours:.2f}"]
        if result.peer is None:
            cells[1] = result.note
        differs = "" if result.differs is None else f"{result.differs:.2f}"
        found.add_row(result.library, result.protocol, *cells, differs)
    return found


def save(results: list[Result]) -> None:
    path = RESULTS / f"dropins-{today():%Y-%m-%d}.json"
    rows = [
        {
            "library": result.library,
            "protocol": result.protocol,
            "ours_ms": result.ours[0],
            "peer_ms": None if result.peer is None else result.peer[0],
            "ours_cpu_ms": result.ours[1],
            "peer_cpu_ms": None if result.peer is None else result.peer[1],
            "differs": result.differs,
        }
        for result in results
    ]
    when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    document = {"machine": machine(PACKAGES), "finished": when, "rows": rows}
    path.write_text(json.dumps(document, indent=1) + "\n")


def _find_ffmpeg() -> None:
    """Begin anew where peers find FFmpeg's libraries, which are looked up when a process starts."""
    if _MARK not in os.environ:
        link_ffmpeg()
        os.execve(sys.executable, [sys.executable, *sys.argv], {**environment(), _MARK: "1"})


if __name__ == "__main__":
    main()
