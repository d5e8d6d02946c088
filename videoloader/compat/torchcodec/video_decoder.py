"""`VideoDecoder`: torchcodec's, on a `Video`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.opening import MATRIX, ClosedWhenCollected
from videoloader.compat.runtime_errors import (
    PlayedOutsideError,
    ValueRuntimeError,
    as_runtime_errors,
)
from videoloader.compat.single_frames import FramesAhead
from videoloader.compat.torchcodec.arguments import (
    as_frame_numbers,
    as_integer,
    as_seconds,
    as_stream,
    as_thread_count,
    as_times,
    check_mappings,
    check_range,
)
from videoloader.compat.torchcodec.frames import Frame, FrameBatch
from videoloader.compat.torchcodec.metadata import VideoStreamMetadata, fields_of_index
from videoloader.compat.torchcodec.opening import as_source, naming_stream, read_header
from videoloader.compat.torchcodec.transforms import geometry_of
from videoloader.errors import ArgumentError, ArgumentTypeError, FrameRangeError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.video import index_video
from videoloader.video import Video

_CHUNK = 16  # frames decoded at a time while iterating over transformed ones
_BYTE = 8  # bits
_WHITE = np.float32(65535)


@dataclass(frozen=True)
class CpuFallbackStatus:
    """Whether a decoder for a GPU decodes on the CPU; true if it does.

    Attributes:
        status_known: False on a GPU, where it may change from one call to the next.
    """

    status_known: bool = False

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        if self.status_known:
            return "[CPU] Fallback status: No fallback required"
        return "[CUDA] Fallback status: Unknown"


class VideoDecoder:
    """The frames of one video stream, by number or by time.

    Frames are exact in both seek modes, without a scan of the file. Colours are swscale's, as in
    torchcodec. Thread-safe; picklable unless the source is an open file.

    Args:
        source: path, URL, bytes, uint8 tensor of the file, or an object with `read` and `seek`.
        stream_index: number of the stream in the container; FFmpeg's best by default and
            for negative numbers.
        dimension_order: `NCHW` gives views of frames stored as `NHWC`.
        num_ffmpeg_threads: decoder threads; 0 for the number of usable processors.
        device: of the frames; torch's default device by default.
        seek_mode: both are exact; `approximate` leaves the metadata `*_from_content` empty.
        transforms: `Resize`, `CenterCrop`, `RandomCrop`, or torchvision's of the same names.
        output_dtype: `torch.uint8`; `torch.float32` from 0 to 1; `auto` gives float32 for videos of
            more than 8 bits. PQ and HLG are not converted.
        custom_frame_mappings: JSON of ffprobe; only checked against the index.

    Attributes:
        metadata: `VideoStreamMetadata`.
        stream_index: number of the stream.

    Raises:
        ValueError, TypeError: an argument is wrong, or there is no such stream.
        RuntimeError: the file cannot be read.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes | torch.Tensor | Any,
        *,
        stream_index: int | None = None,
        dimension_order: Literal["NCHW", "NHWC"] = "NCHW",
        num_ffmpeg_threads: int = 1,
        device: str | torch.device | None = None,
        seek_mode: Literal["exact", "approximate"] = "exact",
        transforms: Sequence[Any] | None = None,
        output_dtype: torch.dtype | Literal["auto"] = torch.uint8,
        custom_frame_mappings: str | bytes | Any | None = None,
    ) -> None:
        _check_choice("seek mode", seek_mode, ("exact", "approximate"))
        _check_choice("dimension order", dimension_order, ("NCHW", "NHWC"))
        _check_choice("output_dtype", output_dtype, (torch.uint8, torch.float32, "auto"))
        threads = as_thread_count(num_ffmpeg_threads)
        if custom_frame_mappings is not None and seek_mode == "approximate":
            raise ArgumentError(
                "custom_frame_mappings is incompatible with seek_mode='approximate'; leave it out"
            )
        given = as_source(source)
        stream = as_stream(stream_index)
        index: VideoIndex | None = None
        matrix = MATRIX
        given_device = torch.get_default_device() if device is None else device
        with as_runtime_errors, naming_stream(stream, "a video"):
            if output_dtype != torch.uint8:
                index = index_video(given, stream=stream)
                if output_dtype == torch.float32 or (index.bit_depth or 0) > _BYTE:
                    output_dtype = torch.float32
                    if str(given_device).startswith("cuda"):
                        # swscale's conversion has 8 bits there; untagged, it takes BT.601.
                        matrix = "bt601" if index.color.matrix is None else "auto"
            self._video = Video(
                given, given_device, index, stream=stream, threads=threads, matrix=matrix
            )
        self._closing = ClosedWhenCollected(self._video)
        try:
            index = self._video.index
            if custom_frame_mappings is not None:
                check_mappings(custom_frame_mappings, index)
            self._geometry = geometry_of(transforms, self._video.size)
        except BaseException:
            self._video.close()
            raise
        self.stream_index = index.stream
        self._is_float = output_dtype == torch.float32
        self._dimension_order = dimension_order
        self._seek_mode = seek_mode
        self._num_frames = len(index)
        self._ahead = FramesAhead(len(index))
        self._times = _Timeline.of(index)
        self.metadata = VideoStreamMetadata.of_index(
            self._describe(index), partial(read_header, given, index.stream)
        )

    def __len__(self) -> int:
        return self._num_frames

    @property
    def cpu_fallback(self) -> CpuFallbackStatus:
        """Whether frames for a GPU are decoded on the CPU."""
        return CpuFallbackStatus(status_known=self._video.device.type == "cpu")

    def __getitem__(self, key: int | slice) -> torch.Tensor:
        """The data of one frame, or of the frames of a slice."""
        if isinstance(key, slice):
            return self._data(_steps(*key.indices(self._num_frames)))
        if isinstance(key, int | np.integer):
            return self._ahead.frame(self._frame_number(int(key)), self._data)
        raise ArgumentTypeError(
            f"Unsupported key type: {type(key)}. Supported types are int and slice; "
            "get_frames_at takes several numbers"
        )

    def __iter__(self) -> Iterator[torch.Tensor]:
        """The data of all frames, decoded as they are consumed."""
        geometry = self._geometry
        if not self._is_float and geometry.size is None and geometry.crop is None:
            for frame in self._video:
                yield frame.permute(2, 0, 1) if self._dimension_order == "NCHW" else frame
            return
        for start in range(0, len(self), _CHUNK):
            yield from self._data(range(start, min(start + _CHUNK, len(self))))

    def get_frame_at(self, index: int) -> Frame:
        """A frame by number; negative ones count from the end.

        Raises:
            IndexError: there is no such frame.
        """
        return self._frame(self._frame_number(as_integer(index, "index")))

    def get_frames_at(self, indices: torch.Tensor | Sequence[int]) -> FrameBatch:
        """Frames by number, in any order; negative numbers count from the end.

        Floats in a tensor are truncated.

        Raises:
            IndexError: there is no such frame.
        """
        return self._batch(self._frame_numbers(indices))

    def get_frames_in_range(self, start: int, stop: int, step: int = 1) -> FrameBatch:
        """The frames of `range(start, stop, step)`, as a slice has them."""
        return self._batch(_steps(*slice(start, stop, step).indices(self._num_frames)))

    def get_frame_played_at(self, seconds: float) -> Frame:
        """The frame that is on screen at a time.

        Raises:
            IndexError: none is.
        """
        begin, end = self._times.begin, self._times.end
        if not begin <= seconds < end:
            raise FrameRangeError(
                f"Invalid pts in seconds: {seconds}. It must be greater than or equal to {begin} "
                f"and less than {end}."
            )
        time = as_seconds(seconds, "seconds")
        return self._frame(int(self._times.at(np.array([time]))[0]))

    def get_frames_played_at(self, seconds: torch.Tensor | Sequence[float]) -> FrameBatch:
        """The frames that are on screen at each of several times.

        Raises:
            RuntimeError, IndexError: none is at one of them.
        """
        times = as_times(seconds)
        begin, end = self._times.begin, self._times.end
        for time in times.tolist():
            if not begin <= time < end:
                bound = f"less than {end}" if time >= end else f"greater than or equal to {begin}"
                raise PlayedOutsideError(
                    f"{self._video.name}: frame pts is {time:f}; must be {bound}"
                )
        return self._batch(self._times.at(times))

    def get_frames_played_in_range(
        self, start_seconds: float, stop_seconds: float, fps: float | None = None
    ) -> FrameBatch:
        """The frames that are on screen from one time to before another.

        Args:
            start_seconds: within the video.
            stop_seconds: exclusive.
            fps: give the frames on screen every 1/fps seconds instead, with those times.

        Raises:
            ValueError: the range does not lie within the video.
        """
        check_range(start_seconds, stop_seconds)
        begin, end = self._times.begin, self._times.end
        if not begin <= start_seconds < end:
            raise ArgumentError(
                f"Invalid start seconds: {start_seconds}. It must be greater than or equal to "
                f"{begin} and less than {end}."
            )
        if not stop_seconds <= end:
            raise ArgumentError(
                f"Invalid stop seconds: {stop_seconds}. It must be less than or equal to {end}."
            )
        rate = None if fps is None else as_seconds(fps, "fps")
        if rate is not None and start_seconds != stop_seconds:
            return self._resampled(float(start_seconds), float(stop_seconds), rate)
        return self._batch(self._times.between(float(start_seconds), float(stop_seconds)))

    def get_all_frames(self, fps: float | None = None) -> FrameBatch:
        """All frames, or the frames on screen every 1/fps seconds."""
        return self.get_frames_played_in_range(self._times.begin, self._times.end, fps=fps)

    def _get_key_frame_indices(self) -> torch.Tensor:
        return torch.from_numpy(self._video.index.keyframes.copy())

    def _describe(self, index: VideoIndex) -> dict[str, Any]:
        """The metadata that the index knows."""
        is_exact = self._seek_mode == "exact"
        begin, end = self._times.begin, self._times.end
        return {
            **fields_of_index(index),
            "begin_stream_seconds_from_content": begin if is_exact else None,
            "end_stream_seconds_from_content": end if is_exact else None,
            "num_frames_from_content": len(index) if is_exact else None,
            "duration_seconds": end - begin,
            "begin_stream_seconds": begin,
            "end_stream_seconds": end,
            "num_frames": len(index),
            "average_fps": len(index) / (end - begin) if end > begin else None,
        }

    def _frame_number(self, given: int) -> int:
        number = given + self._num_frames if given < 0 else given
        if not 0 <= number < self._num_frames:
            bound = (
                f"must be less than {self._num_frames}"
                if given >= 0
                else "negative indices must have an absolute value less than the number of frames, "
                f"and the number of frames must be known: {self._num_frames}"
            )
            raise FrameRangeError(
                f"{self._video.name}: Invalid frame index={given} for stream_index="
                f"{self.stream_index}; {bound}"
            )
        return number

    def _frame_numbers(self, indices: torch.Tensor | Sequence[int]) -> NDArray[np.int64]:
        given = as_frame_numbers(indices).tolist()
        return np.array([self._frame_number(number) for number in given], np.int64)

    def _resampled(self, start: float, stop: float, fps: float) -> FrameBatch:
        if not fps > 0:
            raise ValueRuntimeError(f"fps must be positive, got {fps}")
        step = 1 / fps
        times = np.arange(int((stop - start) * fps + 0.5), dtype=np.float64) * step + start
        data = self._data(self._times.at(times))
        durations = torch.full((len(times),), step, dtype=torch.float64)
        return FrameBatch(data, torch.from_numpy(times), durations)

    def _frame(self, number: int) -> Frame:
        data = self._ahead.frame(number, self._data)
        return Frame(data, self._times.begins[number], self._times.durations[number])

    def _batch(self, frames: NDArray[np.int64] | range) -> FrameBatch:
        numbers = np.asarray(frames, np.int64)
        return FrameBatch(
            self._data(numbers),
            torch.from_numpy(self._times.begins[numbers]),
            torch.from_numpy(self._times.durations[numbers]),
        )

    def _data(self, frames: Sequence[int] | NDArray[np.int64]) -> torch.Tensor:
        """Frames by number as (F, C, H, W) or (F, H, W, C), in the memory order of the latter."""
        how = self._geometry
        elements: dict[str, Any] = {}
        if self._is_float:
            is_cpu = self._video.device.type == "cpu"
            elements = {"dtype": "uint16"} if is_cpu else {"dtype": "float32", "std": 255.0}
        with as_runtime_errors:
            data = self._video.get_frames(
                frames, crop=how.crop, size=how.size, window=how.window, **elements
            ).frames
        if data.dtype == torch.uint16:
            # numpy uses one thread; torch's threads wait for each other on a busy machine.
            data = torch.from_numpy(np.divide(data.numpy(), _WHITE, dtype=np.float32))
        data = how.finish(data)
        return data.permute(0, 3, 1, 2) if self._dimension_order == "NCHW" else data

    def __repr__(self) -> str:
        return f"<VideoDecoder {self._video.name}: {len(self)} frames>"


def _check_choice(what: str, given: Any, choices: tuple[Any, ...]) -> None:
    if not any(given is choice or given == choice for choice in choices):
        supported = ", ".join(map(str, choices))
        raise ArgumentError(f"Invalid {what} ({given}). Supported values are {supported}.")


def _steps(start: int, stop: int, step: int) -> range:
    if step < 1:
        raise ValueRuntimeError(f"Step must be greater than 0; is {step}")
    return range(start, max(start, stop), step)


@dataclass(frozen=True, slots=True, eq=False)
class _Timeline:
    """The times of all frames in seconds.

    Attributes:
        begins: presentation time of each frame.
        durations: of each frame; until the next one if the container has none.
        begin: time of the first frame.
        end: end of the last frame.
    """

    begins: NDArray[np.float64]
    durations: NDArray[np.float64]
    begin: float
    end: float

    @classmethod
    def of(cls, index: VideoIndex) -> _Timeline:
        """The times of an index."""
        begins = index.boundaries[:-1]
        base = index.time_base
        ticks = _durations(index)
        last = int((np.sort(index.pts) + ticks).max(initial=0))
        end = last * base.numerator / base.denominator
        durations = ticks * float(base.numerator) / base.denominator
        return cls(begins, durations, float(begins.min(initial=end)), end)

    def at(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Frames on screen at times inside the video: the last that begins at or before each."""
        return self.begins[1:].searchsorted(times, side="right")

    def between(self, start: float, stop: float) -> NDArray[np.int64]:
        """Frames on screen at some time from `start` to before `stop`."""
        if start == stop:
            return np.empty(0, np.int64)
        first = int(self.at(np.array([start]))[0])
        return np.arange(first, int(self.begins.searchsorted(stop)))


def _durations(index: VideoIndex) -> NDArray[np.int64]:
    told = index.packets["duration"][index.frame_packets].astype(np.int64)
    gaps = np.diff(index.pts)
    if (told > 0).all() or not len(gaps):
        return told.clip(0)
    return np.where(told > 0, told, np.append(gaps, gaps[-1])).clip(0)
