"""The `.pyi` files of `videoloader.fn`, written from the declarations of the operators.

To write them again after a change: `python -m videoloader.fn.stubs`.
"""

from __future__ import annotations

from pathlib import Path

from videoloader.fn.function import HIDDEN, documentation
from videoloader.operators.arguments import REQUIRED, Argument
from videoloader.operators.operator import IGNORED, OPERATORS, Operator

__all__ = ["stubs", "write_stubs"]

_HEAD = "# Written by `python -m videoloader.fn.stubs`; do not edit.\n"

_IMPORTS = """
from collections.abc import Sequence
from typing import Any, TypeAlias
"""

_ALIASES = """
_Data: TypeAlias = Any
\"\"\"A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode.\"\"\"

_Values: TypeAlias = Any
\"\"\"Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too.\"\"\"
"""

_TYPES = {
    "int": "int",
    "float": "float",
    "bool (0 or 1)": "bool | int",
    "str": "str",
    "int or list of int": "int | Sequence[int]",
    "float or list of float": "float | Sequence[float]",
}


def stubs() -> dict[str, str]:
    """The text of each file, by its name."""
    modules: dict[str, list[Operator]] = {"": []}
    for name, operator in sorted(OPERATORS.items()):
        if name not in HIDDEN:
            modules.setdefault(name.rpartition(".")[0], []).append(operator)
    texts = {}
    for module, operators in modules.items():
        functions = "\n".join(map(_function, operators))
        imports, extra = _IMPORTS, ""
        if not module:
            inside = sorted(other for other in modules if other)
            lines = [f"from videoloader.fn import {each} as {each}" for each in inside]
            lines.append("from videoloader.fn.document import operators_page as operators_page")
            extra = "\n" + "\n".join(lines) + "\n"
        texts[f"{module or '__init__'}.pyi"] = f"{_HEAD}{imports}{extra}{_ALIASES}\n{functions}"
    return texts


def write_stubs(folder: Path) -> None:
    """Write the files."""
    for name, text in stubs().items():
        (folder / name).write_text(text, encoding="utf-8")


def _function(operator: Operator) -> str:
    lines = [f"def {operator.name.rpartition('.')[2]}("]
    lines += [f"    {each.name}: _Data," for each in operator.inputs]
    if operator.inputs:
        lines.append("    /,")
    positional = [each for each in operator.arguments if each.name in operator.positional]
    lines += [f"    {_parameter(argument)}," for argument in positional]
    lines.append("    *,")
    lines += [
        f"    {_parameter(argument)},"
        for argument in operator.arguments
        if argument not in positional
    ]
    common = ["device", "name"]
    if operator.layouts and not operator.declares("layout"):
        common.append("layout")
    lines += [f"    {each}: str | None = None," for each in common]
    others = sorted({*operator.absent, *operator.unused, *IGNORED})
    lines += [f"    {each}: Any = ...," for each in others]
    lines.append(") -> Any:")
    body = documentation(operator).replace("\\", "\\\\").splitlines()
    body[0] = f'"""{body[0]}'
    lines += [f"    {line}" if line else "" for line in [*body, '"""']]
    return "\n".join(lines) + "\n"


def _parameter(argument: Argument) -> str:
    kind = _TYPES.get(argument.kind.name, "Any")
    if kind != "Any":
        kind += " | _Values" if argument.per_sample else ""
        kind += " | None" if argument.default is None else ""
    if argument.default is REQUIRED:
        return f"{argument.name}: {kind}"
    is_plain = isinstance(argument.default, int | float | str | None)
    return f"{argument.name}: {kind} = {repr(argument.default) if is_plain else '...'}"


if __name__ == "__main__":
    write_stubs(Path(__file__).parent)
