"""MPEG transport streams, read from the headers of their packets alone."""

from videoloader.indexing.mpegts.grid import transport_end
from videoloader.indexing.mpegts.stream import index_mpegts

__all__ = ["index_mpegts", "transport_end"]
