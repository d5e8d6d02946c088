"""`AVDecoder` and `AVWebdatasetDecoder` of Megatron Energon.

from videoloader.compat.energon import AVDecoder
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio import Audio
from videoloader.compat.opening import (
    frame_rate,
    nearest_samples,
    open_first_video,
    open_sound,
    stream_numbers,
)
from videoloader.compat.webdataset import EXTENSIONS
from videoloader.errors import FormatError, FrameRangeError
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.forking import cached_property
from videoloader.sampling import frames_at_times
from videoloader.video import Video

__all__ = ["AVData", "AVDecoder", "AVMetadata", "AVWebdatasetDecoder"]

_SOUND = ("flac", "mp3", "wav")  # extensions
Range = tuple[float, float]
Device = Literal["cpu", "gpu"] | int


@dataclass
class AVData:
    """Clips, with their (start, end) in seconds.

    Video is uint8 (F, C, H, W); audio is (channels, samples) in the stored type.
    """

    video_clips: list[torch.Tensor] = field(default_factory=list)
    video_timestamps: list[Range] = field(default_factory=list)
    audio_clips: list[torch.Tensor] = field(default_factory=list)
    audio_timestamps: list[Range] = field(default_factory=list)


@dataclass
class AVMetadata:
    """Metadata of a file; durations in seconds."""

    video_duration: float | None = None
    video_num_frames: int | None = None
    video_fps: float | None = None
    video_width: int | None = None
    video_height: int | None = None
    audio_duration: float | None = None
    audio_channels: int | None = None
    audio_sample_rate: int | None = None
    audio_num_samples: int | None = None


class AVDecoder:
    """Decodes clips of the video and sound of one file on request.

    Picklable if its stream is: bytes and `io.BytesIO` are, open files are not.

    Args:
        stream: an open binary file, or the bytes.
        suppress_warnings: without effect.
        device: where frames are given: `cpu`, `gpu`, or the number of a GPU.
    """

    def __init__(
        self, stream: BinaryIO | bytes, suppress_warnings: bool = False, *, device: Device = "cpu"
    ) -> None:
        self.stream = stream
        self.suppress_warnings = suppress_warnings
        self._device = device

    @cached_property
    def _video(self) -> Video:
        """Opened on first use: a sound file has no video."""
        return open_first_video(self.stream, device=_device(self._device))

    @cached_property
    def _audio(self) -> Audio | None:
        return open_sound(self.stream, dtype="stored")

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("stream", "suppress_warnings", "_device")}

    def get_video(self) -> AVData:
        """All frames, as one clip."""
        return self.get_clips([(0, math.inf)], video_unit="frames")

    def get_audio(self) -> AVData:
        """All samples, as one clip."""
        return self.get_clips(audio_clip_ranges=[(0, math.inf)])

    def get_video_with_audio(self) -> AVData:
        """All frames and all samples, as one clip each."""
        return self.get_clips([(0, math.inf)], [(0, math.inf)], video_unit="frames")

    def get_video_clips(
        self,
        video_clip_ranges: Sequence[Range],
        video_unit: Literal["frames", "seconds"] = "seconds",
        video_out_frame_size: tuple[int, int] | None = None,
    ) -> tuple[list[torch.Tensor], list[Range]]:
        """Clips by their first and last frame, both included; all are decoded together.

        Args:
            video_clip_ranges: (start, end) of each clip, as frame numbers, or as seconds that stand
                for the frame on screen; an end after the last frame means the last frame.
            video_unit: `frames` or `seconds`.
            video_out_frame_size: (width, height) to resize to.

        Returns:
            uint8 frames (F, C, H, W) and (begin, end) in seconds of each clip.

        Raises:
            FrameRangeError: a clip begins after the last frame, or ends before it begins.
            VideoError: the video does not decode.
        """
        one_of("video_unit", video_unit, ("frames", "seconds"))
        clips = [self._frames(*limits, video_unit) for limits in video_clip_ranges]
        if not clips:
            return [], []
        size = None if video_out_frame_size is None else video_out_frame_size[::-1]
        frames = self._video.get_frames(np.concatenate(clips), size=size, layout="FCHW").frames
        ends = self._video.index.boundaries[1:]
        begins = self._video.index.boundaries[:-1]
        times = [(float(begins[clip[0]]), float(ends[clip[-1]])) for clip in clips]
        return list(torch.split(frames, [len(clip) for clip in clips])), times

    def get_audio_clips(
        self,
        audio_clip_ranges: Sequence[Range],
        audio_unit: Literal["samples", "seconds"] = "seconds",
    ) -> tuple[list[torch.Tensor], list[Range]]:
        """Clips of sound.

        Args:
            audio_clip_ranges: (start, end) of each clip, end excluded, from the nearest sample on;
                clips of equal duration have the same number of samples. Parts outside the sound
                are left out.
            audio_unit: `seconds` on the clock of the file, or `samples` by number from time 0.

        Returns:
            Samples (channels, n) in the stored type and (begin, end) in seconds of each clip.

        Raises:
            FormatError: there is no sound in the file.
            FrameRangeError: a clip lies outside the sound.
        """
        one_of("audio_unit", audio_unit, ("samples", "seconds"))
        audio = self._sound()
        rate = audio.sample_rate
        scale = rate if audio_unit == "samples" else 1
        clips, times = [], []
        for limits in audio_clip_ranges:
            start, end = (limit / scale for limit in limits)
            count = math.inf if end == math.inf else math.floor((end - start) * rate + 0.5)
            stop = None if end == math.inf else start + max(count, 0) / rate
            samples = nearest_samples(audio, start, stop)
            if not samples.shape[1]:
                raise FrameRangeError(
                    f"{audio.name}: a clip from {limits[0]} to {limits[1]} {audio_unit} requested, "
                    f"the sound begins at {audio.begin_seconds:g} s and lasts {audio.duration:g} s"
                )
            begin = max(start, audio.begin_seconds)
            clips.append(samples)
            is_whole = samples.shape[1] == count
            times.append((begin, end if is_whole else begin + samples.shape[1] / rate))
        return clips, times

    def get_clips(
        self,
        video_clip_ranges: Sequence[Range] | None = None,
        audio_clip_ranges: Sequence[Range] | None = None,
        video_unit: Literal["frames", "seconds"] = "seconds",
        audio_unit: Literal["samples", "seconds"] = "seconds",
        video_out_frame_size: tuple[int, int] | None = None,
    ) -> AVData:
        """`get_video_clips` and `get_audio_clips` as `AVData`."""
        data = AVData()
        if video_clip_ranges is not None:
            data.video_clips, data.video_timestamps = self.get_video_clips(
                video_clip_ranges, video_unit, video_out_frame_size
            )
        if audio_clip_ranges is not None:
            data.audio_clips, data.audio_timestamps = self.get_audio_clips(
                audio_clip_ranges, audio_unit
            )
        return data

    def get_frames(self, video_decode_audio: bool = False) -> AVData:
        """All frames as one clip, with all samples on request; of a sound file the samples."""
        if not self.has_video_stream():
            return self.get_audio()
        if video_decode_audio and self.has_audio_stream():
            return self.get_video_with_audio()
        return self.get_video()

    def get_video_fps(self) -> float:
        """Frames a second on average."""
        return frame_rate(self._video)

    def get_video_duration(self, get_frame_count: bool = False) -> tuple[float, int | None]:
        """Seconds, and the number of frames on request."""
        return self._video.index.duration, len(self._video) if get_frame_count else None

    def get_audio_duration(self) -> float | None:
        """Seconds of sound; None without sound."""
        return None if self._audio is None else self._audio.duration

    def get_audio_samples_per_second(self) -> int:
        """The sample rate.

        Raises:
            FormatError: there is no sound in the file.
        """
        return self._sound().sample_rate

    def get_metadata(
        self,
        get_video: bool = True,
        get_video_duration: bool = True,
        get_video_frame_count: bool = True,
        get_video_frame_size: bool = True,
        get_audio: bool = True,
        get_audio_duration: bool = True,
        get_audio_num_samples: bool = False,
    ) -> AVMetadata:
        """Metadata of the file.

        Args:
            get_video: fill in the fields of the video.
            get_video_duration: without effect.
            get_video_frame_count: without effect.
            get_video_frame_size: without effect.
            get_audio: fill in the fields of the sound.
            get_audio_duration: without effect.
            get_audio_num_samples: also count the samples, which decodes all of the sound.
        """
        found = AVMetadata()
        if get_video and self.has_video_stream():
            found.video_duration = self._video.index.duration
            found.video_num_frames = len(self._video)
            found.video_fps = self.get_video_fps()
            found.video_height, found.video_width = self._video.size
        if get_audio and self._audio is not None:
            found.audio_duration = self._audio.duration
            found.audio_channels = self._audio.num_channels
            found.audio_sample_rate = self._audio.sample_rate
            if get_audio_num_samples:
                found.audio_num_samples = self._audio.num_samples
        return found

    def has_video_stream(self) -> bool:
        """Whether there is video in the file."""
        return bool(stream_numbers(self.stream, "video"))

    def has_audio_stream(self) -> bool:
        """Whether there is sound in the file."""
        return self._audio is not None

    def _sound(self) -> Audio:
        if self._audio is None:
            raise FormatError(f"{self!r}: there is no sound in it, but audio clips are requested")
        return self._audio

    def close(self) -> None:
        """Close the decoders; the stream stays open."""
        for opened in (self.__dict__.get("_video"), self.__dict__.get("_audio")):
            if opened is not None:
                opened.close()

    def __repr__(self) -> str:
        shown = f"<{len(self.stream)} bytes>" if isinstance(self.stream, bytes) else self.stream
        return f"AVDecoder({shown})"

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
    """Decodes the videos and sounds of samples, or gives an `AVDecoder` for each.

    Args:
        video_decode_audio: decode the sound of videos too.
        av_decode: `AVDecoder`, or `torch` for all frames and samples as `AVData`.
        device: where frames are given.
    """

    def __init__(
        self,
        video_decode_audio: bool = False,
        av_decode: Literal["torch", "AVDecoder"] = "AVDecoder",
        device: Device = "cpu",
    ) -> None:
        self.video_decode_audio = video_decode_audio
        self.av_decode = one_of("av_decode", av_decode, ("torch", "AVDecoder"))
        self.device = device

    def __call__(self, key: str, data: bytes) -> AVData | AVDecoder | None:
        """The decoded file of a sample, or its decoder; None if it is neither video nor sound."""
        if key.rpartition(".")[2].lower() not in (*EXTENSIONS.split(), *_SOUND):
            return None
        decoder = AVDecoder(data, device=self.device)
        if self.av_decode == "AVDecoder":
            return decoder
        try:
            return decoder.get_frames(self.video_decode_audio)
        finally:
            decoder.close()


def _device(device: Device) -> str:
    """The PyTorch name of an Energon device."""
    return f"cuda:{device}" if isinstance(device, int) else {"gpu": "cuda"}.get(device, device)
