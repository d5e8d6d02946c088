"""`VideoClips` of torchvision: all clips of several videos, by number."""

from __future__ import annotations

import bisect
import math
import os
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.opening import frame_rate, layout_of, open_first_video
from videoloader.errors import ArgumentError, VideoError
from videoloader.machinery.runtime.threads import in_threads


class VideoClips:
    """All clips of several videos, numbered consecutively. Picklable.

    The constructor reads the indexes of the files and decodes nothing.

    Args:
        video_paths: paths or URLs.
        clip_length_in_frames: frames in a clip.
        frames_between_clips: from the start of one clip to that of the next.
        frame_rate: of the clips, by repeating and leaving out frames; that of the video by default.
        _precomputed_metadata: `metadata` of another `VideoClips` of these videos.
        num_workers: threads that read files.
        output_format: `THWC` or `TCHW`.
        **_: sizes and audio options of old torchvision; without effect.

    A file that is not a video gives a warning and has no clips.
    """

    def __init__(
        self,
        video_paths: Sequence[str | os.PathLike[str]],
        clip_length_in_frames: int = 16,
        frames_between_clips: int = 1,
        frame_rate: float | None = None,
        _precomputed_metadata: dict[str, Any] | None = None,
        num_workers: int = 0,
        *,
        output_format: str = "THWC",
        **_: Any,
    ) -> None:
        self.video_paths = list(video_paths)
        self.num_workers = num_workers
        self.output_format = output_format.upper()
        self._layout = layout_of(output_format)
        known = _precomputed_metadata or _read_tables(self.video_paths, num_workers)
        self.video_paths = known["video_paths"]
        self.video_pts: list[torch.Tensor] = known["video_pts"]
        self.video_fps: list[float | None] = known["video_fps"]
        self.compute_clips(clip_length_in_frames, frames_between_clips, frame_rate)

    @property
    def metadata(self) -> dict[str, Any]:
        """Paths, presentation times in ticks and frame rates, for `_precomputed_metadata`."""
        return {
            "video_paths": self.video_paths,
            "video_pts": self.video_pts,
            "video_fps": self.video_fps,
        }

    def compute_clips(self, num_frames: int, step: int, frame_rate: float | None = None) -> None:
        """Recompute the clips; arguments as for the class."""
        self.num_frames, self.step, self.frame_rate = num_frames, step, frame_rate
        self._frames = [
            _divide(len(pts), num_frames, step, fps, frame_rate)
            for pts, fps in zip(self.video_pts, self.video_fps, strict=True)
        ]
        self.clips = [
            pts[torch.from_numpy(frames)]
            for pts, frames in zip(self.video_pts, self._frames, strict=True)
        ]
        self.cumulative_sizes: list[int] = np.cumsum([len(part) for part in self.clips]).tolist()

    def subset(self, indices: Sequence[int]) -> Self:
        """A `VideoClips` of some of the videos."""
        known = {name: [of[i] for i in indices] for name, of in self.metadata.items()}
        return type(self)(
            known["video_paths"],
            self.num_frames,
            self.step,
            self.frame_rate,
            known,
            self.num_workers,
            output_format=self.output_format,
        )

    def __len__(self) -> int:
        return self.num_clips()

    def num_videos(self) -> int:
        """Number of videos."""
        return len(self.video_paths)

    def num_clips(self) -> int:
        """Number of clips of all videos."""
        return self.cumulative_sizes[-1] if self.cumulative_sizes else 0

    def get_clip_location(self, idx: int) -> tuple[int, int]:
        """Video, and number of the clip in it."""
        video = bisect.bisect_right(self.cumulative_sizes, idx)
        return video, idx - (self.cumulative_sizes[video - 1] if video else 0)

    def get_clip(self, idx: int) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any], int]:
        """Decode a clip.

        Returns:
            uint8 frames in the output format; no audio samples (1, 0); `video_fps`; the number of
            the video.

        Raises:
            IndexError: there are fewer clips.
            VideoError: the video does not decode, or has changed.
        """
        if not 0 <= idx < self.num_clips():
            raise IndexError(f"clip {idx} requested, there are {self.num_clips()}")
        place, clip = self.get_clip_location(idx)
        with open_first_video(self.video_paths[place]) as video:
            frames = self._frames[place][clip]
            if not np.array_equal(video.index.pts[frames[-1:]], self.clips[place][clip][-1:]):
                raise ArgumentError(
                    f"{video.name}: the presentation times in the metadata are not those of this "
                    "file; make the VideoClips again from the paths"
                )
            tensor = video.get_frames(frames, layout=self._layout).frames
            rate = frame_rate(video) if self.frame_rate is None else self.frame_rate
        return tensor, torch.empty((1, 0)), {"video_fps": rate}, place


def _divide(
    length: int, num_frames: int, step: int, fps: float | None, rate: float | None
) -> NDArray[np.int64]:
    """Frame numbers of all clips of a video: (clips, num_frames)."""
    numbers = np.arange(length)
    if rate is not None and fps:
        every = fps / rate
        if every.is_integer():
            numbers = numbers[:: int(every)]
        else:  # float32, as torchvision counts
            places = np.arange(math.floor(length * rate / fps), dtype=np.float32)
            numbers = np.floor(places * np.float32(every)).astype(np.int64)
    count = max((len(numbers) - num_frames) // step + 1, 0)
    if not count:
        warnings.warn(
            f"a video of {length} frames gives no clip of {num_frames}; it is skipped", stacklevel=4
        )
    clips: NDArray[np.int64] = numbers[np.arange(count)[:, None] * step + np.arange(num_frames)]
    return clips


def _read_tables(paths: list[Any], threads: int) -> dict[str, Any]:
    """Presentation times and frame rates of files."""

    def read(path: Any) -> tuple[torch.Tensor, float | None, VideoError | None]:
        try:
            with open_first_video(path) as video:
                return torch.from_numpy(video.index.pts.copy()), frame_rate(video) or None, None
        except VideoError as error:
            return torch.empty(0, dtype=torch.int64), None, error

    found = in_threads(read, paths, threads)
    for _, _, error in found:
        if error is not None:
            warnings.warn(f"{error}; it has no clips", stacklevel=3)
    return {
        "video_paths": paths,
        "video_pts": [pts for pts, _, _ in found],
        "video_fps": [rate for _, rate, _ in found],
    }
