"""The main job on one folder: index it, sample clips, decode, augment, batch; by two interfaces.

``python -m videoloader.demo [FOLDER]``. Without a folder it makes a few small clips first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.demo.videos import make_videos
from videoloader.errors import VideoError
from videoloader.indexing import VideoIndex, index_video
from videoloader.indexing.dataset import find_videos
from videoloader.indexing.drawing import video_table, write_png
from videoloader.machinery.system.writing import written
from videoloader.machinery.views import contact_sheet
from videoloader.sampling import RandomClip
from videoloader.training.loader import Loader

EPOCHS = 2
BATCH = 4
SAMPLER = RandomClip(count=16, stride=2)
SHORTER, CROP = 128, 112
MEAN, STD = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]
SHEET_FRAMES = 8

PROGRAM = """    import videoloader as vl

    clips = vl.RandomClip(16, stride=2)
    loader = vl.Loader({folder!r}, clips, batch_size=4, size=(112, 112), random_flip=0.5)
    for batch in loader:
        batch["frames"]  # uint8 (4, 16, 3, 112, 112)"""
"""What `run_loader` does, but for normalising and what it asks of damaged and mixed files."""

console = Console()


@dataclass
class Result:
    """Measurements of one way of loading, and its first batch."""

    clips: int = 0
    seconds: float = 0.0
    first: list[torch.Tensor] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)


@pipeline_def
def training_pipeline(files: list[str]) -> Any:
    """Random clips, resized, cropped, flipped and normalised: (clip, number of the file)."""
    clips, numbers = fn.readers.video(
        filenames=files,
        labels=range(len(files)),
        sampler=SAMPLER,
        pad_mode="edge",
        random_shuffle=True,
        pad_last_batch=True,
        resolution_change="scale",
        on_error="replace",
        name="Reader",
    )
    clips = fn.resize(clips, resize_shorter=SHORTER)
    clips = fn.crop_mirror_normalize(
        clips,
        crop=(CROP, CROP),
        crop_pos_x=fn.random.uniform(range=(0.0, 1.0)),
        mirror=fn.random.coin_flip(),
        mean=MEAN,
        std=STD,
    )
    return clips, numbers


def index_files(files: list[Path]) -> tuple[list[VideoIndex], list[Path], list[tuple[str, str]]]:
    """Indexes of the readable files, these files, and (file, reason) of all others."""
    indexes, good, bad = [], [], []
    with _progress() as progress:
        for file in progress.track(files, description="indexing"):
            try:
                index = index_video(file)
                if not index.num_frames:
                    raise VideoError(f"{index.name}: there is no frame in it")
            except VideoError as error:
                bad.append((file.name, str(error)))
                continue
            indexes.append(index)
            good.append(file)
    return indexes, good, bad


def run_loader(files: list[Path], *, workers: int) -> Result:
    """Two epochs through a `Loader`, as `PROGRAM` does it."""
    result = Result()
    loader = Loader(
        files,
        SAMPLER,
        batch_size=BATCH,
        size=(CROP, CROP),
        random_flip=0.5,
        dtype="float32",
        layout="FCHW",
        mean=MEAN,
        std=STD,
        pad_mode="edge",
        resolution_change="scale",
        on_error="replace",
        shuffle=True,
        seed=7,
        workers=workers,
    )
    with loader, _timed(result), _progress() as progress:
        task = progress.add_task("loader", total=EPOCHS * len(loader))
        for epoch in range(EPOCHS):
            loader.set_epoch(epoch)
            for batch in loader:
                _take(result, batch["frames"])
                progress.advance(task)
        for name, stats in loader.stats().items():
            result.times[name] = stats.seconds
        result.failures = [(failure.video, failure.reason) for failure in loader.failures]
    return result


def run_pipeline(files: list[Path], *, threads: int) -> Result:
    """Two epochs through a pipeline and its iterator."""
    result = Result()
    pipe = training_pipeline([str(f) for f in files], batch_size=BATCH, num_threads=threads, seed=7)
    with pipe:
        pipe.build()
        batches = GenericIterator(
            [pipe],
            ["clips", "numbers"],
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )
        with _timed(result), _progress() as progress:
            task = progress.add_task("pipeline", total=EPOCHS * len(batches))
            for _ in range(EPOCHS):
                for (batch,) in batches:
                    _take(result, batch["clips"])
                    progress.advance(task)
        for name, stats in pipe.stats().items():
            result.times[name] = stats.seconds
            result.failures += stats.failures
    return result


def main(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of videos; a few are made if left out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results are written.")] = Path("demo"),
    workers: Annotated[int, typer.Option(help="Threads, then processes, that decode.")] = 2,
) -> None:
    """Turn a folder of videos into training batches and say how that went."""
    try:
        _run(folder, out, workers)
    except VideoError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from None


def _run(folder: Path | None, out: Path, workers: int) -> None:
    with written(out):
        out.mkdir(parents=True, exist_ok=True)
    if folder is None:
        begin = time.perf_counter()
        with written(out / "videos"):
            files = make_videos(out / "videos")
        console.print(f"{len(files)} clips in {out / 'videos'}, {_since(begin)}")
    else:
        files = find_videos(folder)
    begin = time.perf_counter()
    indexes, good, bad = index_files(files)
    console.print(video_table(indexes))
    console.print(f"{len(files)} files indexed, {_since(begin)}; {len(bad)} cannot be read")
    _list_failures("cannot be read", bad)
    if not good:
        raise typer.Exit(1)
    results = {
        "Loader": run_loader(good, workers=workers),
        "pipeline": run_pipeline(good, threads=workers),
    }
    console.print(_speed_table(results))
    for name, result in results.items():
        _list_failures(f"clips replaced ({name})", result.failures)
    sheet = out / "contact_sheet.png"
    rows = [
        (f"{name}: clip {number}", _pictures(clip))
        for name, result in results.items()
        for number, clip in enumerate(result.first)
    ]
    write_png(contact_sheet(rows), sheet)
    console.print(f"\ncontact sheet of the first batches: {sheet}")
    videos = out / "videos" if folder is None else folder
    console.print("\nThe first row was this program; help(vl.Loader) explains its options:\n")
    console.print(PROGRAM.format(folder=str(videos)), markup=False, highlight=False, soft_wrap=True)


def _take(result: Result, clips: torch.Tensor) -> None:
    """Count a batch as a training step would use it, and keep the first."""
    if not result.first:
        result.first = [clip.clone() for clip in clips]
    result.clips += len(clips)


def _speed_table(results: dict[str, Result]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for name in ("loaded by", "clips", "clips/s", "where the time went"):
        table.add_column(name, justify="right" if name.startswith("clip") else "left")
    for name, result in results.items():
        total = max(sum(result.times.values()), 1e-9)
        spent = ", ".join(
            f"{step} {seconds / total:.0%}"
            for step, seconds in sorted(result.times.items(), key=lambda item: -item[1])
            if seconds >= total / 20
        )
        table.add_row(
            name,
            str(result.clips),
            f"{result.clips / max(result.seconds, 1e-9):.1f}",
            spent,
        )
    return table


def _list_failures(what: str, failures: list[tuple[str, str]]) -> None:
    if not failures:
        return
    console.print(f"[yellow]{what}:[/yellow]")
    for reason in dict.fromkeys(reason for _, reason in failures):
        console.print(f"  {reason}", markup=False, soft_wrap=True)


def _pictures(clip: torch.Tensor) -> list[np.ndarray[Any, Any]]:
    """Some frames of a normalised clip (F, C, H, W) as they looked."""
    chosen = clip[:: max(len(clip) // SHEET_FRAMES, 1)][:SHEET_FRAMES].permute(0, 2, 3, 1)
    colors = chosen * torch.tensor(STD) + torch.tensor(MEAN)
    return list(colors.round().clamp(0, 255).to(torch.uint8).numpy())


@contextmanager
def _timed(result: Result) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    result.seconds = time.perf_counter() - begin


def _progress() -> Progress:
    columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=console, transient=True)


def _since(begin: float) -> str:
    return f"{time.perf_counter() - begin:.2f} s"


app = typer.Typer(add_completion=False)
app.command()(main)
