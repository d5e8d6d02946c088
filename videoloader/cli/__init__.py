"""The command `videoloader`: look at videos without writing a program."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
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
from rich.text import Text

import videoloader
from videoloader.errors import ArgumentError, VideoError
from videoloader.indexing import VideoIndex, index_video
from videoloader.sources.lists import exact_number
from videoloader.sources.source import as_check

__all__ = ["app", "main"]

app = typer.Typer(
    name="videoloader",
    add_completion=False,
    pretty_exceptions_show_locals=False,  # URLs among them may be signed
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()
problems = Console(stderr=True)

_SHOWN = ["key", "codec", "width", "height", "num_frames", "fps", "duration", "error"]

Workers = Annotated[int | None, typer.Option(min=0, help="Processes; all processors by default.")]
Shard = Annotated[str, typer.Option(help="i/n: the i-th of n parts, counted from 0.")]
Ray = Annotated[bool, typer.Option("--ray", help="Work on the Ray cluster at hand.")]
Root = Annotated[
    str | None, typer.Option(help="Folder or URL that the paths of videos are relative to.")
]
Checks = Annotated[
    str, typer.Option("--check", help="What tells a changed file: size, mtime or none.")
]

Curated = Annotated[
    list[str], typer.Argument(help="A data set index (.parquet), or folders, globs, lists, videos.")
]
Device = Annotated[str, typer.Option(help="That decodes: cpu, cuda or cuda:N.")]


@app.callback(invoke_without_command=True)
def command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="And exit.")] = False,
) -> None:
    """Index videos, look at their frames, and run the demo."""
    if version:
        _say(f"videoloader {videoloader.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        _say(context.get_help())
        raise typer.Exit(2)


@app.command()
def index(
    sources: Annotated[
        list[str], typer.Argument(help="Folders, globs, lists (.txt), .tar, videos, URLs.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Parquet file to write; a table otherwise.")
    ] = None,
    headers: Annotated[
        bool, typer.Option(help="Read packet headers too, to know what is disposable.")
    ] = False,
    workers: Workers = None,
    shard: Shard = "0/1",
    ray: Ray = False,
    root: Root = None,
    checks: Checks = "size",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Find every frame of videos from their tables.

    With --out, a job that may be stopped and goes on where it was when called again. Exit code 1
    if any video cannot be read, 2 if the job cannot be done.
    """
    if out is None:
        raise typer.Exit(_index_now(sources, headers=headers, as_json=as_json))
    from videoloader.indexing.dataset import index_dataset

    begin, passed = time.perf_counter(), Counter[str]()
    with _job_progress() as progress, _reported(out):
        task = progress.add_task("indexing", total=None, failed=0)

        def tell(done: int, total: int, failed: int) -> None:
            progress.update(task, completed=done, total=total, failed=failed)

        dataset = index_dataset(
            sources,
            out,
            workers,
            headers=headers,
            root=root,
            check=as_check(checks),
            shard=_shard(shard),
            ray=ray,
            progress=tell,
            passed=passed,
        )
    errors = dataset.errors.to_pylist()
    seconds = time.perf_counter() - begin
    if as_json:
        count = len(dataset.videos)
        facts = {"out": str(out), "videos": count, "errors": errors, "seconds": seconds}
        print(json.dumps(facts | {"passed_over": passed}))  # noqa: T201  (what the option asks for)
    else:
        for row in errors:
            try:
                dataset[row["row"]]
            except VideoError as error:  # with the whole path, where only the end of it is stored
                _complain(str(error))
        rate = len(dataset) / max(seconds, 1e-9)
        _say(
            f"{out}: {len(dataset.videos)} videos, {len(errors)} cannot be read, "
            f"{seconds:.1f} s, {rate:.0f} files/s"
        )
        _tell_passed(passed)
    raise typer.Exit(int(bool(errors)))


@app.command()
def merge(
    parts: Annotated[list[Path], typer.Argument(help="Data set indexes, such as shards of a job.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    root: Root = None,
) -> None:
    """Make one data set index of several, in the order given."""
    from videoloader.indexing.dataset import merge_datasets

    with _reported():
        dataset = merge_datasets(parts, out, root=root)
    _say(f"{out}: {len(dataset.videos)} videos of {len(parts)} parts")


@app.command()
def query(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    where: Annotated[
        str, typer.Argument(help="SQL behind WHERE: \"codec = 'av1' and height >= 720\".")
    ] = "true",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write these rows to a data set index.")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Print how many there are.")] = False,
    by: Annotated[
        str | None, typer.Option(help="Print videos and hours by a column or expression.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Rows to print, 0 for all.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Find the rows of a data set index that meet a condition, failures included (needs DuckDB).

    Exit code 2 if the condition is none.
    """
    from videoloader.indexing.dataset import count_by, open_dataset, query_rows, write_part
    from videoloader.report.tables import plain_table

    with _reported():
        if (out is not None) + count + (by is not None) > 1:
            raise ArgumentError("give one of --out, --count and --by")
        with open_dataset(dataset) as opened:
            total = len(opened)
            if by is not None:
                found, rows = None, count_by(opened, where, by)
            else:
                found = query_rows(opened, where)
                shown = found[:limit] if limit else found
                rows = opened.columns(_SHOWN).take(shown).to_pylist()
            if found is not None and out is not None:
                write_part(opened, found, out)
    if found is not None and out is not None:
        _say(f"{out}: {len(found)} of {total} rows")
    elif found is not None and count:
        _say(str(len(found)))
    elif as_json:
        for row in rows:
            print(json.dumps(row, default=str))  # noqa: T201
    else:
        console.print(plain_table(rows))
        if found is not None:
            more = len(found) - len(rows)
            _say(f"{len(found)} of {total} rows{f', {more} not shown' if more else ''}")


@app.command()
def check(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet) to check.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Parquet file to write; beside it by default."),
    ] = None,
    workers: Workers = None,
    shard: Shard = "0/1",
    ray: Ray = False,
    root: Root = None,
    checks: Checks = "size",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Decode everything once and write which frames of which videos are damaged.

    A job that may be stopped and goes on where it was when called again. What it writes, and what
    --json prints, can be given to loaders as skip_known. Exit code 1 if any are damaged, 2 if the
    job cannot be done.
    """
    from videoloader.decoding.check import check_dataset
    from videoloader.indexing.dataset import Item, open_dataset
    from videoloader.indexing.dataset.job import part_of

    part = "" if shard == "0/1" else f".{shard.replace('/', 'of')}"
    target = dataset.with_suffix(f".damage{part}.parquet") if out is None else out
    with _job_progress() as progress, _reported(target):
        task = progress.add_task("decoding", total=None, failed=0)

        def tell(done: int, total: int, failed: int) -> None:
            progress.update(task, completed=done, total=total, failed=failed)

        with open_dataset(dataset, root=root, check=as_check(checks)) as opened:
            count = len(part_of(opened.videos.rows.tolist(), _shard(shard)))
            table = check_dataset(
                opened, target, workers=workers, shard=_shard(shard), ray=ray, progress=tell
            )
    damage = table.to_pylist()
    if as_json:
        for row in damage:
            print(json.dumps(row))  # noqa: T201
        raise typer.Exit(int(bool(damage)))
    for row in damage:
        frames = f"{len(row['frames'])} frames from {row['frames'][0]}" if row["frames"] else "all"
        name = Item(row["path"], row["member"]).name
        _complain(f"{name}: {frames}: {row['reason']}")
    bad = len({(row["path"], row["member"]) for row in damage})
    _say(f"{target}: {count} videos decoded, {bad} damaged")
    raise typer.Exit(int(bool(damage)))


@app.command()
def scenes(
    sources: Curated,
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    exact: Annotated[bool, typer.Option(help="Decode around cuts, to know their frames.")] = False,
    thumbnails: Annotated[
        Path | None, typer.Option(help="Parquet file for thumbnails of the keyframes.")
    ] = None,
    workers: Workers = None,
    ray: Ray = False,
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


@app.command()
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
    ray: Ray = False,
    device: Device = "cpu",
) -> None:
    """Find groups of videos that are copies of each other, or nearly so."""
    from videoloader.curation.commands import dedupe as run

    most = None if copies else distance
    _curate(run, sources, out, distance=most, workers=workers, ray=ray, device=device)


@app.command()
def score(
    sources: Curated,
    out: Annotated[Path, typer.Option("--out", "-o", help="Parquet file to write.")],
    sound: Annotated[bool, typer.Option("--sound", help="Decode the sound too.")] = False,
    workers: Workers = None,
    ray: Ray = False,
    device: Device = "cpu",
) -> None:
    """Score videos: what is black, still, blurred, in motion or silent."""
    from videoloader.curation.commands import score as run

    _curate(run, sources, out, sound=sound, workers=workers, ray=ray, device=device)


@app.command()
def inspect(
    source: Annotated[str, typer.Argument(help="A video file or its URL.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="PNG to write (needs matplotlib).")
    ] = None,
    gops: Annotated[int, typer.Option(min=1, help="Groups of pictures to print.")] = 20,
    fps: Annotated[
        str | None, typer.Option(help="Frames a second of a raw stream, such as 24000/1001.")
    ] = None,
) -> None:
    """Print what is known of a video and draw its groups of pictures and frame sizes."""
    from videoloader.report.tables import draw_timeline, gop_table, video_table

    with _reported():
        made = index_video(source, headers=True, fps=None if fps is None else _rate(fps))
        console.print(video_table([made]))
        facts = _facts(made.name, made)
        del facts["warnings"]  # printed as such
        for name, value in facts.items():
            _say(f"{name:>14}  {value}")
        _warn(made)
        console.print(gop_table(made, most=gops, width=max(console.width - 46, 10)))
        if out is not None:
            draw_timeline(made, out)
            _say(f"timeline: {out}")


@app.command()
def sample(
    source: Annotated[str, typer.Argument(help="A video file or its URL.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="PNG to write.")] = Path("sample.png"),
    clips: Annotated[int, typer.Option(min=1, help="Clips, one a row.")] = 4,
    count: Annotated[int, typer.Option(min=1, help="Frames in a clip.")] = 8,
    stride: Annotated[int | None, typer.Option(min=1, help="From frame to frame; 4.")] = None,
    fps: Annotated[
        str | None, typer.Option(help="Frames a second, in place of a stride, such as 30000/1001.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random starts.")] = 0,
    matrix: Annotated[
        str, typer.Option(help="To RGB: auto, bt601, bt709, bt2020, or swscale as FFmpeg does.")
    ] = "auto",
    color_range: Annotated[str, typer.Option(help="Of the samples: auto, limited, full.")] = "auto",
) -> None:
    """Draw random clips of a video as a sheet of pictures."""
    from videoloader.report.tables import write_png
    from videoloader.sampling import RandomClip, generator, sample_frames
    from videoloader.video import Video
    from videoloader.views import contact_sheet

    rows = []
    with _reported():
        if stride is not None and fps is not None:
            raise ArgumentError("give --stride or --fps, not both")
        rate = None if fps is None else float(_rate(fps))
        sampler = RandomClip(count, stride or (4 if fps is None else 1), rate)
    try:
        with Video(source, matrix=matrix, color_range=color_range) as video:  # type: ignore[arg-type]
            for number in range(clips):
                rng = generator(seed, sample=number)
                frames = sample_frames(sampler, video.index, rng=rng)
                clip = video.get_frames(frames, pad_mode="edge")
                caption = f"{video.name}  frames {clip.indices[0]}-{clip.indices[-1]}"
                rows.append((f"{caption}  {clip.times[0]:.2f} s", list(clip.frames.numpy())))
    except VideoError as error:
        _complain(str(error))
        raise typer.Exit(1) from None
    with _reported():
        write_png(contact_sheet(rows), out)
    _say(f"{out}: {clips} clips of {count} frames")


@app.command()
def report(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path("report"),
    pictures: Annotated[int, typer.Option(min=0, help="Videos whose frames are shown.")] = 200,
    root: Root = None,
) -> None:
    """Write a page about a data set: totals, distributions, a table of all videos, and frames.

    One HTML file that needs no server. Damaged frames are shown where `videoloader check` has left
    its file beside the data set index.
    """
    from videoloader.indexing.dataset import open_dataset
    from videoloader.report.page import write_report

    with _job_progress() as progress, _reported():
        task = progress.add_task("sheets of frames", total=None, failed=0)
        with open_dataset(dataset, root=root) as opened:
            page = write_report(
                opened,
                out,
                pictures=pictures,
                damage=_damage(dataset),
                progress=lambda done, total: progress.update(task, completed=done, total=total),
            )
    _say(f"{page}: {page.stat().st_size / 1e6:.1f} MB")


@app.command()
def browse(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of this machine; 0: any.")] = 0,
    root: Root = None,
) -> None:
    """Serve the page of `report` to this machine, with frames of any video that is picked."""
    from videoloader.indexing.dataset import open_dataset
    from videoloader.report.browse import BrowseServer

    with _reported(), open_dataset(dataset, root=root) as opened:
        try:
            server = BrowseServer(opened, port=port, damage=_damage(dataset))
        except OSError as error:
            raise ArgumentError(f"--port {port}: {error.strerror}") from error
        _say(f"{server.address}  (Ctrl-C ends it)")
        with server:
            server.serve_forever()


@app.command()
def cut(
    source: Annotated[str, typer.Argument(help="A video file or its URL.")],
    out: Annotated[Path, typer.Argument(help="Video to write; its suffix chooses the container.")],
    start: Annotated[int | None, typer.Option(help="First frame; 0.")] = None,
    stop: Annotated[int | None, typer.Option(help="Frame behind the last; the end.")] = None,
    times: Annotated[
        tuple[float, float] | None, typer.Option(help="Begin and end in seconds instead.")
    ] = None,
    method: Annotated[str, typer.Option(help="auto, copy (packets as they are), encode.")] = "auto",
    codec: Annotated[str | None, typer.Option(help="h264, hevc, av1, vp9 or ffv1.")] = None,
    quality: Annotated[
        str | None, typer.Option(help="Constant rate factor of the encoder, or lossless.")
    ] = None,
    audio: Annotated[bool, typer.Option(help="Write the sound too.")] = True,
) -> None:
    """Write exactly these frames of a video to a file, without encoding where that can be done."""
    from videoloader.writing.cut import cut as write_cut

    with _reported():
        made = write_cut(
            source,
            out,
            start,
            stop,
            times=times,
            method=method,  # type: ignore[arg-type]
            codec=codec,
            quality=_quality(quality),
            audio=audio,
        )
    how = f"{made.num_packets} packets copied" if made.method == "copy" else "encoded"
    _say(f"{out}: frames {made.start}-{made.stop - 1}, {how}")
    if made.reason:
        _say(f"not copied: {made.reason}")


@app.command()
def transcode(
    sources: Annotated[
        list[str], typer.Argument(help="Folders, globs, lists, .tar, videos, URLs; or a .parquet.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")],
    codec: Annotated[str | None, typer.Option(help="h264, hevc, av1, vp9 or ffv1.")] = None,
    quality: Annotated[
        str | None, typer.Option(help="Constant rate factor of the encoder, or lossless.")
    ] = None,
    gop: Annotated[int, typer.Option(min=1, help="Most frames between keyframes.")] = 16,
    shorter: Annotated[
        int | None, typer.Option(min=2, help="Length of the shorter side; as it is by default.")
    ] = None,
    audio: Annotated[bool, typer.Option(help="Keep the sound.")] = True,
    suffix: Annotated[str, typer.Option(help="Of the files.")] = ".mp4",
    videos_per_shard: Annotated[
        int | None, typer.Option(min=1, help="Write tar archives of so many videos each.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Frames of a clip, to tell the gain.")] = 16,
    stride: Annotated[int, typer.Option(min=1, help="From frame to frame of a clip.")] = 4,
    workers: Workers = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Encode videos again for training: short groups of pictures, a smaller size.

    A job that may be stopped and goes on where it was when called again. Exit code 1 if any video
    cannot be transcoded, 2 if the job cannot be done.
    """
    from videoloader.sampling import RandomClip
    from videoloader.writing.transcode import transcode as run

    whole = len(sources) == 1  # a data set index is given alone
    with _job_progress() as progress, _reported(out / "transcode"):
        task = progress.add_task("transcoding", total=None, failed=0)

        def tell(done: int, total: int, failed: int) -> None:
            progress.update(task, completed=done, total=total, failed=failed)

        made = run(
            sources[0] if whole else sources,
            out,
            codec=codec,
            quality=_quality(quality),
            gop=gop,
            resize_shorter=shorter,
            audio=audio,
            suffix=suffix,
            videos_per_shard=videos_per_shard,
            sampler=RandomClip(count, stride=stride),
            workers=workers,
            progress=tell,
            tell_gain=None if as_json else lambda gain: _say(str(gain)),
        )
    if as_json:
        facts = {"out": str(out), "written": made.written, "kept": made.kept}
        facts |= {"bytes_before": made.bytes_before, "bytes_after": made.bytes_after}
        facts |= {"gain": None if made.gain is None else made.gain._asdict()}
        print(json.dumps(facts | {"errors": [each._asdict() for each in made.failures]}))  # noqa: T201
        raise typer.Exit(int(bool(made.failures)))
    for failure in made.failures:
        _complain(failure.reason)
    _say(
        f"{out}: {made.written} videos written, {made.kept} were done, {len(made.failures)} "
        f"failed; {made.bytes_before / 1e6:.1f} MB became {made.bytes_after / 1e6:.1f} MB"
    )
    if made.gain is not None:
        _say(str(made.gain))
    raise typer.Exit(int(bool(made.failures)))


@app.command()
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


@app.command()
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


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="videoloader")


def _curate(run: Callable[..., Any], sources: list[str], out: Path, **options: Any) -> None:
    """Run a job of curation; exit code 1 if a video failed."""
    with _job_progress() as progress, _reported(out):
        task = progress.add_task("decoding", total=None, failed=0)

        def tell(done: int, total: int, failed: int) -> None:
            progress.update(task, completed=done, total=total, failed=failed)

        result = run(sources, out, progress=tell, **options)
    for error in result.errors:
        _complain(error)
    _say(result.text)
    raise typer.Exit(int(bool(result.errors)))


def _index_now(sources: list[str], *, headers: bool, as_json: bool) -> int:
    """Index and print, file after file; the exit code."""
    from videoloader.indexing.dataset import find_items
    from videoloader.report.tables import video_table

    indexes, passed = [], Counter[str]()
    with _reported():
        items = find_items(sources, passed)
    for item in items:
        try:
            with item.open() as source:
                made = index_video(source, headers=headers)
        except VideoError as error:
            _complain(str(error))
            continue
        _warn(made)
        indexes.append(made)
        if as_json:
            print(json.dumps(_facts(item.name, made)))  # noqa: T201
    if not as_json and indexes:
        console.print(video_table(indexes))
        _tell_passed(passed)
    return int(len(indexes) < len(items))


def _damage(dataset: Path) -> Any:
    """What `videoloader check` has written beside a data set index; None where it has not."""
    import pyarrow.parquet as pq

    path = dataset.with_suffix(".damage.parquet")
    return pq.read_table(path) if path.exists() else None


def _tell_passed(passed: Counter[str]) -> None:
    """Say which files of folders and archives were passed over."""
    if passed:
        from videoloader.indexing.dataset.listing import describe_passed

        _say(f"passed over: {describe_passed(passed)}")


def _warn(index: VideoIndex) -> None:
    for warning in index.warnings:
        problems.print(warning, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _complain(text: str) -> None:
    problems.print(text, style="red", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _reported(out: Path | None = None) -> Iterator[None]:
    """Errors of ours as a line and exit code 2; Ctrl-C as code 130, and what it leaves of a job."""
    try:
        yield
    except VideoError as error:
        _complain(str(error))
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        kept = "" if out is None else f"; what is done is kept in {out}.journal"
        _complain(f"interrupted{kept}{', run again to resume' if kept else ''}")
        raise typer.Exit(130) from None


def _rate(text: str) -> Fraction:
    try:
        return exact_number(text)
    except (OverflowError, ValueError) as error:
        raise ArgumentError(f"--fps is a number or a fraction, got {text!r}") from error


def _quality(text: str | None) -> Any:
    """The quality of an encoder: a number, or a word that is checked there."""
    return int(text) if text is not None and text.isdecimal() else text


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal()):
        raise ArgumentError(f"--shard is i/n, such as 0/4, got {text!r}")
    return int(part), int(parts)


def _job_progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        FilesPerSecond(),
        TimeRemainingColumn(),
        console=problems,
        transient=True,
    )


class FilesPerSecond(ProgressColumn):
    """How fast a job is."""

    def render(self, task: Task) -> Text:
        """The rate of the last seconds."""
        return Text(f"{task.speed or 0:.0f} files/s")


def _facts(name: str, index: VideoIndex) -> dict[str, Any]:
    names = "codec width height num_frames average_fps duration rotation pixel_format bit_depth "
    names += "container stream exactness"
    facts = {"file": name} | {name: getattr(index, name) for name in names.split()}
    facts["keyframes"] = len(index.keyframes)
    facts["time_base"] = str(index.time_base)
    facts["warnings"] = list(index.warnings)
    return facts
