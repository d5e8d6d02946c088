"""The operators as classes, under DALI's names: `ops.Resize(size=224)(images)`.

An object takes its arguments when it is made and its inputs when it is called. It runs at once or
becomes a node of a graph, as the function of `videoloader.dali.fn` that it stands for does. Values
that differ between samples may be given in the call:
`ops.Rotate(device="gpu")(images, angle=angles)`.

The classes and their modules are made from the declarations. Editors and type checkers see their
names in the `.pyi` files beside this one, which `make written` writes and a test keeps current;
they see arguments only in the functions of `fn`.
"""

from videoloader.dali.fn.names import populate
from videoloader.dali.ops.operator_class import Compose, public_classes  # noqa: F401

populate(__name__, public_classes, "Compose")
