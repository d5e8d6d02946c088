"""What the system says of the processes that a test has started."""

import os
from pathlib import Path


def children():
    """Processes that this one has started and that have not ended."""
    while True:
        found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
        try:
            return {int(child) for path in found for child in path.read_text().split()}
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread has ended meanwhile; another one has its children now


def state_of(pid):
    """The letter of its state; Z for one that has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"
