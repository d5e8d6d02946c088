"""`custom_frame_mappings`: frames as ffprobe lists them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.index import VideoIndex

__all__ = ["check_mappings"]


def check_mappings(mappings: Any, index: VideoIndex) -> None:
    """Fail unless mappings list the frames of the index.

    Args:
        mappings: JSON, `{"frames": [{"pts": ..., "duration": ..., "key_frame": ...}, ...]}`, or a
            file of it.
        index: of the stream.

    Raises:
        ArgumentError: it is no such JSON, or is of another stream.
    """
    try:
        text = mappings.read() if hasattr(mappings, "read") else mappings
        content = json.loads(text)
    except (ValueError, TypeError) as error:
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
        raise kind(
            f"Invalid custom frame mappings: {error}. It should be a valid JSON string or a "
            "file-like object."
        ) from error
    frames = content.get("frames") if isinstance(content, dict) else None
    if not frames:
        raise ArgumentError(
            "Invalid custom frame mappings. The input is empty or missing the required 'frames' "
            "key."
        )
    try:
        pts = [int(frame["pts"] if "pts" in frame else frame["pkt_pts"]) for frame in frames]
        for frame in frames:
            int(frame["duration"] if "duration" in frame else frame["pkt_duration"])
            int(frame["key_frame"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(
            "Invalid custom frame mappings. The 'pts'/'pkt_pts', 'duration'/'pkt_duration', and "
            "'key_frame' keys are required in the frame metadata."
        ) from error
    if not np.array_equal(np.sort(pts), index.pts):
        raise ArgumentError(
            f"{index.name}: custom_frame_mappings lists {len(pts)} frames with other times than "
            f"the {len(index)} of stream {index.stream}; leave it out, the index is exact without"
        )
