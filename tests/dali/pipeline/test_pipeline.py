import gc
import signal
import threading
import time

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.general.copy import copy
from videoloader.dali.pipeline import Pipeline, pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import (
    ArgumentError,
    ArgumentTypeError,
    DecodeError,
    OperatorError,
    UnsupportedError,
)
from videoloader.sampling import generator

pytestmark = pytest.mark.usefixtures("no_threads_left")

FILES = [f"clip{number}.mp4" for number in range(5)]


def numbers(batch):
    """The frame numbers in a batch of fake clips."""
    return batch.as_tensor()[:, :, 0, 0, 0].tolist()


@pipeline_def
def everything():
    clips, labels = fn.readers.video(
        filenames=FILES, labels=[], sequence_length=4, random_shuffle=True, name="Reader"
    )
    clips = fn.resize(clips, size=(8, 9))
    clips = fn.brightness_contrast(clips, brightness=fn.random.uniform(range=(0.5, 1.5)))
    clips = fn.crop_mirror_normalize(
        clips,
        crop=(5, 5),
        crop_pos_x=fn.random.uniform(range=(0, 1)),
        mirror=fn.random.coin_flip(),
        mean=[1.0, 2.0, 3.0],
    )
    return clips, labels, fn.random.uniform(values=[1, 2, 3], shape=(2,))


def batches(pipe, count):
    with pipe:
        return [[output.as_tensor().clone() for output in pipe.run()] for _ in range(count)]


@pytest.mark.parametrize(("depth", "threads"), [(1, 1), (1, 4), (3, 1), (5, 3)])
def test_one_seed_gives_the_same_pixels_for_any_depth_and_number_of_threads(videos, depth, threads):
    expected = batches(everything(batch_size=6, seed=11, num_threads=2), 12)
    pipe = everything(batch_size=6, seed=11, num_threads=threads, prefetch_queue_depth=depth)
    for wanted, got in zip(expected, batches(pipe, 12), strict=True):
        assert all(torch.equal(one, other) for one, other in zip(wanted, got, strict=True))


def test_operators_that_draw_nothing_shift_nobodys_draws(videos):
    def draws(with_more):
        @pipeline_def(batch_size=4, seed=2)
        def definition():
            clips = fn.readers.video(filenames=FILES, sequence_length=4, random_shuffle=True)
            clips = clips[::1] if with_more else clips
            return clips, fn.random.uniform(range=(0, 1))

        return batches(definition(), 2)

    for plain, more in zip(draws(with_more=False), draws(with_more=True), strict=True):
        assert all(torch.equal(one, other) for one, other in zip(plain, more, strict=True))


def test_another_seed_gives_other_pixels_and_a_missing_one_is_drawn(videos):
    first, second = everything(batch_size=6), everything(batch_size=6)
    assert first.seed != second.seed
    ones, others = batches(first, 1), batches(second, 1)
    assert not torch.equal(ones[0][0], others[0][0])
    again = batches(everything(batch_size=6, seed=first.seed), 1)
    assert torch.equal(again[0][0], ones[0][0])


def test_a_draw_is_the_stream_of_its_stage_and_sample():
    @pipeline_def(batch_size=3, seed=5)
    def draws():
        return fn.random.coin_flip(), fn.random.uniform(range=(2, 4), shape=(5,))

    with draws() as pipe:
        for iteration in range(3):
            flips, uniform = pipe.run()
            for position in range(3):
                sample = 3 * iteration + position
                rng = generator(5, stage=0, sample=sample)
                assert flips[position].item() == int(rng.random() < 0.5)
                rng = generator(5, stage=1, sample=sample)
                expected = (2 + 2 * rng.random(5)).astype(np.float32)
                np.testing.assert_array_equal(uniform[position].numpy(), expected)


def test_draws_do_not_depend_on_the_cut_into_batches():
    def draws(batch_size, count):
        pipe = pipeline_def(lambda: fn.random.uniform(range=(0, 1)))(batch_size=batch_size, seed=8)
        with pipe:
            return [value.item() for _ in range(count) for value in pipe.run()[0]]

    expected = draws(1, 12)
    assert len(set(expected)) == 12
    assert draws(3, 4) == draws(4, 3) == expected


def test_an_operator_gives_the_same_in_a_graph_and_eagerly(videos):
    arguments = {"crop": (3, 3), "mean": [1.0, 2.0, 3.0], "std": [2.0], "mirror": [0, 1, 1]}

    @pipeline_def(batch_size=3, seed=1)
    def graph():
        clips = fn.readers.video(filenames=FILES, sequence_length=4)
        return clips, fn.crop_mirror_normalize(fn.resize(clips, size=7), **arguments)

    with graph() as pipe:
        clips, result = pipe.run()
        eager = fn.crop_mirror_normalize(fn.resize(clips, size=7), **arguments)
        assert eager.layout() == result.layout() == "FCHW"
        assert torch.equal(eager.as_tensor(), result.as_tensor())


def test_outputs_that_an_operator_allocates_are_one_block(videos):
    with everything(batch_size=6, seed=1) as pipe:
        clips, labels, _ = pipe.run()
        assert clips.as_tensor().data_ptr() == clips[0].data_ptr()
        assert labels.as_tensor().shape == (6, 1)


def test_a_batch_belongs_to_whoever_took_it(videos):
    with everything(batch_size=6, seed=1) as pipe:
        clips = pipe.run()[0].as_tensor()
        before = clips.clone()
        for _ in range(6):
            pipe.run()
        assert torch.equal(clips, before)


def test_a_value_may_be_given_out_twice_and_pass_through(videos):
    @pipeline_def(batch_size=2)
    def twice():
        clips = fn.readers.video(filenames=FILES, sequence_length=4)
        return clips, clips, fn.crop(clips, crop=(2, 2))

    with twice() as pipe:
        one, other, cut = pipe.run()
        assert torch.equal(one.as_tensor(), other.as_tensor())
        assert cut.shape() == [(4, 2, 2, 3)] * 2


def test_an_error_names_operator_line_batch_sample_and_file(videos):
    videos.broken.add("clip1.mp4")

    @pipeline_def(batch_size=4, num_threads=2)
    def graph():
        clips = fn.readers.video(filenames=FILES, sequence_length=40, name="Reader")
        return fn.resize(clips, size=4)

    with graph() as pipe:
        with pytest.raises(OperatorError) as caught:
            pipe.run()
        for part in ("fn.readers.video 'Reader'", "test_pipeline.py:", "sample 1 of batch 0"):
            assert part in str(caught.value)
        assert "clip1.mp4: packet 3" in str(caught.value)
        assert isinstance(caught.value.__cause__, DecodeError)
        with pytest.raises(OperatorError, match="sample 2 of batch 1"):
            pipe.run()  # clips 4, 0, 1, 2
        with pytest.raises(OperatorError, match="sample 3 of batch 2"):
            pipe.run()  # clips 3, 4, 0, 1
        assert len(pipe.run()[0]) == 4


def test_an_error_behind_a_reader_names_the_file(videos):
    @pipeline_def(batch_size=2)
    def graph():
        return fn.crop(
            fn.readers.video(filenames=FILES, sequence_length=4), crop=(5, 5), name="cut"
        )

    with graph() as pipe, pytest.raises(OperatorError, match=r"'cut' .* batch 0 \(clip0.mp4\)"):
        pipe.run()


def test_a_dropped_pipeline_ends_its_threads(videos):
    pipe = everything(batch_size=6)
    pipe.run()
    assert any("videoloader" in thread.name for thread in threading.enumerate())
    del pipe
    gc.collect()  # the fixture waits until they have ended


def test_a_pipeline_dropped_in_the_middle_of_a_batch_ends_its_threads():
    entered = threading.Event()

    def slow(info):
        entered.set()
        time.sleep(0.05)
        return torch.zeros(2)

    @pipeline_def(batch_size=4, num_threads=2)
    def graph():
        return fn.external_source(slow, batch=False)

    pipe = graph()
    pipe.schedule_run()
    entered.wait()
    del pipe


def test_an_interrupt_of_the_consumer_loses_no_batch():
    release = threading.Event()

    @pipeline_def(batch_size=1)
    def graph():
        def source(iteration):
            release.wait()
            return torch.full((1,), iteration)

        return fn.external_source(source)

    with graph() as pipe:
        before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
        main = threading.main_thread().ident
        timer = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGUSR1))
        try:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                pipe.run()
        finally:
            timer.join()
            signal.signal(signal.SIGUSR1, before)
            release.set()
        assert [pipe.run()[0].as_tensor().item() for _ in range(3)] == [0, 1, 2]


def test_whatever_an_operator_raises_reaches_the_consumer():
    class Strange(BaseException):
        pass

    def source(iteration):
        raise Strange

    @pipeline_def(batch_size=1)
    def graph():
        return fn.external_source(source)

    with graph() as pipe, pytest.raises(Strange):
        pipe.run()


def test_a_closed_pipeline_says_so(videos):
    pipe = everything(batch_size=6)
    pipe.run()
    pipe.close()
    pipe.close()
    with pytest.raises(ArgumentError, match="closed"):
        pipe.run()


def test_no_batch_is_made_further_ahead_than_asked():
    made = []

    def note():
        made.append(len(made))
        return np.int32([0])

    @pipeline_def(batch_size=1, prefetch_queue_depth=3)
    def graph():
        return fn.python_function(function=note)

    with graph() as pipe:
        pipe.run()
        deadline = time.monotonic() + 5
        while len(made) < 4 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.02)
        assert made == [0, 1, 2, 3]  # one taken, three waiting


@pytest.fixture
def three_torch_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_torch_threads")
def test_torch_keeps_its_threads_for_everybody_else(videos):
    with everything(batch_size=6, num_threads=3) as pipe:
        pipe.run()
        seen = []
        other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        other.start()
        other.join()
    assert torch.get_num_threads() == 3
    assert seen == [3]


def test_a_pipeline_made_by_hand():
    with Pipeline(batch_size=2, device_id=0, num_threads=1) as pipe:
        pipe.set_outputs(fn.external_source(lambda: torch.ones(2, 4, 5, 3), name="in"))
    assert "not built" in repr(pipe)
    with pipe:
        assert pipe.run()[0].as_tensor().shape == (2, 4, 5, 3)
    with pytest.raises(ArgumentError, match="closed"):
        pipe.build()


def test_a_definition_takes_arguments_of_its_own(videos):
    @pipeline_def(batch_size=9, num_threads=2)
    def graph(files, length, *, stride=1):
        return fn.readers.video(filenames=files, sequence_length=length, stride=stride)

    with graph(FILES, 3, stride=2, batch_size=2) as pipe:
        assert numbers(pipe.run()[0]) == [[0, 2, 4], [6, 8, 10]]

    @pipeline_def(batch_size=2, num_threads=1, seed=3)
    def shadowing(seed):
        return fn.constant(idata=[seed])

    with shadowing(seed=8) as pipe:
        assert pipe.seed == 3
        assert pipe.run()[0].as_tensor().tolist() == [[8], [8]]

    @pipeline_def(batch_size=2)
    def variadic(**more):
        return more["seed"]

    with pytest.raises(ArgumentTypeError, match=r"\*\*more of variadic is not allowed"):
        variadic(seed=3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {},
            ArgumentError,
            "batch_size of a pipeline must be a whole number from 1 to .*, got None",
        ),
        ({"batch_size": 0}, ArgumentError, "got 0"),
        ({"batch_size": 1, "num_threads": 0}, ArgumentError, "num_threads"),
        ({"batch_size": 1, "prefetch_queue_depth": 0}, ArgumentError, "prefetch_queue_depth"),
        ({"batch_size": 1, "what": 3}, ArgumentError, "no argument 'what'$"),
        ({"batchsize": 3}, TypeError, "no argument 'batchsize'; did you mean batch_size"),
    ],
)
def test_arguments_of_a_pipeline_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        Pipeline(**arguments)


def test_dalis_other_arguments_are_taken():
    depth = {"cpu_size": 3, "gpu_size": 2}
    pipe = Pipeline(2, 1, 0, exec_dynamic=True, exec_async=True, prefetch_queue_depth=depth)
    assert pipe.prefetch_queue_depth == 3


def test_outputs_are_data_nodes_and_nodes_have_no_value():
    with pytest.raises(ArgumentError, match="needs at least one output"):
        pipeline_def(lambda: None)(batch_size=1)

    def branch():
        return 1 if fn.random.coin_flip() else 0

    with pytest.raises(ArgumentError, match="no value while the pipeline is defined"):
        pipeline_def(branch)(batch_size=1)


def test_mistakes_in_a_graph_are_named():
    def named_twice():
        return fn.random.coin_flip(name="a"), fn.random.coin_flip(name="a")

    def batch_inside():
        return fn.flip(TensorList(torch.zeros(2, 2, 2, 3)))

    def node_for_all():
        return fn.cast(fn.random.coin_flip(), dtype=fn.random.coin_flip())

    def wrong_count():
        return fn.flip(fn.random.coin_flip(), horizontal=[0, 1, 0])

    for definition, message in [
        (named_twice, "two operators are named 'a'"),
        (batch_inside, "fn.flip takes data nodes, and numbers, .* got TensorList"),
        (node_for_all, "dtype is one for all samples, it cannot be a data node"),
        (wrong_count, "horizontal has 3 values for a batch of 2"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            pipeline_def(definition)(batch_size=2)


def test_a_node_of_another_pipeline_is_refused():
    kept = []
    pipeline_def(lambda: kept.append(fn.random.coin_flip()) or kept[0])(batch_size=1)
    with pytest.raises(ArgumentError, match="belongs to another pipeline"):
        pipeline_def(lambda: fn.cast(kept[0], dtype=types.FLOAT))(batch_size=1)


def test_an_argument_that_flows_is_checked_when_it_arrives():
    @pipeline_def(batch_size=2)
    def graph():
        frames = fn.external_source(lambda: torch.zeros(2, 4, 4, 3), layout="HWC")
        return fn.crop(frames, crop=(2, 2), crop_pos_x=fn.random.uniform(range=(5, 6)))

    with (
        graph() as pipe,
        pytest.raises(OperatorError, match="crop_pos_x must be float, at least 0"),
    ):
        pipe.run()


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("place", ["node", "argument", "reader"])
def test_a_gpu_that_is_not_there_is_named_when_the_pipeline_is_built(videos, place):
    @pipeline_def(batch_size=2, device_id=0)
    def graph():
        device = "gpu" if place == "reader" else "cpu"
        clips = fn.readers.video(filenames=FILES, sequence_length=4, device=device)
        if place == "node":
            clips = clips.gpu()
        return fn.flip(clips, device="gpu") if place == "argument" else fn.flip(clips)

    pipe = graph()
    with pytest.raises(UnsupportedError, match="needs a GPU, and torch finds none"):
        pipe.build()


def test_ragged_outputs_stay_ragged():
    samples = [torch.zeros(2, 3), torch.ones(4, 3), torch.zeros(2, 3)]

    @pipeline_def(batch_size=3)
    def graph():
        return fn.external_source(lambda: samples)

    with graph() as pipe:
        (batch,) = pipe.run()
        assert isinstance(batch, TensorList)
        assert batch.shape() == [(2, 3), (4, 3), (2, 3)]
        assert torch.equal(batch[1], samples[1])


@pytest.mark.parametrize(("device", "may_be_under_way"), [("cpu", False), ("cuda:1", True)])
def test_a_copy_to_the_cpu_has_arrived_when_it_returns(device, may_be_under_way):
    class Data(torch.Tensor):
        def to(self, device, non_blocking=False):
            return device, non_blocking

    assert copy(Context(1, device), Batch([Data()])).samples == [(device, may_be_under_way)]
