"""Shared by the commands: options, consoles, progress, and errors as exit codes."""

from __future__ import annotations

import io
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand

from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing import VideoIndex
from videoloader.sources.lists import exact_number

_WIDEST = 10_000  # characters of a line of a table
_REFRESH = 0.25  # seconds between two states of a progress bar
_VALUE = r"""(['"]\w+['"]|\d[\d.]*)(?![\w/.:])"""  # of an argument in an error; not of a path

console = Console(emoji=False)  # text is file names, too
problems = Console(stderr=True, emoji=False)

Workers = Annotated[int | None, typer.Option(min=0, help="Processes; all processors by default.")]
Ray = Annotated[
    str,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Work on this Ray cluster; auto: the one of this machine; local: a new one here.",
    ),
]
Shard = Annotated[str, typer.Option(help="i/n: the i-th of n parts, counted from 0.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Root = Annotated[
    str | None, typer.Option(help="Folder or URL that the paths of videos are relative to.")
]


def say(text: str) -> None:
    """Print text as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def emit(value: Any) -> None:
    """Print a value as a line of JSON, for `--json`; numbers that are not finite are null."""
    text = json.dumps(_finite(value), default=str, allow_nan=False)
    print(text)  # noqa: T201  (no markup, no colours)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_finite, value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(table: Table) -> None:
    """Print a table in which no file name is wrapped, however wide the terminal is."""
    text = io.StringIO()
    Console(width=_WIDEST, file=text, emoji=False).print(table)
    for line in text.getvalue().splitlines():
        say(line.rstrip())


def warn(index: VideoIndex) -> None:
    """Print the warnings of an index to stderr."""
    for warning in index.warnings:
        problems.print(warning, style="yellow", markup=False, highlight=False, soft_wrap=True)


def complain(text: str) -> None:
    """Print a failure to stderr."""
    problems.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


class Command(TyperCommand):
    """A command whose errors are a line with exit code 2; Ctrl-C gives exit code 130."""

    def invoke(self, ctx: Any) -> Any:
        """Called by Typer."""
        try:
            return super().invoke(ctx)
        except VideoError as error:
            complain(self._with_options(str(error)))
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(130) from None

    def _with_options(self, text: str) -> str:
        """Name the options of the command in an error in place of the arguments that they set.

        `time_limit must be` becomes `--time-limit must be`, `fps=5` becomes `--fps 5`.
        """
        for parameter in self.params:
            option = parameter.opts[0]
            if option.startswith("--"):
                name = f"(?:{parameter.name}|{option[2:].replace('-', '_')})"
                text = re.sub(rf"^{name}(?= (?:must|is|of) )|\b{name}=(?=[ ,;]|$)", option, text)
                text = re.sub(rf"(?<![\w/.]){name}={_VALUE}", rf"{option} \1", text)
        return text


@contextmanager
def job_progress(label: str, out: Path) -> Iterator[Callable[[int, int, int], None]]:
    """Show a bar on stderr for a job that writes `out`; yields the callback for its progress.

    On Ctrl-C it says that what is done is kept.
    """
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        FilesPerSecond(),
        TimeRemainingColumn(),
        console=problems,
        transient=True,
        refresh_per_second=1 / _REFRESH,
    )
    with bar:
        task = bar.add_task(label, total=None, failed=0)

        last = 0.0

        def report(done: int, total: int, failed: int) -> None:
            nonlocal last
            now = time.monotonic()
            if done == total or now - last > _REFRESH:
                last = now
                bar.update(task, completed=done, total=total, failed=failed)

        try:
            yield report
        except KeyboardInterrupt:
            complain(f"interrupted; what is done is kept in {out}.journal, run again to resume")
            raise typer.Exit(130) from None


class FilesPerSecond(ProgressColumn):
    """Column with the speed of a job."""

    def render(self, task: Task) -> Text:
        """The rate of the last seconds."""
        return Text(f"{task.speed or 0:.0f} files/s")


def video_facts(name: str, index: VideoIndex) -> dict[str, Any]:
    """Facts about a video, for `--json` and `inspect`."""
    names = "codec width height num_frames average_fps duration rotation pixel_format bit_depth "
    names += "container stream exactness"
    facts = {"file": name} | {name: getattr(index, name) for name in names.split()}
    facts["keyframes"] = len(index.keyframes)
    facts["time_base"] = str(index.time_base)
    facts["warnings"] = list(index.warnings)
    return facts


def as_rate(text: str) -> Fraction:
    """The value of `--fps`."""
    try:
        return exact_number(text)
    except (OverflowError, ValueError) as error:
        raise ArgumentError(f"--fps is a number or a fraction, got {text!r}") from error


def as_shard(text: str) -> tuple[int, int]:
    """The value of `--shard`."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and int(part) < int(parts)):
        raise ArgumentError(f"--shard is one of 0/n to n-1/n, such as 0/4, got {text!r}")
    return int(part), int(parts)
