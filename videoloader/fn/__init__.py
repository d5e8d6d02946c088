"""The operators under their public names, which are DALI's.

Called on a tensor (one image or clip) or a `TensorList` (a batch) an operator runs at once and
returns the same kind. Called in the definition of a pipeline it becomes a node of the graph, and
an argument that may be per sample can be another node.
"""

import videoloader.operators
import videoloader.readers.decoder
import videoloader.readers.external
import videoloader.readers.video  # noqa: F401  (importing these declares the operators)
from videoloader.fn import decoders, random, readers
from videoloader.fn.document import operators_page
from videoloader.fn.function import Function

__all__ = [
    "brightness_contrast",
    "cast",
    "crop",
    "crop_mirror_normalize",
    "decoders",
    "external_source",
    "flip",
    "operators_page",
    "random",
    "readers",
    "resize",
]

brightness_contrast = Function("brightness_contrast")
cast = Function("cast")
crop = Function("crop")
crop_mirror_normalize = Function("crop_mirror_normalize")
external_source = Function("external_source")
flip = Function("flip")
resize = Function("resize")
