"""A video reader for `qwen_vl_utils`, which selects the frames.

from videoloader.compat import qwen_vl_utils
qwen_vl_utils.register()
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import torch

from videoloader.compat.opening import frame_rate, open_video

__all__ = ["NAME", "read_video", "register"]

NAME = "videoloader"
_FILE = "file://"


def register(*, default: bool = True) -> None:
    """Add the reader to `VIDEO_READER_BACKENDS` of `qwen_vl_utils`.

    Args:
        default: use it unless the environment variable `FORCE_QWENVL_VIDEO_READER` names another
            reader; if False, it is used only with `FORCE_QWENVL_VIDEO_READER=videoloader`.
    """
    module = _vision_process()
    module.VIDEO_READER_BACKENDS[NAME] = read_video
    if default and not os.environ.get("FORCE_QWENVL_VIDEO_READER"):
        module.FORCE_QWENVL_VIDEO_READER = NAME
    module.get_video_reader_backend.cache_clear()


def read_video(ele: dict[str, Any]) -> tuple[torch.Tensor, dict[str, Any], float]:
    """Decode the frames that `smart_nframes` asks for, as the readers of `qwen_vl_utils` do.

    Args:
        ele: of a conversation: `video` (path or URL), and `nframes`, or `fps`, `min_frames` and
            `max_frames`; `video_start` and `video_end` in seconds.

    Returns:
        uint8 frames (T, C, H, W), metadata of the video, and the frame rate of the clip.

    Raises:
        ValueError: `qwen_vl_utils` rejects the number of frames or the range.
        VideoError: the video does not decode.
    """
    module = _vision_process()
    with open_video(ele["video"].removeprefix(_FILE)) as video:
        fps = frame_rate(video)
        first, last, total = module.calculate_video_frame_range(ele, len(video), fps)
        count = module.smart_nframes(ele, total_frames=total, video_fps=fps)
        numbers = torch.linspace(first, last, count).round().long().tolist()
        frames = video.get_frames(numbers, layout="FCHW").frames
    metadata = {
        "fps": fps,
        "frames_indices": numbers,
        "total_num_frames": total,
        "video_backend": NAME,
    }
    return frames, metadata, count / total * fps


def _vision_process() -> Any:
    return importlib.import_module("qwen_vl_utils.vision_process")
