"""Matroska and WebM files, read from the headers of their elements alone."""

from videoloader.indexing.matroska.file import index_matroska

__all__ = ["index_matroska"]
