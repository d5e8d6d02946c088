"""The operators under their public names, which are DALI's.

Called on a tensor (one image or clip) or a `TensorList` (a batch) an operator runs at once and
returns the same kind. Called in the definition of a pipeline, with a node, or without data, it
becomes a node of the graph, and an argument that may be per sample can be another node.
`videoloader.dali.eager()` lets operators without data run at once.

The functions and their modules are made from the declarations. Editors and type checkers see them
in the `.pyi` files beside this one, which `make written` writes and a test keeps current.
"""

import videoloader.dali.readers.all_readers  # noqa: F401  (importing this declares the readers)
from videoloader.dali.fn import _conditional, eager_math  # noqa: F401
from videoloader.dali.fn.names import populate, public_functions

populate(__name__, public_functions)
