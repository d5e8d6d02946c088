"""How much of the library a job walks through: python benchmarks/walks.py

Counts, inside the package and after a warm-up, the modules and functions that one job enters, its
calls, and how many of them go from one top-level package to another. Threads of the library are
counted; worker processes are not. `--calls` lists functions of the first jobs, `--write` keeps the
result in `benchmarks/results/`. `tests/test_walks.py` bounds it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video

ROOT = str(Path(vl.__file__).parent) + "/"


class Walk:
    """The calls of the package in this thread, and in those that start while it is active."""

    def __init__(self) -> None:
        self.calls = 0
        self.crossings = 0
        self.functions: dict[CodeType, int] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return
        self.calls += 1
        self.functions[code] = self.functions.get(code, 0) + 1
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and _package(caller.f_code) != _package(code):
            self.crossings += 1

    def __enter__(self) -> Walk:
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def counts(self) -> dict[str, int]:
        """Modules, functions, calls and crossings."""
        modules = {code.co_filename for code in self.functions}
        return {
            "modules": len(modules),
            "functions": len(self.functions),
            "calls": self.calls,
            "crossings": self.crossings,
        }


def _package(code: CodeType) -> str:
    return code.co_filename.removeprefix(ROOT).partition("/")[0]


def walk(job: Callable[[], object], *, warm: int = 3, print_calls: bool = False) -> dict[str, int]:
    """Count what `job` walks through once it is warm."""
    for _ in range(warm):
        job()
    with Walk() as found:
        job()
    if print_calls:
        for code, calls in found.functions.items():
            print(f"{calls:5} {code.co_filename.removeprefix(ROOT)}:{code.co_qualname}")
    return found.counts()


def walks(folder: Path, *, print_calls: bool = False) -> dict[str, dict[str, int]]:
    """The walks of the jobs of `docs/benchmarks.md`, by name."""
    paths = [
        encode_video(folder / f"{number}.mp4", size=(160, 120), frames=48) for number in range(16)
    ]
    found = {}
    found["index_video"] = walk(lambda: vl.index_video(paths[0]), print_calls=print_calls)
    with vl.Video(paths[0]) as video:
        found["get_frames"] = walk(lambda: video.get_frames([5]), print_calls=print_calls)
    frames = video_frames(paths[0])
    found["fn.resize"] = walk(lambda: fn.resize(frames, size=(64, 64)), print_calls=print_calls)
    found["Loader, a batch"] = _loader(paths)
    found["pipeline, a run"] = _pipeline(paths)
    return found


def video_frames(path: Path) -> Any:
    """A clip for operators."""
    with vl.Video(path) as video:
        return video.get_frames(list(range(4))).frames


def _loader(paths: list[Path]) -> dict[str, int]:
    with Walk() as found:  # threads of the loader start in it
        loader = vl.Loader(paths, vl.RandomClip(4), batch_size=2, size=(64, 64), workers=1)
        for _ in loader:  # an epoch to warm up
            pass
        counted = _counted(found, lambda: sum(1 for _ in loader))
        loader.close()
    return _average(counted, len(paths) // 2)


def _pipeline(paths: list[Path]) -> dict[str, int]:
    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def graph() -> Any:
        clips = fn.readers.video(filenames=[str(path) for path in paths], sequence_length=4)
        clips = fn.resize(clips, size=(64, 64))
        return fn.crop_mirror_normalize(clips, crop=(56, 56), mean=[127.5], std=[127.5])

    with Walk() as found:
        pipe = graph()
        pipe.build()
        for _ in range(4):
            pipe.run()
        counted = _counted(found, lambda: [pipe.run() for _ in range(8)])
    return _average(counted, 8)


def _counted(found: Walk, job: Callable[[], object]) -> dict[str, int]:
    found.functions.clear()
    found.calls = found.crossings = 0
    job()
    return found.counts()


def _average(counts: dict[str, int], batches: int) -> dict[str, int]:
    return counts | {name: counts[name] // batches for name in ("calls", "crossings")}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = walks(Path(folder), print_calls="--calls" in sys.argv)
    names = ["modules", "functions", "calls", "crossings"]
    print(f"{'':20}" + "".join(f"{name:>11}" for name in names))
    for job, counts in found.items():
        print(f"{job:20}" + "".join(f"{counts[name]:11}" for name in names))
    if "--write" in sys.argv:
        from machine import RESULTS, machine, today

        report = {"benchmark": "walks", **machine(("videoloader", "av", "torch", "numpy"))}
        path = RESULTS / f"walks-{today()}.json"
        path.write_text(json.dumps(report | {"walks": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
