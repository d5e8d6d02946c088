"""Matroska and WebM files, read from the headers of their elements alone."""

from videoloader.indexing.matroska.file import index_matroska
from videoloader.indexing.matroska.segment import segment_end

__all__ = ["index_matroska", "segment_end"]
