"""Clips of several shots whose cuts are known: for tests, measurements and samples of curation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from videoloader.demo.videos import BITEXACT, X264
from videoloader.machinery.system.scheduling import kept_scheduling


def encode_shots(
    path: str | os.PathLike[str],
    lengths: Sequence[int],
    *,
    seed: int = 0,
    size: tuple[int, int] = (320, 180),
    codec: str = "libx264",
    options: Mapping[str, str] | None = None,
    grain: float = 0.0,
) -> Path:
    """Encode shots one after the other, at 25 frames a second; each begins with a hard cut.

    Args:
        path: the file to write; its suffix chooses the container.
        lengths: frames of each shot; the first frames of shots are the sums of those before.
        seed: of the pictures.
        size: width and height.
        codec: FFmpeg's name of the encoder.
        options: the encoder's options.
        grain: standard deviation of the noise of each frame.
    """
    pictures = (
        picture
        for number, length in enumerate(lengths)
        for picture in draw_shot(length, seed=1000 * seed + number, size=size, grain=grain)
    )
    return encode_pictures(path, pictures, size=size, codec=codec, options=options)


def draw_shot(
    length: int, *, seed: int, size: tuple[int, int] = (320, 180), grain: float = 0.0
) -> Iterator[NDArray[np.uint8]]:
    """The RGB pictures (H, W, 3) of a shot: a camera pans over a scene in which two things move."""
    rng = np.random.default_rng(seed)
    width, height = size
    scene = _scene(rng, width, height)
    speed = rng.uniform(-3, 3, 2) * rng.integers(0, 2)
    place = np.array([height, width]) / 2
    things = [(rng.uniform(0, 1, 2), rng.uniform(-0.02, 0.02, 2)) for _ in range(2)]
    colors = rng.integers(0, 256, (2, 3))
    radius = height // 8
    for _ in range(length):
        top, left = np.clip(place, 0, [height, width]).astype(int)
        picture = scene[top : top + height, left : left + width].copy()
        for number, (at, velocity) in enumerate(things):
            center = int(at[0] % 1 * width), int(at[1] % 1 * height)
            cv2.circle(picture, center, radius, colors[number].tolist(), -1)
            things[number] = at + velocity, velocity
        if grain:
            noisy = picture + rng.normal(0, grain, picture.shape)
            picture = noisy.clip(0, 255).astype(np.uint8)
        yield picture
        place = place + speed


def _scene(rng: np.random.Generator, width: int, height: int) -> NDArray[np.uint8]:
    """A picture of twice the size with structure of several scales in some colours."""
    total = np.zeros((2 * height, 2 * width, 3))
    for cells, weight in ((3, 1.0), (8, 0.6), (40, 0.3)):
        coarse = rng.normal(0, weight, (cells, cells, 3)).astype(np.float32)
        total += cv2.resize(coarse, (2 * width, 2 * height), interpolation=cv2.INTER_CUBIC)
    level = rng.uniform(70, 180, 3)
    pixels: NDArray[np.uint8] = (level + 45 * total).clip(0, 255).astype(np.uint8)
    return pixels


def encode_pictures(
    path: str | os.PathLike[str],
    pictures: Iterator[NDArray[np.uint8]] | Sequence[NDArray[np.uint8]],
    *,
    size: tuple[int, int],
    codec: str = "libx264",
    options: Mapping[str, str] | None = None,
    fps: int = 25,
) -> Path:
    """Encode RGB pictures (H, W, 3), resized to `size` (width, height)."""
    if options is None:
        options = X264 if codec == "libx264" else {}
    if codec == "libsvtav1":
        os.environ.setdefault("SVT_LOG", "1")
    with (
        kept_scheduling(),
        av.open(os.fspath(path), "w", container_options=dict(BITEXACT)) as container,
    ):
        stream = container.add_stream(codec, rate=Fraction(fps), options=dict(options))
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        for picture in pictures:
            if picture.shape[1::-1] != size:
                picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)  # type: ignore[assignment]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())
    return Path(path)
