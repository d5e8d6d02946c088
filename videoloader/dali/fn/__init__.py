"""The operators under their public names, which are DALI's.

Called on a tensor (one image or clip) or a `TensorList` (a batch) an operator runs at once and
returns the same kind. Called in the definition of a pipeline, with a node, or without data, it
becomes a node of the graph, and an argument that may be per sample can be another node.
`videoloader.dali.eager()` lets operators without data run at once.

The functions are made from the declarations. Editors and type checkers see them in the `.pyi` files
beside this one, which `make written` writes and a test keeps current.
"""

import videoloader.dali.readers.all_readers  # noqa: F401  (importing this declares the readers)
from videoloader.dali.fn import (  # noqa: F401
    _conditional,
    decoders,
    eager_math,
    experimental,
    inputs,
    io,
    noise,
    random,
    readers,
    reductions,
    segmentation,
    transforms,
)
from videoloader.dali.fn.names import namespace, public_functions

globals().update(namespace(__name__, public_functions))
