"""Commands about this machine: what runs on it, and the demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from videoloader.cli.terminal import console

__all__ = ["demo", "top"]


def top(
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option(help="Print one table and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON once and end.")] = False,
) -> None:
    """Watch the loaders and pipelines that run on this machine.

    Those of processes with VIDEOLOADER_STATUS=1 in their environment.
    """
    from videoloader.report.top import show, watch

    if once or as_json:
        show(console, as_json=as_json)
    else:
        watch(console, interval)


def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of videos; a few are made if left out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results are written.")] = Path("demo"),
    workers: Annotated[int, typer.Option(help="Threads, then processes, that decode.")] = 2,
) -> None:
    """Turn a folder of videos into training batches and say how that went."""
    from videoloader.demo.show import main as run

    run(folder, out, workers)
