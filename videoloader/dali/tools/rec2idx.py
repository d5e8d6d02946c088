"""Writes the index file of a RecordIO: `python -m videoloader.dali.tools.rec2idx DATA INDEX`."""

from __future__ import annotations

from collections.abc import Sequence

from videoloader.dali.readers.records.record_file import write_recordio_index
from videoloader.dali.tools.arguments import run

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program."""
    return run("rec2idx", "a RecordIO file", write_recordio_index, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
