"""Where in a user's program a call comes from."""

from __future__ import annotations

import os
import sys
from types import FrameType

__all__ = ["frame_of_user"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def frame_of_user() -> FrameType:
    """The innermost frame outside of this package; the outermost one if there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame
