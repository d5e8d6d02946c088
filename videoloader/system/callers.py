"""Where in a user's program a call comes from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType

__all__ = ["PACKAGE", "frame_of_user"]

PACKAGE = str(Path(os.path.abspath(__file__)).parents[1]) + os.sep
"""The folder of this package: code in it is not the user's."""


def frame_of_user() -> FrameType:
    """The innermost frame outside of this package; the outermost one if there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame
