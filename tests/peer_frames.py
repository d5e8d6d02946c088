"""What peers give: a sequential decode by FFmpeg through PyAV, converted by swscale."""

import functools
import io
import sys
import types

import av
import numpy as np

__all__ = ["decoded", "decoded_times", "stand_in"]


def _opened(source):
    return av.open(io.BytesIO(source) if isinstance(source, bytes) else str(source))


@functools.cache
def decoded(source):
    """All frames (F, H, W, C), uint8 RGB; not to be written to."""
    with _opened(source) as container:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


def decoded_times(source):
    """Presentation times of all frames as (ticks, time base)."""
    with _opened(source) as container:
        pts = [frame.pts for frame in container.decode(video=0)]
        return pts, container.streams.video[0].time_base


def stand_in(monkeypatch, name, **values):
    """A module in the place of one of another package, its parents empty; gives the module."""
    parts = name.split(".")
    parent = None
    for length in range(1, len(parts) + 1):
        path = ".".join(parts[:length])
        last = length == len(parts)
        module = sys.modules.get(path)
        if module is None or last or not getattr(module, "is_stand_in", False):
            module = types.ModuleType(path)
            module.is_stand_in = True
            module.__path__ = []
            monkeypatch.setitem(sys.modules, path, module)
        if parent is not None:
            monkeypatch.setattr(parent, parts[length - 1], module, raising=False)
        parent = module
    for key, value in values.items():
        setattr(parent, key, value)
    return parent
