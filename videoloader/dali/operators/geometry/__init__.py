"""Operators that move pixels: crop, flip, resize, rotate, warp, paste, and transforms of points."""
