"""The command that measures a loader on a user's videos and says what would make it faster."""

from __future__ import annotations

import re
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn

from videoloader.cli.curation import Device
from videoloader.cli.terminal import Json, Workers, emit, problems, say, show
from videoloader.errors import ArgumentError
from videoloader.sampling import ClipSampler, RandomClip, UniformClip

_NUMBERS = ("clips/s", "times", "step waits")
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0}
_PAIR = re.compile(r"0*([1-9]\d*)(?:x0*([1-9]\d*))?")


def tune(
    sources: Annotated[
        list[str], typer.Argument(help="A data set index (.parquet), or folders, globs, videos.")
    ],
    clips: Annotated[
        str,
        typer.Option(
            metavar="COUNTxSTRIDE",
            help="Frames of a random clip, and from one to the next; COUNT alone spreads them over "
            "the whole video.",
        ),
    ] = "16x4",
    size: Annotated[
        str,
        typer.Option(metavar="HEIGHTxWIDTH", help="Of the frames; HEIGHT alone for squares."),
    ] = "224",
    batch_size: Annotated[int, typer.Option("--batch", min=1, help="Clips in a batch.")] = 8,
    step: Annotated[
        str | None, typer.Option(metavar="TIME", help="Length of a training step, such as 80ms.")
    ] = None,
    device: Device = "cpu",
    workers: Workers = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="Time to take, about; slow videos take longer.")
    ] = 60.0,
    as_json: Json = False,
) -> None:
    """Measure loading of these videos, name what limits it, and try what would help.

    Tries other options of Loader, and transcoding on short pieces of a few videos. Run it while
    the machine does nothing else.

    Examples:
        videoloader tune videos/ --size 64 --seconds 1
        videoloader tune set.parquet --clips 8x2 --size 64x96 --step 80ms --seconds 1
        videoloader tune set.parquet --clips 8 --size 64 --seconds 1 --json
    """
    from rich.table import Table

    from videoloader.datasets.tuning import tune as run

    bar = Progress(TextColumn("{task.description}"), BarColumn(), console=problems, transient=True)
    with bar:
        task = bar.add_task("opening", total=None)
        found = run(
            sources[0] if len(sources) == 1 else sources,
            _sampler(clips),
            step=None if step is None else _seconds(step),
            seconds=seconds,
            progress=lambda done, total, what: bar.update(
                task, completed=done, total=total, description=what
            ),
            batch_size=batch_size,
            size=_size(size),
            device=device,
            workers=workers,
        )
    if as_json:
        emit(found.as_dict())
        return
    for name, text in found.facts():
        say(f"{name:>14}  {text}")
    table = Table(box=None, pad_edge=False)
    for name in found.rows()[0]:
        table.add_column(name, justify="right" if name in _NUMBERS else "left")
    for row in found.rows():
        table.add_row(*row.values())
    say("")
    show(table)
    say("\npackets a clip, and in files that videoloader transcode writes")
    for line in found.bars():
        say(line)


def _sampler(text: str) -> ClipSampler:
    """The value of `--clips`."""
    found = _PAIR.fullmatch(text)
    if found is None:
        raise ArgumentError(f"--clips is COUNTxSTRIDE or COUNT, such as 16x4 or 16, got {text!r}")
    count, stride = found.groups()
    return UniformClip(int(count)) if stride is None else RandomClip(int(count), stride=int(stride))


def _size(text: str) -> tuple[int, int]:
    """The value of `--size`."""
    found = _PAIR.fullmatch(text)
    if found is None:
        raise ArgumentError(f"--size is HEIGHTxWIDTH or HEIGHT, such as 224x398, got {text!r}")
    height, width = found.groups()
    return int(height), int(width or height)


def _seconds(text: str) -> float:
    """The value of `--step`."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+) ?(ms|s|)", text.strip())
    if found is None:
        raise ArgumentError(f"--step is a time such as 80ms or 0.08s, got {text!r}")
    return float(found[1]) * _UNITS[found[2]]
