"""The command `videoloader`: look at videos without writing a program.

One module for each group of commands of its help; `terminal.py` has what they share.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Annotated

import typer

from videoloader.cli.curation import dedupe, scenes, score
from videoloader.cli.data_sets import check, index, join, merge, query, split
from videoloader.cli.inspection import browse, inspect, report, sample
from videoloader.cli.machine import demo, doctor, top
from videoloader.cli.terminal import say
from videoloader.cli.tuning import tune
from videoloader.cli.writing import cut, transcode

__all__ = ["app", "main"]

_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Data sets": (index, merge, split, join, check, query),
    "Look at videos": (inspect, sample, report, browse),
    "Select videos": (scenes, dedupe, score),
    "Write videos": (cut, transcode),
    "This machine": (tune, top, doctor, demo),
}

app = typer.Typer(
    name="videoloader",
    add_completion=False,
    pretty_exceptions_show_locals=False,  # URLs among them may be signed
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Index, check, select, cut and encode videos for training."""
    if version:
        say(f"videoloader {metadata.version('videoloader')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(2)


for _group, _members in _COMMANDS.items():
    for _member in _members:
        app.command(rich_help_panel=_group)(_member)


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="videoloader")
