"""The page docs/dali/dali-operators.md: operators and arguments of DALI 2.4, and what is here.

DALI's side is in docs/dali/dali_operators.json, ours are the declarations. Intended differences of
values are in docs/dali/differences.md, by the names of operators in its tables.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from videoloader.dali import fn
from videoloader.dali.fn.function import Function
from videoloader.dali.operators.arguments import REQUIRED, Argument
from videoloader.dali.operators.operator import Operator
from videoloader.dali.types import DataType

FOLDER = Path(__file__).parents[1] / "dali"

_HEAD = """# Operators of DALI 2.4

{there} of DALI's {count} operators exist here, with {present} of their {arguments} arguments.
`device`, `name`, `preserve` and `bytes_per_sample_hint`, which every operator has, are not counted.
[Operators](operators.md) describes them, and those that DALI lacks.
`make written` makes this page, and a test compares it with the declarations.

| mark | meaning |
|---|---|
| a struck name | absent |
| no effect | accepted for compatibility |
| one for all samples | DALI accepts a value for each sample, or for each frame |
| values | results differ intentionally, see [Operators that differ](differences.md) |
"""

_OLD_ARGUMENTS = """These arguments of DALI work here with a `DeprecationWarning`.
So does `seed` of operators that draw no random numbers.
"""


def page() -> str:
    """The text of docs/dali/dali-operators.md."""
    operators = dali_operators()
    here = {name: function(name) for name in operators}
    own = {name: each for name, each in operators.items() if "instead" not in each}
    listed = [
        (name, argument)
        for name, each in own.items()
        if here[name]
        for argument in each["arguments"]
    ]
    absent = [name for name in own if here[name] is None]
    head = _HEAD.format(
        there=len(own) - len(absent),
        count=len(own),
        present=sum(_has(here[name], argument) for name, argument in listed),
        arguments=len(listed),
    )
    lines = []
    if absent:
        lines += ["## Absent operators", "", *(f"- `fn.{name}`" for name in absent), ""]
    lines += ["## Operators", "", "| operator | arguments | differences |", "|---|---|---|"]
    lines += [_row(name, each, here[name]) for name, each in own.items() if here[name]]
    lines += ["", "## Deprecated names", "", "| in DALI | new name | here |", "|---|---|---|"]
    lines += [
        f"| `fn.{name}` | `fn.{each['instead']}` | {'yes' if here[name] else 'no'} |"
        for name, each in operators.items()
        if "instead" in each
    ]
    lines += ["", "## Deprecated arguments", "", _OLD_ARGUMENTS]
    lines += ["| argument | of | use instead |", "|---|---|---|", *_old_arguments(own)]
    return "\n".join([head, *lines, ""])


@cache
def dali_operators() -> dict[str, Any]:
    """Operators of DALI by name: see tests/dali/references/dali_operators.py."""
    text = (FOLDER / "dali_operators.json").read_text(encoding="utf-8")
    operators: dict[str, Any] = json.loads(text)
    return operators


def function(name: str) -> Function | None:
    """Our function of a name below `fn`; None if there is none."""
    found: Any = fn
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, Function) else None


def _row(name: str, dali: dict[str, Any], ours: Function | None) -> str:
    assert ours is not None
    arguments = [f"`{each}`" if _has(ours, each) else f"~~`{each}`~~" for each in dali["arguments"]]
    notes = "; ".join(differences(name, dali, ours.operator))
    return f"| `fn.{name}` | {', '.join(arguments)} | {notes} |"


def _old_arguments(operators: dict[str, Any]) -> Iterator[str]:
    """The rows of deprecated arguments, one for all operators that have the same."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, each in operators.items():
        ours = function(name)
        for old in ours.operator.deprecated if ours else ():
            if old.name in each.get("deprecated_arguments", {}):
                place = f"`{old.renamed_to}`" if old.renamed_to else old.advice or "no effect"
                rows.setdefault((old.name, place), []).append(f"fn.{name}")
    for (name, place), names in sorted(rows.items()):
        yield f"| `{name}` | {_names(names)} | {place} |"


def _has(ours: Function | None, argument: str) -> bool:
    assert ours is not None
    return ours.operator.declares(argument) or argument in ours.operator.unused


def differences(name: str, dali: dict[str, Any], ours: Operator) -> Iterator[str]:
    """What a user of DALI's operator has to know of ours, one phrase each."""
    missing = [each for each in dali["devices"] if each not in ours.devices]
    if missing:
        yield f"not on: {', '.join(missing)}"
    # DALI says nothing of the devices of operators that are made of others.
    added = [each for each in ours.devices if dali["devices"] and each not in dali["devices"]]
    if added:
        yield f"also on: {', '.join(added)}"
    unused = [each for each in dali["arguments"] if each in ours.unused]
    if unused:
        yield f"no effect: {_names(unused)}"
    declared = {each.name: each for each in ours.arguments}
    both = {name: declared[name] for name in dali["arguments"] if name in declared}
    fixed = [
        each for each, one in both.items() if dali["arguments"][each][1] and not one.per_sample
    ]
    if fixed:
        yield f"one for all samples: {_names(fixed)}"
    by_sample = [
        each
        for each, one in both.items()
        if dali["arguments"][each][1] == "frame" and one.per_sample and not one.per_frame
    ]
    if by_sample:
        yield f"not per frame: {_names(by_sample)}"
    for each, one in both.items():
        theirs = dali["arguments"][each][0]
        if not _is_same_default(one, theirs):
            yield f"`{each}` is {_shown(one)} by default, in DALI {_shown_text(theirs)}"
    if "deprecated" in dali:
        yield "deprecated"
    if _differs_by_intent(name):
        yield "[values](differences.md)"


def _is_same_default(ours: Argument, text: str | None) -> bool:
    """Whether nothing has to be said of a default; None, here or there, says nothing itself."""
    if text is None or ours.default is REQUIRED:
        return text is None and ours.default is REQUIRED
    theirs, own = _flat(_value(text)), _flat(_plain(ours.default))
    is_silent = own in (None, "", []) or theirs in (None, "")
    return is_silent or own == theirs or _is_close(own, theirs)


def _is_close(first: Any, second: Any) -> bool:
    """Whether numbers are alike in the digits that DALI shows."""
    try:
        return bool(np.allclose(first, second, rtol=1e-6, atol=0))
    except (TypeError, ValueError):
        return False


def _value(text: str) -> Any:
    """A default of DALI's; the name of a member of an enumeration as text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _plain(default: Any) -> Any:
    if isinstance(default, torch.dtype):
        return DataType.of(default).name
    if isinstance(default, tuple | list):
        return [_plain(each) for each in default]
    return getattr(default, "name", default)


def _flat(value: Any) -> Any:
    """A list of one element is that element: DALI takes both."""
    if isinstance(value, list | tuple):
        return value[0] if len(value) == 1 else list(value)
    return value


def _shown(argument: Argument) -> str:
    if argument.default is REQUIRED:
        return "required"
    return f"`{_plain(argument.default)}`"


def _shown_text(text: str | None) -> str:
    return "required" if text is None else f"`{text}`"


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@cache
def _intended() -> tuple[str, ...]:
    """Names of operators, with `*`, in the first columns of the tables of differences.md."""
    text = (FOLDER / "differences.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return tuple(name for cell in cells for name in re.findall(r"`([\w.*]+)`", cell)[:1])


def _differs_by_intent(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _intended())
