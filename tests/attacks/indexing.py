"""Indexes hostile files, each in a process with limits: how long that takes, and how much memory.

    python tests/attacks/indexing.py [megabytes]

A megabyte of file may cost 3 seconds and 64 MB, beside what any file may; a sparse file, which may
claim 256 times as much, 64 bytes for each byte of its tables.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bounded import run_bounded
from hostile_files import HOSTILE, make

MEGABYTES = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
ANY_SECONDS, ANY_MEMORY = 5.0, 400 << 20


def attack(name, folder):
    """Index one; whether it cost too much."""
    is_claim = name.startswith(("sparse", "a huge"))
    size = int(MEGABYTES * 1e6) * (64 if is_claim else 1)
    path = make(name, folder, size)
    (cost,) = run_bounded("vl.index_video(argument)", path, memory=16 << 30, timeout=600)
    told = cost.told.replace(str(folder), "")
    sys.stdout.write(
        f"{name:40} {path.stat().st_size / 1e6:7.1f} MB: {cost.seconds:6.2f} s of CPU, "
        f"{cost.memory / 1e6:6.0f} MB; {told[:90]}\n"
    )
    path.unlink()
    most = ANY_SECONDS + 3 * MEGABYTES * (4 if is_claim else 1)
    return cost.seconds > most or cost.memory > ANY_MEMORY + 64 * size


def main():
    with tempfile.TemporaryDirectory() as folder:
        failed = [name for name in HOSTILE if attack(name, Path(folder))]
    sys.exit(f"too expensive: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
