"""Indexes videos: where every packet is, and which frame it decodes to. Needs no torch.

Start at `video.py` (`index_video`) and `index.py` (`VideoIndex`). `containers/` parses files; what
it leaves goes to `demuxing.py`, by FFmpeg. `order/` finds the order of frames if timestamps are
missing or wrong. `packets.py` has the table in memory, `storage.py` and `columns.py` the index on
disk; `payloads.py` and `packing.py` read the bytes of packets. `dataset/` indexes many files.

For `videoloader.dali`: `index.py`.

>>> from pathlib import Path
>>> sources: list[VideoSource] = ["clip.mp4", Path("clip.mp4"), Path("clip.mp4").read_bytes()]
>>> [index_video(source).num_frames for source in sources]
[90, 90, 90]
"""

import importlib
from types import ModuleType

from videoloader.codecs.color import Color
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import Orientation, PacketFlags
from videoloader.indexing.video import index_video
from videoloader.sources.opening import open_source
from videoloader.sources.source import Fingerprint, Source, VideoSource

__all__ = [
    "Color",
    "Fingerprint",
    "Orientation",
    "PacketFlags",
    "Source",
    "VideoIndex",
    "VideoSource",
    "index_video",
    "open_source",
]


def __getattr__(name: str) -> ModuleType:
    if name == "dataset":  # imports worker processes
        return importlib.import_module(f"{__name__}.dataset")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
