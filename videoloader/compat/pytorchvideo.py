"""`EncodedVideo` of PyTorchVideo, for its data sets too.

from videoloader.compat import pytorchvideo
pytorchvideo.install()  # LabeledVideoDataset, Kinetics, Ucf101, ... decode with this library
"""

from __future__ import annotations

import importlib
import os
from fractions import Fraction
from typing import Any, BinaryIO, Self

import numpy as np
import torch

from videoloader.compat.opening import open_video
from videoloader.sampling.times import NANOSECOND
from videoloader.sources.source import VideoSource
from videoloader.video import Video

__all__ = ["EncodedVideo", "install"]


class EncodedVideo:
    """Clips of one video by time, from 0 at its first frame.

    Args:
        file: an open binary file, bytes, path or URL.
        video_name: what `name` gives.
        decode_audio, perform_seek: without effect; audio is not decoded.
        device: where frames are given.
    """

    def __init__(
        self,
        file: BinaryIO | VideoSource,
        video_name: str | None = None,
        decode_audio: bool = True,  # noqa: ARG002
        perform_seek: bool = True,  # noqa: ARG002
        *,
        device: str = "cpu",
    ) -> None:
        self._name = video_name
        self._video: Video = open_video(file, device=device)

    @classmethod
    def from_path(
        cls,
        file_path: str | os.PathLike[str],
        decode_audio: bool = True,
        decoder: str = "pyav",  # noqa: ARG003
        perform_seek: bool = True,
        **options: Any,
    ) -> Self:
        """Open a path or URL; only what is decoded of it is read.

        Args:
            file_path: path or URL.
            decode_audio: without effect.
            decoder: without effect; there is one.
            perform_seek: without effect.
            **options: `device`; others have no effect.
        """
        name = os.path.basename(os.fspath(file_path))
        kept = {key: options[key] for key in ("device",) if key in options}
        return cls(file_path, name, decode_audio, perform_seek, **kept)

    @property
    def name(self) -> str | None:
        """The name that was given, or that of the file."""
        return self._name

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last."""
        return self._video.index.duration

    def get_clip(
        self, start_sec: float | Fraction, end_sec: float | Fraction
    ) -> dict[str, torch.Tensor | None]:
        """The frames that begin at `start_sec` or later, and before `end_sec`, in seconds.

        A nanosecond does not count, so times in float64 give the frames that they mean.

        Returns:
            `video`: float32 (C, T, H, W) from 0 to 255, None if no frame begins in that time;
            `audio`: None.

        Raises:
            VideoError: a frame does not decode.
        """
        begins = self._video.index.boundaries[:-1]
        limits = np.array([float(start_sec), float(end_sec)]) - NANOSECOND
        first, stop = np.searchsorted(begins - begins[:1], limits)
        if stop <= first:
            return {"video": None, "audio": None}
        clip = self._video.get_frames(range(first, stop), layout="CFHW")
        return {"video": clip.frames.float(), "audio": None}

    def close(self) -> None:
        """Let go of the file and the decoder."""
        self._video.close()


def install() -> None:
    """Have PyTorchVideo open encoded videos with this library, whatever decoder is named.

    Data sets that name `decoder="pyav"` or leave it out need no change; folders of frames are read
    as before.

    Raises:
        ImportError: PyTorchVideo is not installed.
    """
    module: Any = importlib.import_module("pytorchvideo.data.encoded_video")
    module.EncodedVideo = EncodedVideo
    module.select_video_class = lambda decoder: EncodedVideo  # noqa: ARG005
