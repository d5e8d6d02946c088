"""Debug mode: operators run when they are called, and give what they give in a graph."""

import gc
import weakref

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import Pipeline
from videoloader.dali.pipeline.experimental import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, OperatorError, UnsupportedError

pytestmark = pytest.mark.usefixtures("no_threads_left")

BATCH = 4
GIVEN = {"batch_size": BATCH, "num_threads": 2, "seed": 11}


def debugged(definition, **arguments):
    return pipeline_def(definition, debug=True)(**{**GIVEN, **arguments})


def batches(pipe, count):
    with pipe:
        pipe.build()
        return [[[sample.tolist() for sample in out] for out in pipe.run()] for _ in range(count)]


def numbers():
    return fn.external_source(lambda info: np.int32(info.idx_in_epoch), batch=False)


def clips():
    clip, label = fn.readers.video(
        filenames=["a.mp4", "b.mp4", "c.mp4"],
        labels=[0, 1, 2],
        sequence_length=3,
        random_shuffle=True,
        name="clips",
    )
    chance = fn.random.uniform(range=[0, 1])
    flipped = fn.flip(clip, horizontal=fn.random.coin_flip())
    small = fn.crop(flipped, crop=(2, 2), crop_pos_x=chance)
    return small, label[0] * 2 + 1, chance, clip.shape(dtype=types.INT64)


def test_batches_are_those_of_the_graph(videos):
    graph = batches(pipeline_def(clips)(**GIVEN, fuse=False), 5)
    assert batches(debugged(clips), 5) == graph


def test_values_are_there_while_the_definition_runs():
    seen = []

    def definition():
        n = numbers()
        doubled = n * 2
        seen.append((n.get().as_array().tolist(), doubled.get().as_array().tolist()))
        assert isinstance(doubled.get(), TensorList)
        assert n.shape() == [()] * BATCH
        assert "2, 4, 6" in str(doubled) or len(seen) > 1
        return doubled

    pipe = debugged(definition)
    assert seen == []
    assert batches(pipe, 2) == [[[0, 2, 4, 6]], [[8, 10, 12, 14]]]
    assert seen == [([0, 1, 2, 3], [0, 2, 4, 6]), ([4, 5, 6, 7], [8, 10, 12, 14])]


def test_values_of_earlier_batches_are_let_go():
    kept = []

    def definition():
        n = numbers() * 2
        kept.append(weakref.ref(n.node.part.state))
        return n

    with debugged(definition) as pipe:
        for _ in range(3):
            pipe.run()
        gc.collect()
        assert [each() for each in kept] == [None] * 3


def test_a_graph_has_no_values_and_says_where_they_are():
    with pytest.raises(ArgumentError, match=r"debug mode: .*pipeline_def\(debug=True\)"):
        pipeline_def(lambda: numbers().get())(**GIVEN)


def test_an_error_comes_at_the_line_of_the_operator():
    def definition():
        n = numbers()
        row = fn.external_source(lambda info: np.zeros(5 - info.idx_in_batch % 5), batch=False)
        return row[n]

    with debugged(definition) as pipe, pytest.raises(OperatorError, match="sample 3") as caught:
        pipe.run()
    lines = [entry.lineno for entry in caught.traceback if str(entry.path) == __file__]
    assert lines[-1] == definition.__code__.co_firstlineno + 2


@pytest.mark.parametrize("change", ["argument", "operator", "device", "constant"])
def test_calls_may_not_change_from_batch_to_batch(change):
    runs = []

    def definition():
        runs.append(None)
        again = len(runs) > 1
        n = numbers()
        if change == "argument":
            return fn.cast(n, dtype=types.FLOAT if again else types.INT64)
        if change == "operator":
            return fn.cast(n, dtype=types.FLOAT) if again else fn.random.coin_flip()
        if change == "constant":
            return types.Constant(np.int32([1, 2 + again]), device="cpu")
        return fn.constant(idata=[1], **({"device": "gpu"} if again else {}))

    with debugged(definition) as pipe:
        pipe.run()
        with pytest.raises(ArgumentError, match=r"has changed from|the same order|another device"):
            pipe.run()


def test_sources_end_and_begin_again():
    def definition():
        return fn.external_source([[np.int32(at)] * BATCH for at in range(2)], cycle="raise")

    with debugged(definition) as pipe:
        for _ in range(2):
            assert [pipe.run()[0].as_array()[0] for _ in range(2)] == [0, 1]
            with pytest.raises(StopIteration):
                pipe.run()
            assert pipe.reset()


def test_fed_batches_arrive_before_the_first_run_and_later():
    def definition():
        return fn.external_source(name="fed") + 1

    with debugged(definition) as pipe:
        pipe.feed_input("fed", np.arange(BATCH))
        assert pipe.run()[0].as_array().tolist() == [1, 2, 3, 4]
        pipe.feed_input("fed", np.arange(2) * 5)  # a smaller batch
        assert pipe.run()[0].as_array().tolist() == [1, 6]
        with pytest.raises(ArgumentError, match="no external source named 'other'"):
            pipe.feed_input("other", np.arange(BATCH))


def test_batches_made_by_other_means_are_taken():
    def definition():
        n = numbers()
        squares = n.get().as_array() ** 2
        constant = types.Constant(np.int32([7, 8, 9]), device="cpu")
        return fn.cast(TensorList(squares), dtype=types.FLOAT), torch.arange(BATCH), n, constant

    first, _ = batches(debugged(definition), 2)
    assert first == [[0, 1, 4, 9], [0, 1, 2, 3], [0, 1, 2, 3], [[7, 8, 9]] * BATCH]


def test_nodes_made_outside_of_the_definition_run_in_it():
    outside = numbers()
    doubled = outside * 2
    assert batches(debugged(lambda: (doubled + 1, outside)), 2) == [
        [[1, 3, 5, 7], [0, 1, 2, 3]],
        [[9, 11, 13, 15], [4, 5, 6, 7]],
    ]


def test_conditions_work_and_show_their_branches():
    seen = []

    def definition():
        n = numbers()
        if n % 2:
            value = n + 100
            seen.append(value.get().as_array().tolist())
        else:
            value = -n
        return value

    pipe = debugged(definition, enable_conditionals=True)
    assert batches(pipe, 2) == [[[0, 101, -2, 103]], [[-4, 105, -6, 107]]]
    assert seen == [[101, 103], [105, 107]]


def test_iterators_take_debug_pipelines(videos):
    runs = []

    def definition():
        clip, label = fn.readers.video(
            filenames=["a.mp4", "b.mp4"],
            labels=[3, 4],
            sequence_length=3,
            stride=19,
            step=60,
            name="Reader",
        )
        runs.append(label.get().as_array().ravel().tolist())
        return clip, label

    with debugged(definition, batch_size=1) as pipe:
        batches = GenericIterator(pipe, ["clip", "label"], reader_name="Reader")
        assert [int(batch[0]["label"]) for batch in batches] == [3, 4]
    assert runs == [[3], [4]]


def test_batches_are_counted_and_compared_with_what_was_said_of_them():
    with debugged(numbers) as pipe:
        for _ in range(2):
            pipe.run()
        assert pipe.stats().samples == 2 * BATCH
        assert isinstance(pipe, Pipeline)
    with (
        debugged(numbers, output_ndim=3) as pipe,
        pytest.raises(OperatorError, match="output_ndim is 3, the batch has 0"),
    ):
        pipe.run()


def test_what_debug_mode_cannot_do_is_refused():
    with pytest.raises(UnsupportedError, match="no checkpoints"):
        debugged(numbers, enable_checkpointing=True)
    with pytest.raises(UnsupportedError, match="debug"):
        Pipeline(batch_size=1, debug=True)
    with debugged(numbers) as pipe:
        pipe.run()
    with pytest.raises(ArgumentError, match="closed"):
        pipe.run()
