"""The start of an epoch of a large data set: python benchmarks/epoch_start.py [--videos 1000000]

Writes a data set index of that many rows, which stand for a few small videos, and opens it once,
which makes its cache. Then, each in a process of its own:

- `import videoloader`, numpy included: seconds of processor time, the least of three runs;
- `Loader` with shuffling, with buckets, with packs: seconds from its construction to the first
  batch, MiB by which that raises the most memory that the process has had, and that memory itself,
  of which importing torch is the greater part: the least seconds and the most memory of three runs;
- arithmetic alone, on sizes that are nearly all different: microseconds of processor time a sample
  for permutation, buckets or packs, and shards of an epoch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from machine import RESULTS, machine, today

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset.rows import schema
from videoloader.sampling import BatchOrder, VideoSizes

__all__ = ["KINDS", "measure", "write_many"]

SIZES = [(160, 96), (96, 160), (128, 128), (192, 112), (224, 96), (144, 128)]
GROUP = 4096  # rows in a row group, as `index_dataset` writes them
RANKS = 8
RUNS = 3
CLIPS = vl.RandomClip(16, fps=8)
BUCKETS = vl.Buckets(
    vl.aspect_buckets(96 * 96, frames=(1, 8), multiple_of=16, ratios=(9 / 16, 1, 16 / 9)),
    max_tokens=2048,
    patch=(1, 16, 16),
)
KINDS: dict[str, dict[str, Any]] = {
    "shuffled": {"batch_size": 16, "size": 96},
    "buckets": {"batches": BUCKETS},
    "packs": {"batches": vl.Packing(2048, patchify=(2, 16, 16))},
}
IMPORT = """
import time
start = time.process_time()
import videoloader
print('{"cpu_s": %.6f}' % (time.process_time() - start))
"""
ARITHMETIC: dict[str, vl.Buckets | vl.Packing] = {
    "buckets": vl.Buckets(
        [
            *vl.aspect_buckets(256**2, frames=(1, 16, 32)),
            *vl.aspect_buckets(512**2, frames=(1, 16)),
        ],
        max_tokens=32 * 1024,
        patch=(1, 16, 16),
        on_unfit="skip",
    ),
    "packs": vl.Packing(32 * 1024, patchify=(2, 16, 16), max_pixels=256**2, on_unfit="skip"),
}


def write_many(folder: Path, videos: int) -> Path:
    """A data set index of many rows, which stand for a few videos in `folder`."""
    clips = folder / "clips"
    clips.mkdir()
    for number, size in enumerate(SIZES):
        quick = {"preset": "ultrafast", "x264-params": "threads=1"}
        frames = 30 + 10 * number
        encode_video(clips / f"{number}.mp4", size=size, fps=24, frames=frames, options=quick)
    few = vl.index_dataset(clips, folder / "few.parquet", workers=0)
    table = pq.read_table(few.path)
    rng = np.random.default_rng(0)
    out = folder / "many.parquet"
    form = schema().with_metadata(table.schema.metadata)  # the folder that paths are relative to
    with pq.ParquetWriter(out, form, compression="zstd", write_page_checksum=True) as writer:
        for first in range(0, videos, GROUP):
            rows = rng.integers(len(few), size=min(GROUP, videos - first))
            writer.write_table(table.take(rows).cast(form))
    return out


def measure(index: Path, kind: str) -> dict[str, float]:
    """What the first batch of an epoch costs a new process."""
    program = f"import epoch_start; epoch_start.first_batch({str(index)!r}, {kind!r})"
    return _in_process(program)


def first_batch(index: str, kind: str, **options: Any) -> None:
    """Print what the first batch costs this process."""
    make = vl.Loader  # imports torch, which is not counted

    before = _peak()
    start, begin = time.perf_counter(), time.process_time()
    with make(index, CLIPS, shuffle=True, **KINDS[kind], **options) as loader:
        made, used = time.perf_counter() - start, time.process_time() - begin
        batches = iter(loader)
        next(batches)
        seconds = time.perf_counter() - start
        batches.close()
    figures = {"constructed_s": made, "constructed_cpu_s": used, "first_batch_s": seconds}
    print(json.dumps(figures | {"added_MiB": _peak() - before, "peak_MiB": _peak()}))


def arithmetic(videos: int, kind: str) -> None:
    """Print what planning an epoch costs, in microseconds a sample."""
    rng = np.random.default_rng(1)
    sizes = VideoSizes(
        rng.integers(128, 2160, videos).astype(np.int32),
        rng.integers(128, 3840, videos).astype(np.int32),
        rng.integers(10, 900, videos),
        rng.choice([24, 25, 29.97, 30.0, 60], videos),
    )
    before = _peak()
    plan, planned = _timed(lambda: ARITHMETIC[kind].plan(sizes, CLIPS, seed=1))
    _, listed = _timed(lambda: plan.batches(0))

    def share() -> None:
        order = BatchOrder(plan, rank=3, num_ranks=RANKS)
        for step in range(order.num_steps()):
            order.batch(0, step)

    _, shared = _timed(share)
    each = 1e6 / videos
    figures = {
        "assign_us": planned * each,
        "list_us": listed * each,
        "all_batches_of_a_rank_us": shared * each * RANKS,  # a sample of that rank
        "added_MiB": _peak() - before,
        "fill_rate": plan.fill_rate(0),
    }
    print(json.dumps(figures))


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and the seconds of processor time that it takes."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def _peak() -> float:
    """The most memory that this process has had, in MiB; `ru_maxrss` would count its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024  # type: ignore[index]


def _in_process(program: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        timeout=600,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {name: round(value, 3) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--videos", type=int, default=1_000_000)
    parser.add_argument("--save", action="store_true", help="write a file in results/")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"videos": arguments.videos, "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        index = write_many(Path(folder), arguments.videos)
        dataset, seconds = _timed(lambda: vl.open_dataset(index))
        dataset.close()
        figures["making_the_cache_cpu_s"] = round(seconds, 1)
        imports = [_in_process(IMPORT) for _ in range(RUNS)]
        figures["import videoloader"] = min(imports, key=lambda run: run["cpu_s"])
        for kind in KINDS:
            runs = [measure(index, kind) for _ in range(RUNS)]
            figures[f"Loader, {kind}"] = {
                name: (min if name.endswith("_s") else max)(run[name] for run in runs)
                for name in runs[0]
            }
    for kind in ARITHMETIC:
        program = f"import epoch_start; epoch_start.arithmetic({arguments.videos}, {kind!r})"
        figures[f"arithmetic, {kind}"] = _in_process(program)
    print(json.dumps(figures, indent=2))
    if arguments.save:
        report = {"machine": machine(("numpy", "pyarrow", "torch")), "figures": figures}
        path = RESULTS / f"epoch-start-{today()}.json"
        path.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
