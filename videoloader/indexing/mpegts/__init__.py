"""MPEG transport streams, read from the headers of their packets alone."""

from videoloader.indexing.mpegts.stream import index_mpegts

__all__ = ["index_mpegts"]
