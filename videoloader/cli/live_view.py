"""`videoloader top`: a live table of the loaders and pipelines on this machine."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from videoloader.machinery.runtime.status import process_facts, status_folder
from videoloader.machinery.system.address import escaped
from videoloader.machinery.system.folders import check_owner, open_regular

_LATE = 5.0  # seconds without a batch that are highlighted
_HIGH, _LOW = 0.10, 0.01  # shares of time that a consumer waits: shown in red; mentioned
_HOW = (
    "no loader or pipeline with a status runs on this machine; start the program that you want to "
    "watch with VIDEOLOADER_STATUS=1 in its environment"
)
_COLUMNS = (
    *("rank", "pid", "job", "step", "samples/s", "waits", "for"),
    *("queues", "decoded/s", "unused", "read", "failed"),
)
_DETAILS = ("queues", "decoded/s", "unused", "read")
_WIDE = 120  # characters of a terminal that has room for all columns
_DIGITS = 10  # of a rank
_MOST = 1 << 20  # bytes of a status file
_NUMBERS = {
    "recent": ("seconds", "waited_share", "samples_per_second", "frames_decoded", "bytes_read"),
    "total": ("batches", "frames_decoded", "frames_discarded", "errors"),
}
_NO_STATUS = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError),
    *(RecursionError, OverflowError),
)


def read_statuses(folder: Path | None = None) -> list[dict[str, Any]]:
    """The runs of all processes that write a status, by rank and process.

    Files of processes that have ended are removed.

    Args:
        folder: of the files; by default the one that the environment names.

    Returns:
        For each run, the values in its status file, those of its process included, and `age`, the
        seconds since it was updated.

    Raises:
        SourceError: another user may have made the folder, see `check_owner`.
    """
    folder = status_folder() if folder is None else folder
    check_owner(folder)
    found: list[dict[str, Any]] = []
    now = time.time()
    for path in sorted(folder.glob("*.json")):
        try:
            facts, runs = _read(path)
        except _NO_STATUS:
            continue  # removed meanwhile, or no status file
        if _is_gone(facts):
            with suppress(OSError):
                path.unlink()
            continue
        found += [run | {"age": max(0.0, now - run["updated"])} for run in runs]
    return sorted(found, key=lambda run: (_number(run["rank"]), run["pid"], run["run"]))


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts of a process and its runs; whoever may write the folder may have written the file.

    Raises:
        _NO_STATUS: it is no status file.
    """
    check_owner(path)
    with open_regular(path) as file:
        facts = _escaped(json.loads(file.read(_MOST)))
    runs = [{**facts, **run} for run in facts.pop("runs")]
    for run in runs:
        ranks = [run[name] for name in ("rank", "num_ranks") if run[name] is not None]
        texts = [run["run"], run["command"], run["waits_for"], *ranks]
        numbers = [run["pid"], run["updated"]]
        numbers += [run["epoch"], run["batches"]] if "batches" in run else []
        numbers += [run[part][name] for part, names in _NUMBERS.items() for name in names]
        for name, queued, room in run["queues"]:
            texts.append(name)
            numbers += [queued, room]
        is_finite = all(isinstance(number, int | float) and isfinite(number) for number in numbers)
        if not is_finite or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"{path}: no status of a run")
    return {"pid": int(facts["pid"]), "space": facts["space"], "began": facts["began"]}, runs


def _escaped(value: Any) -> Any:
    """Values of JSON with texts that control no terminal."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, list):
        return [_escaped(part) for part in value]
    if isinstance(value, dict):
        return {escaped(name): _escaped(part) for name, part in value.items()}
    return value


def status_table(runs: list[dict[str, Any]], width: int = _WIDE) -> RenderableType:
    """A row for each run, and a line of totals if there are several.

    Of the columns, a terminal of less than 120 characters gets those that fit.
    """
    if not runs:
        return Text(_HOW, style="yellow")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    names = [name for name in _COLUMNS if width >= _WIDE or name not in _DETAILS]
    for name in names:
        justify: Any = "left" if name in ("job", "for", "queues") else "right"
        is_whole = name not in ("job", "waits", "queues")
        table.add_column(name, justify=justify, no_wrap=is_whole, min_width=len(name))
    for run in runs:
        cells = dict(zip(_COLUMNS, _cells(run), strict=True))
        table.add_row(*(cells[name] for name in names))
    if len(runs) == 1:
        return table
    rate = sum(run["recent"]["samples_per_second"] for run in runs)
    failed = sum(int(run["total"]["errors"]) for run in runs)
    longest = max(runs, key=lambda run: run["recent"]["waited_share"])
    share = longest["recent"]["waited_share"]
    waits = f"rank or process {_name(longest)} waits most ({share:.0%})" if share >= _LOW else ""
    text = f"{len(runs)} runs, {rate:.4g} samples/s, {failed} failed"
    return Group(table, Text("; ".join(filter(None, (text, waits)))))


def show(console: Console, *, as_json: bool = False, folder: Path | None = None) -> None:
    """Print the table, or its values as JSON, once."""
    runs = read_statuses(folder)
    if as_json:
        console.print(json.dumps(runs), markup=False, highlight=False, soft_wrap=True)
    else:
        console.print(status_table(runs, console.width))


def watch(console: Console, interval: float, folder: Path | None = None) -> None:
    """Show the table, updated every `interval` seconds, until Ctrl-C."""
    with (
        suppress(KeyboardInterrupt),
        Live(console=console, screen=True, auto_refresh=False) as live,
    ):
        while True:
            live.update(status_table(read_statuses(folder), console.width), refresh=True)
            time.sleep(interval)


def _cells(run: dict[str, Any]) -> list[Text]:
    recent, total = run["recent"], run["total"]
    seconds = recent["seconds"]
    share = recent["waited_share"]
    job = f"{run['command']} {run['run']}"
    step = f"{int(total['batches'])}"
    if "batches" in run:
        step = f"{run['epoch']}: {step}/{run['batches']}"
    decoded, unused = total["frames_decoded"], total["frames_discarded"]
    late = run["age"] >= _LATE
    waits = Text(f"{share:.0%}", style="red" if share >= _HIGH else "green")
    if not run.get("knows_waits", True):
        waits = Text("-")
    if late:
        waits = Text(f"no batch for {run['age']:.0f} s", style="bold red")
    return [
        Text(_rank(run)),
        Text(str(run["pid"])),
        Text(job),
        Text(step),
        Text(f"{0 if late else recent['samples_per_second']:.4g}", style="bold"),
        waits,
        Text(run["waits_for"] or ("" if late else "-")),
        Text("  ".join(f"{name} {queued}/{room}" for name, queued, room in run["queues"])),
        Text(f"{recent['frames_decoded'] / seconds if seconds and not late else 0:.4g}"),
        Text(f"{unused / decoded if decoded else 0:.0%}"),
        Text(_bytes_a_second(0 if late or not seconds else recent["bytes_read"] / seconds)),
        Text(f"{int(total['errors'])}", style="red" if total["errors"] else ""),
    ]


def _rank(run: dict[str, Any]) -> str:
    if run["rank"] is None:
        return "-"
    return run["rank"] if run["num_ranks"] is None else f"{run['rank']}/{run['num_ranks']}"


def _name(run: dict[str, Any]) -> str:
    return str(run["pid"] if run["rank"] is None else run["rank"])


def _number(rank: str | None) -> int:
    return int(rank) if rank is not None and rank.isdecimal() and len(rank) < _DIGITS else -1


def _bytes_a_second(count: float) -> str:
    for unit in ("B/s", "kB/s", "MB/s"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB/s"


def _is_gone(facts: dict[str, Any]) -> bool:
    """Whether the process of a file has ended, as far as this process can see."""
    if facts["space"] != os.readlink("/proc/self/ns/pid"):
        return False  # from another container, whose process numbers mean nothing here
    try:
        return bool(process_facts(facts["pid"])["began"] != facts["began"])
    except OSError:
        return True
