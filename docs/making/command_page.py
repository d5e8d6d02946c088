"""The page of the commands, as Typer describes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.cli import get_docs_for_click

from videoloader.cli import app as program

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGE = Path(__file__).parents[1] / "reference" / "commands.md"


def page() -> str:
    """The page, in Markdown."""
    command = typer.main.get_command(program)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="videoloader")
    head, _, commands = text.partition("\n## ")
    head = head.partition("**Commands**")[0]  # a list of cut sentences; the sections follow
    return head.replace("# `videoloader`", "# Command line") + "\n## " + commands


def write(_: Sphinx) -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
