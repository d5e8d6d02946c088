"""Cuts of ten seconds beside `ffmpeg -c copy`: python benchmarks/cutting.py [VIDEO]

Prints a line of JSON for each way: seconds, and how many frames of those asked for are in the file.
Without VIDEO, an H.264 video of a minute is made. FFmpeg's program is left out where there is none.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import videoloader as vl
from videoloader.demo.videos import encode_video

REPETITIONS = 5
SECONDS = 10.0


def measure_cuts(source: Path, folder: Path) -> list[dict[str, Any]]:
    """How long it takes to cut ten seconds from the middle of a video, with its sound.

    Args:
        source: the video, longer than ten seconds.
        folder: for the results.
    """
    index = vl.index_video(source)
    begin = float(index.boundaries[index.num_frames // 2 + 1]) - SECONDS / 2
    times = begin, begin + SECONDS
    wanted = int(((index.boundaries[:-1] >= begin) & (index.boundaries[:-1] < times[1])).sum())
    target = folder / "cut.mp4"
    ways: dict[str, Callable[[], object]] = {
        "vl.cut, copied": lambda: vl.cut(source, target, times=times, method="copy"),
        "vl.cut, encoded": lambda: vl.cut(source, target, times=times, method="encode"),
    }
    if (program := shutil.which("ffmpeg")) is not None:
        words = [program, "-y", "-v", "error", "-ss", str(begin), "-i", str(source)]
        words += ["-t", str(SECONDS), "-c", "copy", str(target)]
        ways["ffmpeg -c copy"] = lambda: subprocess.run(words, check=True)
    rows = []
    for name, way in ways.items():
        elapsed = []
        for _ in range(REPETITIONS):
            start = time.perf_counter()
            way()
            elapsed.append(time.perf_counter() - start)
        found = vl.index_video(target).num_frames
        seconds = round(statistics.median(elapsed), 4)
        rows.append({"way": name, "seconds": seconds, "frames": found, "wanted": wanted})
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "source.mp4"
        if len(sys.argv) == 1:
            encode_video(source, size=(640, 360), frames=1800)
        for row in measure_cuts(source, folder):
            print(json.dumps(row))


if __name__ == "__main__":
    main()
