"""All changes of one timestamp, and repeated parts of raw streams: no wrong frame without a word.

Run `python tests/attacks/damaged_times.py`; it takes some minutes and exits with 1 if any passes.
"""

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from damaged_times import (
    CASES,
    access_units,
    changes,
    clips,
    is_told_or_right,
    raw_streams,
    repeated,
)

import videoloader as vl


def attempts(folder):
    """(name, bytes) of every file that is tried."""
    paths = clips(folder)
    for name, (change, clip) in CASES.items():
        for packet, shift in changes(None, 0):
            yield name, change(paths[clip], packet, shift)
    rng = random.Random(0)
    for name, data in raw_streams(folder).items():
        for kind, parts in zip(("picture", "unit"), access_units(data), strict=True):
            for number in range(len(parts)):
                for place in (number + 1, rng.randrange(1, len(parts))):
                    yield f"raw {name}, {kind} repeated", repeated(parts, number, place)


def main():
    tried = silent = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, data in attempts(Path(folder)):
            tried += 1
            try:
                right, warned, index = is_told_or_right(data)
            except vl.errors.DecodeError:
                continue  # said loudly
            if not (right or warned):
                silent += 1
                print(f"{name}: wrong frames and no warning: {index}")  # noqa: T201
    print(f"{tried} damaged files, {silent} of them wrong without a word")  # noqa: T201
    sys.exit(silent > 0)


if __name__ == "__main__":
    main()
