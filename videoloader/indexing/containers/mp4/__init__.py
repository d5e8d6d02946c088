"""Indexes MP4 and MOV files from the tables in `moov` and `moof` boxes."""

from videoloader.indexing.containers.mp4.movie import index_mp4

__all__ = ["index_mp4"]
