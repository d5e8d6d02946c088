"""Writes docs/dali/dali_operators.json: the operators of DALI 2.4 and their arguments.

    python tests/dali/references/dali_operators.py        # with nvidia-dali-cuda130==2.4.0

For each operator: its devices; for each argument its default, as text, and whether it may have a
value for each sample or for each frame; for each deprecated argument the one that takes its place;
and of a deprecated operator that it is, and the one that takes its place.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[3] / "docs" / "dali" / "dali_operators.json"

_FOR_ALL = ("device", "name", "bytes_per_sample_hint", "preserve")  # of every operator
_KEYWORDS = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _functions(module: Any, prefix: str = "") -> dict[str, Any]:
    found = {}
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or name == "hidden":
            continue
        if inspect.ismodule(value) and value.__name__.startswith("nvidia.dali.fn"):
            found |= _functions(value, f"{prefix}{name}.")
        elif hasattr(value, "_schema_name"):
            found[prefix + name] = value
    return found


def _default(parameter: inspect.Parameter) -> str | None:
    """The default as text; None for arguments that have to be given."""
    if parameter.default is inspect.Parameter.empty:
        return None
    return re.sub(r"DALI\w+\.", "", repr(parameter.default))


def _described(function: Any) -> dict[str, Any]:
    from nvidia.dali.backend import GetSchema

    schema = GetSchema(function._schema_name)
    arguments = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in _FOR_ALL or parameter.kind not in _KEYWORDS:
            continue
        varies = ""
        if schema.HasArgument(name) and schema.IsTensorArgument(name):
            varies = "frame" if schema.ArgSupportsPerFrameInput(name) else "sample"
        arguments[name] = [_default(parameter), varies]
    described = {"devices": sorted(schema.GetSupportedBackends()), "arguments": arguments}
    old = {
        name: schema.DeprecatedArgInfo(name)["renamed_to"]
        for name in schema.GetArgumentNames()
        if schema.IsDeprecatedArg(name)
    }
    if old:
        described["deprecated_arguments"] = old
    if schema.IsDeprecated():
        described["deprecated"] = True
        if schema.DeprecatedInFavorOf():
            described["instead"] = schema.DeprecatedInFavorOf()
    return described


if __name__ == "__main__":
    from nvidia.dali import fn

    functions = _functions(fn)
    names = {each._schema_name: name for name, each in functions.items()}
    operators = {name: _described(each) for name, each in functions.items()}
    for each in operators.values():
        if "instead" in each:
            each["instead"] = names[each["instead"]]
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in operators.items())
    TARGET.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
