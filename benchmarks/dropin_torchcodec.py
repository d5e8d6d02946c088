"""torchcodec's protocols: those of its README, and LeRobot's, which keeps decoders open."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from dropin_rows import Row, digest, footage
from footage import DATA, TestVideo, make
from numpy.typing import NDArray

from videoloader.demo.videos import encode_video

SAMPLES = 50
SEED = 1


def mandelbrot(seconds: int) -> Path:
    """A file as torchcodec's README has it: 1080p, 60 frames a second, a keyframe every 600."""
    path = DATA / f"mandelbrot-{seconds}s.mp4"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        unfinished = path.with_name(f"unfinished-{path.name}")
        encode_video(
            unfinished,
            size=(1920, 1080),
            fps=60,
            frames=60 * seconds,
            options={"g": "600", "threads": "1"},
            picture="mandelbrot=maxiter=256",
        )
        unfinished.replace(path)
    return path


def episode(encoder: str) -> Path:
    """A file as LeRobot writes them: a keyframe every second frame."""
    options = {"g": "2", "crf": "30"}
    video = TestVideo(name=f"{encoder}-gop2.mp4", encoder=encoder, size=(640, 480), options=options)
    make([video])
    return video.path


def half_minute() -> Path:
    """30 seconds of 1080p."""
    video = TestVideo(name="h264-30s.mp4", encoder="libx264", size=(1920, 1080), frames=900)
    make([video])
    return video.path


def fifty() -> list[Path]:
    """As many files of 300 frames of 360p."""
    original = footage("h264-360p")()
    folder = DATA / "fifty"
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number:02}.mp4" for number in range(50)]
    for path in paths:
        if not path.exists():
            shutil.copyfile(original, path)
    return paths


def _shown(batch: Any) -> NDArray[Any]:
    return digest(batch.data.movedim(-3, -1))


def uniform(torchcodec: Any, path: Path, *, count: int = 10, threads: int = 1) -> NDArray[Any]:
    decoder = torchcodec.decoders.VideoDecoder(path, num_ffmpeg_threads=threads)
    numbers = np.linspace(0, len(decoder) - 1, count).astype(int)
    return _shown(decoder.get_frames_at(numbers.tolist()))


def uniform_of_many(torchcodec: Any, paths: list[Path]) -> NDArray[Any]:
    with ThreadPoolExecutor(max_workers=2) as pool:
        return np.concatenate(list(pool.map(partial(uniform, torchcodec), paths)))


def at_random(torchcodec: Any, path: Path) -> NDArray[Any]:
    decoder = torchcodec.decoders.VideoDecoder(path)
    metadata = decoder.metadata
    begin, end = metadata.begin_stream_seconds, metadata.end_stream_seconds
    times = np.random.default_rng(SEED).uniform(begin, end, 10)
    return _shown(decoder.get_frames_played_at(times.tolist()))


def first(torchcodec: Any, path: Path) -> NDArray[Any]:
    decoder = torchcodec.decoders.VideoDecoder(path)
    return _shown(decoder.get_frames_in_range(0, 100))


def one_by_one(torchcodec: Any, path: Path) -> NDArray[Any]:
    decoder = torchcodec.decoders.VideoDecoder(path)
    return np.stack([digest(decoder[number].movedim(0, -1)) for number in range(100)])


@cache
def _warm(torchcodec: Any, path: Path) -> Any:
    return torchcodec.decoders.VideoDecoder(path, seek_mode="approximate")


def sampled(torchcodec: Any, path: Path, *, count: int) -> NDArray[Any]:
    decoder = _warm(torchcodec, path)
    draw = random.Random(SEED)
    starts = [draw.randrange(len(decoder) - count) for _ in range(SAMPLES)]
    times = [[(start + number) / 30 + 1e-3 for number in range(count)] for start in starts]
    return np.stack([_shown(decoder.get_frames_played_at(seconds)) for seconds in times])


def _row(protocol: str, prepare: Callable[[], Any], run: Any, repeats: int = 5) -> Row:
    return Row(
        library="torchcodec",
        drop_in="videoloader.compat.torchcodec",
        protocol=protocol,
        prepare=prepare,
        run=run,
        repeats=repeats,
    )


ROWS = (
    *(
        _row(f"{what}, mandelbrot of {seconds} s", partial(mandelbrot, seconds), run)
        for seconds in (10, 120)
        for what, run in (("10 uniform", uniform), ("10 random", at_random), ("first 100", first))
    ),
    _row("first 100 one by one, mandelbrot of 10 s", partial(mandelbrot, 10), one_by_one),
    _row("10 uniform of each of 50, 360p, on 2 threads", fifty, uniform_of_many, repeats=3),
    *(
        _row(
            f"32 of 30 s, 1080p, {threads} thread{'s' * (threads > 1)}",
            half_minute,
            partial(uniform, count=32, threads=threads),
        )
        for threads in (1, 2)
    ),
    *(
        _row(
            f"{SAMPLES} times {count} frame{'s' * (count > 1)}, {name} GOP 2, warm",
            partial(episode, encoder),
            partial(sampled, count=count),
            repeats=9,
        )
        for name, encoder in (("AV1", "libsvtav1"), ("H.264", "libx264"))
        for count in (1, 2, 6)
    ),
)
