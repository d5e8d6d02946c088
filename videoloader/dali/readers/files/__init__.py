"""Readers of files: images, arrays, annotations, sound."""
