import time

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import ArgumentError, OperatorError

pytestmark = pytest.mark.usefixtures("no_threads_left")


def pipe_of(batch_size=2, **arguments):
    return pipeline_def(lambda: fn.external_source(**arguments))(batch_size=batch_size)


def taken(pipe, limit=10):
    values = []
    for _ in range(limit):
        try:
            values.append([tensor.tolist() for tensor in pipe.run()[0]])
        except StopIteration:
            break
    return values


def test_a_callable_gives_batches_and_may_take_the_iteration():
    with pipe_of(source=lambda: [1, 2]) as pipe:
        assert taken(pipe, 2) == [[1, 2], [1, 2]]
    with pipe_of(source=lambda iteration: [iteration, -iteration]) as pipe:
        assert taken(pipe, 3) == [[0, 0], [1, -1], [2, -2]]


def test_a_callable_may_give_one_sample_at_a_time():
    def source(info):
        return [info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx]

    with pipe_of(source=source, batch=False) as pipe:
        assert taken(pipe, 2) == [[[0, 0, 0, 0], [1, 1, 0, 0]], [[2, 0, 1, 0], [3, 1, 1, 0]]]


@pytest.mark.parametrize(
    ("cycle", "first", "second"),
    [
        (None, [[0], [1]], []),
        ("raise", [[0], [1]], [[0], [1]]),
        ("quiet", [[0], [1], [0], [1], [0]], [[1], [0], [1], [0], [1]]),
        (True, [[0], [1], [0], [1], [0]], [[1], [0], [1], [0], [1]]),
    ],
)
def test_an_iterable_ends_or_begins_again(cycle, first, second):
    with pipe_of(1, source=[[0], [1]], cycle=cycle) as pipe:
        assert taken(pipe, 5) == first
        pipe.reset()
        assert taken(pipe, 5) == second


def test_a_generator_function_is_called_once_an_epoch():
    def source():
        yield [0]
        yield [1]

    with pipe_of(1, source=source, cycle="raise") as pipe:
        for _ in range(3):
            assert taken(pipe) == [[0], [1]]
            with pytest.raises(StopIteration):
                pipe.run()
            pipe.reset()


def test_a_callable_counts_anew_after_a_reset():
    def source(iteration):
        if iteration == 2:
            raise StopIteration
        return [iteration]

    with pipe_of(1, source=source) as pipe:
        assert taken(pipe) == [[0], [1]]
        pipe.reset()
        assert taken(pipe) == [[0], [1]]


def test_a_reset_waits_to_see_whether_the_source_has_ended():
    def source():
        yield [0]
        time.sleep(0.1)  # the end comes later than the reset

    with pipe_of(1, source=source, cycle="raise") as pipe:
        for _ in range(3):
            assert pipe.run()[0][0].item() == 0
            pipe.reset()


def test_a_reset_does_not_wait_for_data_that_nobody_has_fed():
    with pipe_of(name="in") as pipe:
        pipe.feed_input("in", [1, 2])
        pipe.run()
        pipe.reset()
        pipe.feed_input("in", [3, 4])
        assert taken(pipe, 1) == [[3, 4]]


def test_several_outputs_with_their_layouts():
    @pipeline_def(batch_size=2)
    def graph():
        frames, label = fn.external_source(
            lambda: (torch.zeros(2, 4, 5, 3), [np.int32(1), np.int32(2)]),
            num_outputs=2,
            layout=["HWC", ""],
        )
        return fn.flip(frames), label

    with graph() as pipe:
        frames, label = pipe.run()
        assert frames.layout() == "HWC"
        assert label.dtype is types.INT32


def test_data_can_be_fed():
    with pipe_of(name="in") as pipe:
        for value in (1, 2, 3):
            pipe.feed_input("in", torch.full((2, 1), value))
        assert taken(pipe, 3) == [[[1], [1]], [[2], [2]], [[3], [3]]]
        with pytest.raises(OperatorError, match=r"call feed_input\('in', ...\) before run"):
            pipe.run()
        pipe.feed_input("in", [torch.zeros(1, dtype=torch.int64)])
        assert taken(pipe, 1) == [[[0]]]


def test_a_smaller_batch_is_fine_and_a_larger_one_is_not():
    batches = iter([[1, 2], [3], [1, 2, 3]])
    with pipe_of(source=batches) as pipe:
        assert taken(pipe, 2) == [[1, 2], [3]]
        with pytest.raises(OperatorError, match="3 samples for a batch of 2"):
            pipe.run()


def test_types_are_converted_and_checked():
    with pipe_of(source=lambda: [1.7, 300], dtype=types.UINT8) as pipe:
        assert taken(pipe, 1) == [[2, 255]]
    with pipe_of(source=lambda: [1.5, 2.0]) as pipe:
        assert pipe.run()[0].dtype is types.FLOAT
    with pipe_of(source=lambda: [b"ab", b"c"]) as pipe:
        assert taken(pipe, 1) == [[[97, 98], [99]]]
    with (
        pipe_of(source=lambda: torch.zeros(2, 3), layout="HWC") as pipe,
        pytest.raises(OperatorError, match=r"layout 'HWC' does not fit data with 1 dim"),
    ):
        pipe.run()


def test_a_decoder_takes_paths_and_bytes(videos):
    @pipeline_def(batch_size=2)
    def graph():
        files = fn.external_source(lambda: ["a.mp4", b"bytes of b"])
        return fn.decoders.video(files, start_frame=2, sequence_length=3)

    with graph() as pipe:
        (clips,) = pipe.run()
    assert clips.layout() == "FHWC"
    assert clips.as_tensor()[:, :, 0, 0, 0].tolist() == [[2, 3, 4]] * 2
    assert set(videos.opened) == {"a.mp4", b"bytes of b"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": 3}, TypeError, "source must be callable or iterable, got int"),
        ({"source": lambda: 3, "cycle": "quiet"}, ArgumentError, "no end to cycle from"),
        ({"source": (x for x in "ab"), "cycle": True}, TypeError, "pass the generator function"),
        ({"source": lambda a, b: 3}, TypeError, "no or one positional argument; it has a, b"),
        ({"source": lambda *a: 3}, TypeError, r"it has \*a"),
        ({"source": [1], "cycle": "often"}, ArgumentError, "cycle must be one of"),
        ({"source": [1], "prefetch_queue_depth": 2}, ArgumentError, "goes with parallel=True"),
        ({"source": [1], "repeat_last": True}, ArgumentError, "repeat_last is for data"),
        ({"cycle": "quiet"}, ArgumentError, "cycle goes with a source"),
        ({"source": [1], "layout": "HW", "ndim": 3}, ArgumentError, "does not fit ndim=3"),
        ({"source": lambda: 3, "parallel": True}, TypeError, "takes one argument"),
        ({"source": [1], "parallel": True, "batch": False}, TypeError, "use batch=True"),
        ({"source": [1], "parallel": True, "no_copy": False}, ArgumentError, "never copied"),
    ],
)
def test_arguments_without_a_meaning_are_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        pipe_of(**arguments).build()


def test_uneven_sources_are_an_error():
    @pipeline_def(batch_size=2)
    def graph():
        one = fn.external_source(lambda: [1, 2], name="one")
        return one, fn.external_source(lambda: [1], name="other")

    with graph() as pipe, pytest.raises(OperatorError, match=r"one: 2, other: 1"):
        pipe.run()
