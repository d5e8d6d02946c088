"""Parses containers into an index of every frame. Uses no device."""

from videoloader.codecs.color import Color
from videoloader.indexing.index import Orientation, PacketFlags, VideoIndex
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
