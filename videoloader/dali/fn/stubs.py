"""The `.pyi` files of `videoloader.dali.fn`: signatures for editors and type checkers.

They are written from the declarations, with one line of documentation for each operator; `help()`
and docs/dali/operators.md have the whole. `python -m videoloader.dali.fn.stubs` writes them again.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from videoloader.dali.fn.function import Function
from videoloader.dali.fn.names import public_functions, public_modules
from videoloader.dali.operators.arguments import REQUIRED, Argument
from videoloader.dali.operators.operator import IGNORED, Operator

__all__ = [
    "input_parameters",
    "parameter",
    "parameters",
    "signature",
    "stub_files",
    "stubs",
    "summary",
    "warning",
    "write_stubs",
]

_IMPORTS = """
from collections.abc import Sequence as _Sequence
from os import PathLike as _PathLike
from typing import Any, TypeAlias
from typing_extensions import deprecated as _deprecated
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
    "path": "str | _PathLike[str]",
    "int or list of int": "int | _Sequence[int]",
    "float or list of float": "float | _Sequence[float]",
    "(least, most), above 0": "float | _Sequence[float]",
}


def stubs() -> dict[str, str]:
    """The text of each file, by its path below the package."""
    shown = "from videoloader.dali.fn.document import operators_page as operators_page\n"
    return stub_files("fn", _function, {"": shown})


def stub_files(
    package: str, text_of: Callable[[str, Function], str], imports: Mapping[str, str]
) -> dict[str, str]:
    """The texts of the stubs of `fn` or of a package like it, by path.

    Args:
        package: its name.
        text_of: the stub of an operator, from its name in its module and its function.
        imports: further lines for a module.
    """
    modules = {"", *public_modules()}
    for name in public_modules():
        modules |= {name.rsplit(".", depth)[0] for depth in range(name.count(".") + 1)}
    head = f"# Written by `python -m videoloader.dali.{package}.stubs`; do not edit.\n"
    texts = {}
    for module in modules:
        inside = [name for name in modules if name and name.rpartition(".")[0] == module]
        dotted = f"videoloader.dali.{package}.{module}".rstrip(".")
        lines = "".join(
            f"from {dotted} import {short} as {short}\n"
            for short in sorted(name.rpartition(".")[2] for name in inside)
        )
        lines += imports.get(module, "")
        body = "\n".join(
            text_of(name, function) for name, function in sorted(public_functions(module).items())
        )
        path = "/".join([*module.split("."), "__init__"] if inside else module.split("."))
        text = f"{head}{_IMPORTS}{lines and chr(10)}{lines}{_ALIASES}\n{body}"
        texts[f"{path.lstrip('/')}.pyi"] = text
    return texts


def write_stubs(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files below the folder of their package."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text, encoding="utf-8")


def _function(name: str, function: Function) -> str:
    operator = function.operator
    own = parameters(operator, parameter)
    if operator.layouts and not operator.declares("layout"):
        own.insert(own.index("name: str | None = None") + 1, "layout: str | None = None")
    if _is_repeated(operator):
        own.remove("*")
    lines = [*warning(function), *signature(name, [*input_parameters(operator), *own], "Any")]
    return "\n".join([*lines, f"    {summary(function)}"]) + "\n"


def signature(name: str, arguments: Iterable[str], result: str) -> list[str]:
    """The head of a function, its arguments in as few lines as they need."""
    text = textwrap.wrap(
        ", ".join(each.replace(" ", "\0") for each in arguments),
        100,
        initial_indent=" " * 4,
        subsequent_indent=" " * 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"def {name}(", *(line.replace("\0", " ") for line in text), f") -> {result}:"]


def warning(function: Function) -> list[str]:
    """The decorator by which editors strike a deprecated name out."""
    return [f'@_deprecated("use {function.instead}")'] if function.instead else []


def _is_repeated(operator: Operator) -> bool:
    return any(each.is_repeated for each in operator.inputs)


def input_parameters(operator: Operator) -> list[str]:
    """The inputs of an operator in a signature."""
    if _is_repeated(operator):
        return [f"*{each.name}: _Data" for each in operator.inputs]
    inputs = [
        f"{each.name}: _Data{' = ...' if each.is_optional else ''}" for each in operator.inputs
    ]
    return [*inputs, "/"] if inputs else []


def parameters(operator: Operator, write: Callable[[Argument], str]) -> list[str]:
    """The arguments of an operator in a signature.

    Args:
        operator: its declaration.
        write: writes one argument.
    """
    positional = [each for each in operator.shown if each.name in operator.positional]
    named = [each for each in operator.shown if each not in positional]
    ignored = {name for name in IGNORED if not operator.declares(name)}
    others = sorted({*operator.unused, *ignored})
    return [
        *map(write, positional),
        "*",
        *map(write, named),
        *(f"{each}: str | None = None" for each in ("device", "name")),
        *(f"{each}: Any = ..." for each in others),
    ]


def summary(function: Function) -> str:
    """The docstring of an operator in a stub: the first sentence of its documentation."""
    first = inspect.cleandoc(function.operator.doc).partition("\n\n")[0].replace("\\", "\\\\")
    return f'"""{" ".join(first.split())}"""'


def parameter(argument: Argument) -> str:
    """An argument in a signature."""
    kind = _TYPES.get(argument.kind.name, "Any")
    if kind != "Any":
        kind += " | _Values" if argument.per_sample else ""
        kind += " | None" if argument.default is None else ""
    if argument.default is REQUIRED:
        return f"{argument.name}: {kind}"
    is_plain = isinstance(argument.default, int | float | str | None)
    return f"{argument.name}: {kind} = {repr(argument.default) if is_plain else '...'}"


if __name__ == "__main__":
    write_stubs(Path(__file__).parent, stubs())
