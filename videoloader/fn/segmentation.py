"""Objects and polygons of segmentation masks."""

from videoloader.fn.names import public_functions

globals().update(public_functions("segmentation"))

__all__ = sorted(public_functions("segmentation"))
