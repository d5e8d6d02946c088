"""MP4 and MOV files, read from the tables in `moov` and `moof` boxes alone."""

from videoloader.indexing.mp4.movie import index_mp4

__all__ = ["index_mp4"]
