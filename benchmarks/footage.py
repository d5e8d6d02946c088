"""The videos that decoding is measured on, drawn and encoded once into `benchmarks/data`.

    python benchmarks/footage.py             all of them
    python benchmarks/footage.py h264-360p   some

Each is one shot, so that GOPs are as long as the encoder allows: a texture that pans, turns and
zooms behind moving things, with grain. An encoder decides about it as about footage. Every picture
carries its frame number, so that a contender's frames can be told after any codec and any
resizing; `Reference` is a full decode by FFmpeg.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videoloader.demo.videos import BLOCKS, ROW_SHARE, read_frame_number
from videoloader.errors import ArgumentError
from videoloader.machinery.system.scheduling import kept_scheduling

DATA = Path(__file__).parent / "data"
FPS = 30
DISTINCT = 40  # short files that differ; the rest are copies
_THUMBNAIL = (320, 180)
_GRID = (32, 18)

Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestVideo:
    """One file, or `copies` of a short one."""

    name: str
    encoder: str
    size: tuple[int, int]  # width, height
    frames: int = 300
    options: dict[str, str] = field(default_factory=dict)
    seed: int = 1

    @property
    def path(self) -> Path:
        return DATA / self.name

    @property
    def shown(self) -> tuple[tuple[int, int], int, int]:
        """What determines its pictures."""
        return self.size, self.frames, self.seed


_X265 = {"x265-params": "log-level=none"}
_VP9 = {"deadline": "good", "cpu-used": "4", "row-mt": "1", "crf": "33", "b": "0", "g": "128"}
_AV1 = {"preset": "8", "crf": "35"}
VIDEOS = {
    video.name.rpartition(".")[0]: video
    for video in (
        TestVideo(name="h264-1080p.mp4", encoder="libx264", size=(1920, 1080)),
        TestVideo(name="h264-360p.mp4", encoder="libx264", size=(640, 360)),
        TestVideo(name="h264-240p.mp4", encoder="libx264", size=(426, 240)),
        TestVideo(name="hevc-1080p.mp4", encoder="libx265", size=(1920, 1080), options=_X265),
        TestVideo(name="vp9-720p.webm", encoder="libvpx-vp9", size=(1280, 720), options=_VP9),
        TestVideo(name="av1-1080p.mp4", encoder="libsvtav1", size=(1920, 1080), options=_AV1),
    )
}
# Kinds of which there are many files, so encoded quickly, but with B-frames and hidden frames.
_QUICK = {
    "h264": ("libx264", "mp4", {"preset": "veryfast"}),
    "hevc": ("libx265", "mp4", {"preset": "superfast", **_X265}),
    "vp9": ("libvpx-vp9", "webm", {**_VP9, "cpu-used": "5"}),
    "av1": ("libsvtav1", "mp4", {**_AV1, "preset": "10"}),
}
_SIZES = {"240p": (426, 240), "360p": (640, 360), "1080p": (1920, 1080)}
KINDS = {
    f"{codec}-{side}": TestVideo(
        name=f"{codec}-{side}.{ending}", encoder=encoder, size=size, options=options
    )
    for codec, (encoder, ending, options) in _QUICK.items()
    for side, size in _SIZES.items()
}
KINDS |= {
    f"vp9-{side}": replace(KINDS["vp9-360p"], name=f"vp9-{side}.webm", size=size)
    for side, size in (("640x640", (640, 640)), ("800x640", (800, 640)))  # the largest small ones
}
SHORT = tuple(
    TestVideo(
        name=f"short/{number:03}.mp4",
        encoder="libx264",
        size=(640, 360),
        frames=2 * FPS,
        seed=100 + number % DISTINCT,
    )
    for number in range(200)
)


# -- Pictures. --


def pictures(size: tuple[int, int], frames: int, seed: int) -> Iterator[Picture]:
    """RGB pictures (H, W, 3) of one shot with motion, each with its frame number on top."""
    generator = np.random.default_rng(seed)
    width, height = size
    noise = generator.normal(0, 8, (height + 64, width + 64)).astype(np.float32)
    grain = np.rint(cv2.GaussianBlur(noise, (3, 3), 0.7)).astype(np.int16)[:, :, None]
    shot = _Shot(generator, size)
    for number in range(frames):
        top, left = generator.integers(0, 64, 2)
        grainy = shot.picture(number).astype(np.int16)
        grainy += grain[top : top + height, left : left + width]
        picture = grainy.clip(0, 255).astype(np.uint8)
        _draw_number(picture, number)
        yield picture


class _Shot:
    """A background under a moving camera, and things that move before it."""

    def __init__(self, generator: np.random.Generator, size: tuple[int, int]) -> None:
        self._size = size
        width, height = size
        self._background = _texture(generator, (width * 3 // 2, height * 3 // 2))
        self._pan = generator.uniform(-1.2, 1.2, 2) * width / 960
        self._zoom = generator.uniform(-4e-4, 6e-4)
        self._sway = generator.uniform(0.5, 2.0, 2) * width / 960
        self._things = []
        for _ in range(6):
            side = int(generator.uniform(0.08, 0.3) * height)
            shape = np.zeros((side, side), np.float32)
            cv2.ellipse(shape, ((side / 2, side / 2), (side * 0.8, side * 0.55), 30.0), 1.0, -1)
            mask: Any = cv2.GaussianBlur(shape, (0, 0), side / 40)[:, :, None]
            place = generator.uniform(0, 1, 2) * (width, height)
            speed = generator.normal(0, 3.5, 2) * width / 960
            self._things.append((_texture(generator, (side, side)), mask, place, speed))

    def picture(self, time: int) -> Picture:
        width, height = self._size
        angle = 0.004 * np.sin(time / 17)
        scale = 1 + self._zoom * time
        shift = self._pan * time + self._sway * np.sin(np.array([time / 5, time / 7]))
        turn = cv2.getRotationMatrix2D((width * 0.75, height * 0.75), np.degrees(angle), scale)
        turn[:, 2] += shift - (width / 4, height / 4)
        picture: Any = cv2.warpAffine(
            self._background, turn, (width, height), borderMode=cv2.BORDER_REFLECT
        )
        for texture, mask, place, speed in self._things:
            side = len(mask)
            drift = place + speed * time + 6 * np.sin(time / 11 + place)
            left = int(drift[0] % (width + side)) - side
            top = int(drift[1] % (height + side)) - side
            rows = slice(max(top, 0), min(top + side, height))
            columns = slice(max(left, 0), min(left + side, width))
            inside = (
                slice(rows.start - top, rows.stop - top),
                slice(columns.start - left, columns.stop - left),
            )
            part = picture[rows, columns]
            part[...] = part + mask[inside] * (texture[inside].astype(np.float32) - part)
        light = 1 + 0.06 * np.sin(time / 23)
        lit: Picture = cv2.convertScaleAbs(picture, alpha=light)
        return lit


def _texture(generator: np.random.Generator, size: tuple[int, int]) -> Picture:
    """Noise whose amplitude falls as it gets finer, as in photographs, and some hard edges."""
    width, height = size
    total = np.zeros((height, width, 3), np.float32)
    cell, amplitude = max(size) // 2, 45.0
    while cell > 2:
        coarse = (height // cell + 2, width // cell + 2, 3)
        noise = generator.normal(0, 1, coarse).astype(np.float32)
        noise = 0.9 * noise[:, :, :1] + 0.3 * noise
        total += amplitude * cv2.resize(noise, size, interpolation=cv2.INTER_CUBIC)
        cell, amplitude = cell // 2, amplitude * 0.82
    for _ in range(30):
        corners = generator.uniform(0, 1, (1, 2)) * size + generator.normal(0, 0.08, (4, 2)) * min(
            size
        )
        shade = generator.normal(0, 40, 3)
        shape = np.zeros((height, width), np.uint8)
        cv2.fillPoly(shape, [corners.astype(np.int32)], 1)
        total += shape[:, :, None] * shade.astype(np.float32)
    return (total + 118).clip(8, 247).astype(np.uint8)


def _draw_number(picture: Picture, number: int) -> None:
    """Two rows of blocks as `read_frame_number` wants them, the second the negative."""
    height, width = picture.shape[:2]
    row = max(height // ROW_SHARE, 1)
    shifts = BLOCKS - 1 - np.arange(width) * BLOCKS // width
    line = (255 * (number >> shifts & 1)).astype(np.uint8)[None, :, None]
    picture[:row] = line
    picture[row : 2 * row] = 255 - line


# -- Files. --


def make(videos: Sequence[TestVideo]) -> float:
    """Encode videos that show the same pictures, unless they are there; the seconds that took."""
    import av

    missing = [video for video in videos if not video.path.exists()]
    if not missing:
        return 0.0
    begin = time.perf_counter()
    os.environ.setdefault("SVT_LOG", "1")
    (size, frames, seed), *others = {video.shown for video in missing}
    if others:
        raise ValueError("these videos do not show the same pictures")
    with kept_scheduling(), ExitStack() as files:
        outputs = [files.enter_context(_encoding(video)) for video in missing]
        for number, picture in enumerate(pictures(size, frames, seed)):
            rgb = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame = rgb.reformat(
                format="yuv420p", dst_colorspace=1, src_color_range=2, dst_color_range=1
            )
            frame.colorspace, frame.color_range, frame.pts = 1, 1, number
            for encode in outputs:
                encode(frame)
    return time.perf_counter() - begin


@contextmanager
def _encoding(video: TestVideo) -> Iterator[Callable[[Any], None]]:
    """Gives what encodes a frame into the file of a video, which is there when it ends."""
    import av

    video.path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = video.path.with_name(f"unfinished-{video.path.name}")
    with av.open(str(unfinished), "w") as container:
        stream = container.add_stream(video.encoder, rate=FPS, options=dict(video.options))
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = video.size
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.colorspace = context.color_primaries = context.color_trc = 1  # BT.709
        context.color_range = 1
        yield lambda frame: container.mux(stream.encode(frame))
        container.mux(stream.encode())
    unfinished.replace(video.path)


def make_all(names: list[str], *, short: bool = False, processes: int | None = None) -> None:
    """Make what is missing; the slowest first."""
    videos = [VIDEOS[name] for name in names]
    if short:
        videos += SHORT[:DISTINCT]
    _make_missing(videos, processes)
    if short:
        for number, video in enumerate(SHORT):
            if not video.path.exists():
                shutil.copyfile(SHORT[number % DISTINCT].path, video.path)


def distinct(names: Sequence[str], count: int) -> dict[str, list[str]]:
    """Files of some of `KINDS`, `count` of each; no two of a kind show the same pictures."""
    videos = {
        name: [
            replace(KINDS[name], name=f"distinct/{number:03}-{KINDS[name].name}", seed=500 + number)
            for number in range(count)
        ]
        for name in names
    }
    _make_missing([video for some in videos.values() for video in some])
    return {name: [str(video.path) for video in some] for name, some in videos.items()}


def _make_missing(videos: list[TestVideo], processes: int | None = None) -> None:
    """Encode what is missing, several at a time; pictures that several show are drawn once."""
    alike: dict[Any, list[TestVideo]] = {}
    for video in videos:
        if not video.path.exists():
            alike.setdefault(video.shown, []).append(video)
    if not alike:
        return
    print(f"Encoding {sum(map(len, alike.values()))} test videos, once ...", file=sys.stderr)
    groups = sorted(alike.values(), key=lambda some: (-some[0].size[0], -len(some)))
    context = multiprocessing.get_context("spawn")
    count = processes or len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        for some, seconds in zip(groups, pool.map(make, groups), strict=True):
            for video in some:
                if video in VIDEOS.values():
                    size = video.path.stat().st_size
                    rate = 8 * size * FPS / video.frames / 1e6
                    print(f"  {video.name}: {seconds:.0f} s, {rate:.1f} Mbit/s", file=sys.stderr)


# -- What a full decode gives. --


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found in a contender's pictures."""

    frames: int
    wrong: int  # another frame than asked for, or no readable one
    difference: float  # largest mean difference from the reference, of 255

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(
            self.frames + other.frames,
            self.wrong + other.wrong,
            max(self.difference, other.difference),
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """Every frame of a full decode, small: uint8 (frames, H, W, 3)."""

    grids: Picture

    @classmethod
    def decode(cls, path: Path) -> Reference:
        """Decode a file from end to end by PyAV; the frame numbers must be 0, 1, 2 ..."""
        import av

        grids: list[Picture] = []
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                rgb = frame.reformat(format="rgb24", src_colorspace=1, dst_color_range=2)
                number, grid = _look(rgb.to_ndarray().astype(np.uint8, copy=False))
                if number != len(grids):
                    raise ValueError(f"{path.name}: frame {len(grids)} reads as {number}")
                grids.append(grid)
        return cls(np.array(grids))

    def judge(self, asked: int, picture: Picture) -> Verdict:
        """Compare one picture (H, W, 3) with the frame that was asked for."""
        number, grid = _look(picture)
        difference = np.abs(grid.astype(np.int16) - self.grids[asked]).mean()
        return Verdict(1, int(number != asked), float(difference))


def _look(picture: Picture) -> tuple[int | None, Picture]:
    """The number in a picture, None if it has none, and the picture as a coarse grid."""
    small: Any = cv2.resize(picture, _THUMBNAIL, interpolation=cv2.INTER_AREA)
    grid: Any = cv2.resize(small, _GRID, interpolation=cv2.INTER_AREA)
    try:
        return read_frame_number(small), grid
    except ArgumentError:
        return None, grid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(VIDEOS)}, short; default: all")
    names = parser.parse_args().names or [*VIDEOS, "short"]
    if unknown := set(names) - {*VIDEOS, "short"}:
        parser.error(f"no such video: {', '.join(sorted(unknown))}")
    make_all([name for name in names if name != "short"], short="short" in names)


if __name__ == "__main__":
    main()
