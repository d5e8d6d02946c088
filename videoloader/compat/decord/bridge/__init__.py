"""The type of returned frames: decord's own, torch's or numpy's."""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import numpy as np
import torch

from videoloader.compat.decord.base import RefusedError
from videoloader.compat.decord.bridge import torchdl
from videoloader.compat.decord.bridge.torchdl import from_torch, to_torch
from videoloader.compat.decord.ndarray import NDArray
from videoloader.errors import UnsupportedError

__all__ = [
    "bridge_in",
    "bridge_out",
    "from_torch",
    "reset_bridge",
    "set_bridge",
    "to_numpy",
    "to_torch",
    "torchdl",
    "use_torch",
]

Frames: TypeAlias = NDArray | torch.Tensor | np.ndarray[Any, Any]

_TYPES = ("native", "torch", "numpy")
_ABSENT = ("mxnet", "tensorflow", "tvm")


class _MissingBridgeError(UnsupportedError, ImportError):
    """A bridge of decord that this library lacks."""


class _Current(threading.local):
    """The type of this thread; threads begin with the type of the main thread."""

    shared = "native"

    def __init__(self) -> None:
        self.type = _Current.shared


_current = _Current()


def set_bridge(new_bridge: str) -> None:
    """Give frames as `native` (`NDArray`), `torch` or `numpy` in this thread.

    If set in the main thread, it is also the default of threads that start later.

    Raises:
        UnsupportedError: a bridge of decord that this library lacks.
        ArgumentError: there is no such bridge.
    """
    if new_bridge in _ABSENT:
        raise _MissingBridgeError(
            f'there is no {new_bridge} bridge; use "torch" or "numpy" and convert, or take '
            "NDArray.to_dlpack() of the native bridge"
        )
    if new_bridge not in _TYPES:
        raise RefusedError(f"a bridge is one of {', '.join(_TYPES)}, got {new_bridge!r}")
    _current.type = new_bridge
    if threading.current_thread() is threading.main_thread():
        _Current.shared = new_bridge


def reset_bridge() -> None:
    """Give frames as `NDArray` again."""
    set_bridge("native")


def bridge_out(frames: torch.Tensor) -> Frames:
    """Frames in the type that `set_bridge` chose."""
    if _current.type == "torch":
        return frames
    return frames.cpu().numpy() if _current.type == "numpy" else NDArray(frames)


def bridge_in(frames: Frames) -> NDArray:
    """Frames of any type as an `NDArray`."""
    if isinstance(frames, NDArray):
        return frames
    return NDArray(torch.as_tensor(frames))


def to_numpy(frames: Frames) -> np.ndarray[Any, Any]:
    """A numpy array; shares the memory if that is on the CPU."""
    return bridge_in(frames).asnumpy()


class use_torch:
    """Give tensors within a `with` block."""

    def __enter__(self) -> None:
        self._before = _current.type
        set_bridge("torch")

    def __exit__(self, *_: object) -> None:
        set_bridge(self._before)
