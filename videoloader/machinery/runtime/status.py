"""The status file of a process, about its loaders and pipelines, for `videoloader top`.

Only with `VIDEOLOADER_STATUS` in the environment: `1`, or a folder for the files. A process has one
file, `<pid>.json`, which is replaced as a whole, and taken away when the process ends or nothing
runs any more. Files of processes that were killed are removed by whoever reads them.

The folder may lie in /tmp: it is made for this user alone, and neither written nor read if another
user was first to make it.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from videoloader.errors import SourceError
from videoloader.machinery.runtime.run_stats import RunStats, WorkerRunStats
from videoloader.machinery.system.folders import make_own
from videoloader.machinery.system.writing import written_whole

PERIOD = 1.0
"""Seconds between two statuses of a run."""

_VARIABLE = "VIDEOLOADER_STATUS"
_RANKS = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"))
_log = logging.getLogger(__name__)


class StatusFile:
    """Writes the status of the runs of this process. Threads may share it.

    If writing fails, a warning is logged once and the run goes on.

    Args:
        folder: for the files of all processes; only this user may read what is made.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{os.getpid()}.json"
        self._lock = threading.Lock()
        self._process = process_facts(os.getpid())
        self._runs: dict[int, dict[str, Any]] = {}
        self._before: weakref.WeakKeyDictionary[Any, RunStats] = weakref.WeakKeyDictionary()
        self._has_warned = False

    def begin(self, monitor: Any) -> None:
        """The run counts from zero again, such as in an epoch."""
        with self._lock:
            self._before.pop(monitor, None)

    def tell(self, monitor: Any, run: Any, stats: RunStats) -> None:
        """Write the statistics of a run."""
        with self._lock:
            before = self._before.get(monitor, RunStats())
            self._before[monitor] = stats
            if id(monitor) not in self._runs:
                weakref.finalize(monitor, self._forget, id(monitor)).atexit = False
            self._runs[id(monitor)] = _facts(run, stats, stats.since(before))
            self._write()

    def end(self, monitor: Any) -> None:
        """Remove a run from the file."""
        self._forget(id(monitor))

    def remove(self) -> None:
        """Delete the file."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _forget(self, key: int) -> None:
        # A finaliser comes here too, perhaps in a thread that has the lock: it waits for none.
        known = self._runs.pop(key, None)
        if known is not None and not self._runs:
            self.remove()

    def _write(self) -> None:
        facts = {**self._process, "updated": time.time(), "runs": list(self._runs.values())}
        try:
            make_own(self.path.parent)
            with written_whole(self.path) as partial:
                partial.write_text(json.dumps(facts))
        except SourceError as error:
            if not self._has_warned:
                _log.warning("%s: no status is written (%s)", self.path, error)
            self._has_warned = True


def status_folder() -> Path:
    """Where status files are: as the environment says, else a folder of this user."""
    given = os.environ.get(_VARIABLE, "")
    if os.sep in given:
        return Path(given)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime):
        return Path(runtime) / "videoloader"
    return Path(tempfile.gettempdir()) / f"videoloader-{os.getuid()}"


def status_file() -> StatusFile | None:
    """The status file of this process; None if none is wanted."""
    if os.environ.get(_VARIABLE, "").lower() in ("", "0", "no", "off", "false"):
        return None
    return _status_file(status_folder(), os.getpid())


@cache
def _status_file(folder: Path, process: int) -> StatusFile:  # noqa: ARG001  (a fork has its own)
    file = StatusFile(folder)
    atexit.register(_at_exit, file, os.getpid())
    return file


def _at_exit(file: StatusFile, process: int) -> None:
    if os.getpid() == process:
        file.remove()


def process_facts(pid: int) -> dict[str, Any]:
    """Facts that identify a process even if its number is reused.

    Raises:
        OSError: there is no such process.
    """
    began = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    facts: dict[str, Any] = {"pid": pid, "began": int(began)}
    if pid == os.getpid():
        rank, ranks = next((names for names in _RANKS if names[0] in os.environ), _RANKS[0])
        facts["space"] = os.readlink("/proc/self/ns/pid")
        facts["command"] = _command()
        facts["rank"] = os.environ.get(rank)
        facts["num_ranks"] = os.environ.get(ranks)
    return facts


def _command() -> str:
    name = sys.argv[0] if sys.argv else ""
    if name in ("", "-c", "-m"):
        return f"python {name}".strip()
    if os.path.basename(name) == "__main__.py":  # of a package: `python -m package`
        name = os.path.dirname(name)
    return os.path.basename(name)


def _facts(run: Any, stats: RunStats, recent: RunStats) -> dict[str, Any]:
    """The entry of a run: its totals, and its last second."""
    order = getattr(run, "order", None)
    facts: dict[str, Any] = {
        "run": "ClipDataset" if isinstance(stats, WorkerRunStats) else type(run).__name__,
        "knows_waits": not isinstance(stats, WorkerRunStats),
        "updated": time.time(),
        "summary": str(stats),
        "waits_for": recent.limit if recent.waited_share >= 0.01 else "",
        "queues": [[stage.name, stage.queued, stage.room] for stage in stats.stages],
        "total": stats.as_dict(),
        "recent": recent.as_dict(),
    }
    if order is not None:
        facts |= {"epoch": run.epoch, "batches": len(run)}
        if order.num_ranks > 1:
            facts |= {"rank": str(order.rank), "num_ranks": str(order.num_ranks)}
    return facts
