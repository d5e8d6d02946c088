"""Bytes of a container in, a table of every frame out. Touches no device and no codec."""

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
