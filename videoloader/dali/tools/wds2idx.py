"""Writes the index file of a WebDataset: `python -m videoloader.dali.tools.wds2idx DATA INDEX`."""

from __future__ import annotations

from collections.abc import Sequence

from videoloader.dali.readers.records.archive_samples import write_index
from videoloader.dali.tools.arguments import run

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program."""
    return run("wds2idx", "a WebDataset archive", write_index, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
