"""`AVDecoder` and `AVWebdatasetDecoder` of Megatron Energon, for video.

from videoloader.compat.energon import AVDecoder
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.opening import frame_rate, open_video
from videoloader.compat.webdataset import EXTENSIONS
from videoloader.errors import ArgumentError, FrameRangeError, UnsupportedError
from videoloader.sampling import frames_at_times
from videoloader.video import Video

__all__ = ["AVData", "AVDecoder", "AVMetadata", "AVWebdatasetDecoder"]

Range = tuple[float, float]
Device = Literal["cpu", "gpu"] | int


@dataclass
class AVData:
    """Clips: of video uint8 (F, C, H, W), with their (start, end) in seconds; none of audio."""

    video_clips: list[torch.Tensor] = field(default_factory=list)
    video_timestamps: list[Range] = field(default_factory=list)
    audio_clips: list[torch.Tensor] = field(default_factory=list)
    audio_timestamps: list[Range] = field(default_factory=list)


@dataclass
class AVMetadata:
    """What is known of a video; durations in seconds."""

    video_duration: float | None = None
    video_num_frames: int | None = None
    video_fps: float | None = None
    video_width: int | None = None
    video_height: int | None = None
    audio_duration: float | None = None
    audio_channels: int | None = None
    audio_sample_rate: int | None = None


class AVDecoder:
    """Decodes clips of one video when they are asked for.

    Args:
        stream: an open binary file, or the bytes.
        suppress_warnings: without effect; frames are exact in either unit.
        device: where frames are given: `cpu`, `gpu`, or the number of a GPU.
    """

    def __init__(
        self,
        stream: BinaryIO | bytes,
        suppress_warnings: bool = False,  # noqa: ARG002
        *,
        device: Device = "cpu",
    ) -> None:
        self.stream = stream
        self._video: Video = open_video(stream, device=_device(device))

    def get_video(self) -> AVData:
        """All frames, as one clip."""
        return self.get_clips([(0, math.inf)], video_unit="frames")

    def get_video_clips(
        self,
        video_clip_ranges: Sequence[Range],
        video_unit: Literal["frames", "seconds"] = "seconds",
        video_out_frame_size: tuple[int, int] | None = None,
    ) -> tuple[list[torch.Tensor], list[Range]]:
        """Clips by their first and last frame, both included; all are decoded together.

        Args:
            video_clip_ranges: (start, end) of each clip: frame numbers, or seconds, of which the
                frames on screen are taken; beyond the last frame the last one.
            video_unit: `frames` or `seconds`.
            video_out_frame_size: (width, height) to resize to.

        Returns:
            uint8 frames (F, C, H, W) of each clip, and when each clip begins and ends, in seconds.

        Raises:
            FrameRangeError: a clip begins behind the last frame, or ends before it begins.
            VideoError: the video does not decode.
        """
        if video_unit not in ("frames", "seconds"):
            raise ArgumentError(f"video_unit is frames or seconds, got {video_unit!r}")
        clips = [self._frames(*limits, video_unit) for limits in video_clip_ranges]
        if not clips:
            return [], []
        size = None if video_out_frame_size is None else video_out_frame_size[::-1]
        frames = self._video.get_frames(np.concatenate(clips), size=size, layout="FCHW").frames
        ends = self._video.index.boundaries[1:]
        begins = self._video.index.boundaries[:-1]
        times = [(float(begins[clip[0]]), float(ends[clip[-1]])) for clip in clips]
        return list(torch.split(frames, [len(clip) for clip in clips])), times

    def get_clips(
        self,
        video_clip_ranges: Sequence[Range] | None = None,
        audio_clip_ranges: Sequence[Range] | None = None,
        video_unit: Literal["frames", "seconds"] = "seconds",
        audio_unit: Literal["samples", "seconds"] = "seconds",  # noqa: ARG002
        video_out_frame_size: tuple[int, int] | None = None,
    ) -> AVData:
        """`get_video_clips` as `AVData`; audio is not decoded."""
        if audio_clip_ranges is not None:
            raise UnsupportedError(f"{self._video.name}: audio is not decoded here")
        data = AVData()
        if video_clip_ranges is not None:
            data.video_clips, data.video_timestamps = self.get_video_clips(
                video_clip_ranges, video_unit, video_out_frame_size
            )
        return data

    def get_frames(self, video_decode_audio: bool = False) -> AVData:
        """All frames, as one clip."""
        return self.get_clips([(0, math.inf)], [] if video_decode_audio else None, "frames")

    def get_video_fps(self) -> float:
        """Frames a second on average."""
        return frame_rate(self._video.index)

    def get_video_duration(self, get_frame_count: bool = False) -> tuple[float, int | None]:
        """Seconds, and the number of frames if it is asked for."""
        return self._video.index.duration, len(self._video) if get_frame_count else None

    def get_metadata(self, **_: bool) -> AVMetadata:
        """What is known of the video, whatever part is asked for: all of it is at hand."""
        height, width = self._video.size
        return AVMetadata(
            self._video.index.duration, len(self._video), self.get_video_fps(), width, height
        )

    def has_video_stream(self) -> bool:
        """True: a file without video does not open."""
        return True

    def close(self) -> None:
        """Let go of the decoder; the stream stays open."""
        self._video.close()

    def __repr__(self) -> str:
        return f"AVDecoder({self._video!r})"

    def _frames(self, start: float, end: float, unit: str) -> NDArray[np.int64]:
        """Numbers of the frames of a clip."""
        last = len(self._video) - 1
        if unit == "seconds":
            times = np.minimum([start, end], self._video.index.boundaries[-1])
            first, final = frames_at_times(
                times, self._video.index, pad_mode="edge", name=self._video.name
            ).tolist()
            first = max(first, 0)
        else:
            first, final = int(start), last if end == math.inf else int(end)
        if not 0 <= first <= min(final, last):
            raise FrameRangeError(
                f"{self._video.name}: a clip from {start} to {end} {unit} requested, the video has "
                f"{last + 1} frames and lasts {self._video.index.duration:g} s"
            )
        return np.arange(first, min(final, last) + 1)


class AVWebdatasetDecoder:
    """Decodes the videos of samples, or gives an `AVDecoder` for each; other files are left.

    Args:
        video_decode_audio: must be False; audio is not decoded.
        av_decode: `AVDecoder`, or `torch` for all frames as `AVData`.
        device: where frames are given.
    """

    def __init__(
        self,
        video_decode_audio: bool = False,
        av_decode: Literal["torch", "AVDecoder"] = "AVDecoder",
        device: Device = "cpu",
    ) -> None:
        if av_decode not in ("torch", "AVDecoder"):
            raise ArgumentError(f"av_decode is torch or AVDecoder, got {av_decode!r}")
        self.video_decode_audio = video_decode_audio
        self.av_decode = av_decode
        self.device = device

    def __call__(self, key: str, data: bytes) -> AVData | AVDecoder | None:
        """What a file of a sample becomes, None if it is no video."""
        if key.rpartition(".")[2].lower() not in EXTENSIONS.split():
            return None
        decoder = AVDecoder(data, device=self.device)
        if self.av_decode == "AVDecoder":
            return decoder
        try:
            return decoder.get_frames(self.video_decode_audio)
        finally:
            decoder.close()


def _device(device: Device) -> str:
    """A device of Energon as one of PyTorch."""
    return f"cuda:{device}" if isinstance(device, int) else {"gpu": "cuda"}.get(device, device)
