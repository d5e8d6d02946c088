"""decord's protocols: its bench (sequential, 300 random), and what VLMs do with it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from dropin_rows import Row, digest, footage, looped
from numpy.typing import NDArray

THREADS = 2
VLM_SIZE = (448, 252)  # width, height: 768 frames within a model's budget of pixels


def _open(decord: Any, source: Any, **options: Any) -> Any:
    return decord.VideoReader(source, ctx=decord.cpu(0), num_threads=THREADS, **options)


def sequential(decord: Any, path: Path) -> NDArray[Any]:
    reader = _open(decord, str(path))
    return np.stack([digest(reader[number].asnumpy()) for number in range(len(reader))])


def random_frames(decord: Any, path: Path) -> NDArray[Any]:
    reader = _open(decord, str(path))
    numbers = np.random.default_rng(0).integers(0, len(reader), 300)
    return np.stack([digest(reader[int(number)].asnumpy()) for number in numbers])


def random_batch(decord: Any, path: Path) -> NDArray[Any]:
    reader = _open(decord, str(path))
    numbers = np.random.default_rng(0).integers(0, len(reader), 300)
    return digest(reader.get_batch(numbers.tolist()).asnumpy())


def uniform_from_bytes(decord: Any, data: bytes) -> NDArray[Any]:
    reader = _open(decord, io.BytesIO(data))
    numbers = np.linspace(0, len(reader) - 1, 32).round().astype(int)
    return digest(reader.get_batch(numbers).asnumpy())


def uniform_of_long(decord: Any, path: Path) -> NDArray[Any]:
    reader = _open(decord, str(path), width=VLM_SIZE[0], height=VLM_SIZE[1])
    numbers = np.linspace(0, len(reader) - 1, 768).round().astype(int)
    return digest(reader.get_batch(numbers).asnumpy())


_DECORD: dict[str, Any] = {"library": "decord", "drop_in": "videoloader.compat.decord"}
_SHORT = footage("h264-360p")
_480P = footage("h264-480p", size=(854, 480), frames=900, seed=3)

ROWS = (
    Row(**_DECORD, protocol="sequential, 360p", prepare=_SHORT, run=sequential),
    Row(**_DECORD, protocol="300 random, 360p", prepare=_SHORT, run=random_frames, repeats=1),
    Row(
        **_DECORD,
        protocol="300 random in one batch, 360p",
        prepare=_SHORT,
        run=random_batch,
        repeats=1,
    ),
    Row(
        **_DECORD,
        protocol="32 of 900 uniform, 480p, from bytes",
        prepare=lambda: _480P().read_bytes(),
        run=uniform_from_bytes,
    ),
    Row(
        **_DECORD,
        protocol="768 uniform of 10 min, 1080p to 448x252",
        prepare=looped("h264-1080p", 18_000),
        run=uniform_of_long,
        repeats=1,
    ),
)
