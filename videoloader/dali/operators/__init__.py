"""Operators: declarations and their work on batches. `videoloader.dali.fn` offers them.

Start at `operator.py` (`declare`). Every module of this package is imported along with it, so a new
operator is one new declaration. On pictures: `color/` changes values, `geometry/` moves pixels,
`filters/` looks at neighbourhoods, `fills/` fills regions. `general/` has operators on any tensor,
`arithmetic/` those behind `+` and `*`, `functions/` calls of Python functions, `random/` random
numbers and masks; the other folders are named after what their operators take.
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
