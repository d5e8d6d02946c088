"""decord's interface over this library, with exact frames and the same colours.

Change the import, or call `install()` before modules that import decord:

>>> from videoloader.compat.decord import VideoReader, bridge, cpu
>>> reader = VideoReader("clip.mp4", ctx=cpu(0))  # doctest: +SKIP
>>> reader.get_batch([0, 30, 60]).asnumpy().shape  # doctest: +SKIP
(3, 360, 640, 3)
"""

from __future__ import annotations

import importlib
import sys

from videoloader.compat.decord import base, bridge, logging, ndarray
from videoloader.compat.decord.audio_reader import AudioReader
from videoloader.compat.decord.av_reader import AVReader
from videoloader.compat.decord.base import ALL, DECORDError, DECORDLimitReachedError
from videoloader.compat.decord.ndarray import NDArray, cpu, gpu
from videoloader.compat.decord.video_loader import VideoLoader
from videoloader.compat.decord.video_reader import VideoReader

__version__ = "3.4.0"  # of the decord2 whose interface this is

__all__ = [
    "ALL",
    "AVReader",
    "AudioReader",
    "DECORDError",
    "DECORDLimitReachedError",
    "NDArray",
    "VideoLoader",
    "VideoReader",
    "base",
    "bridge",
    "cpu",
    "gpu",
    "install",
    "logging",
    "nd",
    "ndarray",
]

nd = ndarray

_SUBMODULES = (
    "audio_reader",
    "av_reader",
    "base",
    "bridge",
    "bridge.torchdl",
    "logging",
    "ndarray",
    "video_loader",
    "video_reader",
)


def install() -> None:
    """Make `import decord` import this module in this process.

    Names imported from the real decord before remain unchanged.
    """
    sys.modules["decord"] = sys.modules[__name__]
    for name in _SUBMODULES:
        sys.modules[f"decord.{name}"] = importlib.import_module(f"{__name__}.{name}")
    sys.modules["decord._ffi"] = base
    sys.modules["decord._ffi.base"] = base
