"""The command `videoloader`: look at videos without writing a program.

One module for each group of commands of its help; `terminal.py` has what they share.
"""

from __future__ import annotations

import inspect as introspection
import textwrap
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Annotated

import typer

from videoloader.cli.curation import dedupe, scenes, score
from videoloader.cli.data_sets import check, index, join, merge, query, split
from videoloader.cli.inspection import browse, inspect, report, sample
from videoloader.cli.machine import demo, doctor, top
from videoloader.cli.terminal import Command, complain, say
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

EXIT_CODES = (
    "Exit codes: 0 done; 1 done, but videos failed; 2 not done, for the reason on stderr; "
    "130 stopped by Ctrl-C."
)

app = typer.Typer(
    name="videoloader",
    epilog=EXIT_CODES,
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


def _help(command: Callable[..., None]) -> tuple[str, str]:
    """The help of a command and the examples that end it, from its docstring.

    Paragraphs are given as one line each, which Typer wraps to the width of the terminal; it would
    keep the line breaks of the docstring.
    """
    text, _, examples = introspection.cleandoc(command.__doc__ or "").partition("\n\nExamples:\n")
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    lines = textwrap.dedent(examples).splitlines()
    return "\n\n".join(paragraphs), "\n\n".join(["Examples:", *lines])


for _group, _members in _COMMANDS.items():
    for _member in _members:
        _text, _examples = _help(_member)
        app.command(cls=Command, rich_help_panel=_group, help=_text, epilog=_examples)(_member)


def main() -> None:
    """Entry point of the console script."""
    warnings.showwarning = lambda message, *_: complain(str(message))  # without a place in Python
    app(prog_name="videoloader")
