"""Handlers for `WebDataset(...).decode(...)`, in place of `webdataset.torch_video`.

from videoloader.compat.webdataset import decode_video
dataset = webdataset.WebDataset(shards).decode(decode_video)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from videoloader.compat.opening import frame_rate, open_first_video, read_sound
from videoloader.decoding.options import ElementType, FormOptions, LayoutName
from videoloader.machinery.system.options import documented
from videoloader.sampling.sampler import ClipSampler, sample_frames

__all__ = ["EXTENSIONS", "VideoHandler", "decode_video"]

EXTENSIONS = "3gp avi flv h264 h265 hevc ivf m2ts m4v mjpeg mkv mov mp4 mpeg mpg obu ogv webm wmv"


@documented(FormOptions)
@dataclass(frozen=True, kw_only=True)
class VideoHandler:
    """Decodes the videos of samples and leaves other files to other handlers. Picklable.

    Gives (frames, audio, info), as `webdataset.torch_video`: frames in the layout, all of the sound
    as (channels, samples) in the type that it is stored in, (1, 0) without sound, and `video_fps`,
    `audio_fps`, `frames_indices` and `num_frames`.

    Args:
        clips: which frames, such as `UniformClip(8)`; all by default. Random samplers use their
            middle choice, since a handler does not know the number of the sample.
        device: where frames are given.
        audio: decode the sound; False gives (1, 0), and no `audio_fps`.
        extensions: of video files, separated by spaces.
    """

    clips: ClipSampler | None = None
    size: int | tuple[int, int] | None = None
    dtype: ElementType = "uint8"
    layout: LayoutName = "FHWC"
    device: str = "cpu"
    audio: bool = True
    extensions: str = EXTENSIONS
    resize_shorter: int | None = None

    def __call__(
        self, key: str, data: bytes
    ) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]] | None:
        """Decode a file of a sample, or give None if it is not a video.

        Args:
            key: its name, or what follows the first dot of it.
            data: its bytes.

        Raises:
            VideoError: the video does not decode.
        """
        if key.rpartition(".")[2].lower() not in self.extensions.split():
            return None
        with open_first_video(data, device=self.device) as video:
            every = np.arange(len(video))
            clip = video.get_frames(
                every if self.clips is None else sample_frames(self.clips, video.index).reshape(-1),
                size=self.size,
                resize_shorter=self.resize_shorter,
                dtype=self.dtype,
                layout=self.layout,
            )
            info: dict[str, Any] = {
                "video_fps": frame_rate(video),
                "frames_indices": clip.indices.tolist(),
                "num_frames": len(video),
            }
        return clip.frames, read_sound(data, info) if self.audio else torch.empty((1, 0)), info


decode_video = VideoHandler()
