"""The page of all operators, written from their declarations."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import videoloader.dali.fn  # noqa: F401  (importing this declares all operators)
from videoloader.dali.fn.names import HIDDEN
from videoloader.dali.operators.arguments import REQUIRED, Argument
from videoloader.dali.operators.operator import OPERATORS, Operator

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGE = Path(__file__).parents[1] / "dali" / "operators.md"

_HEAD = """# Operators

An argument marked *per sample* takes one value, one for each sample, or a data node. *Per frame
too*: the value of a sample may be a list with one for each frame of the clip; a data node with such
lists goes through `fn.per_frame`.
Where *one kernel* stands behind a device, the GPU does a whole ragged batch in one launch, for
uint8, uint16, float16 and float32 of 1 to 4 channels. This needs CuPy (the extra `cuda`), which
compiles the kernel when it is first used and keeps it on disk. `erase`, `grid_mask`, `paste`,
`multi_paste` and `noise.salt_and_pepper` take every element type; resizing has a second, small
kernel for its weights. All else runs in plain torch.
Devices and processors round sums of floats in their own ways. A whole number may differ by one
where its value is half-way between two, and at the border of two pixels either is the nearest:
[what is equal everywhere](../how/identity.md#on-other-processors).
Every operator also takes `device` and `name`. What of DALI's operators and arguments is absent or
differs is listed in [Operators of DALI](dali-operators.md).
"""


def page() -> str:
    """The page, in Markdown."""
    shown = [operator for name, operator in sorted(OPERATORS.items()) if name not in HIDDEN]
    return "\n".join([_HEAD, *map(_section, shown)])


def _section(operator: Operator) -> str:
    lines = [f"## fn.{operator.name}", "", inspect.cleandoc(operator.doc), ""]
    code = operator.run.__module__.replace(".", "/") + ".py"
    if operator.inputs:
        inputs = ", ".join(
            f"`{each.name}`"
            + (f" ({', '.join(each.layouts)})" if each.layouts else "")
            + (" (may be left out)" if each.is_optional else "")
            + (" (one or more)" if each.is_repeated else "")
            for each in operator.inputs
        )
        lines.append(f"Inputs: {inputs}.")
    devices = [
        f"{device} (one kernel)" if device == "gpu" and "cuda" in operator.kernels else device
        for device in operator.devices
    ]
    lines += [f"Devices: {', '.join(devices)}. Code: [{code}](../../{code}).", ""]
    lines += ["| argument | value | default | per sample | meaning |", "|---|---|---|---|---|"]
    lines += [_row(argument) for argument in operator.shown]
    if operator.unused:
        names = ", ".join(f"`{name}`" for name in sorted(operator.unused))
        lines += ["", f"Taken, without effect: {names}."]
    return "\n".join([*lines, ""])


def _row(argument: Argument) -> str:
    default = "required" if argument.default is REQUIRED else f"`{argument.default!r}`"
    default = "" if argument.default is None else default
    mark = "yes" if argument.per_sample else ""
    mark = "yes, per frame too" if argument.per_frame else mark
    return f"| `{argument.name}` | {argument.describe()} | {default} | {mark} | {argument.doc} |"


def write(_: Sphinx) -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
