"""The start of an epoch of a large data set: `benchmarks/epoch_start.py`, shortened."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", f"import epoch_start, pathlib; {program}"],
        capture_output=True,
        text=True,
        cwd=BENCHMARKS,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["buckets", "packs"])
def test_planning_costs_less_than_twenty_microseconds_a_sample(kind):
    figures = run(f"epoch_start.arithmetic(200_000, {kind!r})")
    costs = [value for name, value in figures.items() if name.endswith("_us")]
    assert len(costs) == 3
    assert sum(costs) < 20
    assert figures["added_MiB"] < 60  # 300 bytes a sample
    assert figures["fill_rate"] > 0.97


def test_the_first_batch_needs_little_time_and_memory_beside_decoding(tmp_path):
    index = run(
        f"index = epoch_start.write_many(pathlib.Path({str(tmp_path)!r}), 10_000); "
        "epoch_start.vl.open_dataset(index); print(epoch_start.json.dumps(str(index)))"
    )
    figures = run(f"epoch_start.first_batch({index!r}, 'packs', workers=0)")
    assert figures["constructed_cpu_s"] < 2
    assert figures["added_MiB"] < 100
