"""The docstring and the signature of a public operator, for `help`."""

from __future__ import annotations

import inspect
import textwrap

from videoloader.dali.operators.arguments import REQUIRED, Argument
from videoloader.dali.operators.operator import Operator


def documentation(operator: Operator, instead: str = "") -> str:
    """Docstring of an operator: its description and every argument.

    Args:
        operator: its declaration.
        instead: what to use in its place, if this is a deprecated name of it.
    """
    lines = [inspect.cleandoc(operator.doc), ""]
    if instead:
        lines += [f"Deprecated: use {instead}.", ""]
    if operator.inputs:
        lines.append("Inputs:")
        for each in operator.inputs:
            notes = [f"({', '.join(each.layouts)})"] if each.layouts else []
            notes += ["(may be left out)"] if each.is_optional else []
            notes += ["(one or more)"] if each.is_repeated else []
            lines.append(" ".join([f"    {each.name}", *notes]))
        lines.append("")
    lines.append("Args:")
    lines += [_describe(argument) for argument in operator.shown]
    lines.append(f"    device: {' or '.join(map(repr, operator.devices))}.")
    lines.append("    name: of the operator in its pipeline, for errors and `reader_meta`.")
    if operator.layouts:
        text = (
            "layout: of tensors in an eager call, such as FCHW; by default the one that fits "
            "their shape, if only one does (1 to 4 channels)."
        )
        lines.append(textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8))
    if operator.unused:
        lines += ["", textwrap.fill(f"Taken, no effect: {', '.join(sorted(operator.unused))}.", 96)]
    return "\n".join(lines)


def _describe(argument: Argument) -> str:
    facts = [argument.describe()]
    if argument.default is REQUIRED:
        facts.append("required")
    elif argument.default is not None:
        facts.append(f"default {argument.default!r}")
    if argument.per_sample:
        facts.append(f"may be per sample{' or frame' if argument.per_frame else ''}")
    text = f"{argument.name}: {argument.doc} ({'; '.join(facts)})."
    return textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)


def signature(operator: Operator) -> inspect.Signature:
    """Parameters of an operator: inputs by position, own and common arguments by keyword."""
    kinds = inspect.Parameter
    positional = [
        kinds(each.name, kinds.VAR_POSITIONAL)
        if each.is_repeated
        else kinds(
            each.name, kinds.POSITIONAL_ONLY, default=None if each.is_optional else kinds.empty
        )
        for each in operator.inputs
    ]
    keywords = [
        kinds(
            argument.name,
            kinds.POSITIONAL_OR_KEYWORD
            if argument.name in operator.positional
            else kinds.KEYWORD_ONLY,
            default=kinds.empty if argument.default is REQUIRED else argument.default,
        )
        for argument in operator.shown
    ]
    names = ("device", "name", "layout") if operator.layouts else ("device", "name")
    common = [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in names]
    return inspect.Signature([*positional, *keywords, *common])
