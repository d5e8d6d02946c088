"""The `.pyi` files of `videoloader.ops`, written from the declarations of the operators.

To write them again after a change: `python -m videoloader.ops.stubs`.
"""

from __future__ import annotations

from pathlib import Path

from videoloader.fn.function import Function
from videoloader.fn.stubs import (
    docstring,
    input_parameters,
    parameter,
    parameters,
    stub_files,
    warning,
    write_stubs,
)
from videoloader.operators.arguments import Argument
from videoloader.ops.operator_class import class_name

__all__ = ["stubs"]

_COMPOSE = "from videoloader.ops.operator_class import Compose as Compose\n"


def stubs() -> dict[str, str]:
    """The text of each file, by its path below the package."""
    return stub_files("ops", _class, {"": _COMPOSE})


def _class(name: str, function: Function) -> str:
    operator = function.operator
    call = ", ".join(["self", *input_parameters(operator), "**arguments: Any"])
    lines = [*warning(function), f"class {class_name(name)}:", *docstring(function), ""]
    lines += ["    def __init__(", "        self,"]
    lines += [f"    {line}" for line in parameters(operator, _optional)]
    lines += ["    ) -> None: ...", f"    def __call__({call}) -> Any: ..."]
    lines += ["    @property", "    def device(self) -> str: ..."]
    return "\n".join(lines) + "\n"


def _optional(argument: Argument) -> str:
    """An argument of the constructor: what is required may be given in the call."""
    text = parameter(argument)
    return text if "=" in text else f"{text} = ..."


if __name__ == "__main__":
    write_stubs(Path(__file__).parent, stubs())
