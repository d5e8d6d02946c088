"""Operators that fill regions of images and clips."""
