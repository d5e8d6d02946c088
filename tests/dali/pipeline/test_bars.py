"""What a pipeline may cost: memory, and the time of whoever takes its batches."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from videoloader.dali import fn
from videoloader.dali.fn.function import Function
from videoloader.dali.operators import OPERATORS, declare
from videoloader.dali.pipeline import pipeline_def

DEPTH = 2  # of the queues of the pipelines in MEMORY

# Memory of the whole process, so that nothing escapes: allocations are returned at once
# (MALLOC_MMAP_THRESHOLD_), and the kernel counts the most there was since it was told to forget.
MEMORY = """
import gc, os, sys, time, torch
from pathlib import Path
from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def

N, F, SIDE = 8, 8, 256  # large beside what else a process may take meanwhile

def used(field):
    text = Path("/proc/self/status").read_text()
    return int(text.split(field + ":")[1].split()[0]) << 10

def source(iteration):
    return torch.full((N, F, SIDE, SIDE, 3), iteration, dtype=torch.uint8)

@pipeline_def(batch_size=N, num_threads=2, prefetch_queue_depth=2, enable_memory_stats=True)
def training():
    clips = fn.external_source(source, layout="FHWC")
    clips = fn.resize(clips, size=(2 * SIDE, SIDE))
    clips = fn.flip(clips, horizontal=fn.random.coin_flip())
    clips = fn.brightness_contrast(clips, brightness=fn.random.uniform(range=(0.5, 0.9)))
    clips = fn.crop(clips, crop=(SIDE, SIDE))
    return fn.crop_mirror_normalize(clips, std=[2.0])

@pipeline_def(batch_size=N, num_threads=2, prefetch_queue_depth=2, enable_memory_stats=True)
def alike():
    clips = fn.external_source(source, layout="FHWC")
    for _ in range(5):
        clips = fn.flip(clips)
    return fn.brightness_contrast(clips, brightness=0.9)

def run(definition, count):
    with definition() as pipe:
        for _ in range(count):
            pipe.run()
            time.sleep(0.02)
        return pipe, pipe.executor_statistics()

for definition in (training, alike):  # each in a process of its own; torch is imported once
    if not os.fork():
        break
    assert os.wait()[1] == 0
else:
    sys.exit()
run(definition, 2)
gc.collect()  # or what that run made would be counted before, and freed in the next
before = used("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
pipe, statistics = run(definition, 6)
peak = used("VmHWM") - before
made = [node.name for node in pipe._graph.nodes if not node.operator.draws]
values = [sum(statistics[name]["real_memory_size"]) for name in made]
pairs = max(one + other for one, other in zip(values, values[1:]))
print(peak, pairs * 2, values[-1])
"""


def measured():
    """Peak, bound by neighbours and queues, and size of the output of each pipeline in MEMORY."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY],
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_memory_is_bounded_by_the_values_at_hand_and_the_depth():
    (peak, bound, _), alike = measured()
    assert bound < 2 * peak  # it was measured
    assert peak <= 1.3 * bound
    # Where all values have one size the two neighbours are no bound: both queues may be full, the
    # stage between them reads one value and writes one, and the consumer holds one.
    peak, bound, output = alike
    assert bound < 2 * peak
    assert peak <= (2 * DEPTH + 3 + 0.5) * output


@pytest.fixture
def slow_operator():
    @declare("slow_for_test", inputs=("input",))
    def run(context, values):
        """Take 40 ms."""
        time.sleep(0.04)
        return values

    yield Function("slow_for_test")
    del OPERATORS["slow_for_test"]


@pytest.mark.usefixtures("no_threads_left")
def test_a_consumer_slower_than_every_stage_waits_less_than_a_millisecond(slow_operator):
    def slow(value):
        time.sleep(0.04)
        return value

    @pipeline_def(batch_size=1, num_threads=1, prefetch_queue_depth=4)  # one for each stage
    def graph():
        data = fn.external_source(lambda: torch.zeros(1, 4, 4, 3))
        return slow_operator(fn.python_function(data, function=slow))

    for _ in range(3):  # a machine that is busy with other things may hold one up
        with graph() as pipe:
            for _ in range(20):
                pipe.run()
                time.sleep(0.05)
            stats = pipe.stats()
        assert stats.batches == 20
        assert all(stage.busy >= 0.04 * stage.items for stage in stats.stages[2:])
        if stats.waited / stats.batches < 0.001:
            return
    pytest.fail(str(stats))
