"""Files that cost much to make, made once for all workers of a run."""

import fcntl
import tempfile
from pathlib import Path

__all__ = ["made_once"]


def made_once(run_folder, name, make):
    """The folder `name` of a run, not to be written to; `make` fills it in the first worker."""
    folder = run_folder / name
    with open(run_folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released with the file
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=run_folder) as unfinished:
                part = Path(unfinished) / name
                part.mkdir()
                make(part)
                part.rename(folder)
    return folder
