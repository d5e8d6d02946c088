"""DataLoader workers that describe data, and a pipeline in this process that makes it."""

import gc
import os
import pickle
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from child_processes import children
from proxied import Calls, Frozen, Pair, Record, Squares, Stream, kill_at
from torch.utils.data import default_collate

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import proxy
from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError

pytestmark = [
    pytest.mark.usefixtures("no_threads_left"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

SIZE = 4  # of a batch of the pipelines
LIMIT = 60  # seconds for what a broken proxy would wait for for ever


@pipeline_def(batch_size=SIZE, num_threads=1, seed=5)
def squares():
    x = fn.external_source(name="x")
    return x * x


@pipeline_def(batch_size=SIZE, num_threads=1)
def sums():
    a, b = fn.external_source(name="a"), fn.external_source(name="b", no_copy=True)
    return a + b, b - a


@pytest.fixture
def server():
    with proxy.Server(squares()) as server:
        yield server
    server.close()


@pytest.fixture
def two():
    """A server of a pipeline with two inputs and two outputs."""
    with proxy.Server(sums()) as server:
        yield server
    server.close()


def vector(*values):
    return np.array(values, np.float32)


def numbers_and_squares(loader):
    return [(batch["number"].tolist(), batch["square"][:, 0].tolist()) for batch in loader]


EPOCH = [
    ([0, 1, 2, 3], [0.0, 1.0, 4.0, 9.0]),
    ([4, 5, 6, 7], [16.0, 25.0, 36.0, 49.0]),
    ([8, 9], [64.0, 81.0]),
]


# -- What comes of a sample. --


@pytest.mark.parametrize("size", [3, 40_000])  # through the pipe, through shared memory
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_tensors_stand_where_the_references_were(server, workers, size):
    dataset = Squares(server.proxy, size=size)
    loader = proxy.DataLoader(server, dataset, batch_size=SIZE, num_workers=workers)
    for _ in range(2):
        assert numbers_and_squares(loader) == EPOCH
    (first, *_) = loader
    assert first["square"].shape == (SIZE, size)
    assert (first["square"] == torch.arange(4.0)[:, None] ** 2).all()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_every_start_method_live_for_several_epochs(server, method):
    loader = proxy.DataLoader(
        server,
        Squares(server.proxy, size=30_000),
        batch_size=SIZE,
        num_workers=1,
        multiprocessing_context=method,
        persistent_workers=True,
    )
    assert numbers_and_squares(loader) == EPOCH
    # Of a fork server they are not children of this process.
    workers = list(loader._iterator._workers)
    try:
        next(iter(loader))  # and an epoch that is broken off
        assert numbers_and_squares(loader) == EPOCH
        assert loader._iterator._workers == workers != []
        assert all(worker.is_alive() for worker in workers)
    finally:
        loader._iterator._shutdown_workers()


@pytest.mark.parametrize(
    "value",
    [
        np.arange(5, dtype=np.int16),
        torch.arange(5, dtype=torch.float64),
        torch.arange(5, dtype=torch.bfloat16),
        b"\x01\x02\x03",
        7,
        [1.5, 2.5],
    ],
)
def test_inputs_of_every_kind_arrive_as_they_are(value):
    @pipeline_def(batch_size=2, num_threads=1)
    def same():
        return fn.external_source(name="x")

    expected = list(value) if isinstance(value, bytes) else value
    expected = expected if isinstance(value, torch.Tensor) else torch.as_tensor(expected)
    with proxy.Server(same()) as server:
        dataset = Calls(lambda _: server.proxy(value), count=3)
        for workers in (0, 1):
            loader = proxy.DataLoader(server, dataset, batch_size=2, num_workers=workers)
            first, last = loader
            assert torch.equal(first, torch.stack([expected.to(first.dtype)] * 2))
            assert len(last) == 1
            if isinstance(value, np.ndarray | torch.Tensor):
                assert first.dtype == expected.dtype


def test_paths_and_frame_numbers_become_clips(videos):
    @pipeline_def(batch_size=2, num_threads=1)
    def clips():
        path, frames = fn.external_source(name="path"), fn.external_source(name="frames")
        return fn.resize(fn.decoders.video(path, frames=frames), size=(8, 8))

    def make(number):
        path = Path(f"{number}.mp4") if number % 2 else f"{number}.mp4"
        return server.proxy(path=path, frames=[number, number + 3])

    with proxy.Server(clips()) as server:
        for workers in (0, 1):
            batches = list(
                proxy.DataLoader(server, Calls(make, 5), batch_size=2, num_workers=workers)
            )
            assert [tuple(batch.shape) for batch in batches] == [(2, 2, 8, 8, 3)] * 2 + [
                (1, 2, 8, 8, 3)
            ]
            pictures = torch.cat(batches)[:, :, 0, 0, 0].tolist()
            assert pictures == [[number, number + 3] for number in range(5)]


def test_samples_nest_as_deep_as_they_like(two):
    def make(number):
        added, difference = two.proxy(a=vector(number), b=vector(10 * number))
        return {"pair": Pair(added, number), "deep": [[(difference, "text")], {"again": added}]}

    for workers in (0, 1):
        loader = proxy.DataLoader(two, Calls(make, 3), batch_size=3, num_workers=workers)
        (batch,) = loader
        assert isinstance(batch["pair"], Pair)
        assert batch["pair"].first.tolist() == [[0], [11], [22]]
        assert batch["pair"].second.tolist() == [0, 1, 2]
        ((difference, text),), again = batch["deep"]
        assert difference.tolist() == [[0], [9], [18]]
        assert tuple(text) == ("text",) * 3
        assert again["again"].tolist() == [[0], [11], [22]]


def test_references_are_found_in_objects_and_in_data_that_contains_itself(server):
    record = Record(1, [server.proxy(vector(3))])
    record.itself = record
    nine = server.proxy(vector(9))
    data = {"record": record, "frozen": Frozen((nine, nine)), "cycle": []}
    data["cycle"].append(data)
    made = server.produce_data(data)
    assert made is data
    assert made["cycle"][0] is data
    assert record.itself is record
    assert record.value[0].tolist() == [9]
    assert [each.tolist() for each in data["frozen"].value] == [[81], [81]]


def test_data_without_references_stays_itself(server):
    data = ({"a": torch.ones(2)}, ["b", 3], Pair(1, None))
    assert server.produce_data(data) is data


def test_a_sample_may_call_a_proxy_several_times_or_not_at_all(server):
    def make(number):
        return [server.proxy(vector(number)), server.proxy(vector(-10 * number))]

    loader = proxy.DataLoader(server, Calls(make, 3), batch_size=3, num_workers=1)
    ((first, second),) = loader  # 6 calls, in batches of 4
    assert first.tolist() == [[0], [1], [4]]
    assert second.tolist() == [[0], [100], [400]]
    plain = proxy.DataLoader(server, Calls(lambda number: number, 3), batch_size=3, num_workers=1)
    assert [batch.tolist() for batch in plain] == [[0, 1, 2]]


def test_a_sample_may_call_proxies_of_several_servers(server, two):
    def make(number):
        return server.proxy(vector(number)), two.proxy(a=vector(1), b=vector(number))[1], number

    loader = proxy.DataLoader(server, Calls(make, 5), batch_size=SIZE, num_workers=2)
    for _ in range(2):
        values = [[part.flatten().tolist() for part in batch] for batch in loader]
        assert values == [
            [[0, 1, 4, 9], [-1, 0, 1, 2], [0, 1, 2, 3]],
            [[16], [3], [4]],
        ]


def test_samples_of_several_shapes_come_as_a_list(server):
    dataset = Calls(lambda number: server.proxy(np.full(number + 1, 2.0)), 3)
    (batch,) = proxy.DataLoader(server, dataset, batch_size=3, num_workers=1)
    assert [sample.tolist() for sample in batch] == [[4], [4, 4], [4, 4, 4]]


def test_loaders_may_take_turns_with_one_server(server):
    loaders = [
        proxy.DataLoader(server, Squares(server.proxy, count), batch_size=SIZE, num_workers=1)
        for count in (10, 12)
    ]
    for one, other in zip(*loaders, strict=True):
        for batch in (one, other):
            assert (batch["square"][:, 0] == batch["number"] ** 2).all()


def test_images_of_other_libraries_are_arrays():
    class Image:
        __array_interface__ = np.full((2, 3), 5, np.uint8).__array_interface__

    with proxy.Server(squares()) as server:
        dataset = Calls(lambda _: server.proxy(Image()), 2)
        (batch,) = proxy.DataLoader(server, dataset, batch_size=2, num_workers=1)
    assert (batch == 25).all()
    assert batch.shape == (2, 2, 3)


def test_random_draws_do_not_depend_on_the_workers():
    @pipeline_def(batch_size=2, num_threads=2, seed=7)
    def noisy():
        x = fn.external_source(name="x")
        return x + fn.random.uniform(range=(0.0, 1.0))

    def epochs(workers):
        with proxy.Server(noisy()) as server:
            dataset = Calls(lambda number: server.proxy(vector(number)), 7)
            loader = proxy.DataLoader(server, dataset, batch_size=2, num_workers=workers)
            found = [torch.cat(list(loader)).flatten().tolist()]
            next(iter(loader))  # broken off
            found.append(torch.cat(list(loader)).flatten().tolist())
            return found

    without = epochs(0)
    assert without[0] != without[1]
    assert epochs(1) == epochs(2) == without


# -- Loaders. --


def test_a_collate_function_may_keep_samples_apart_and_drop_some(server):
    loader = proxy.DataLoader(
        server,
        Squares(server.proxy),
        batch_size=SIZE,
        num_workers=2,
        collate_fn=lambda samples: [s for s in samples if s["number"] % 2],
    )
    for _ in range(2):
        found = [[(s["number"], s["square"][0].item()) for s in batch] for batch in loader]
        assert found == [[(1, 1), (3, 9)], [(5, 25), (7, 49)], [(9, 81)]]


def test_batches_may_have_any_size(server):
    batches = [[0], [9, 8, 7, 6, 5, 4], [], [3, 3], list(range(9))]
    loader = proxy.DataLoader(
        server,
        Squares(server.proxy),
        batch_sampler=batches,
        num_workers=2,
        collate_fn=lambda samples: default_collate(samples) if samples else None,
    )
    found = [batch and batch["square"][:, 0].tolist() for batch in loader]
    expected = [[float(number**2) for number in batch] or None for batch in batches]
    assert found == expected


def test_without_batches_a_sample_has_no_batch_dimension(server):
    loader = proxy.DataLoader(
        server, Squares(server.proxy, count=3), batch_size=None, num_workers=1
    )
    assert [sample["square"].tolist() for sample in loader] == [[0] * 3, [1] * 3, [4] * 3]


def test_any_other_loader_works_with_produce_data_and_iterate(server):
    loader = torch.utils.data.DataLoader(
        Squares(server.proxy), batch_size=SIZE, num_workers=1, collate_fn=default_collate
    )
    for batch, (numbers, expected) in zip(loader, EPOCH, strict=True):
        assert isinstance(batch["square"], proxy.BatchReference)
        batch = server.produce_data(batch)
        assert (batch["number"].tolist(), batch["square"][:, 0].tolist()) == (numbers, expected)
    ahead = server.iterate(loader)
    assert len(ahead) == 3
    assert numbers_and_squares(ahead) == EPOCH


def test_the_proxy_works_by_hand(two):
    outs = []
    for number in range(3):
        a, b = vector(number), vector(5)
        outs.append((a, b, *two.proxy(b=b, a=a)))
    a, b, added, difference = two.produce_data(default_collate(outs))
    assert torch.equal(added, a + b)
    assert torch.equal(difference, b - a)


def test_the_next_batches_are_made_while_one_is_used():
    seen, arrived = [], threading.Event()

    def note(x):
        seen.append(x[0].item())
        if len(seen) >= 4:
            arrived.set()
        return x

    @pipeline_def(batch_size=1, num_threads=1, prefetch_queue_depth=3)
    def noted():
        return fn.python_function(fn.external_source(name="x"), function=note)

    with proxy.Server(noted()) as server:
        loader = proxy.DataLoader(server, Squares(server.proxy), batch_size=1, num_workers=1)
        batches = iter(loader)
        assert next(batches)["number"].tolist() == [0]
        next(batches), next(batches)
        assert arrived.wait(LIMIT)  # of the batch after these, which nobody has asked for
        assert seen == sorted(seen)


def test_no_more_batches_are_begun_ahead_than_asked_for(server):
    taken = []

    def count():
        for number in range(20):
            taken.append(number)
            yield {"number": number, "x": server.proxy(vector(number))}

    for ahead in (0, 1, 3):
        taken.clear()
        batches = server.iterate(count(), ahead=ahead)
        for number in range(12):
            assert next(batches)["number"] == number
            assert len(taken) <= number + 1 + ahead
        assert len(taken) == 12 + ahead
    with pytest.raises(ArgumentError, match="ahead"):
        server.iterate([], ahead=-1)


class Stateful:
    """A loader that knows how many batches it has given."""

    def __init__(self, server, given=0):
        self.server, self.given = server, given

    def __iter__(self):
        while self.given < 9:
            self.given += 1
            yield self.server.proxy(vector(self.given))

    def state_dict(self):
        return {"given": self.given}


def test_the_state_of_a_stateful_loader_is_that_of_the_batch_given_last(server):
    batches = server.iterate(Stateful(server), ahead=3)
    assert batches.state_dict() == {"given": 0}
    for number in range(1, 10):
        assert next(batches).tolist() == [number**2]
        state = batches.state_dict()
        rest = server.iterate(Stateful(server, **state))
        assert [each.tolist() for each in rest] == [[n**2] for n in range(number + 1, 10)]
    with pytest.raises(ArgumentError, match="a list has no state_dict"):
        server.iterate([]).state_dict()


def test_iterable_data_sets_are_shared_by_workers(server):
    loader = proxy.DataLoader(server, Stream(server.proxy, 7), batch_size=2, num_workers=2)
    found = [batch[:, 0].tolist() for batch in loader]
    assert found == [[0, 4], [1, 9], [16, 36], [25]]


# -- What goes wrong. --


@pipeline_def(batch_size=SIZE, num_threads=1)
def cropped():
    return fn.slice(fn.external_source(name="x"), 0, 2, axes=[0])


def named(number):
    return np.frombuffer(f"clip{number}.mp4".encode(), np.uint8)


def test_an_error_names_the_sample_its_inputs_and_its_worker():
    with proxy.Server(cropped()) as server:

        def make(number):
            return number, server.proxy(named(number) if number != 6 else named(number)[:1])

        for workers, who in ((0, "the main process"), (2, "worker 1")):
            loader = proxy.DataLoader(server, Calls(make), batch_size=SIZE, num_workers=workers)
            batches = iter(loader)
            assert next(batches)[0].tolist() == [0, 1, 2, 3]
            with pytest.raises(OperatorError, match=f"sample 2 of a batch, from {who}, x='c'") as e:
                next(batches)
            assert isinstance(e.value.__cause__, OperatorError)
            assert e.value.__notes__ == ["in batch 1 of the loader's epoch"]
            assert next(batches)[0].tolist() == [8, 9]  # the loop may go on
            with pytest.raises(StopIteration):
                next(batches)


def test_the_sample_is_named_where_a_batch_runs_in_several_parts():
    with proxy.Server(cropped()) as server:
        references = [server.proxy(named(n) if n != 9 else named(n)[:1]) for n in range(12)]
        with pytest.raises(OperatorError, match=r"sample 9 of a batch, .*x='c'"):
            server.produce_data(default_collate(references))
        made = server.produce_data(default_collate(references[:9]))
        assert made.shape == (9, 2)


def test_an_input_that_is_refused_leaves_the_inputs_in_step(two):
    good = {"a": vector(1, 2), "b": vector(3, 4)}
    for wrong in ({"b": "text"}, {"b": np.ones(2, np.int8)}, {"a": np.ones((2, 2), np.float32)}):
        two.produce_data(two.proxy(**good))  # fixes the types
        with pytest.raises((ArgumentError, OperatorError), match="the main process"):
            two.produce_data(two.proxy(**good | wrong))
        added, _ = two.produce_data(two.proxy(a=vector(5, 5), b=vector(1, 2)))
        assert added.tolist() == [6, 7]


def test_an_error_of_the_data_set_comes_in_its_turn(server):
    def make(number):
        if number == 5:
            raise LookupError("no such sample")
        return Squares(server.proxy)[number]

    for workers in (0, 2):
        loader = proxy.DataLoader(server, Calls(make), batch_size=SIZE, num_workers=workers)
        batches = iter(loader)
        assert next(batches)["number"].tolist() == [0, 1, 2, 3]
        with pytest.raises(LookupError, match="no such sample"):
            next(batches)
        assert next(batches)["number"].tolist() == [8, 9]


def test_workers_end_with_the_loop_that_fails(server):
    """At once, and not when the garbage collector comes, where they take seconds."""

    def make(number):
        return server.proxy(vector(number) if number != 1 else np.ones((2, 2), np.int8))

    before = children()
    gc.disable()
    try:
        loader = proxy.DataLoader(server, Calls(make), batch_size=1, num_workers=1)
        with pytest.raises((ArgumentError, OperatorError), match="worker 0"):
            list(loader)
        assert not children() - before
    finally:
        gc.enable()


def test_an_error_that_nobody_takes_keeps_no_loader_alive(server):
    def failing():
        yield 1
        raise LookupError

    batches = server.iterate(failing())
    assert next(batches) == 1
    alive = weakref.ref(batches)
    gc.disable()
    try:
        del batches
        assert alive() is None
    finally:
        gc.enable()


# PyTorch raises in a signal handler: where that runs within a callback of the collector, the error
# is told as one that nobody could take, and the loader finds the dead worker by itself.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("fatal", [0, 6])
def test_a_killed_worker_is_noticed(server, fatal):
    def make(number):
        kill_at(number, fatal)
        return Squares(server.proxy)[number]

    batches = iter(proxy.DataLoader(server, Calls(make, 40), batch_size=SIZE, num_workers=2))
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="worker"):
        list(batches)
    assert time.monotonic() - begin < LIMIT
    batches._batches._shutdown_workers()  # the garbage collector takes seconds for it
    fine = proxy.DataLoader(server, Squares(server.proxy), batch_size=SIZE, num_workers=2)
    assert numbers_and_squares(fine) == EPOCH


def test_a_wrong_call_says_how_to_call(server, two):
    for call in (
        lambda: server.proxy(),
        lambda: server.proxy(vector(1), vector(2)),
        lambda: server.proxy(y=vector(1)),
        lambda: two.proxy(vector(1), vector(2)),
        lambda: two.proxy(a=vector(1)),
        lambda: two.proxy(vector(1), a=vector(1), b=vector(1)),
    ):
        with pytest.raises(ArgumentTypeError, match=r"the proxy is called as proxy\((x|a)=\.\.\."):
            call()


def test_references_of_one_batch_are_of_one_output(two):
    first, second = two.proxy(a=vector(1), b=vector(2))
    with pytest.raises(ArgumentError, match="one proxy"):
        default_collate([first, second])
    with pytest.raises(ArgumentTypeError, match="has references only, got SampleReference, int"):
        default_collate([first, 3])


def test_a_server_needs_a_pipeline_with_inputs():
    with pytest.raises(ArgumentTypeError, match="takes a Pipeline, got list"):
        proxy.Server([])
    pipe = pipeline_def(lambda: types.Constant(1))(batch_size=1)
    with pipe, pytest.raises(ArgumentError, match="has no inputs"):
        proxy.Server(pipe)


def test_another_source_that_ends_is_an_error():
    @pipeline_def(batch_size=1, num_threads=1)
    def ends():
        return fn.external_source(name="x"), fn.external_source([[vector(1)]])

    with proxy.Server(ends()) as server:
        made, other = server.produce_data(server.proxy(vector(2)))
        assert (made.tolist(), other.tolist()) == ([2], [1])
        with pytest.raises(ArgumentError, match="another source"):
            server.produce_data(server.proxy(vector(2)))


def test_a_batch_that_an_interrupt_loses_is_not_taken_for_another(server, monkeypatch):
    assert server.produce_data(server.proxy(vector(1))).tolist() == [1]
    run = type(server._pipeline).run

    def interrupted(pipeline):
        run(pipeline)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(server._pipeline), "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            server.produce_data(server.proxy(vector(2)))
    assert server.produce_data(server.proxy(vector(3))).tolist() == [9]


def test_a_server_stays_in_its_process(server):
    with pytest.raises(ArgumentTypeError, match="give data sets and workers its proxy"):
        pickle.dumps(server)

    def make(number):
        with pytest.raises(ArgumentError, match="in the process that made the server"):
            server.produce_data(server.proxy(vector(number)))
        return number

    assert len(list(proxy.DataLoader(server, Calls(make, 2), batch_size=1, num_workers=1))) == 2


def test_references_of_a_server_that_is_gone_are_refused():
    server = proxy.Server(squares())
    reference = pickle.loads(pickle.dumps(server.proxy(vector(1))))
    del server
    gc.collect()
    with proxy.Server(squares()) as other, pytest.raises(ArgumentError, match="does not have"):
        other.produce_data(reference)


# -- The end. --


def test_a_server_starts_with_its_loader_and_after_a_stop():
    server = proxy.Server(squares())
    loader = proxy.DataLoader(server, Squares(server.proxy), batch_size=SIZE, num_workers=1)
    before = set(threading.enumerate())
    for _ in range(2):
        assert numbers_and_squares(loader) == EPOCH
        assert "videoloader-proxy" in {thread.name for thread in threading.enumerate()}
        server.stop_thread()
        server.stop_thread()
        assert "videoloader-proxy" not in {thread.name for thread in threading.enumerate()}
    server.close()
    left = set(threading.enumerate()) - before  # a queue of torch's may still be ending
    assert not [thread for thread in left if thread.name.startswith("videoloader")]
    with pytest.raises(ArgumentError, match="closed"):
        server.produce_data(server.proxy(vector(1)))


def test_what_was_begun_before_a_stop_can_still_be_taken(server):
    batches = iter(proxy.DataLoader(server, Squares(server.proxy), batch_size=SIZE))
    assert next(batches)["number"].tolist() == [0, 1, 2, 3]
    server.stop_thread()
    assert numbers_and_squares(batches) == EPOCH[1:]


def test_epochs_that_are_broken_off_leave_nothing_behind():
    before, files = children(), len(os.listdir("/proc/self/fd"))
    with proxy.Server(squares()) as server:
        dataset = Squares(server.proxy, count=100, size=40_000)
        loader = proxy.DataLoader(server, dataset, batch_size=SIZE, num_workers=2)
        for _ in range(4):
            for batch in loader:
                assert batch["square"][:, 7].tolist() == [0, 1, 4, 9]
                break
    server.close()
    del batch, loader, dataset, server
    gc.collect()
    deadline = time.monotonic() + LIMIT
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not children() - before
    assert len(os.listdir("/proc/self/fd")) <= files + 2  # of torch's, once


def test_a_server_that_is_dropped_ends():
    server = proxy.Server(squares())
    next(iter(proxy.DataLoader(server, Squares(server.proxy), batch_size=SIZE, num_workers=1)))
    del server  # the rest is the fixture's


def test_dalis_names_lead_here():
    from videoloader.dali.plugin.pytorch.experimental import proxy as dali_proxy

    assert dali_proxy.DALIServer is proxy.Server
    assert dali_proxy.DataLoader is proxy.DataLoader
    with dali_proxy.DALIServer(squares(), deterministic=True) as server:
        reference = dali_proxy._collate_dali_output_sample_ref_fn([server.proxy(vector(3))])
        assert isinstance(reference, dali_proxy.DALIOutputBatchRef)
        assert server.produce_data(reference).tolist() == [[9]]


@pytest.mark.gpu
def test_a_gpu_pipeline_gives_the_frames_of_decode_batch(demo_folder):
    import videoloader as vl

    path = str(demo_folder / "h264.mp4")

    @pipeline_def(batch_size=SIZE, device_id=0)
    def clips():
        frames = fn.external_source(name="frames")
        clip = fn.decoders.video(fn.external_source(name="path"), frames=frames, device="mixed")
        return fn.resize(clip, size=(32, 32)), fn.external_source(name="x", device="gpu")

    def make(number):
        return server.proxy(path=path, frames=[number, number + 2], x=vector(number))

    with proxy.Server(clips()) as server:
        loader = proxy.DataLoader(server, Calls(make), batch_size=SIZE, num_workers=2)
        batches = list(loader)
    made = torch.cat([batch[0] for batch in batches])
    assert made.is_cuda
    assert torch.cat([batch[1] for batch in batches]).flatten().tolist() == list(range(10))
    requests = [vl.ClipRequest(path, [number, number + 2]) for number in range(10)]
    assert torch.equal(
        made, vl.decode_batch(requests, device="cuda", size=(32, 32), chroma="centered").frames
    )
