"""The `.pyi` files of `videoloader.dali.fn` and `ops`: what editors and type checkers see.

They are written from the declarations. Those of `fn` have the signature and one line of
documentation of each function, those of `ops` the names of the classes; `help()` and the page of
operators have the whole.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator

from videoloader.dali.fn.function import Function
from videoloader.dali.fn.names import public_functions, public_modules
from videoloader.dali.operators.arguments import REQUIRED, Argument
from videoloader.dali.operators.operator import IGNORED, Operator
from videoloader.dali.ops.operator_class import class_name

__all__ = ["stubs"]

_HEAD = "# Written by `make written`; do not edit.\n\n"

_DEPRECATED = "from typing_extensions import deprecated as _deprecated\n"

_ANNOTATIONS = f'''{_HEAD}from collections.abc import Sequence
from os import PathLike
from typing import Any, TypeAlias

_Data: TypeAlias = Any
"""A tensor, a TensorList, a list of tensors; in the definition of a pipeline a DataNode."""

_Values: TypeAlias = Any
"""Values for each sample: a list, a tensor, a TensorList; in a definition a DataNode too."""

_Floats: TypeAlias = float | Sequence[float]
_Ints: TypeAlias = int | Sequence[int]
_Path: TypeAlias = str | PathLike[str]
'''

_FN = """from typing import Any
from videoloader.dali.fn._annotations import _Data, _Floats, _Ints, _Path, _Values
"""

_OPS = "from videoloader.dali.ops.operator_class import OperatorObject as _OperatorObject\n"

_TYPES = {
    "int": "int",
    "float": "float",
    "bool (0 or 1)": "bool | int",
    "str": "str",
    "path": "_Path",
    "int or list of int": "_Ints",
    "float or list of float": "_Floats",
    "(least, most), above 0": "_Floats",
}


def stubs() -> dict[str, str]:
    """The text of each file, by its path below `videoloader/dali`."""
    compose = "from videoloader.dali.ops.operator_class import Compose as Compose\n"
    return {
        "fn/_annotations.pyi": _ANNOTATIONS,
        **dict(_modules("fn", _FN, "\n", _function)),
        **dict(_modules("ops", _OPS, "", _class, compose)),
    }


def _modules(
    package: str, imports: str, between: str, write: Callable[[str, Function], str], more: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of the stub of each module of a package.

    Args:
        package: its name.
        imports: imports of each module.
        between: what separates operators.
        write: writes an operator, from its name in its module and its function.
        more: imports of the package itself.
    """
    modules = {"", *public_modules()}
    for name in public_modules():
        modules |= {name.rsplit(".", depth)[0] for depth in range(name.count(".") + 1)}
    for module in sorted(modules):
        inside = [name for name in modules if name and name.rpartition(".")[0] == module]
        dotted = f"videoloader.dali.{package}.{module}".rstrip(".")
        lines = imports + (more if not module else "")
        lines += "".join(
            f"from {dotted} import {short} as {short}\n"
            for short in sorted(name.rpartition(".")[2] for name in inside)
        )
        functions = sorted(public_functions(module).items())
        lines += _DEPRECATED if any(function.instead for _, function in functions) else ""
        body = between.join(write(name, function) for name, function in functions)
        path = "/".join([package, *filter(None, module.split(".")), *["__init__"] * bool(inside)])
        yield f"{path}.pyi", f"{_HEAD}{lines}\n{body}".rstrip("\n") + "\n"


def _class(name: str, function: Function) -> str:
    return "\n".join([*_warning(function), f"class {class_name(name)}(_OperatorObject): ...", ""])


def _function(name: str, function: Function) -> str:
    operator = function.operator
    own = _parameters(operator)
    if operator.layouts and not operator.declares("layout"):
        own.insert(own.index("name: str | None = None") + 1, "layout: str | None = None")
    if _is_repeated(operator):
        own.remove("*")
    lines = [*_warning(function), *_signature(name, [*_input_parameters(operator), *own], "Any")]
    return "\n".join([*lines, f"    {_summary(function)}"]) + "\n"


def _signature(name: str, arguments: Iterable[str], result: str) -> list[str]:
    """The head of a function, its arguments in as few lines as they need."""
    text = textwrap.wrap(
        ", ".join(each.replace(" ", "\0") for each in arguments),
        120,
        initial_indent=" " * 4,
        subsequent_indent=" " * 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"def {name}(", *(line.replace("\0", " ") for line in text), f") -> {result}:"]


def _warning(function: Function) -> list[str]:
    """The decorator by which editors strike a deprecated name out."""
    return [f'@_deprecated("use {function.instead}")'] if function.instead else []


def _is_repeated(operator: Operator) -> bool:
    return any(each.is_repeated for each in operator.inputs)


def _input_parameters(operator: Operator) -> list[str]:
    """The inputs of an operator in a signature."""
    if _is_repeated(operator):
        return [f"*{each.name}: _Data" for each in operator.inputs]
    inputs = [
        f"{each.name}: _Data{' = ...' if each.is_optional else ''}" for each in operator.inputs
    ]
    return [*inputs, "/"] if inputs else []


def _parameters(operator: Operator) -> list[str]:
    """The arguments of an operator in a signature."""
    positional = [each for each in operator.shown if each.name in operator.positional]
    named = [each for each in operator.shown if each not in positional]
    ignored = {name for name in IGNORED if not operator.declares(name)}
    others = sorted({*operator.unused, *ignored})
    return [
        *map(_parameter, positional),
        "*",
        *map(_parameter, named),
        *(f"{each}: str | None = None" for each in ("device", "name")),
        *(f"{each}: Any = ..." for each in others),
    ]


def _summary(function: Function) -> str:
    """The docstring of an operator in a stub: the first sentence of its documentation."""
    first = inspect.cleandoc(function.operator.doc).partition("\n\n")[0].replace("\\", "\\\\")
    return f'"""{" ".join(first.split())}"""'


def _parameter(argument: Argument) -> str:
    """An argument in a signature."""
    kind = _TYPES.get(argument.kind.name, "Any")
    if kind != "Any":
        kind += " | _Values" if argument.per_sample else ""
        kind += " | None" if argument.default is None else ""
    if argument.default is REQUIRED:
        return f"{argument.name}: {kind}"
    is_plain = isinstance(argument.default, int | float | str | None)
    return f"{argument.name}: {kind} = {repr(argument.default) if is_plain else '...'}"
