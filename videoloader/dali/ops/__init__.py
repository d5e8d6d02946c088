"""The operators as classes, under DALI's names: `ops.Resize(size=224)(images)`.

An object takes its arguments when it is made and its inputs when it is called. It runs at once or
becomes a node of a graph, as the function of `videoloader.dali.fn` that it stands for does. Values
that differ between samples may be given in the call:
`ops.Rotate(device="gpu")(images, angle=angles)`.

The classes are made from the declarations. Editors and type checkers see their names in the `.pyi`
files beside this one, which `make written` writes and a test keeps current; they see arguments only
in the functions of `fn`.
"""

import sys
import types

from videoloader.dali.fn.names import namespace, public_modules
from videoloader.dali.ops.operator_class import Compose, public_classes  # noqa: F401


def _module(name: str) -> types.ModuleType:
    """The module of this name with its classes, importable as a file would be."""
    if not name:
        return sys.modules[__name__]
    dotted = f"{__name__}.{name}"
    if dotted not in sys.modules:
        made = sys.modules[dotted] = types.ModuleType(dotted, f"The classes of `fn.{name}`.")
        made.__path__ = []  # it may have modules inside
        vars(made).update(namespace(dotted, public_classes))
        parent, _, short = name.rpartition(".")
        setattr(_module(parent), short, made)
    return sys.modules[dotted]


for _name in public_modules():
    _module(_name)
globals().update(namespace(__name__, public_classes, "Compose"))
