"""The page of the commands, as Typer describes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.cli import get_docs_for_click

from videoloader.cli import app as program

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_EXAMPLES = re.compile(r"^Examples:\n\n((?:videoloader .*\n+)+)", re.MULTILINE)
PAGE = Path(__file__).parents[1] / "reference" / "commands.md"


def page() -> str:
    """The page, in Markdown."""
    command = typer.main.get_command(program)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="videoloader")
    head, _, commands = text.partition("\n## ")
    head = head.partition("**Commands**")[0]  # a list of cut sentences; the sections follow
    head = head.replace("# `videoloader`", "# Command line")
    head = head.replace("Exit codes:", "[Exit codes](../data-set-index.md#exit-codes):")
    return head + "\n## " + _EXAMPLES.sub(_as_code, commands)


def _as_code(examples: re.Match[str]) -> str:
    return "**Examples**:\n\n```console\n" + examples[1].strip().replace("\n\n", "\n") + "\n```\n\n"


def write(_: Sphinx) -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
