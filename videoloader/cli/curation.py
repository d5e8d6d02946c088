"""Commands that work through whole data sets: shots, copies, scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from videoloader.cli.terminal import Ray, Workers, complain, job_progress, reported, say

__all__ = ["dedupe", "scenes", "score"]

Curated = Annotated[
    list[str], typer.Argument(help="A data set index (.parquet), or folders, globs, lists, videos.")
]
Device = Annotated[str, typer.Option(help="That decodes: cpu, cuda or cuda:N.")]


def scenes(
    sources: Curated,
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    exact: Annotated[bool, typer.Option(help="Decode around cuts, to know their frames.")] = False,
    thumbnails: Annotated[
        Path | None, typer.Option(help="Parquet file for thumbnails of the keyframes.")
    ] = None,
    workers: Workers = None,
    ray: Ray = "",
    device: Device = "cpu",
) -> None:
    """Find the shots of videos, between hard cuts: a row for each."""
    from videoloader.curation.commands import scenes as run

    _curate(
        run,
        sources,
        out,
        exact=exact,
        thumbnails=thumbnails,
        workers=workers,
        ray=ray,
        device=device,
    )


def dedupe(
    sources: Curated,
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    distance: Annotated[
        float, typer.Option(min=0, max=63, help="Most differing bits of near copies, of 64.")
    ] = 10.0,
    copies: Annotated[
        bool, typer.Option("--copies", help="Copies alone; decodes nothing.")
    ] = False,
    workers: Workers = None,
    ray: Ray = "",
    device: Device = "cpu",
) -> None:
    """Find groups of videos that are copies of each other, or nearly so."""
    from videoloader.curation.commands import dedupe as run

    most = None if copies else distance
    _curate(run, sources, out, distance=most, workers=workers, ray=ray, device=device)


def score(
    sources: Curated,
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    sound: Annotated[bool, typer.Option("--sound", help="Decode the sound too.")] = False,
    workers: Workers = None,
    ray: Ray = "",
    device: Device = "cpu",
) -> None:
    """Score videos: what is black, still, blurred, in motion or silent."""
    from videoloader.curation.commands import score as run

    _curate(run, sources, out, sound=sound, workers=workers, ray=ray, device=device)


def _curate(run: Callable[..., Any], sources: list[str], out: Path, **options: Any) -> None:
    """Run a job of curation; exit code 1 if a video failed."""
    with job_progress() as progress, reported(out):
        task = progress.add_task("decoding", total=None, failed=0)

        def tell(done: int, total: int, failed: int) -> None:
            progress.update(task, completed=done, total=total, failed=failed)

        result = run(sources, out, progress=tell, **options)
    for error in result.errors:
        complain(error)
    say(result.text)
    raise typer.Exit(int(bool(result.errors)))
