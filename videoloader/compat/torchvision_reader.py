"""`torchvision.io.VideoReader`: reads a stream of frames or samples in order of time."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from typing import Any, Self

import numpy as np
import torch

from videoloader.audio import Audio
from videoloader.compat.opening import (
    ClosedWhenCollected,
    frame_rate,
    nearest_samples,
    open_video,
    stream_numbers,
)
from videoloader.compat.runtime_errors import as_runtime_errors
from videoloader.errors import ArgumentError, FormatError
from videoloader.sampling.times import NANOSECOND
from videoloader.video import Video

_SAMPLES = 1024  # in one part of sound


class VideoReader:
    """Reads the frames of a video, or its sound, one after the other.

    Args:
        src: path, URL, bytes, or a uint8 tensor of the file.
        stream: `video` or `audio`, or with a number, as `video:1` for the second.
        num_threads: decoder threads; 0 lets this library choose.
        device: where frames are given.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: there is no such stream, or the file is not a video.
        ValueError: an argument is invalid. All are also `VideoError`.
    """

    def __init__(
        self,
        src: str | os.PathLike[str] | bytes | torch.Tensor,
        stream: str = "video",
        num_threads: int = 0,
        *,
        device: str = "cpu",
    ) -> None:
        if isinstance(src, str) and not src:
            raise ArgumentError("src cannot be empty")
        self._source: Any = src
        if isinstance(src, torch.Tensor):
            self._source = src.cpu().contiguous().numpy().data
        self._options = {"threads": num_threads or None, "device": device}
        self._opened: dict[str, Video | Audio] = {}
        self._closing: list[ClosedWhenCollected] = []
        self._parts: Generator[dict[str, Any], None, None] | None = None
        with as_runtime_errors:
            self.set_current_stream(stream)

    def set_current_stream(self, stream: str) -> bool:
        """Read another stream from its beginning; returns True.

        Raises:
            FormatError: there is none.
        """
        self._current = self._open(stream)
        self.seek(0.0)
        return True

    def seek(self, time_s: float, keyframes_only: bool = False) -> Self:
        """Continue with the first frame or sample at or after a time in seconds.

        Args:
            time_s: on the clock of the file.
            keyframes_only: continue at the last keyframe at or before that time.
        """
        if self._parts is not None:
            self._parts.close()
        if isinstance(self._current, Audio):
            self._parts = _sound(self._current, time_s)
        else:
            self._parts = _frames(self._current, _number(self._current, time_s, keyframes_only))
        return self

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> dict[str, Any]:
        """`data`, uint8 (C, H, W) of a frame or float32 (n, channels) of sound, and `pts`.

        The presentation time is in seconds.

        Raises:
            StopIteration: the last one was given.
            VideoError: it does not decode.
        """
        assert self._parts is not None
        return next(self._parts)

    def get_metadata(self) -> dict[str, dict[str, list[float]]]:
        """By `video` and `audio`: `duration` in seconds, and `fps` or `framerate`, of each."""
        found: dict[str, dict[str, list[float]]] = {}
        for kind, rate in (("video", "fps"), ("audio", "framerate")):
            streams = range(len(stream_numbers(self._source, kind)))
            opened = [self._open(f"{kind}:{number}") for number in streams]
            if opened:
                found[kind] = {
                    "duration": [_duration(each) for each in opened],
                    rate: [_rate(each) for each in opened],
                }
        return found

    def _open(self, stream: str) -> Video | Audio:
        kind, _, place = stream.partition(":")
        if kind not in ("video", "audio") or not (place or "0").isdecimal():
            raise ArgumentError(f"a stream is video or audio, or video:1, got {stream!r}")
        name = f"{kind}:{int(place or 0)}"
        if name not in self._opened:
            numbers = stream_numbers(self._source, kind)
            if int(place or 0) >= len(numbers):
                raise FormatError(f"there is no stream {name} ({len(numbers)} of {kind})")
            number = numbers[int(place or 0)]
            opened: Video | Audio
            if kind == "video":
                opened = open_video(self._source, stream=number, **self._options)
            else:
                opened = Audio(self._source, stream=number)
            self._opened[name] = opened
            self._closing.append(ClosedWhenCollected(opened))
        return self._opened[name]


def _number(video: Video, seconds: float, keyframes_only: bool) -> int:
    """The first frame at or after a time, or the last keyframe at or before it."""
    begins = video.index.boundaries[:-1]
    if not keyframes_only:
        return int(np.searchsorted(begins, seconds - NANOSECOND))
    keyframes = video.index.keyframes
    place = int(np.searchsorted(begins[keyframes], seconds + NANOSECOND, side="right"))
    return int(keyframes[place - 1]) if place else 0


def _frames(video: Video, start: int) -> Generator[dict[str, Any], None, None]:
    times = video.index.boundaries[start:-1].tolist()
    with closing(video.iterate(start)) as frames:
        for frame, time in zip(frames, times, strict=False):
            yield {"data": frame.permute(2, 0, 1), "pts": time}


def _sound(audio: Audio, start: float) -> Generator[dict[str, Any], None, None]:
    """Samples from a time on, `_SAMPLES` at a time."""
    step = _SAMPLES / audio.sample_rate
    first = max(start, audio.begin_seconds)
    count = 0
    while True:
        time = first + count * step
        samples = nearest_samples(audio, time, time + step)
        if not samples.shape[1]:
            return
        yield {"data": samples.T, "pts": time}
        count += 1


def _duration(opened: Video | Audio) -> float:
    return opened.duration if isinstance(opened, Audio) else opened.index.duration


def _rate(opened: Video | Audio) -> float:
    return float(opened.sample_rate) if isinstance(opened, Audio) else frame_rate(opened)
