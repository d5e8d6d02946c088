"""The `.pyi` files of `videoloader.dali.ops`, written from the declarations of the operators.

To write them again after a change: `python -m videoloader.dali.ops.stubs`.
"""

from __future__ import annotations

from pathlib import Path

from videoloader.dali.fn.function import Function
from videoloader.dali.fn.names import public_modules
from videoloader.dali.fn.stubs import (
    parameter,
    parameters,
    signature,
    stub_files,
    summary,
    warning,
    write_stubs,
)
from videoloader.dali.operators.arguments import Argument
from videoloader.dali.ops.operator_class import class_name

__all__ = ["stubs"]

_BASE = "from videoloader.dali.ops.operator_class import OperatorObject as _OperatorObject\n"
_COMPOSE = "from videoloader.dali.ops.operator_class import Compose as Compose\n"


def stubs() -> dict[str, str]:
    """The text of each file, by its path below the package."""
    modules = ["", *public_modules()]
    imports = {name: _BASE if name else _COMPOSE + _BASE for name in modules}
    return stub_files("ops", _class, imports)


def _class(name: str, function: Function) -> str:
    operator = function.operator
    lines = [*warning(function), f"class {class_name(name)}(_OperatorObject):"]
    lines += [f"    {summary(function)}"]
    head = signature("__init__", ["self", *parameters(operator, _optional)], "None")
    head[-1] += " ..."
    return "\n".join([*lines, *(f"    {line}" for line in head)]) + "\n"


def _optional(argument: Argument) -> str:
    """An argument of the constructor: what is required may be given in the call."""
    text = parameter(argument)
    return text if "=" in text else f"{text} = ..."


if __name__ == "__main__":
    write_stubs(Path(__file__).parent, stubs())
