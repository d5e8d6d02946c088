"""`EncodedVideo` of PyTorchVideo, for its data sets too.

from videoloader.compat import pytorchvideo
pytorchvideo.install()  # LabeledVideoDataset, Kinetics, Ucf101, ... decode with this library
"""

from __future__ import annotations

import importlib
import math
import os
from fractions import Fraction
from typing import Any, BinaryIO, Self

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.opening import open_first_video, open_sound
from videoloader.compat.runtime_errors import as_runtime_errors
from videoloader.sampling.times import NANOSECOND
from videoloader.sources.source import VideoSource
from videoloader.video import Video

__all__ = ["EncodedVideo", "install"]


class EncodedVideo:
    """Clips of one video by time, from 0 at its first frame.

    Args:
        file: an open binary file, bytes, path or URL.
        video_name: value of `name`.
        decode_audio: decode the sound too.
        perform_seek: without effect.
        device: where frames are given.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: not a video. Both are also `VideoError`.
    """

    def __init__(
        self,
        file: BinaryIO | VideoSource,
        video_name: str | None = None,
        decode_audio: bool = True,
        perform_seek: bool = True,
        *,
        device: str = "cpu",
    ) -> None:
        self._name = video_name
        with as_runtime_errors:
            self._video: Video = open_first_video(file, device=device)
            try:
                self._audio = open_sound(file, dtype="stored") if decode_audio else None
            except BaseException:
                self._video.close()
                raise

    @classmethod
    def from_path(
        cls,
        file_path: str | os.PathLike[str],
        decode_audio: bool = True,
        decoder: str = "pyav",
        perform_seek: bool = True,
        **options: Any,
    ) -> Self:
        """Open a path or URL; only the parts that are decoded are read.

        Args:
            file_path: path or URL.
            decode_audio: decode the sound too.
            decoder: without effect; there is one.
            perform_seek: without effect.
            **options: `device`; others have no effect.
        """
        name = os.path.basename(os.fspath(file_path))
        kept = {key: options[key] for key in ("device",) if key in options}
        return cls(file_path, name, decode_audio, perform_seek, **kept)

    @property
    def name(self) -> str | None:
        """The given name, or else the name of the file."""
        return self._name

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last, or of sound if that is longer."""
        video = self._video.index.duration
        return video if self._audio is None else max(video, self._audio.duration)

    def get_clip(
        self, start_sec: float | Fraction, end_sec: float | Fraction
    ) -> dict[str, torch.Tensor | None]:
        """The frames that begin at `start_sec` or later, and before `end_sec`, and their sound.

        Times are in seconds from the first frame, with a tolerance of a nanosecond for rounding.

        Returns:
            `video`: float32 (C, T, H, W) from 0 to 255, None if no frame begins in that time;
            `audio`: float32 (samples,) of that time, the mean of the channels in the range of the
            stored type; None if there are none, or `decode_audio` is False.

        Raises:
            VideoError: a frame does not decode.
        """
        begins = self._video.index.boundaries[:-1]
        limits = np.array([float(start_sec), float(end_sec)]) - NANOSECOND
        first, stop = np.searchsorted(begins - begins[:1], limits)
        sound = self._sound(float(begins[0]) + limits) if len(begins) else None
        if stop <= first:
            return {"video": None, "audio": sound}
        clip = self._video.get_frames(range(first, stop), layout="CFHW")
        return {"video": clip.frames.float(), "audio": sound}

    def _sound(self, limits: NDArray[np.float64]) -> torch.Tensor | None:
        """The mean of the channels between two times on the clock of the file."""
        start, stop = limits.tolist()
        if self._audio is None or stop <= start:
            return None
        samples = self._audio.get_samples(start, None if stop == math.inf else stop)
        return samples.double().mean(dim=0).float() if samples.shape[1] else None

    def close(self) -> None:
        """Close the file and the decoders."""
        self._video.close()
        if self._audio is not None:
            self._audio.close()


def install() -> None:
    """Make PyTorchVideo open encoded videos with this library, whichever decoder is named.

    Data sets that name `decoder="pyav"` or leave it out need no change; folders of frames are read
    as before.

    Raises:
        ImportError: PyTorchVideo is not installed.
    """
    module: Any = importlib.import_module("pytorchvideo.data.encoded_video")
    module.EncodedVideo = EncodedVideo
    module.select_video_class = lambda decoder: EncodedVideo
