"""Commands that work through whole data sets: shots, copies, scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from videoloader.cli.terminal import (
    Json,
    Ray,
    Root,
    Shard,
    Workers,
    as_shard,
    complain,
    emit,
    job_progress,
    say,
)
from videoloader.errors import ArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

Curated = Annotated[
    list[str], typer.Argument(help="A data set index (.parquet), or folders, globs, lists, videos.")
]
Device = Annotated[str, typer.Option(help="Device that decodes: cpu, cuda or cuda:N.")]


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
    """Find the shots of videos, between hard cuts: a row for each.

    Examples:
        videoloader scenes set.parquet -o scenes.parquet
        videoloader scenes clip.mp4 -o scenes.parquet --exact
        videoloader scenes videos/ -o scenes.parquet --thumbnails thumbnails.parquet
    """
    _curate(_scenes, **locals())


def dedupe(
    sources: Curated,
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    distance: Annotated[
        float,
        typer.Option(min=0, max=63, help="Most differing bits of 64 in hashes of near copies."),
    ] = 10.0,
    copies: Annotated[
        bool, typer.Option("--copies", help="Find exact copies only; decode nothing.")
    ] = False,
    workers: Workers = None,
    shard: Shard = "0/1",
    ray: Ray = "",
    root: Root = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Find groups of videos that are copies of each other, or nearly so.

    With --shard, it only hashes a part of the videos, into a file beside --out. Once all parts are
    there, the command without --shard compares their hashes.

    Examples:
        videoloader dedupe set.parquet -o copies.parquet
        videoloader dedupe set.parquet -o copies.parquet --copies --json
        videoloader dedupe videos/ -o copies.parquet --distance 4
    """
    _curate(_dedupe, **locals())


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
    """Score videos: how much of each is black, still, blurred, in motion or silent.

    Examples:
        videoloader score set.parquet -o scores.parquet --sound
        videoloader score set.parquet -o scores.parquet --device cuda
        videoloader score set.parquet -o part0.parquet --shard 0/8
    """
    _curate(_score, **locals())


class _Result(NamedTuple):
    """The result of a job: a line about it, the numbers in it by name, and its table."""

    text: str
    facts: dict[str, int]
    table: pa.Table


def _curate(
    run: Callable[..., _Result],
    sources: list[str],
    out: Path,
    *,
    shard: str,
    root: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a job of curation with all options of a command; exit code 1 if a video failed."""
    from videoloader.indexing.dataset import open_dataset

    source: Any = sources[0] if len(sources) == 1 else list(sources)
    with job_progress("decoding", out) as report:
        if len(sources) == 1 and sources[0].endswith(".parquet"):
            source = open_dataset(sources[0], root=root)
        elif root is not None:
            raise ArgumentError("--root is where the videos of a data set index (.parquet) are now")
        text, facts, table = run(source, out, progress=report, shard=as_shard(shard), **options)
    errors = [row for row in table.select(["row", "key", "error"]).to_pylist() if row["error"]]
    if as_json:
        emit({"out": str(out), **facts, "errors": errors})
    else:
        for error in errors:
            complain(error["error"])
        say(f"{out}: {text}")
    raise typer.Exit(int(bool(errors)))


def _scenes(
    source: Any, out: Path, *, exact: bool, thumbnails: Path | None, **options: Any
) -> _Result:
    """Find the shots of videos; with `thumbnails` also write thumbnails of their keyframes."""
    from videoloader.datasets.mapping import map_clips
    from videoloader.datasets.pictures import thumbnail_row
    from videoloader.datasets.scenes import find_scenes
    from videoloader.indexing.dataset.part import table_path

    if thumbnails is not None:
        table_path(thumbnails)  # rather refused now than after the first job
    table = map_clips(source, partial(find_scenes, exact=exact), out, **options)
    if thumbnails is not None:
        map_clips(source, thumbnail_row, thumbnails, **options)
    found = _num_found(table)
    videos = len({*table["row"].to_pylist()}) - (len(table) - found)
    text = f"{found} scenes of {videos} videos"
    if not exact:
        text += "; cuts may be half a second off, --exact decodes around them"
    return _Result(text, {"scenes": found, "videos": videos}, table)


def _dedupe(
    source: Any, out: Path, *, distance: float, copies: bool, shard: tuple[int, int], **options: Any
) -> _Result:
    """Find copies and near copies, or hash a part of the videos."""
    from videoloader.datasets.duplicates import find_duplicates, hash_videos

    most = None if copies else distance
    if shard != (0, 1):
        table = hash_videos(source, out, distance=most, shard=shard, **options)
        count = _num_found(table)
        text = f"{count} videos hashed, part {shard[0]} of {shard[1]}"
        return _Result(text, {"hashed": count}, table)
    table = find_duplicates(source, out, distance=most, **options)
    found, groups = _num_found(table), len({*table["group"].to_pylist()} - {None})
    text = (
        f"{found} videos in {groups} group{'s' * (groups != 1)}; {found - groups} can be left out"
    )
    return _Result(text, {"videos": found, "groups": groups}, table)


def _score(source: Any, out: Path, *, sound: bool, **options: Any) -> _Result:
    from videoloader.datasets.mapping import map_clips
    from videoloader.datasets.scores import score_video

    table = map_clips(source, partial(score_video, sound=sound), out, **options)
    count = _num_found(table)
    return _Result(f"{count} videos scored", {"videos": count}, table)


def _num_found(table: pa.Table) -> int:
    """Rows that are no errors."""
    return sum(not error for error in table["error"].to_pylist())
