"""Matroska and WebM: indexed from the headers of their elements."""
