"""Checks and conversions of the arguments that torchcodec takes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.runtime_errors import TypeRuntimeError, ValueRuntimeError
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.index import VideoIndex

_MOST_THREADS = 64  # FFmpeg's limit for one decoder


def as_integer(given: Any, name: str) -> int:
    """An integer of any type, numpy's and tensors of one element included; no float.

    Raises:
        TypeRuntimeError: it is not such a number.
    """
    try:
        if not isinstance(given, float | str | bytes):
            return int(given)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise TypeRuntimeError(f"Expected a value of type 'int' for argument '{name}', got {given!r}")


def as_stream(given: Any) -> int | None:
    """The number of a stream; None, for FFmpeg's choice, also for negative numbers.

    Raises:
        TypeRuntimeError: it is no integer.
    """
    number = -1 if given is None else as_integer(given, "stream_index")
    return None if number < 0 else number


def as_seconds(given: Any, name: str) -> float:
    """A number of any type as a float.

    Raises:
        TypeRuntimeError: it is not such a number.
    """
    try:
        if not isinstance(given, str | bytes):
            return float(given)
    except (TypeError, ValueError, RuntimeError):
        pass
    raise TypeRuntimeError(f"Expected a value of type 'float' for argument '{name}', got {given!r}")


def as_thread_count(given: Any) -> int | None:
    """Decoder threads; None lets this library choose."""
    if given is None:
        raise ValueRuntimeError("num_ffmpeg_threads = None should be an int.")
    count = as_integer(given, "num_ffmpeg_threads")
    return min(count, _MOST_THREADS) if count > 0 else None


def as_frame_numbers(indices: Any) -> NDArray[np.int64]:
    """Frame numbers, negative ones included; floats and bools in a tensor are truncated to int.

    Raises:
        TypeRuntimeError: not numbers.
        ValueRuntimeError: numbers that are not integers, or lists of unequal lengths.
    """
    if isinstance(indices, torch.Tensor):
        return indices.detach().to("cpu", torch.int64).reshape(-1).numpy()
    try:
        given = np.asarray(indices)
    except ValueError as error:  # ragged
        raise ValueRuntimeError(f"frame indices are integers, got {indices!r:.80}") from error
    kind = given.dtype.kind
    if kind not in "iu" and (given.size or kind in "USVb"):
        error_type = TypeRuntimeError if kind in "USV" else ValueRuntimeError
        raise error_type(
            f"Expected a value of type 'int' for each of the indices, got {indices!r:.80}"
        )
    return given.astype(np.int64).reshape(-1)


def as_times(seconds: Any) -> NDArray[np.float64]:
    """Times in seconds.

    Raises:
        ValueRuntimeError: not numbers.
    """
    if isinstance(seconds, torch.Tensor):
        return seconds.detach().to("cpu", torch.float64).reshape(-1).numpy()
    reason: Exception | None = None
    try:
        given = np.asarray(seconds)
        kind = given.dtype.kind
        if kind not in "USV" and not (kind == "O" and any(value is None for value in given.flat)):
            return given.reshape(-1).astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        reason = error
    raise ValueRuntimeError(
        "Couldn't convert timestamps input to a tensor: Expected a value of type 'float' for each "
        f"of them, got {seconds!r:.80}"
    ) from reason


def check_range(start: float, stop: float) -> None:
    """Raise if a range of seconds ends before it begins."""
    if not start <= stop:
        raise ArgumentError(
            f"Invalid start seconds: {start}. It must be less than or equal to stop seconds "
            f"({stop})."
        )


def check_mappings(mappings: Any, index: VideoIndex) -> None:
    """Raise unless `custom_frame_mappings` lists the frames of the index.

    Args:
        mappings: JSON, `{"frames": [{"pts": ..., "duration": ..., "key_frame": ...}, ...]}`, or a
            file of it.
        index: of the stream.

    Raises:
        ArgumentError: the JSON is invalid, or lists another stream.
    """
    try:
        text = mappings.read() if hasattr(mappings, "read") else mappings
        content = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
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
