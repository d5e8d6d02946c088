"""Work on videos that goes as usual, but for files with certain names."""

import os
import signal
import time
from pathlib import Path

from videoloader.decoding.opening.indexer import IndexCommand
from videoloader.indexing.dataset.rows import begin_row


def be_odd(path):
    """Crash, hang or take memory, if a file is called so."""
    name = Path(path).name
    if "crash" in name:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "once" in name and not Path(f"{path}.killed").exists():
        Path(f"{path}.killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if "hang" in name:
        time.sleep(1000)
    if "memory" in name:
        bytearray(1 << 36)


class OddOrder(IndexCommand):
    """An order to index."""

    def _make(self):
        be_odd(self.name)
        return super()._make()


def greedy(size):
    """So many bytes, which are not touched."""
    return len(bytearray(size))


def odd_row(item, **options):
    """The first part of the row of a video, as usual but for files with certain names."""
    be_odd(item.path)
    return begin_row(item, **options)
