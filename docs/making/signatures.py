"""Puts examples of the reference behind the first paragraph, and folds long signatures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_SHOWN = 5  # parameters of a folded signature
_LONG = 8  # parameters of the shortest signature that is folded


def shown_parameters(parameters: Sequence[tuple[str, bool]], examples: str) -> list[str]:
    """The parameters of a folded signature: required ones, those of its examples, the first ones.

    Args:
        parameters: names, each with whether it is required, in the order of the signature.
        examples: code that calls the function.
    """
    used = {*re.findall(r"\b(\w+)=", examples)}
    order = sorted(parameters, key=lambda each: (not each[1], each[0] not in used))
    chosen = {name for name, _ in order[:_SHOWN]}
    return [name for name, _ in parameters if name in chosen]


def rearrange(*event: Any) -> None:
    """Called for each object of the reference when its description is read."""
    from docutils import nodes
    from sphinx import addnodes

    _, domain, _, content = event
    members = (addnodes.desc, addnodes.index)
    own = list(takewhile(lambda node: not isinstance(node, members), content.children))
    fields = [node for node in own if isinstance(node, nodes.field_list)]
    if domain != "py" or not fields:
        return
    moved = own[own.index(fields[0]) + 1 :]
    examples = [node for node in moved if node not in fields]
    for node in examples:
        content.remove(node)
    content[1:1] = examples
    for found in content.parent[0].findall(addnodes.desc_parameterlist):
        whole = _fold(found, "\n".join(node.astext() for node in examples))
        if whole is not None:
            place = content.index(fields[0])
            content[place:place] = whole


def _fold(parameters: Any, examples: str) -> list[Any] | None:
    """Leave the parameters that most calls use; the nodes that show all, None if there are few."""
    from docutils import nodes
    from sphinx import addnodes

    named = {}
    for node in parameters:
        name = next((part for part in node if isinstance(part, addnodes.desc_sig_name)), None)
        if name is not None:  # it is no `*`
            named[name.astext()] = node
    if len(named) < _LONG:
        return None
    whole = parameters.deepcopy()
    is_required = {
        name: isinstance(node[0], addnodes.desc_sig_name) and "default_value" not in str(node)
        for name, node in named.items()
    }
    shown = shown_parameters([*is_required.items()], examples)
    for name, node in named.items():
        if name not in shown:
            parameters.remove(node)
    rest = f"… {len(named) - len(shown)} more"
    parameters.append(addnodes.desc_parameter(rest, rest))
    opened = f'<details class="parameters"><summary>All {len(named)} parameters</summary>'
    ends = (nodes.raw("", html, format="html") for html in (opened, "</details>"))
    return [next(ends), whole, next(ends)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("object-description-transform", rearrange)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
