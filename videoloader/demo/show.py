"""The main job on one folder: index it, sample clips, decode, augment, batch, twice over.

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
from videoloader.sampling import RandomClip, sample_frames
from videoloader.training.clip_dataset import ClipDataset
from videoloader.video import Video

EPOCHS = 2
BATCH = 4
SAMPLER = RandomClip(count=16, stride=2)
SHORTER, CROP = 128, 112
MEAN, STD = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]
SHEET_FRAMES = 8
PROFILED = 16  # samples that are profiled

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


def augment(frames: torch.Tensor) -> torch.Tensor:
    """The same operators called directly, as the transform of a data set: (F, H, W, C) in."""
    frames = fn.resize(frames, resize_shorter=SHORTER)
    left, flip = torch.rand(2).tolist()
    normalized: torch.Tensor = fn.crop_mirror_normalize(
        frames, crop=(CROP, CROP), crop_pos_x=left, mirror=int(flip < 0.5), mean=MEAN, std=STD
    )
    return normalized


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


def run_dataset(files: list[Path], *, workers: int) -> Result:
    """Two epochs through a data set and a DataLoader."""
    result = Result()
    dataset = ClipDataset(
        files,
        SAMPLER,
        augment,
        seed=7,
        layout="FHWC",
        resolution_change="scale",
        on_error="replace",
    )
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=True
    )
    with _timed(result), _progress() as progress:
        task = progress.add_task("data set", total=EPOCHS * len(loader))
        for epoch in range(EPOCHS):
            dataset.set_epoch(epoch)
            for batch in loader:
                _take(result, batch["frames"])
                result.failures += [("", error) for error in batch["error"] if error]
                progress.advance(task)
    result.times = _profile(files)
    return result


def _profile(files: list[Path]) -> dict[str, float]:
    """Seconds that a few samples take in this process, by step."""
    spent = {"index": 0.0, "decode": 0.0, "augment": 0.0}
    for path in files[:PROFILED]:
        try:
            marks = [time.perf_counter()]
            with Video(path) as video:
                marks.append(time.perf_counter())
                chosen = sample_frames(SAMPLER, video.index)
                frames = video.get_frames(chosen, pad_mode="edge").frames
            marks.append(time.perf_counter())
            augment(frames)
            marks.append(time.perf_counter())
        except VideoError:
            continue
        for name, seconds in zip(spent, np.diff(marks), strict=True):
            spent[name] += float(seconds)
    return spent


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
        "pipeline, GenericIterator": run_pipeline(good, threads=workers),
        "ClipDataset, DataLoader": run_dataset(good, workers=workers),
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
    console.print(f"contact sheet of the first batches: {sheet}")


def _take(result: Result, clips: torch.Tensor) -> None:
    """Count a batch as a training step would use it, and keep the first."""
    if not result.first:
        result.first = [clip.clone() for clip in clips]
    result.clips += len(clips)


def _speed_table(results: dict[str, Result]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("loaded by", "clips", "seconds", "clips/s", "where the time went"):
        table.add_column(name, justify="right" if name[:4] in ("clip", "seco") else "left")
    for name, result in results.items():
        total = max(sum(result.times.values()), 1e-9)
        spent = ", ".join(
            f"{step} {seconds / total:.0%}"
            for step, seconds in sorted(result.times.items(), key=lambda item: -item[1])
            if seconds >= total / 100
        )
        table.add_row(
            name,
            str(result.clips),
            f"{result.seconds:.2f}",
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
