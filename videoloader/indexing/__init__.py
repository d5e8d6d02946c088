"""Bytes of a container in, a table of every frame out. Touches no device and no codec."""

from videoloader.indexing.bitstream.color import Color
from videoloader.indexing.index import Orientation, PacketFlags, VideoIndex
from videoloader.indexing.source import Fingerprint, Source, VideoSource, open_source
from videoloader.indexing.video import index_video

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
