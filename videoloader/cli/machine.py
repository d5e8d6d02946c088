"""Commands about this machine: running jobs, decoders, and the demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from videoloader.cli.terminal import console, emit


def top(
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option(help="Print one table and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON once and end.")] = False,
) -> None:
    """Watch the loaders and pipelines that run on this machine.

    Only processes that have VIDEOLOADER_STATUS=1 in their environment are seen.

    Examples:
        videoloader top --once
        videoloader top --json
    """
    from videoloader.cli.live_view import show, watch

    if once or as_json:
        show(console, as_json=as_json)
    else:
        watch(console, interval)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say what this machine can decode, what is missing, and how to get it.

    A built-in clip is decoded on the CPU and, where there is a GPU, on NVDEC. Exit code 1 if
    decoding on the CPU does not work.

    Examples:
        videoloader doctor
        videoloader doctor --json
    """
    from videoloader.cli import diagnosis as run

    findings = run.diagnose()
    if as_json:
        emit(run.as_json(findings))
    else:
        console.print(run.findings_table(findings))
    raise typer.Exit(int(not run.is_sound(findings)))


def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of videos; a few are made if left out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results are written.")] = Path("demo"),
    workers: Annotated[
        int, typer.Option(help="Processes of the Loader, and threads of the pipeline.")
    ] = 2,
) -> None:
    """Turn a folder of videos into training batches and say how that went.

    Examples:
        videoloader demo
        videoloader demo videos/ --out results
    """
    from videoloader.demo.show import main as run

    run(folder, out, workers)
