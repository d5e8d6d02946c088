"""What data and model libraries do with video: theirs, and ours in the place of their reader."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from dropin_rows import Row, digest, footage
from numpy.typing import NDArray

SAMPLES = 50
STEP = 3  # frames between the frames of a sample


def transformers(backend: str) -> Callable[[str], Any]:
    """`load_video` of transformers by one of its readers, or by ours."""

    def load(name: str) -> Any:
        utils = importlib.import_module("transformers.video_utils")
        if name.startswith("videoloader"):
            hook = importlib.import_module(name)
            hook.register(default=False)
            return lambda path: utils.load_video(path, num_frames=32, backend=hook.NAME)
        importlib.import_module({"pyav": "av", "opencv": "cv2"}.get(backend, backend))
        return lambda path: utils.load_video(path, num_frames=32, backend=backend)

    return load


def load_video(load: Any, path: Path) -> NDArray[Any]:
    frames = np.asarray(load(str(path))[0])
    return digest(frames.transpose(0, 2, 3, 1) if frames.shape[1] == 3 else frames)


def qwen(name: str) -> Any:
    """The reader of qwen-vl-utils by decord, or ours."""
    theirs = importlib.import_module("qwen_vl_utils.vision_process")
    if name.startswith("videoloader"):
        return importlib.import_module(name).read_video
    importlib.import_module("decord")
    return theirs.VIDEO_READER_BACKENDS["decord"]


def read_video(read: Any, path: Path) -> NDArray[Any]:
    return digest(read({"video": str(path), "fps": 2})[0].permute(0, 2, 3, 1))


def two_seconds(module: Any, path: Path) -> NDArray[Any]:
    video = module.EncodedVideo.from_path(str(path), decode_audio=False)
    frames = [video.get_clip(start, start + 2)["video"] for start in (3.01, 22.01, 11.01)]
    video.close()
    return digest(np.concatenate([part.permute(1, 2, 3, 0).numpy() for part in frames]))


def lerobot(name: str) -> Any:
    """LeRobot's function, or torchcodec as LeRobot calls it, with its decoder kept."""
    if name.startswith("videoloader"):
        return importlib.import_module(name).decode_video_frames
    decoders = importlib.import_module("torchcodec.decoders")
    kept: dict[str, Any] = {}

    def decode(path: str, times: list[float], tolerance: float) -> Any:
        if path not in kept:
            kept[path] = decoders.VideoDecoder(path, seek_mode="approximate")
        rate = kept[path].metadata.average_fps
        batch = kept[path].get_frames_at([round(time * rate) for time in times])
        assert max(abs(batch.pts_seconds.numpy() - times)) < tolerance
        return batch.data / 255.0

    return decode


def by_time(count: int) -> Callable[[Any, Path], NDArray[Any]]:
    """Samples of some frames each, at random places."""

    def run(decode: Any, path: Path) -> NDArray[Any]:
        draw = random.Random(0)
        found = []
        for _ in range(SAMPLES):
            first = draw.randrange(300 - STEP * count)
            times = [(first + STEP * step) / 30 for step in range(count)]
            found.append(decode(str(path), times, 1e-3)[:, :, ::16, ::16].permute(0, 2, 3, 1))
        return np.concatenate(found) * 255

    return run


_480P = footage("h264-480p", size=(854, 480), frames=900, seed=3)
_ROBOT = footage("robot-h264", size=(640, 480), options={"g": "2", "crf": "30"}, seed=4)

ROWS = (
    *(
        Row(
            library=f"transformers, {backend}",
            drop_in="videoloader.compat.transformers",
            protocol="32 of 900, 480p",
            prepare=_480P,
            run=load_video,
            load=transformers(backend),
        )
        for backend in ("pyav", "opencv", "decord")
    ),
    Row(
        library="qwen-vl-utils, decord",
        drop_in="videoloader.compat.qwen_vl_utils",
        protocol="2 a second of 30 s, 480p",
        prepare=_480P,
        run=read_video,
        load=qwen,
    ),
    Row(
        library="pytorchvideo.data.encoded_video",
        drop_in="videoloader.compat.pytorchvideo",
        protocol="3 clips of 2 s, 480p",
        prepare=_480P,
        run=two_seconds,
    ),
    *(
        Row(
            library="LeRobot, torchcodec",
            drop_in="videoloader.compat.lerobot",
            protocol=f"{SAMPLES} samples of {count}, H.264 of GOP 2, 480p",
            prepare=_ROBOT,
            run=by_time(count),
            load=lerobot,
        )
        for count in (1, 2, 6)
    ),
)
