"""torchcodec's decoders and samplers on this library's index, plans and decoders.

After `install()`, code that imports torchcodec runs on this package unchanged. Names that this
package lacks come from the installed torchcodec.
"""

from __future__ import annotations

import sys
from typing import Any

from videoloader.compat.torchcodec import decoders, encoders, installed, samplers, transforms
from videoloader.compat.torchcodec.frames import AudioSamples, Frame, FrameBatch

__all__ = [
    "AudioSamples",
    "Frame",
    "FrameBatch",
    "decoders",
    "encoders",
    "install",
    "samplers",
    "transforms",
]

__version__ = "0.17.0"
"""The torchcodec version of this interface."""

_AVCODEC_OFFSET = 54  # libavcodec 62 is that of FFmpeg 8


def install() -> None:
    """Make `import torchcodec` import this package, in this process and its forks.

    Call it before the code that imports torchcodec; names imported earlier remain unchanged.
    Without an installed torchcodec, `importlib.metadata` knows its version from then on, too.
    """
    installed.remember()
    installed.provide_metadata(__version__)
    here = sys.modules[__name__]
    sys.modules["torchcodec"] = here
    for part in (decoders, encoders, samplers, transforms):
        sys.modules[f"torchcodec.{part.__name__.rpartition('.')[2]}"] = part


def __getattr__(name: str) -> Any:
    if name == "ffmpeg_major_version":
        import av

        return av.library_versions["libavcodec"][0] - _AVCODEC_OFFSET
    return installed.find_name(name)
