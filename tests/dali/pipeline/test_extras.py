"""What a pipeline tells and does beside its batches: drawings, memory, affinity, checkpoints."""

import os
import re
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from videoloader.dali import fn
from videoloader.dali.pipeline import Pipeline, pipeline_def
from videoloader.dali.pipeline.run.pool import cpus_near_gpu, sample_pool, thread_cpus
from videoloader.dali.pipeline.run.profiling import OutputMemory, nvtx_ranges
from videoloader.dali.plugin.pytorch import GenericIterator
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.runtime.monitor import Meter

pytestmark = pytest.mark.usefixtures("no_threads_left")

FILES = [f"clip{number}.mp4" for number in range(5)]


@pipeline_def(batch_size=2, num_threads=2, seed=3)
def graph():
    clips, labels = fn.readers.video(
        filenames=FILES, labels=[], sequence_length=4, random_shuffle=True, name="Reader"
    )
    clips = fn.resize(clips, size=(8, 9))
    clips = fn.brightness_contrast(clips, brightness=fn.random.uniform(range=(0.5, 1.5)))
    return fn.crop_mirror_normalize(clips, mean=[1.0]), labels


def test_a_compiled_pipeline_is_drawn(videos, tmp_path):
    path = tmp_path / "graph.dot"
    with graph() as pipe:
        pipe.save_graph_to_dot_file(path)
        plain = path.read_text()
        pipe.save_graph_to_dot_file(str(path), show_tensors=True, use_colors=True)
        full = path.read_text()
        with pytest.raises(UnsupportedError, match="show_ids"):
            pipe.save_graph_to_dot_file(path, show_ids=True)
    edges = set(re.findall(r"(\w+) -> (\w+)", plain))
    # 0 reader, 1 resize, 2 uniform, 3 brightness, 4 normalise
    assert edges == {
        ("node_0", "node_1"),
        ("node_1", "node_3"),
        ("node_2", "node_3"),
        ("node_3", "node_4"),
        ("node_4", "output_0"),
        ("node_0", "output_1"),
    }
    assert plain.count("subgraph cluster_") == 4  # three stages, and what is fused
    assert plain.count('label="fused"') == 1
    assert 'label="brightness"' in plain
    assert "test_extras.py:" in plain
    assert plain.count("{") == plain.count("}")
    assert "fillcolor" not in plain
    assert full.count("fillcolor") == 3
    assert ("tensor_0_1", "output_1") in set(re.findall(r"(\w+) -> (\w+)", full))
    assert ("node_0", "output_1") not in set(re.findall(r"(\w+) -> (\w+)", full))


def test_names_are_quoted_in_a_drawing(tmp_path):
    @pipeline_def(batch_size=1)
    def named():
        return fn.random.coin_flip(name='"} -> a')

    with named() as pipe:
        pipe.save_graph_to_dot_file(tmp_path / "graph.dot")
    assert r"\"} -> a" in (tmp_path / "graph.dot").read_text()


def test_executor_statistics_count_the_memory_of_outputs(videos):
    with graph(enable_memory_stats=True, fuse=False) as pipe:
        for _ in range(3):
            pipe.run()
        memory = pipe.executor_statistics()
    assert set(memory) == {
        "Reader",
        "resize_1",
        "uniform_2",
        "brightness_contrast_3",
        "crop_mirror_normalize_4",
    }
    clip, resized = 4 * 4 * 6 * 3, 4 * 8 * 9 * 3
    assert memory["Reader"]["real_memory_size"] == [2 * clip, 2 * 4]
    assert memory["Reader"]["max_real_memory_size"] == [clip, 4]
    assert memory["resize_1"]["real_memory_size"] == [2 * resized]
    assert memory["crop_mirror_normalize_4"]["real_memory_size"] == [2 * resized * 4]
    assert memory["crop_mirror_normalize_4"]["max_reserved_memory_size"] == [resized * 4]
    for each in memory.values():
        pairs = zip(each["reserved_memory_size"], each["real_memory_size"], strict=True)
        assert all(reserved >= real for reserved, real in pairs)


def test_executor_statistics_are_asked_for_beforehand(videos):
    with graph() as pipe, pytest.raises(ArgumentError, match="enable_memory_stats=True"):
        pipe.executor_statistics()


def test_debug_is_an_argument_of_pipeline_functions():
    with pytest.raises(UnsupportedError, match=r"^debug of a pipeline is an argument of"):
        Pipeline(1, debug=True)
    Pipeline(1, debug=False)
    Pipeline(1, debug=None)


def test_memory_that_is_used_again_within_a_batch_counts_again():
    counted = OutputMemory()
    block = torch.zeros(6, 10)
    for part in (block[:3], block[3:]):  # of one block
        counted.count("shared", [Batch(part)], 0)
    for _ in range(3):  # the parts of a batch, each in the place of the one before
        counted.count("reused", [Batch([block[0].contiguous()])], 0)
    memory = counted.read()
    assert memory["shared"]["reserved_memory_size"] == [240]
    assert memory["shared"]["real_memory_size"] == [240]
    assert memory["reused"]["real_memory_size"] == [120]
    assert memory["reused"]["reserved_memory_size"] == [240]
    large = torch.zeros(10)
    for _ in range(3):
        counted.count("whole", [Batch([large])], 0)
    assert counted.read()["whole"]["reserved_memory_size"] == [120]


needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot pin threads"
)


def affinities(cpus):
    """The processors of each of three threads that work on samples."""
    meet, seen = threading.Barrier(3), {}

    def job(at):
        meet.wait(10)  # each thread has one job
        seen[at] = sorted(os.sched_getaffinity(0))

    with sample_pool(3, "pinned", cpus) as pool:
        pool.run(job, 3)
    return sorted(seen.values())


@needs_affinity
def test_threads_for_samples_are_pinned():
    allowed = sorted(os.sched_getaffinity(0))
    cpus = [allowed[0], allowed[-1], allowed[0]]
    assert affinities(cpus) == sorted([cpu] for cpu in cpus)
    assert affinities(()) == [allowed] * 3
    assert sorted(os.sched_getaffinity(0)) == allowed


@needs_affinity
def test_a_pipeline_pins_its_threads_if_it_is_told_to(monkeypatch, videos):
    allowed = sorted(os.sched_getaffinity(0))
    monkeypatch.setenv("DALI_AFFINITY_MASK", str(allowed[-1]))
    asked = []
    monkeypatch.setattr("videoloader.dali.pipeline.run.pool.pin_thread", asked.append)
    with graph(num_threads=3, set_affinity=True) as pipe:
        pipe.run()
    assert sorted(asked) == sorted([allowed[-1], allowed[0], allowed[1 % len(allowed)]])
    asked.clear()
    with graph(num_threads=3) as pipe:
        pipe.run()
    assert asked == []


@needs_affinity
def test_which_processor_a_thread_gets(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)))
    monkeypatch.setenv("DALI_AFFINITY_MASK", "3,5, 6,10")
    assert thread_cpus(5, near=[8, 9]) == [3, 5, 6, 10, 8]
    assert thread_cpus(7, near=[8, 99]) == [3, 5, 6, 10, 8, 8, 8]
    assert thread_cpus(2) == [3, 5]
    monkeypatch.delenv("DALI_AFFINITY_MASK")
    assert thread_cpus(3) == [0, 1, 2]
    for text, message in (("3,x", "comma-separated"), ("3,12", "names processor 12")):
        monkeypatch.setenv("DALI_AFFINITY_MASK", text)
        with pytest.raises(ArgumentError, match=message):
            thread_cpus(2)


def test_processors_near_a_gpu(tmp_path):
    (tmp_path / "0000:0b:00.0").mkdir()
    (tmp_path / "0000:0b:00.0" / "local_cpulist").write_text("0-3,8,10-11\n")
    assert cpus_near_gpu("0000:0B:00.0", tmp_path) == [0, 1, 2, 3, 8, 10, 11]
    assert cpus_near_gpu("0000:0c:00.0", tmp_path) == []


def test_ranges_for_a_profiler_are_named_where_somebody_looks(monkeypatch):
    for name in ("NSYS_PROFILING_SESSION_ID", "NVTX_INJECTION64_PATH", "VIDEOLOADER_NVTX"):
        monkeypatch.delenv(name, raising=False)
    assert nvtx_ranges(uses_gpu=True) is None
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "1")
    assert nvtx_ranges(uses_gpu=False) is None
    assert nvtx_ranges(uses_gpu=True) is torch.cuda.nvtx.range
    monkeypatch.setenv("VIDEOLOADER_NVTX", "0")
    assert nvtx_ranges(uses_gpu=True) is None
    monkeypatch.delenv("NSYS_PROFILING_SESSION_ID")
    monkeypatch.setenv("VIDEOLOADER_NVTX", "1")
    assert nvtx_ranges(uses_gpu=True) is torch.cuda.nvtx.range


def test_operators_and_stages_are_ranges(monkeypatch, videos):
    events = []

    @contextmanager
    def mark(name):
        events.append(name)
        yield
        events.append(f"end of {name}")

    monkeypatch.setattr("videoloader.dali.pipeline.run.program.nvtx_ranges", lambda uses_gpu: mark)
    with graph(num_threads=1) as pipe:
        pipe.run()
    begin = events.index("cpu 0")
    assert events.index("Reader") > events.index("decode 0")
    assert begin < events.index("brightness_contrast_3", begin) < events.index("end of cpu 0")


def test_a_meter_counts_samples():
    meter = Meter()
    with meter.measure("x", 2):
        pass
    assert meter.read("x").samples == 2


def taken(pipe, count):
    return [[output.as_tensor().clone() for output in pipe.run()] for _ in range(count)]


def same(ones, others):
    return all(
        torch.equal(a, b)
        for one, other in zip(ones, others, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def test_a_pipeline_goes_on_from_a_checkpoint(videos, tmp_path):
    with graph(enable_checkpointing=True) as pipe:
        begin = pipe.checkpoint()
        everything = taken(pipe, 12)
    for done in (0, 1, 7):
        with graph(enable_checkpointing=True, prefetch_queue_depth=3) as pipe:
            taken(pipe, done)
            state = pipe.checkpoint(tmp_path / "state")
        assert (tmp_path / "state").read_bytes() == state
        with graph(checkpoint=state, seed=None) as pipe:
            assert pipe.checkpoint() == state
            assert same(taken(pipe, 12 - done), everything[done:])
    assert len(begin) < 100


def test_an_iterator_goes_on_with_the_rest_of_its_epoch(videos):
    def iterator(**arguments):
        return GenericIterator(
            graph(**arguments), ["data", "label"], reader_name="Reader", auto_reset=True
        )

    with iterator(enable_checkpointing=True) as whole:
        epochs = [[batch["data"].clone() for (batch,) in whole] for _ in range(2)]
    with iterator(enable_checkpointing=True) as first:
        for _ in range(4):
            next(first)
        (state,) = first.checkpoints()
    with iterator(checkpoint=state) as rest:
        again = [[batch["data"].clone() for (batch,) in rest] for _ in range(2)]
    assert len(again[0]) == len(epochs[0]) - 4
    assert same([again[0]], [epochs[0][4:]])
    assert same([again[1]], [epochs[1]])


def test_checkpoints_that_do_not_fit_are_errors(videos):
    with graph() as pipe, pytest.raises(ArgumentError, match="enable_checkpointing=True"):
        pipe.checkpoint()
    with graph(enable_checkpointing=True) as pipe:
        state = pipe.checkpoint()
    for arguments, message in (
        ({"seed": 4}, "checkpoint is of a pipeline with seed=3, got seed=4"),
        ({"checkpoint": b"{}"}, "not what"),
        ({"checkpoint": state[:-4]}, "not what"),
    ):
        with pytest.raises(ArgumentError, match=message):
            graph(**{"checkpoint": state, **arguments}).build()
    sourced = pipeline_def(lambda: fn.external_source(lambda info: np.array(1), batch=False))
    with sourced(batch_size=2, seed=3, enable_checkpointing=True) as pipe:
        state = pipe.checkpoint()
    with pytest.raises(ArgumentError, match="with batch_size=2, got batch_size=3"):
        sourced(batch_size=3, seed=3, checkpoint=state).build()


def test_executors_that_are_one_here_give_the_same(videos):
    names = ("exec_async", "exec_dynamic", "exec_pipelined", "experimental_exec_dynamic")
    with graph() as pipe:
        expected = taken(pipe, 3)
    with graph(**dict.fromkeys(names, False)) as pipe:
        assert same(taken(pipe, 3), expected)


def numbered(by, **arguments):
    """A pipeline whose source tells batch, sample and epoch, with three batches an epoch."""

    def by_sample(info):
        if info.iteration == 3:
            raise StopIteration
        return np.array([info.iteration, info.idx_in_batch, info.epoch_idx])

    def by_batch(info):
        if info.iteration == 3:
            raise StopIteration
        return np.array([[info.iteration, at, info.epoch_idx] for at in range(2)])

    @pipeline_def(batch_size=2, seed=1, **arguments)
    def definition():
        if by == "sample":
            data = fn.external_source(by_sample, batch=False)
        else:
            data = fn.external_source(by_batch, batch_info=True)
        return data, fn.random.uniform(shape=[2])

    return definition()


def epochs(pipe, batches):
    """Batches over the ends of epochs."""
    found = []
    while len(found) < batches:
        try:
            found.append([output.as_tensor().clone() for output in pipe.run()])
        except StopIteration:
            pipe.reset()
    return found


@pytest.mark.parametrize("by", ["sample", "batch"])
@pytest.mark.parametrize("done", [0, 2, 3, 4, 7])
def test_external_sources_that_are_told_the_batch_go_on_from_a_checkpoint(by, done):
    with numbered(by) as pipe:
        everything = epochs(pipe, 9)
    with numbered(by, enable_checkpointing=True) as pipe:
        epochs(pipe, done)
        state = pipe.checkpoint()
    with numbered(by, checkpoint=state) as pipe:
        assert same(epochs(pipe, 9 - done), everything[done:])


def test_a_checkpoint_at_the_end_of_an_epoch_goes_on_with_the_end_or_with_the_next():
    for resets in (False, True):
        with numbered("sample", enable_checkpointing=True) as pipe:
            epochs(pipe, 3)
            with pytest.raises(StopIteration):
                pipe.run()
            if resets:
                pipe.reset()
            state = pipe.checkpoint()
        with numbered("sample", checkpoint=state) as pipe:
            if not resets:
                with pytest.raises(StopIteration):
                    pipe.run()
                pipe.reset()
            assert pipe.run()[0][1].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "source", [lambda: np.zeros((1, 1)), [np.zeros((1, 1))], iter([np.zeros((1, 1))])]
)
def test_sources_whose_place_nobody_knows_run_but_give_no_checkpoint(source):
    @pipeline_def(batch_size=1, enable_checkpointing=True)
    def external():
        return fn.external_source(source, name="mine")

    with external() as pipe:
        assert pipe.run()[0].as_array().tolist() == [[0]]
        with pytest.raises(UnsupportedError, match="external source 'mine'"):
            pipe.checkpoint()


def test_a_pipeline_that_is_fed_gives_checkpoints():
    @pipeline_def(batch_size=1, seed=1)
    def fed():
        return fn.external_source(name="mine"), fn.random.uniform(range=(0, 1))

    with fed(enable_checkpointing=True) as pipe:
        for at in range(3):
            pipe.feed_input("mine", np.full((1, 1), at))
        pipe.run(), pipe.run()
        state, expected = pipe.checkpoint(), taken(pipe, 1)
    with fed(checkpoint=state) as pipe:
        pipe.feed_input("mine", np.full((1, 1), 2))
        assert same(taken(pipe, 1), expected)
