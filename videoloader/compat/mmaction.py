"""`DecordInit` and `DecordDecode` of MMAction2's pipelines.

from videoloader.compat import mmaction
mmaction.register()  # configs that name DecordInit and DecordDecode need no change
"""

from __future__ import annotations

import importlib
import io
from typing import Any, Literal

import numpy as np

from videoloader.compat.opening import first_module, frame_rate, open_video
from videoloader.machinery.system.checks import one_of
from videoloader.sampling import Snap
from videoloader.video import Video

__all__ = ["DecordDecode", "DecordInit", "register"]

Results = dict[str, Any]


class DecordInit:
    """Opens a video: `filename` gives `video_reader`, `total_frames` and `avg_fps`.

    Args:
        io_backend: of MMEngine's file client; `disk` reads only what is decoded.
        num_threads: decoder threads; 1, the default of MMAction2, lets this library choose.
        **kwargs: of the file client.
    """

    def __init__(self, io_backend: str = "disk", num_threads: int = 1, **kwargs: Any) -> None:
        self.io_backend = io_backend
        self.num_threads = num_threads
        self.kwargs = kwargs
        self.file_client: Any = None

    def __call__(self, results: Results) -> Results:
        """As `transform`."""
        return self.transform(results)

    def transform(self, results: Results) -> Results:
        """Open the video of a sample.

        Raises:
            VideoError: the file is not a video.
        """
        threads = self.num_threads if self.num_threads > 1 else None
        video = open_video(self._source(results["filename"]), threads=threads)
        results["video_reader"] = video
        results["total_frames"] = len(video)
        results["avg_fps"] = frame_rate(video)
        return results

    def _source(self, name: Any) -> Any:
        """A path, or the bytes from the file client."""
        if self.io_backend == "disk" or not isinstance(name, str):
            return name
        if self.file_client is None:
            fileio = importlib.import_module("mmengine.fileio")
            self.file_client = fileio.FileClient(self.io_backend, **self.kwargs)
        return io.BytesIO(self.file_client.get(name))

    def __repr__(self) -> str:
        return f"DecordInit(io_backend={self.io_backend}, num_threads={self.num_threads})"


class DecordDecode:
    """Decodes `frame_inds` of `video_reader` to `imgs`, `original_shape` and `img_shape`.

    Args:
        mode: `accurate`, or `efficient` to give the last keyframe at or before each frame instead.
    """

    def __init__(self, mode: Literal["accurate", "efficient"] = "accurate") -> None:
        self.mode = one_of("mode", mode, ("accurate", "efficient"))

    def __call__(self, results: Results) -> Results:
        """As `transform`."""
        return self.transform(results)

    def transform(self, results: Results) -> Results:
        """Decode the frames of a sample: a list of uint8 (H, W, 3) arrays.

        Raises:
            FrameRangeError: the video lacks a frame.
            VideoError: a frame does not decode.
        """
        video: Video = results["video_reader"]
        numbers = np.asarray(results["frame_inds"]).reshape(-1)
        results["frame_inds"] = numbers
        results["video_reader"] = None
        with video:
            snap: Snap = "none" if self.mode == "accurate" else "keyframe"
            frames = video.get_frames(numbers, snap=snap).frames.numpy()
        results["imgs"] = list(frames)
        results["original_shape"] = frames.shape[1:3]
        results["img_shape"] = frames.shape[1:3]
        return results

    def __repr__(self) -> str:
        return f"DecordDecode(mode={self.mode})"


def register() -> None:
    """Register both transforms in place of MMAction2's, in its registry or in MMEngine's.

    Raises:
        ImportError: neither is installed.
    """
    hint = "pip install mmengine"
    registry: Any = first_module(("mmaction.registry", "mmengine.registry"), hint).TRANSFORMS
    for transform in (DecordInit, DecordDecode):
        registry.register_module(name=transform.__name__, module=transform, force=True)
