"""Commands that show videos and data sets: tables, sheets of frames, pages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from videoloader.cli.terminal import (
    Json,
    Root,
    Workers,
    as_rate,
    console,
    emit,
    job_progress,
    say,
    show,
    video_facts,
    warn,
)
from videoloader.errors import ArgumentError, FormatError
from videoloader.indexing import index_video

if TYPE_CHECKING:
    from videoloader.indexing.dataset import DatasetIndex

SegmentTable = Annotated[
    Path | None, typer.Option("--segments", help="Table of segments to show, such as scenes.")
]
Before = Annotated[
    Path | None, typer.Option(help="Earlier data set index, to show what has changed since then.")
]
SegmentUnit = Annotated[
    str,
    typer.Option("--segment-unit", help="Unit of their starts and ends: seconds, times or frames."),
]


def inspect(
    source: Annotated[str, typer.Argument(help="A video file or its URL.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="PNG to write (needs matplotlib).")
    ] = None,
    gops: Annotated[int, typer.Option(min=1, help="Groups of pictures to print.")] = 20,
    fps: Annotated[
        str | None, typer.Option(help="Frames a second of a raw stream, such as 24000/1001.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what is known of a video and draw its groups of pictures and frame sizes.

    Examples:
        videoloader inspect clip.mp4
        videoloader inspect clip.mp4 --json
        videoloader inspect clip.mp4 -o timeline.png
    """
    from videoloader.indexing.drawing import draw_timeline, gop_table, video_table

    made = index_video(source, headers=True, fps=None if fps is None else as_rate(fps))
    facts = video_facts(made.name, made)
    if as_json:
        emit(facts)
    else:
        show(video_table([made]))
        del facts["warnings"]  # printed as such
        for name, value in facts.items():
            say(f"{name:>14}  {value}")
        warn(made)
        console.print(gop_table(made, most=gops, width=max(console.width - 46, 10)))
    if out is not None:
        draw_timeline(made, out)
        if not as_json:
            say(f"timeline: {out}")


def sample(
    source: Annotated[
        str, typer.Argument(help="A video file, its URL, or a data set index (.parquet).")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="PNG to write, by default sample.png; see --videos."),
    ] = None,
    videos: Annotated[
        str | None,
        typer.Option(
            help="Write so many random videos of a data set index, or a fraction such as 0.1, to "
            "another (--out), and draw none."
        ),
    ] = None,
    clips: Annotated[int, typer.Option(min=1, help="Number of clips, one in each row.")] = 4,
    count: Annotated[int, typer.Option(min=1, help="Frames in a clip.")] = 8,
    stride: Annotated[
        int | None,
        typer.Option(min=1, help="Distance between frames of a clip; 4 by default."),
    ] = None,
    fps: Annotated[
        str | None, typer.Option(help="Frames a second, in place of a stride, such as 30000/1001.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for the random start frames.")] = 0,
    matrix: Annotated[
        str,
        typer.Option(help="Matrix for RGB: auto, bt601, bt709, bt2020, or swscale as FFmpeg does."),
    ] = "auto",
    color_range: Annotated[
        str, typer.Option(help="Range of the samples: auto, limited or full.")
    ] = "auto",
    as_json: Json = False,
) -> None:
    """Draw random clips of a video, or of random videos of a data set, as a sheet of pictures.

    Examples:
        videoloader sample clip.mp4 -o sheet.png --count 8 --fps 5
        videoloader sample set.parquet --clips 4
        videoloader sample set.parquet --videos 0.5 -o some.parquet
    """
    from videoloader.indexing.dataset import open_dataset
    from videoloader.indexing.drawing import write_png
    from videoloader.machinery.views import contact_sheet
    from videoloader.sampling import RandomClip, generator, sample_frames
    from videoloader.video import Video

    sources: list[Any] = [source] * clips
    if videos is not None:
        _sample_videos(source, videos, out, seed=seed, as_json=as_json)
        return
    if source.endswith(".parquet"):
        with open_dataset(source) as opened:
            chosen = opened.sample(min(clips, len(opened.videos)), seed=seed)
            sources = [chosen.item(number) for number in range(len(chosen))]
    if stride is not None and fps is not None:
        raise ArgumentError("give --stride or --fps, not both")
    rate = None if fps is None else float(as_rate(fps))
    sampler = RandomClip(count, stride or (4 if fps is None else 1), rate)
    rows, drawn = [], []
    for place, of_place in itertools.groupby(enumerate(sources), lambda pair: pair[1]):
        with Video(place, matrix=matrix, color_range=color_range) as video:  # type: ignore[arg-type]
            for number, _ in of_place:
                rng = generator(seed, sample=number)
                frames = sample_frames(sampler, video.index, rng=rng)
                clip = video.get_frames(frames, pad_mode="edge")
                caption = f"{video.name}  frames {clip.indices[0]}-{clip.indices[-1]}"
                rows.append((f"{caption}  {clip.times[0]:.2f} s", list(clip.frames.numpy())))
                places = {"frames": clip.indices.tolist(), "times": clip.times.tolist()}
                drawn.append({"file": video.name, **places})
    out = out or Path("sample.png")
    write_png(contact_sheet(rows), out)
    if as_json:
        emit({"out": str(out), "clips": drawn})
    else:
        say(f"{out}: {len(rows)} clips of {count} frames")


def _sample_videos(source: str, videos: str, out: Path | None, *, seed: int, as_json: bool) -> None:
    """Write random videos of a data set index to another."""
    from videoloader.indexing.dataset import open_dataset

    if out is None:
        raise ArgumentError("--videos needs --out, the Parquet file to write")
    try:
        count = int(videos) if videos.isdecimal() else float(videos)
    except ValueError as error:
        raise ArgumentError(
            f"--videos is a number or a fraction such as 0.1, got {videos!r}"
        ) from error
    with open_dataset(source) as opened:
        chosen, total = opened.sample(count, seed=seed), len(opened.videos)
        chosen.write(out).close()
    if as_json:
        facts = {"out": str(out), "videos": len(chosen), "of": total}
        emit(facts)
    else:
        say(f"{out}: {len(chosen)} of {total} videos")


def report(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path("report"),
    pictures: Annotated[int, typer.Option(min=0, help="Videos whose frames are shown.")] = 200,
    segments: SegmentTable = None,
    unit: SegmentUnit = "seconds",
    before: Before = None,
    workers: Workers = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Write a page about a data set: totals, distributions, a table of all videos, and frames.

    One HTML file that needs no server. The job may be stopped, and the same command resumes it.
    Damaged frames are shown where `videoloader check` has left its file beside the data set index.

    Examples:
        videoloader report set.parquet
        videoloader report set.parquet -o page/ --pictures 50
    """
    from videoloader.datasets.report.page import write_report
    from videoloader.indexing.dataset import open_dataset

    with (
        job_progress("sheets of frames", out / "index.html") as show_progress,
        open_dataset(dataset, root=root) as opened,
        _beside(opened, segments, unit, before) as beside,
    ):
        page = write_report(
            opened, out, pictures=pictures, workers=workers, progress=show_progress, **beside
        )
    size = page.stat().st_size
    if as_json:
        emit({"out": page, "bytes": size})
    else:
        say(f"{page}: {size / 1e6:.1f} MB")


def browse(
    dataset: Annotated[Path, typer.Argument(help="Data set index (.parquet).")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of this machine; 0 for any free one.")
    ] = 0,
    segments: SegmentTable = None,
    unit: SegmentUnit = "seconds",
    before: Before = None,
    root: Root = None,
) -> None:
    """Serve the page of `report` to this machine, with frames of any video that is picked.

    Examples:
        videoloader browse set.parquet
        videoloader browse set.parquet --root videos/
    """
    from videoloader.datasets.report.browse import BrowseServer
    from videoloader.indexing.dataset import open_dataset

    with (
        open_dataset(dataset, root=root) as opened,
        _beside(opened, segments, unit, before) as beside,
    ):
        try:
            server = BrowseServer(opened, port=port, **beside)
        except OSError as error:
            raise ArgumentError(f"--port {port}: {error.strerror}") from error
        say(f"{server.address}  (Ctrl-C ends it)")
        with server, suppress(KeyboardInterrupt):
            server.serve_forever()


@contextmanager
def _beside(
    dataset: DatasetIndex, segments: Path | None, unit: str, before: Path | None
) -> Iterator[dict[str, Any]]:
    """What a page about a data set shows of other files."""
    from videoloader.indexing.dataset import open_dataset

    found: dict[str, Any] = {"damage": _damage(dataset.path)}
    if segments is not None:
        from videoloader.datasets.report.segments import read_segments

        found["segments"] = read_segments(segments, dataset, unit=unit)  # type: ignore[arg-type]
    if before is None:
        yield found
        return
    with open_dataset(before) as earlier:
        yield found | {"before": earlier}


def _damage(dataset: Path) -> Any:
    """The file that `videoloader check` wrote beside a data set index; None if there is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = dataset.with_suffix(".damage.parquet")
    if not path.exists():
        return None
    fields = [("key", pa.string()), ("frames", pa.list_(pa.int64())), ("reason", pa.string())]
    try:
        return pq.read_table(path, columns=[name for name, _ in fields]).cast(pa.schema(fields))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path}: no report of `videoloader check` ({reason})") from error
