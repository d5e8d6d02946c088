"""Cuts of ten seconds beside `ffmpeg -c copy`: python benchmarks/cutting.py [--save] [VIDEO]

Prints a line of JSON for each way: seconds of the wall clock and of processors, and how many frames
of those asked for are in the file. Without VIDEO, an H.264 video of a minute is made. FFmpeg's
program is left out where there is none; the same copy by PyAV, without starting a process, stands
beside it: from the keyframe before the begin on, which is more than was asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
from machine import RESULTS, machine, today

import videoloader as vl
from videoloader.demo.videos import encode_video

PACKAGES = ("videoloader", "av", "numpy")
REPETITIONS = 15
SECONDS = 10.0


def remux(source: Path, target: Path, begin: float, end: float) -> None:
    """Copy packets from the keyframe before `begin` to `end`, in seconds, as FFmpeg's tool does."""
    with av.open(str(source)) as given, av.open(str(target), "w") as made:
        streams = [*given.streams.video[:1], *given.streams.audio[:1]]
        copies = {each.index: made.add_stream_from_template(each, opaque=True) for each in streams}
        given.seek(round(begin * av.time_base), backward=True)
        first: dict[int, int] = {}
        for packet in given.demux(streams):
            if packet.dts is None or packet.pts is None or packet.time_base is None:
                continue
            if packet.dts * packet.time_base >= end:
                break
            shift = first.setdefault(packet.stream.index, packet.dts)
            packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
            packet.stream = copies[packet.stream.index]
            made.mux(packet)


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
        "PyAV, packets copied": lambda: remux(source, target, *times),
        "vl.cut, encoded": lambda: vl.cut(source, target, times=times, method="encode"),
    }
    if (program := shutil.which("ffmpeg")) is not None:
        words = [program, "-y", "-v", "error", "-ss", str(begin), "-i", str(source)]
        words += ["-t", str(SECONDS), "-c", "copy", str(target)]
        ways["ffmpeg -c copy"] = lambda: subprocess.run(words, check=True)
    rows = []
    for name, way in ways.items():
        elapsed, used = [], []
        for _ in range(REPETITIONS):
            start, before = time.perf_counter(), os.times()[:4]
            way()
            elapsed.append(time.perf_counter() - start)
            used.append(sum(os.times()[:4]) - sum(before))
        rows.append(
            {
                "way": name,
                "seconds": round(statistics.median(elapsed), 4),
                "processor_seconds": round(statistics.mean(used), 4),  # in ticks of 10 ms
                "frames": vl.index_video(target).num_frames,
                "wanted": wanted,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", nargs="?", type=Path)
    parser.add_argument("--save", action="store_true", help="keep the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = arguments.video or folder / "source.mp4"
        if arguments.video is None:
            encode_video(source, size=(640, 360), frames=1800)
        rows = measure_cuts(source, folder)
    for row in rows:
        print(json.dumps(row))
    if arguments.save:
        found = {"machine": machine(PACKAGES), "ways": rows}
        path = RESULTS / f"cutting-{today()}.json"
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
