"""The command line of the programs that write an index file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from videoloader.errors import VideoError


def run(
    name: str, what: str, write: Callable[[str, str], int], arguments: Sequence[str] | None
) -> int:
    """Write an index as the command line says; gives the exit status.

    Args:
        name: of the program.
        what: it makes an index of.
        write: writes the index of a file to another; gives the number of records.
        arguments: of the command line; those of the process by default.
    """
    parser = argparse.ArgumentParser(name, description=f"Write the index file of {what}.")
    parser.add_argument("data", help="path or URL of the file")
    parser.add_argument("index", help="path of the index file")
    given = parser.parse_args(arguments)
    try:
        count = write(given.data, given.index)
    except (VideoError, OSError) as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 1
    sys.stdout.write(f"{given.index}: {count} records\n")
    return 0
