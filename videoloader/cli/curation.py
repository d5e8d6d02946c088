"""Commands that work through whole data sets: shots, copies, scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from videoloader.cli.terminal import (
    Json,
    Ray,
    Root,
    Shard,
    Workers,
    as_shard,
    complain,
    job_progress,
    say,
)

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
    shard: Shard = "0/1",
    ray: Ray = "",
    root: Root = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Find the shots of videos, between hard cuts: a row for each."""
    from videoloader.datasets.commands import scenes as run

    _curate(
        run,
        sources,
        out,
        exact=exact,
        thumbnails=thumbnails,
        workers=workers,
        shard=shard,
        ray=ray,
        root=root,
        device=device,
        as_json=as_json,
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
    shard: Shard = "0/1",
    ray: Ray = "",
    root: Root = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Find groups of videos that are copies of each other, or nearly so.

    With --shard, only hash a part of the videos, into a file beside --out. Called without it when
    all parts are there, the command uses these files.
    """
    from videoloader.datasets.commands import dedupe as run

    most = None if copies else distance
    _curate(
        run,
        sources,
        out,
        distance=most,
        workers=workers,
        shard=shard,
        ray=ray,
        root=root,
        device=device,
        as_json=as_json,
    )


def score(
    sources: Curated,
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    sound: Annotated[bool, typer.Option("--sound", help="Decode the sound too.")] = False,
    workers: Workers = None,
    shard: Shard = "0/1",
    ray: Ray = "",
    root: Root = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Score videos: what is black, still, blurred, in motion or silent."""
    from videoloader.datasets.commands import score as run

    _curate(
        run,
        sources,
        out,
        sound=sound,
        workers=workers,
        shard=shard,
        ray=ray,
        root=root,
        device=device,
        as_json=as_json,
    )


def _curate(
    run: Callable[..., Any],
    sources: list[str],
    out: Path,
    *,
    shard: str,
    root: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a job of curation; exit code 1 if a video failed."""
    from videoloader.datasets.commands import find_source

    with job_progress("decoding", out) as tell:
        source = find_source(sources, root)
        result = run(source, out, progress=tell, shard=as_shard(shard), **options)
    if as_json:
        facts = {"out": str(out), **result.facts, "errors": result.errors}
        print(json.dumps(facts))  # noqa: T201  (what the option asks for)
        raise typer.Exit(int(bool(result.errors)))
    for error in result.errors:
        complain(error["error"])
    say(f"{out}: {result.text}")
    raise typer.Exit(int(bool(result.errors)))
