"""External sources in worker processes."""

import gc
import itertools
import os
import pickle
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest
import python_sources as sources
import torch
from programs import Program

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import ArgumentError, OperatorError
from videoloader.machinery.system.pickling import pickle_by_value

pytestmark = pytest.mark.usefixtures("no_threads_left")


def pipe_of(source, batch_size=2, workers=2, method="fork", pickler=None, depth=2, **arguments):
    arguments = {"batch": False, "parallel": True, **arguments}
    definition = pipeline_def(lambda: fn.external_source(source, **arguments))
    return definition(
        batch_size=batch_size,
        prefetch_queue_depth=depth,
        py_num_workers=workers,
        py_start_method=method,
        py_callback_pickler=pickler,
    )


def epoch(pipe, limit=50):
    """The batches of the first output up to the end of the epoch, then a reset."""
    batches = []
    for _ in range(limit):
        try:
            batches.append([sample.tolist() for sample in pipe.run()[0]])
        except StopIteration:
            pipe.reset()
            break
    return batches


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(pids, limit=5.0):
    deadline = time.monotonic() + limit
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, pids))


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("workers", [1, 3])
def test_workers_share_a_batch_and_count_as_one_process_does(workers, depth):
    with pipe_of(
        sources.Counted(14), batch_size=4, workers=workers, prefetch_queue_depth=depth
    ) as pipe:
        for number in range(3):
            batches = epoch(pipe)
            samples = [sample[:4] for batch in batches for sample in batch]
            assert samples == [[at, at % 4, at // 4, number] for at in range(12)]
            pids = {sample[4] for batch in batches for sample in batch}
            assert pids <= set(pipe._py_pool.pids())


def test_what_is_left_of_a_pool_is_found_under_the_names_of_dali():
    with pipe_of(sources.counted_batches, batch=True, batch_info=True) as pipe:
        pipe.run()
        thread = pipe._py_pool.pool._observer.thread
        assert thread.is_alive()
    assert not thread.is_alive()


def test_callables_may_make_whole_batches():
    with pipe_of(sources.counted_batches, batch=True, batch_info=True) as pipe:
        for number in range(2):
            assert epoch(pipe) == [[[at, number]] * 2 for at in range(3)]
    with pipe_of(sources.numbered_batches, batch=True, prefetch_queue_depth=4) as pipe:
        assert epoch(pipe, 5) == [[at, -at] for at in range(5)]


@pytest.mark.parametrize("depth", [1, 2, 6])
@pytest.mark.parametrize(
    ("cycle", "lengths"),
    [(None, [3, 0, 0]), ("raise", [3, 3, 3]), ("quiet", [7, 7, 7])],
)
def test_an_iterable_ends_or_begins_again(cycle, lengths, depth):
    arguments = {"batch": True, "cycle": cycle, "prefetch_queue_depth": depth}
    with pipe_of(sources.generated, **arguments) as pipe:
        expected = itertools.cycle([[[at], [at, at]] for at in range(3)])
        for length in lengths:
            batches = epoch(pipe, 7)
            assert batches == list(itertools.islice(expected, length))
    with pipe_of(sources.Iterated(), **{**arguments, "cycle": "raise"}) as pipe:
        for number in (1, 2):
            assert epoch(pipe) == [[[number, at]] * 2 for at in range(3)]


@pytest.mark.parametrize("parallel", [False, True])
def test_a_callable_goes_on_amid_an_epoch(parallel):
    with pipe_of(sources.Counted(14), parallel=parallel) as pipe:
        pipe.build()
        (source,) = pipe._run.program.sources.values()
        assert not source.has_state
        source.resume(epoch=2, first=-5)
        batches = epoch(pipe)
        assert [[s[2:4] for s in batch] for batch in batches] == [[[5, 2]] * 2, [[6, 2]] * 2]
        assert epoch(pipe, 1)[0][0][:4] == [0, 0, 0, 3]
    with pipe_of(sources.generated, batch=True, parallel=parallel) as pipe:
        pipe.build()
        assert next(iter(pipe._run.program.sources.values())).has_state


# What DALI 2.4 gives for these four sources, "-" where it raises StopIteration and is reset.
TOGETHER = "0000 1111 2222 - 0044 1105 2216 - 0030 1141 2202 - 0024 1135 2246 - 0010 1121"


@pytest.mark.parametrize("queue", [None, 1, 3])
def test_sources_of_different_lengths_end_together(queue):
    given = {} if queue is None else {"parallel": True, "prefetch_queue_depth": queue}

    @pipeline_def(batch_size=1, py_num_workers=2)
    def definition():
        return (
            fn.external_source(sources.four, **given),
            fn.external_source(sources.Numbers(3), cycle="raise", **given),
            fn.external_source(sources.Numbers(5), cycle="quiet", **given),
            fn.external_source(sources.Numbers(7), cycle="raise", **given),
        )

    taken = []
    with definition() as pipe:
        for _ in TOGETHER.split():
            try:
                taken.append("".join(str(out[0].item()) for out in pipe.run()))
            except StopIteration:
                taken.append("-")
                pipe.reset()
    assert " ".join(taken) == TOGETHER


def test_several_outputs_and_large_samples_arrive_unchanged():
    with pipe_of(sources.two_outputs, num_outputs=2, layout=["HW"]) as pipe:
        first, second = pipe.run()
        assert first.layout() == "HW"
        assert first.as_array().tolist() == [[[at] * 2] * 2 for at in range(2)]
        assert second.as_array().tolist() == [0.5, 0.5]
    with pipe_of(sources.large, batch_size=3) as pipe:
        kept = [pipe.run()[0] for _ in range(6)]  # nothing that is held is written again
        for number, sample in enumerate(itertools.chain(*kept)):
            assert sample.shape[0] == 1 + number % 8
            assert (np.asarray(sample) == number % 251).all()
        assert max(pipe.external_source_shm_statistics()["capacities"]) >= 8 << 19


def test_shared_memory_is_as_hinted_and_grows_where_it_must():
    with pipe_of(sources.large, batch_size=4, bytes_per_sample_hint=3 << 20) as pipe:
        statistics = pipe.external_source_shm_statistics()
        assert statistics == {
            "capacities": [6 << 20] * 2,
            "per_sample_capacities": [3 << 20] * 2,
        }
    with pipe_of(sources.Counted()) as pipe:
        assert pipe.external_source_shm_statistics()["capacities"] == [1 << 20] * 2
    with pipe_of(sources.generated, batch=True, parallel=False) as pipe:
        assert pipe.external_source_shm_statistics()["capacities"] == []


def test_an_error_arrives_with_its_traceback_and_costs_one_batch():
    with pipe_of(sources.fails_at_five) as pipe:
        assert epoch(pipe, 2) == [[0, 1], [2, 3]]
        with pytest.raises(OperatorError, match="KeyError: 'no sample five'") as told:
            pipe.run()
        assert isinstance(told.value.__cause__, KeyError)
        (note,) = told.value.__cause__.__notes__
        assert "in fails_at_five" in note
        assert epoch(pipe, 1) == [[6, 7]]
    with (
        pipe_of(sources.fails_specially) as pipe,
        pytest.raises(OperatorError, match="SpecialError: this and 0"),
    ):
        pipe.run()


@pytest.mark.parametrize("error", [ConnectionResetError, EOFError, BrokenPipeError])
def test_an_error_of_a_connection_of_the_source_is_no_death_of_its_worker(error):
    def source(info):
        if info.idx_in_epoch == 2:
            raise error("the database went away")
        return np.array(info.idx_in_epoch)

    with pipe_of(source, workers=1) as pipe:
        assert epoch(pipe, 1) == [[0, 1]]
        with pytest.raises(OperatorError, match="the database went away"):
            pipe.run()


@pytest.mark.parametrize("gives", [sources.no_array, lambda info: "text"])
def test_what_is_no_array_is_refused(gives):
    with pipe_of(gives) as pipe, pytest.raises(OperatorError, match="gives arrays"):
        pipe.run()


def test_tensors_of_any_library_are_taken():
    def source(info):
        value = torch.full((2,), info.idx_in_epoch)
        return [value, value.tolist(), fn.cast(value, dtype="float32")][info.idx_in_epoch % 3]

    with pipe_of(source, batch_size=1) as pipe:
        assert epoch(pipe, 1) == [[[0, 0]]]


def test_a_worker_that_dies_is_named_and_nothing_hangs():
    with pipe_of(sources.dies_at_five) as pipe:
        assert epoch(pipe, 2) == [[0, 1], [2, 3]]
        for _ in range(2):
            with pytest.raises(
                OperatorError, match=r"Python worker . \(process \d+\) died \(signal SIGKILL\)"
            ):
                pipe.run()
        pids = pipe._py_pool.pids()
    wait_for_end(pids)


def test_a_killed_worker_is_noticed_while_it_hangs():
    with pipe_of(sources.hangs) as pipe:
        assert epoch(pipe, 1) == [[0, 1]]
        os.kill(pipe._py_pool.pids()[0], 9)
        with pytest.raises(OperatorError, match="died"):
            pipe.run()


@pytest.mark.parametrize("how", ["close", "drop"])
def test_workers_that_hang_end_with_their_pipeline(how):
    pipe = pipe_of(sources.hangs)
    pipe.run()
    pids = pipe._py_pool.pids()
    assert all(map(is_running, pids))
    if how == "close":
        pipe.close()
    else:
        del pipe
        gc.collect()
    wait_for_end(pids)


def test_a_dropped_pipeline_leaves_no_shared_memory():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        pipe = pipe_of(sources.Counted())
        pipe.run()
        pids = pipe._py_pool.pids()
        del pipe
        wait_for_end(pids)
    deadline = time.monotonic() + 5
    while len(os.listdir("/proc/self/fd")) > before + 4 and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/fd")) <= before + 4


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_fresh_interpreters_run_what_they_can_import(method):
    with pipe_of(sources.Counted(5), method=method) as pipe:
        assert [[s[:2] for s in batch] for batch in epoch(pipe)] == [
            [[0, 0], [1, 1]],
            [[2, 0], [3, 1]],
        ]


def test_fresh_interpreters_get_lambdas_as_code():
    offset = 7
    with pipe_of(lambda info: np.array(info.idx_in_epoch + offset), method="spawn") as pipe:
        assert epoch(pipe, 1) == [[7, 8]]


class Unknown:
    """Of a module that a fresh interpreter does not have."""

    def __call__(self, info):
        return np.array(info.idx_in_epoch)


def test_what_a_fresh_interpreter_cannot_import_runs_in_a_fork(monkeypatch, caplog):
    monkeypatch.setattr(Unknown, "__module__", "notebook")
    monkeypatch.setitem(sys.modules, "notebook", sys.modules[__name__])
    with pipe_of(Unknown(), method="spawn") as pipe:
        assert epoch(pipe, 1) == [[0, 1]]
    assert "Python workers are forked" in caplog.text
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(RuntimeError, match="pass py_callback_pickler"):
        pipe_of(Unknown(), method="spawn").build()
    with pytest.raises(RuntimeError, match="cannot be forked from a process that uses CUDA"):
        pipe_of(Unknown(), method="fork").build()


class Pickler:
    """Says which of its functions was called."""

    calls = []  # noqa: RUF012

    @classmethod
    def dumps(cls, value, **keywords):
        cls.calls.append(keywords)
        return pickle.dumps(value)

    loads = staticmethod(pickle.loads)


def test_a_pickler_of_the_users_makes_the_bytes():
    with pipe_of(sources.fails_at_five, method="spawn", pickler=(Pickler, {"a": 1})) as pipe:
        assert epoch(pipe, 1) == [[0, 1]]
    assert Pickler.calls == [{"a": 1}]
    with pytest.raises(ArgumentError, match="cannot be pickled for worker processes"):
        pipe_of(lambda info: info, method="spawn", pickler=pickle).build()
    with pytest.raises(ArgumentError, match="object with dumps and loads"):
        pipe_of(sources.Counted(), pickler=3)


@pickle_by_value
def outer(number):
    """Refers to a module, to itself and to another global."""
    return np.int64(1) if number == 0 else number * outer(number - 1) + len(sources.__name__) * 0


def test_functions_go_by_value_with_all_they_refer_to(tmp_path):
    from videoloader.machinery.system.pickling import CallbackPickler

    def closure(number, add=1, *, factor=2):
        return outer(number) * factor + add

    path = tmp_path / "functions"
    path.write_bytes(CallbackPickler.of(None).pack((outer, closure)))
    code = (
        "import pickle, sys; one, other = pickle.loads(open(sys.argv[1], 'rb').read()); "
        "print(one(4), other(3), other.__qualname__)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run(
        [sys.executable, "-c", code, path], check=True, capture_output=True, env=environment
    ).stdout.split()
    assert out[:2] == [b"24", b"13"]
    assert out[2].endswith(b"closure")
    with pytest.raises(TypeError, match="only a function"):
        pickle_by_value(Unknown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"workers": 0}, "py_num_workers"), ({"method": "thread"}, "py_start_method must be one of")],
)
def test_arguments_without_a_meaning_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        pipe_of(sources.Counted(), **arguments).build()


def test_workers_end_with_a_process_that_is_killed(tmp_path):
    code = """
import os, sys, time
import python_sources
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def

@pipeline_def(batch_size=2, py_num_workers=2)
def definition():
    return fn.external_source(python_sources.hangs, batch=False, parallel=True)

pipe = definition()
pipe.start_py_workers()
print(*pipe._py_pool.pids(), flush=True)
time.sleep(1000)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = Program([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    try:
        pids = list(map(int, process.stdout.readline().split()))
        assert len(pids) == 2
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    wait_for_end(pids)


@pytest.mark.timeout(60)
def test_workers_are_forked_from_a_process_with_threads_of_opencv():
    """The fork would wait for ever for threads that only its parent has."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(2)
    try:
        cv2.GaussianBlur(np.zeros((2000, 2000, 3), np.uint8), (9, 9), 2)

        @pipeline_def(batch_size=2, num_threads=1, py_num_workers=2, py_start_method="fork")
        def definition():
            return fn.external_source(
                lambda info: np.full(3, info.idx_in_epoch), parallel=True, batch=False
            )

        with definition() as pipe:
            (batch,) = pipe.run()
        assert [sample.tolist() for sample in batch] == [[0, 0, 0], [1, 1, 1]]
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(threads)
