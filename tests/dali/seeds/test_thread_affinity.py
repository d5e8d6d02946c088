"""Which processor each thread of a pipeline runs on."""

import os

import pytest

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.pipeline.run.pool import thread_cpus

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="threads cannot be pinned"
)

NUM_THREADS = 5


@pytest.fixture(autouse=True)
def _mask(monkeypatch):
    """The processors of the example, on a machine that has them."""
    monkeypatch.setenv("DALI_AFFINITY_MASK", "3,5,6,10")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))


def test_the_first_threads_get_the_processors_of_the_mask_and_the_fifth_one_near_the_gpu():
    assert thread_cpus(NUM_THREADS, near=[12, 13, 14, 15]) == [3, 5, 6, 10, 12]
    assert thread_cpus(3, near=[12]) == [3, 5, 6]


def test_a_pipeline_pins_its_threads_so(monkeypatch):
    pinned = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: pinned.extend(cpus))

    @pipeline_def(batch_size=NUM_THREADS, num_threads=NUM_THREADS, set_affinity=True)
    def drawn():
        return fn.cast(fn.random.uniform(shape=[1000]), dtype=types.UINT8)

    with drawn() as pipe:
        pipe.run()
    assert sorted(pinned) == [0, 3, 5, 6, 10]  # no GPU is used: the last is any of the process
