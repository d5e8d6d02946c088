"""What 10^6 to 10^9 clips and hundreds of ranks cost: index, order, state, memory. No decoding.

    python benchmarks/many_nodes.py
    python benchmarks/many_nodes.py --rows 100000 --sizes 1000000 --clips 100000    in seconds

Each size of a data set is measured in a process of its own, so its peak memory is that of this size
alone. Indexes have as many bytes as that of a clip of 300 frames. The simulation draws an epoch for
512 ranks, stops all of them in its middle, goes on with 384 from the state, and counts each sample.
Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from machine import RESULTS, machine, today

RANKS, FEWER, BATCH = 512, 384, 32
INDEX_BYTES = 2196  # of an H.264 clip of 300 frames with B-frames
PACKAGES = ("videoloader", "numpy", "pyarrow")


def peak() -> int:
    """Most memory of this program so far, in bytes; `getrusage` counts that of its parent too."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def own_memory() -> int:
    """Memory that this process shares with no other, in bytes."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    kilobytes = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
    return 1024 * (int(kilobytes["Private_Clean"]) + int(kilobytes["Private_Dirty"]))


def write_rows(path: Path, count: int) -> None:
    """A data set index of videos that are not there, a group of rows at a time."""
    import pyarrow as pa

    from videoloader.indexing.dataset.part import GROUP, table_writer

    rng = np.random.default_rng(0)
    with table_writer(path, "/videos") as writer:
        for first in range(0, count, GROUP):
            rows = np.arange(first, min(first + GROUP, count))
            names = pa.array([f"{row % 1000:03}/{row:011}.mp4" for row in rows.tolist()])
            values: dict[str, Any] = {
                "key": names,
                "path": names,
                "member": pa.repeat("", len(rows)),
                "codec": pa.repeat("h264", len(rows)),
                "width": np.full(len(rows), 1280),
                "height": np.full(len(rows), 720),
                "rotation": np.zeros(len(rows)),
                "num_frames": rng.integers(100, 400, len(rows)),
                "duration": rng.uniform(4, 16, len(rows)),
                "size": rng.integers(1 << 20, 1 << 24, len(rows)),
                "etag": pa.array([rng.bytes(16).hex() for _ in rows]),
                "index": pa.array([rng.bytes(INDEX_BYTES) for _ in rows], pa.large_binary()),
            }
            columns = [
                pa.array(values[field.name], field.type)
                if field.name in values
                else pa.nulls(len(rows), field.type)
                for field in writer.schema
            ]
            writer.write_table(pa.table(columns, schema=writer.schema), row_group_size=GROUP)


def opening(path: Path) -> dict[str, Any]:
    """Open a data set index, make a loader, and take the samples of a batch of one rank."""
    import torch  # noqa: F401  (loaded before anything is measured)

    import videoloader as vl

    vl.Loader  # noqa: B018  (imports it)
    before, begin, wall = own_memory(), time.process_time(), time.perf_counter()
    dataset = vl.open_dataset(path)
    opened, opened_wall = time.process_time() - begin, time.perf_counter() - wall
    begin = time.process_time()
    loader = vl.Loader(dataset, vl.RandomClip(16), batch_size=BATCH, rank=7, num_ranks=RANKS)
    made = time.process_time() - begin
    begin = time.process_time()
    loader.order.batch(0, 0)
    return {
        "seconds_to_open": opened,
        "seconds_to_open_by_clock": opened_wall,
        "seconds_to_make_a_loader": made,
        "seconds_to_draw_a_batch": time.process_time() - begin,
        "state": json.dumps(loader.state_dict()),
        "own_bytes": own_memory() - before,
        "peak_bytes": peak(),
    }


def order_of(size: int) -> dict[str, Any]:
    """The order of so many samples, drawn without a table."""
    from videoloader.sampling.orders.batch_order import BatchOrder
    from videoloader.sampling.orders.sample_order import SampleOrder

    before = peak()
    begin = time.process_time()
    order = BatchOrder(SampleOrder(size, seed=1), 1, 7, RANKS, "repeat", BATCH)
    made = time.process_time() - begin
    steps = order.num_steps()
    begin = time.process_time()
    for step in range(100):
        order.batch(3, (steps // 2 + step) % steps)
    batches = time.process_time() - begin
    begin = time.process_time()
    order.plan.at(np.arange(size // 2, size // 2 + (1 << 20)) % size, 3)
    return {
        "seconds_to_make": made,
        "seconds_a_batch": batches / 100,
        "seconds_a_million_samples": time.process_time() - begin,
        "bytes_of_a_table": size * 8,
        "peak_bytes_more": peak() - before,
    }


def simulation(size: int) -> dict[str, Any]:
    """An epoch of 512 ranks that 384 finish: how often each sample came, and how long it took."""
    from videoloader.sampling.orders.batch_order import BatchOrder
    from videoloader.sampling.orders.sample_order import SampleOrder

    begin = time.process_time()
    order = BatchOrder(SampleOrder(size, seed=1), 1, 0, RANKS, "keep", BATCH)
    steps = order.num_steps() // 2
    state = {"epoch": 0, "position": order.position(steps), **order.state}
    counts = np.zeros(size, dtype=np.int64)
    for rank in range(RANKS):
        np.add.at(counts, replace(order, rank=rank).numbers(0, 0, steps * BATCH), 1)
    taken = int(counts.sum())
    resumed = BatchOrder(SampleOrder(size, seed=state["seed"]), 1, 0, FEWER, "keep", BATCH)
    position, sizes = int(state["position"]), []
    for rank in range(FEWER):
        own = replace(resumed, rank=rank)
        numbers = own.numbers(0, 0, own.num_places(position), position)
        np.add.at(counts, numbers, 1)
        sizes.append(len(numbers))
    return {
        "samples": size,
        "before_the_stop": taken,
        "state_bytes": len(json.dumps(state)),
        "each_once": bool((counts == 1).all()),
        "fewest_of_a_rank": min(sizes),
        "most_of_a_rank": max(sizes),
        "seconds": time.process_time() - begin,
    }


def alone(name: str, *arguments: Any) -> dict[str, Any]:
    """The result of a function of this module in a fresh process."""
    command = [sys.executable, __file__, "--call", name, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


CALLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "opening": lambda path: opening(Path(path)),
    "order_of": lambda size: order_of(int(size)),
    "simulation": lambda size: simulation(int(size)),
}


def main() -> None:
    if sys.argv[1:2] == ["--call"]:
        print(json.dumps(CALLS[sys.argv[2]](*sys.argv[3:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**6, 10**8, 10**9])
    parser.add_argument("--clips", type=int, default=10**7, help="of the simulated run")
    parser.add_argument("--out", type=Path, default=RESULTS / f"many-nodes-{today()}.json")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"index": {}, "order": {}}
    with tempfile.TemporaryDirectory() as folder:
        for rows in arguments.rows:
            path = Path(folder) / f"{rows}.parquet"
            begin = time.process_time()
            write_rows(path, rows)
            found: dict[str, Any] = {
                "bytes": path.stat().st_size,
                "seconds_to_write": time.process_time() - begin,
            }
            found["first"] = alone("opening", path)
            found["next"] = alone("opening", path)
            results["index"][rows] = found
            print(f"index of {rows:,} rows:", json.dumps(found, indent=1), flush=True)
            path.unlink()
    for size in arguments.sizes:
        results["order"][size] = alone("order_of", size)
        print(f"order of {size:,}:", json.dumps(results["order"][size]), flush=True)
    results["simulation"] = alone("simulation", arguments.clips)
    print("simulation:", json.dumps(results["simulation"]), flush=True)
    assert results["simulation"]["each_once"]
    report = {"benchmark": "many_nodes", "run": machine(PACKAGES), "results": results}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
