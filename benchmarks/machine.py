"""Where a measurement was taken, and FFmpeg's libraries for those who look for them by name."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import time
from importlib import metadata
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parent
RESULTS = BENCHMARKS / "results"
LIBRARIES = BENCHMARKS / "data" / "ffmpeg"  # FFmpeg's libraries under the names peers look for


def machine(packages: tuple[str, ...]) -> dict[str, Any]:
    """The processor and its cores, the libraries' versions, and the state of the tree."""
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": processor[1] if processor else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {name: version for name in packages if (version := version_of(name))},
        "commit": git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(git("status", "--porcelain")),
    }


def processor_time() -> float:
    """Seconds of processor time that this process and its worker processes have taken."""
    seconds, ticks = time.process_time(), os.sysconf("SC_CLK_TCK")
    for path in Path("/proc/self/task").glob("*/children"):
        for child in path.read_text().split():
            # Behind the name, which may have blanks: user and system time are 14th and 15th.
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            seconds += (int(fields[11]) + int(fields[12])) / ticks
    return seconds


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def git(*arguments: str) -> str | None:
    """What git says about this tree; None where there is no git or nothing committed."""
    command = ["git", "-C", str(BENCHMARKS), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def link_ffmpeg() -> None:
    """Give FFmpeg's libraries in PyAV's wheel their plain names too, so that peers use the same."""
    import av

    LIBRARIES.mkdir(parents=True, exist_ok=True)
    for old in LIBRARIES.iterdir():
        old.unlink()
    for library in Path(av.__file__).parents[1].joinpath("av.libs").iterdir():
        (LIBRARIES / library.name).symlink_to(library)  # they look for each other under these
        if name := re.fullmatch(r"(lib(?:av|sw)[a-z]+)-[0-9a-f]+\.so\.(\d+)[.\d]*", library.name):
            (LIBRARIES / f"{name[1]}.so.{name[2]}").symlink_to(library)


def environment() -> dict[str, str]:
    """The environment of a contender's process."""
    libraries = [str(LIBRARIES), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        "OPENBLAS_NUM_THREADS": "1",  # NumPy's idle threads spin, which is no one's CPU time here
    }
