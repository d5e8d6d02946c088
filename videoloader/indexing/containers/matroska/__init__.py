"""Indexes Matroska and WebM files from the headers of their elements."""

from videoloader.indexing.containers.matroska.file import index_matroska
from videoloader.indexing.containers.matroska.segment import segment_end

__all__ = ["index_matroska", "segment_end"]
