"""Commands that make, join, ask and check data set indexes."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    show,
    video_facts,
    warn,
)
from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing import index_video
from videoloader.machinery.system.address import shown
from videoloader.sources.source import as_check

if TYPE_CHECKING:
    from videoloader.indexing.dataset.skipped import Skipped

_NAMED = 10  # skipped paths
_SHOWN = ["key", "codec", "width", "height", "num_frames", "fps", "duration", "error"]

Checks = Annotated[
    str, typer.Option("--check", help="How changed files are recognised: size, mtime or none.")
]


def index(
    sources: Annotated[
        list[str], typer.Argument(help="Folders, globs, lists (.txt), .tar, videos, URLs.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Parquet file to write. Without it, a table is printed."),
    ] = None,
    headers: Annotated[
        bool, typer.Option(help="Read packet headers too, to know what is disposable.")
    ] = False,
    workers: Workers = None,
    shard: Shard = "0/1",
    ray: Ray = "",
    root: Root = None,
    checks: Checks = "size",
    as_json: Json = False,
) -> None:
    """Find every frame of videos from their tables.

    With --out, the job may be stopped, and the same command resumes it. Exit code 1 if any video
    cannot be read.

    Examples:
        videoloader index videos/ -o set.parquet
        videoloader index clip.mp4 silent.mp4 --json
        videoloader index videos/ -o part0.parquet --shard 0/4 --workers 2
    """
    if out is None:
        raise typer.Exit(_index_now(sources, headers=headers, as_json=as_json))
    from videoloader.indexing.dataset import index_dataset
    from videoloader.indexing.dataset.skipped import Skipped

    begin, skipped = time.perf_counter(), Skipped()
    with job_progress("indexing", out) as report:
        dataset = index_dataset(
            sources,
            out,
            workers,
            headers=headers,
            root=root,
            check=as_check(checks),
            shard=as_shard(shard),
            ray=ray,
            progress=report,
            skipped=skipped,
        )
    errors = dataset.errors.to_pylist()
    seconds = time.perf_counter() - begin
    if as_json:
        count = len(dataset.videos)
        facts = {"out": str(out), "videos": count, "errors": errors, "seconds": seconds}
        facts |= {"skipped": skipped.counts, "skipped_paths": [*dataset.skipped]}
        emit(facts)
    else:
        for row in errors:
            try:
                dataset[row["row"]]
            except VideoError as error:  # with the whole path, where only the end of it is stored
                complain(str(error))
        failed = f" ({len(errors)} cannot be read)" if errors else ""
        rate = len(dataset) / max(seconds, 1e-9)
        say(
            f"{out}: {len(dataset.videos)} videos of {len(dataset)} files{failed}, "
            f"{seconds:.1f} s, {rate:.0f} files/s"
        )
        _tell_skipped(skipped)
    raise typer.Exit(int(bool(errors)))


def merge(
    parts: Annotated[list[Path], typer.Argument(help="Data set indexes, such as shards of a job.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Make one data set index of several, in the order given.

    Examples:
        videoloader index videos/ -o part0.parquet --shard 0/2
        videoloader index videos/ -o part1.parquet --shard 1/2
        videoloader merge part0.parquet part1.parquet -o set.parquet
    """
    from videoloader.indexing.dataset import merge_datasets

    dataset = merge_datasets(parts, out, root=root)
    if as_json:
        emit({"out": out, "videos": len(dataset.videos), "parts": len(parts)})
    else:
        say(f"{out}: {len(dataset.videos)} videos of {len(parts)} parts")


def split(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    fractions: Annotated[
        list[float],
        typer.Argument(help="Share of each part, such as 0.8 0.1; one more part takes the rest."),
    ],
    out: Annotated[
        list[Path], typer.Option("--out", "-o", help="Parquet file to write, once for each part.")
    ],
    by: Annotated[
        str, typer.Option(help="Column; videos with the same value in it stay together.")
    ] = "key",
    seed: Annotated[int, typer.Option(help="Seed; another one gives an independent division.")] = 0,
    as_json: Json = False,
) -> None:
    """Divide the videos of a data set index at random, such as for training and validation.

    A video stays in its part when others are added.

    Examples:
        videoloader split set.parquet 0.9 -o train.parquet -o valid.parquet
        videoloader split set.parquet 0.5 0.25 -o a.parquet -o b.parquet -o c.parquet
        videoloader split set.parquet 0.5 -o a.parquet -o b.parquet --seed 1 --json
    """
    from videoloader.indexing.dataset import open_dataset

    with open_dataset(dataset) as opened:
        parts = opened.split(*fractions, by=by, seed=seed)
        if len(parts) != len(out):
            raise ArgumentError(
                f"--out is given {len(out)} times for {len(parts)} parts; fractions that sum to "
                "less than 1 leave a further part with the rest"
            )
        for part, path in zip(parts, out, strict=True):
            part.write(path).close()
            if as_json:
                emit({"out": path, "videos": len(part), "of": len(opened.videos)})
            else:
                say(f"{path}: {len(part)} of {len(opened.videos)} videos")


def join(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    table: Annotated[Path, typer.Argument(help="CSV, JSON or Parquet file, such as captions.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    on: Annotated[
        str, typer.Option(help="How the table names a video: by its path or its stem.")
    ] = "path",
    key: Annotated[
        str | None, typer.Option(help="Column of the table that names the video of a row.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="Column to add, once for each; all by default."),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="What to do about videos without a row: raise, drop or null.")
    ] = "raise",
    as_json: Json = False,
) -> None:
    """Add columns of a table to the videos of a data set index.

    Examples:
        videoloader join set.parquet captions.csv -o captioned.parquet
        videoloader join set.parquet captions.csv -o new.parquet --on stem --key name
        videoloader join set.parquet captions.csv -o new.parquet --column caption
    """
    from videoloader.indexing.dataset import open_dataset

    with open_dataset(dataset) as opened:
        joined = opened.join(
            table,
            on=on,  # type: ignore[arg-type]
            key=key,
            columns=columns or None,
            missing=missing,  # type: ignore[arg-type]
        )
        joined.write(out).close()
        added = [name for name in joined.column_names if name not in opened.column_names]
        if as_json:
            facts = {"out": out, "videos": len(joined), "of": len(opened.videos), "added": added}
            emit(facts)
        else:
            say(f"{out}: {len(joined)} of {len(opened.videos)} videos, with {', '.join(added)}")


def query(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    where: Annotated[
        str,
        typer.Argument(help="The condition of an SQL WHERE: \"codec = 'av1' and height >= 720\"."),
    ] = "true",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write these rows to a data set index.")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Print the number of rows.")] = False,
    by: Annotated[
        str | None,
        typer.Option(help="Print videos and hours for each value of a column or expression."),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Rows to print, 0 for all.")] = 20,
    time_limit: Annotated[float, typer.Option(help="Time limit in seconds.")] = 60.0,
    as_json: Json = False,
) -> None:
    """Find the rows of a data set index that meet a condition, failures included (needs DuckDB).

    Exit code 2 if it is not a valid condition, or takes too much time or memory.

    Examples:
        videoloader query set.parquet "codec = 'h264' and height >= 64"
        videoloader query set.parquet "error is not null" --json --limit 0
        videoloader query set.parquet --by codec
    """
    from videoloader.indexing.dataset import count_by, open_dataset, query_rows, write_part
    from videoloader.indexing.drawing import plain_table

    if (out is not None) + count + (by is not None) > 1:
        raise ArgumentError("give one of --out, --count and --by")
    with open_dataset(dataset) as opened:
        total = len(opened)
        if by is not None:
            found, rows = None, count_by(opened, where, by, time_limit=time_limit)
        else:
            found = query_rows(opened, where, time_limit=time_limit)
            shown = found[:limit] if limit else found
            rows = opened.columns(_SHOWN).take(shown).to_pylist()
        if found is not None and out is not None:
            write_part(opened, found, out)
    if found is not None and out is not None and as_json:
        emit({"out": out, "rows": len(found), "of": total})
    elif found is not None and out is not None:
        say(f"{out}: {len(found)} of {total} rows")
    elif found is not None and count:
        say(str(len(found)))
    elif as_json:
        for row in rows:
            emit(row)
    else:
        show(plain_table(rows))
        if found is not None:
            more = len(found) - len(rows)
            say(f"{len(found)} of {total} rows{f', {more} not shown' if more else ''}")


def check(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet) to check.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Parquet file to write; beside the index by default."),
    ] = None,
    workers: Workers = None,
    shard: Shard = "0/1",
    ray: Ray = "",
    root: Root = None,
    checks: Checks = "size",
    as_json: Json = False,
) -> None:
    """Decode everything once and write the damaged frames of each video.

    The job may be stopped, and the same command resumes it. Loaders take its file, or the output
    of --json, as skip_known. Exit code 1 if any video is damaged.

    Examples:
        videoloader check set.parquet
        videoloader check set.parquet --json
        videoloader check set.parquet -o damage0.parquet --shard 0/4
    """
    from videoloader.decoding.check import check_dataset
    from videoloader.indexing.dataset import Item, open_dataset
    from videoloader.indexing.dataset.video_job import part_of

    part = "" if shard == "0/1" else f".{shard.replace('/', 'of')}"
    target = dataset.with_suffix(f".damage{part}.parquet") if out is None else out
    with (
        job_progress("decoding", target) as report,
        open_dataset(dataset, root=root, check=as_check(checks)) as opened,
    ):
        count = len(part_of(opened.videos.rows.tolist(), as_shard(shard)))
        table = check_dataset(
            opened, target, workers=workers, shard=as_shard(shard), ray=ray, progress=report
        )
    damage = table.to_pylist()
    if as_json:
        for row in damage:
            emit(row)
        raise typer.Exit(int(bool(damage)))
    for row in damage:
        name = Item(row["path"], row["member"]).name
        complain(f"{name}: {_frames_text(row['frames'])}: {row['reason']}")
    bad = len({(row["path"], row["member"]) for row in damage})
    say(f"{target}: {count} videos decoded, {bad} damaged")
    raise typer.Exit(int(bool(damage)))


def _frames_text(frames: list[int]) -> str:
    """Which frames of a video are damaged; all of them if the list is empty."""
    if not frames:
        return "all"
    return f"frame {frames[0]}" if len(frames) == 1 else f"{len(frames)} frames from {frames[0]} on"


def _index_now(sources: list[str], *, headers: bool, as_json: bool) -> int:
    """Index and print, file after file; the exit code."""
    from videoloader.indexing.dataset import find_items
    from videoloader.indexing.dataset.skipped import Skipped
    from videoloader.indexing.drawing import video_table

    indexes, skipped = [], Skipped()
    items = find_items(sources, skipped)
    for item in items:
        try:
            with item.open() as source:
                made = index_video(source, headers=headers)
        except VideoError as error:
            complain(str(error))
            continue
        warn(made)
        indexes.append(made)
        if as_json:
            emit(video_facts(item.name, made))
    if not as_json and indexes:
        show(video_table(indexes))
        _tell_skipped(skipped)
    return int(len(indexes) < len(items))


def _tell_skipped(skipped: Skipped) -> None:
    """Print counts of skipped files, and the names of ones that may have held videos."""
    if skipped:
        say(f"skipped: {skipped}")
    for path, reason in itertools.islice(skipped.lost(), _NAMED):
        complain(f"{shown(path)}: skipped ({reason})")
