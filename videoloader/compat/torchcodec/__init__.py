"""torchcodec's decoders and samplers on this library's index, plans and decoders.

`install()` puts it in torchcodec's place, so that code which imports torchcodec runs unchanged.
"""

from __future__ import annotations

import sys

from videoloader.compat.torchcodec import decoders, samplers, transforms
from videoloader.compat.torchcodec.frames import AudioSamples, Frame, FrameBatch

__all__ = [
    "AudioSamples",
    "Frame",
    "FrameBatch",
    "decoders",
    "install",
    "samplers",
    "transforms",
]

__version__ = "0.17.0"
"""Version of torchcodec whose interface this is."""


def install() -> None:
    """Make `import torchcodec` give this package, here and in processes forked from here.

    Call it before the code that imports torchcodec: names that were imported from the real one stay
    those of the real one.
    """
    here = sys.modules[__name__]
    sys.modules["torchcodec"] = here
    for part in (decoders, samplers, transforms):
        sys.modules[f"torchcodec.{part.__name__.rpartition('.')[2]}"] = part
