"""Write the index of a TFRecord: `python -m videoloader.dali.tools.tfrecord2idx DATA INDEX`."""

from __future__ import annotations

from collections.abc import Sequence

from videoloader.dali.readers.records.record_file import write_tfrecord_index
from videoloader.dali.tools.arguments import run

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program."""
    return run("tfrecord2idx", "a TFRecord file", write_tfrecord_index, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
