"""Operators: what they are, and what they do to batches. `videoloader.dali.fn` offers them.

Every module of this package is imported along with it, so a new operator is one new declaration.
"""

import importlib
import pkgutil

from videoloader.dali.operators.context import Context, Sample
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import OPERATORS, Operator, declare
from videoloader.dali.tensors.batch import Batch, Spec

__all__ = ["OPERATORS", "Batch", "Context", "Input", "Operator", "Sample", "Spec", "declare"]

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
