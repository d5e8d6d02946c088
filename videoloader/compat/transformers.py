"""A video decoder for `transformers`: `load_video(..., backend="videoloader")` and processors.

from videoloader.compat import transformers
transformers.register()
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
from numpy.typing import ArrayLike

from videoloader.compat.opening import frame_rate, open_video
from videoloader.sources.source import VideoSource

__all__ = ["NAME", "read_video", "register"]

NAME = "videoloader"


def register(*, default: bool = True) -> None:
    """Add the decoder to `VIDEO_DECODERS` of `transformers`.

    Args:
        default: also replace `fetch_videos`, so that video processors read paths and URLs with
            this decoder.
    """
    _video_utils().VIDEO_DECODERS[NAME] = read_video
    if default:
        processing: Any = importlib.import_module("transformers.video_processing_utils")
        processing.VideoProcessorMixin.fetch_videos = _fetch_videos


def read_video(
    video_path: VideoSource,
    sample_indices_fn: Callable[..., ArrayLike],
    *,
    device: str = "cpu",
    **kwargs: Any,
) -> tuple[torch.Tensor, Any]:
    """Decode the frames that a function selects, as the readers of `transformers` do.

    Args:
        video_path: path, URL or open binary file.
        sample_indices_fn: called with `metadata=` and `kwargs`; gives frame numbers.
        device: where frames are given.
        **kwargs: for `sample_indices_fn`.

    Returns:
        uint8 frames (T, C, H, W) and their `VideoMetadata`.

    Raises:
        VideoError: the video does not decode, or lacks a selected frame.
    """
    with open_video(video_path, device=device) as video:
        height, width = video.size
        metadata = _video_utils().VideoMetadata(
            total_num_frames=len(video),
            fps=frame_rate(video),
            duration=video.index.duration,
            video_backend=NAME,
            height=height,
            width=width,
        )
        numbers = sample_indices_fn(metadata=metadata, **kwargs)
        metadata.frames_indices = numbers
        return video.get_frames(numbers, layout="FCHW").frames, metadata


def _fetch_videos(self: Any, video_url_or_urls: Any, sample_indices_fn: Any = None) -> Any:
    """The loader that a video processor calls with a path or URL, or lists of them."""
    if isinstance(video_url_or_urls, list):
        pairs = [self.fetch_videos(one, sample_indices_fn) for one in video_url_or_urls]
        return list(zip(*pairs, strict=True))
    load_video = _video_utils().load_video
    return load_video(video_url_or_urls, backend=NAME, sample_indices_fn=sample_indices_fn)


def _video_utils() -> Any:
    return importlib.import_module("transformers.video_utils")
