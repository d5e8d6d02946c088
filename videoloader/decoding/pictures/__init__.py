"""Decoded pictures: planes, colour, conversion to RGB."""
