"""The command `videoloader`: look at videos without writing a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from videoloader.errors import VideoError
from videoloader.indexing import VideoIndex, index_video

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Index videos, look at their frames, and run the demo.",
)
console = Console()
problems = Console(stderr=True)


@app.command()
def index(
    sources: Annotated[list[Path], typer.Argument(help="Video files, or folders of them.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to save the indexes in.")
    ] = None,
    headers: Annotated[
        bool, typer.Option(help="Read packet headers too, to know what is disposable.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, not a table.")] = False,
) -> None:
    """Find every frame of videos from their tables. Exit code 1 if any cannot be read."""
    from videoloader.report import video_table

    indexes, failed = [], False
    for file in _files(sources):
        try:
            made = index_video(file, headers=headers)
        except VideoError as error:
            problems.print(str(error), style="red", markup=False, highlight=False)
            failed = True
            continue
        indexes.append(made)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            made.save(out / f"{file.name}.index")
        if as_json:
            print(json.dumps(_facts(file, made)))  # noqa: T201  (what the option asks for)
    if not as_json and indexes:
        console.print(video_table(indexes))
    raise typer.Exit(int(failed))


@app.command()
def sample(
    source: Annotated[Path, typer.Argument(help="A video file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="PNG to write.")] = Path("sample.png"),
    clips: Annotated[int, typer.Option(min=1, help="Clips, one a row.")] = 4,
    count: Annotated[int, typer.Option(min=1, help="Frames in a clip.")] = 8,
    stride: Annotated[int, typer.Option(min=1, help="From frame to frame.")] = 4,
    seed: Annotated[int, typer.Option(help="Of the random starts.")] = 0,
) -> None:
    """Draw random clips of a video as a sheet of pictures."""
    from videoloader.report import contact_sheet, write_png
    from videoloader.sampling import RandomClip, generator
    from videoloader.video import Video

    rows = []
    try:
        with Video(source) as video:
            for number in range(clips):
                rng = generator(seed, sample=number)
                frames = RandomClip(count, stride).frames(len(video), rng=rng)
                clip = video.get_frames(frames, pad_mode="edge")
                caption = f"{video.name}  frames {clip.indices[0]}-{clip.indices[-1]}"
                rows.append((f"{caption}  {clip.times[0]:.2f} s", list(clip.frames.numpy())))
    except VideoError as error:
        problems.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    write_png(contact_sheet(rows), out)
    console.print(f"{out}: {clips} clips of {count} frames")


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of videos; a few are made if left out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results are written.")] = Path("demo"),
    workers: Annotated[int, typer.Option(help="Threads, then processes, that decode.")] = 2,
) -> None:
    """Turn a folder of videos into training batches and say how that went."""
    from videoloader.demo import main as run

    run(folder, out, workers)


def main() -> None:
    """Entry point of the console script."""
    app()


def _files(sources: list[Path]) -> list[Path]:
    from videoloader.dataset import find_videos

    files: list[Path] = []
    for source in sources:
        try:
            files += find_videos(source) if source.is_dir() else [source]
        except VideoError as error:
            problems.print(str(error), style="red", markup=False, highlight=False)
            raise typer.Exit(1) from None
    return files


def _facts(file: Path, index: VideoIndex) -> dict[str, Any]:
    names = "codec width height num_frames average_fps duration rotation pixel_format bit_depth "
    names += "container stream exactness"
    facts = {"file": str(file)} | {name: getattr(index, name) for name in names.split()}
    facts["keyframes"] = len(index.keyframes)
    facts["time_base"] = str(index.time_base)
    return facts


if __name__ == "__main__":
    main()
