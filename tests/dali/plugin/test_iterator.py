import threading

import numpy as np
import pytest
import torch
from iterated import EPOCH_OF_TEN, FILES, TEN, ending, labelled, values_of
from walked_epochs import walked

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import (
    DALIGenericIterator,
    GenericIterator,
    LastBatchPolicy,
)
from videoloader.errors import OperatorError, UnsupportedError

pytestmark = pytest.mark.usefixtures("no_threads_left")

POLICIES = list(LastBatchPolicy)


def labels_of(iterator, epochs=1):
    """Labels of every batch: by epoch, by batch, by pipeline."""
    return [
        [[part["label"][:, 0].tolist() for part in batch] for batch in iterator]
        for _ in range(epochs)
    ]


def test_the_sample_of_dalis_documentation_runs_on_videos(videos):
    @pipeline_def(num_threads=4, device_id=0)
    def get_pipeline():
        clips, labels = fn.readers.video(
            filenames=FILES, labels=[], sequence_length=2, random_shuffle=True, name="Reader"
        )
        clips = fn.resize(clips, resize_x=256, resize_y=256)
        clips = fn.crop_mirror_normalize(
            clips,
            crop_h=224,
            crop_w=224,
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
            mirror=fn.random.coin_flip(),
        )
        return clips, labels

    train_data = DALIGenericIterator(
        [get_pipeline(batch_size=16)], ["data", "label"], reader_name="Reader"
    )
    with train_data:
        seen = 0
        for data in train_data:
            x, y = data[0]["data"], data[0]["label"]
            assert x.shape == (16, 2, 3, 224, 224)
            assert y.shape == (16, 1)
            seen += 1
        assert seen == len(train_data) == 9  # 140 clips


# DALI's documentation gives these epochs of the data set 0 to 6 with batches of 2.
@pytest.mark.parametrize(
    ("policy", "padded", "last", "following"),
    [
        (LastBatchPolicy.PARTIAL, True, [6], [0, 1]),
        (LastBatchPolicy.PARTIAL, False, [6], [1, 2]),
        (LastBatchPolicy.FILL, True, [6, 6], [0, 1]),
        (LastBatchPolicy.FILL, False, [6, 0], [1, 2]),
        (LastBatchPolicy.DROP, True, [4, 5], [0, 1]),
        (LastBatchPolicy.DROP, False, [4, 5], [1, 2]),
    ],
)
def test_the_last_batch_and_the_one_after_it(videos, policy, padded, last, following):
    pipe = labelled(pad_last_batch=padded, batch_size=2)
    with GenericIterator(
        pipe, ["clip", "label"], reader_name="Reader", last_batch_policy=policy, auto_reset=True
    ) as iterator:
        lengths = [len(iterator)]
        first = labels_of(iterator)[0]
        lengths.append(len(iterator))
        second = labels_of(iterator)[0]
    assert first[-1] == [last]
    assert second[0] == [following]
    assert lengths == [len(first), len(second)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("stick", [True, False])
@pytest.mark.parametrize("by_itself", [True, False])
def test_the_iterator_follows_the_plan_over_several_pipelines(
    videos, policy, padded, stick, by_itself
):
    pipes = [
        labelled(
            shard_id=shard,
            num_shards=2,
            stick_to_shard=stick,
            pad_last_batch=padded,
            batch_size=2,
        )
        for shard in range(2)
    ]
    with GenericIterator(
        pipes,
        ["clip", "label"],
        reader_name="Reader",
        last_batch_policy=policy,
        auto_reset=by_itself,
    ) as iterator:
        expected = [batches for _, batches in walked((7, 2, 2, stick, padded), policy, 5)]
        for batches in expected:
            assert len(iterator) == len(batches)
            assert labels_of(iterator) == [batches]
            if not by_itself:
                iterator.reset()


@pytest.mark.parametrize(
    ("policy", "count"), [(LastBatchPolicy.PARTIAL, 7), (LastBatchPolicy.DROP, 4)]
)
def test_pipelines_that_stick_to_unequal_shards_do_not_starve(videos, policy, count):
    pipes = [
        labelled(shard_id=shard, num_shards=2, stick_to_shard=True, batch_size=2)
        for shard in range(2)
    ]
    with GenericIterator(
        pipes, ["clip", "label"], reader_name="Reader", last_batch_policy=policy, auto_reset=True
    ) as iterator:
        for epoch in labels_of(iterator, 6):
            assert len({label for batch in epoch for part in batch for label in part}) == count


def test_without_auto_reset_an_epoch_ends_until_reset(videos):
    with GenericIterator(
        labelled(batch_size=4, pad_last_batch=True), ["clip", "label"], reader_name="Reader"
    ) as iterator:
        assert len(list(iterator)) == 2
        for _ in range(2):
            with pytest.raises(StopIteration):
                next(iterator)
        iterator.reset()
        next(iterator)
        with pytest.warns(RuntimeWarning, match="before the end of the epoch"):
            iterator.reset()
        assert len(list(iterator)) == 1


def test_a_size_stands_in_for_a_reader():
    pipe = pipeline_def(lambda: fn.external_source(lambda i: [2 * i, 2 * i + 1]))(batch_size=2)
    with GenericIterator(
        pipe, ["x"], size=5, auto_reset=True, last_batch_policy=LastBatchPolicy.PARTIAL
    ) as iterator:
        assert len(iterator) == 3
        assert [batch[0]["x"].tolist() for batch in iterator] == [[0, 1], [2, 3], [4]]
        assert [batch[0]["x"].tolist() for batch in iterator] == [[6, 7], [8, 9], [10]]


def call(iteration):
    if iteration == len(TEN):
        raise StopIteration
    return TEN[iteration]


def generate():
    yield from TEN


@pytest.mark.parametrize("source", [TEN, call, generate])
@pytest.mark.parametrize("by_itself", [True, False])
@pytest.mark.parametrize("size", [10, -1])
def test_sources_that_end_with_the_epoch_begin_again_with_the_next(source, by_itself, size):
    cycle = "no" if source is call else "raise"
    pipe = pipeline_def(lambda: fn.external_source(source, cycle=cycle))(batch_size=2)
    with GenericIterator(pipe, ["x"], size=size, auto_reset=by_itself) as iterator:
        for _ in range(3):
            assert values_of(iterator) == EPOCH_OF_TEN
            if not by_itself:
                with pytest.raises(StopIteration):
                    next(iterator)
                iterator.reset()


@pytest.mark.parametrize("policy", POLICIES)
def test_an_epoch_that_ends_inside_a_batch_does_not_shorten_the_next(policy):
    expected = {
        LastBatchPolicy.FILL: [[[0, 1]], [[2, 3]], [[4, 5]]],
        LastBatchPolicy.PARTIAL: [[[0, 1]], [[2, 3]], [[4]]],
        LastBatchPolicy.DROP: [[[0, 1]], [[2, 3]]],
    }[policy]
    with GenericIterator(
        ending(*TEN[:3]), ["x"], size=5, auto_reset=True, last_batch_policy=policy
    ) as iterator:
        for _ in range(3):
            assert len(iterator) == len(expected)
            assert values_of(iterator) == expected


@pytest.mark.parametrize("by_itself", [True, False])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_source_shorter_than_the_size_ends_the_epoch(by_itself, policy):
    with GenericIterator(
        ending(*TEN[:3]), ["x"], size=10, auto_reset=by_itself, last_batch_policy=policy
    ) as iterator:
        for _ in range(3):
            assert values_of(iterator) == EPOCH_OF_TEN[:3]
            if not by_itself:
                iterator.reset()


def test_a_source_longer_than_the_size_goes_on_and_begins_again_at_its_end():
    with GenericIterator(ending(*TEN), ["x"], size=6, auto_reset=True) as iterator:
        for _ in range(3):
            assert values_of(iterator) == EPOCH_OF_TEN[:3]
            assert values_of(iterator) == EPOCH_OF_TEN[3:]


def test_a_size_counts_the_samples_of_all_pipelines():
    pipes = [ending(*TEN[:3]), ending(*TEN[:3])]
    partial = LastBatchPolicy.PARTIAL
    with GenericIterator(
        pipes, ["x"], size=9, auto_reset=True, last_batch_policy=partial
    ) as iterator:
        assert iterator.size == 9
        for _ in range(2):
            epoch = values_of(iterator)
            assert epoch == [[[0, 1]] * 2, [[2, 3]] * 2, [[4], []]]  # a batch of each in turn


def test_a_source_beside_a_reader_begins_again_with_its_epoch(videos):
    @pipeline_def(batch_size=2)
    def graph():
        _, labels = fn.readers.video(
            filenames=FILES[:6], labels=[], sequence_length=40, name="Reader"
        )
        return labels, fn.external_source([[0, 1], [2, 3], [4, 5]], cycle="raise")

    with GenericIterator(
        graph(), ["label", "x"], reader_name="Reader", auto_reset=True
    ) as iterator:
        for _ in range(3):
            batches = [batch[0] for batch in iterator]
            assert [batch["x"].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5]]
            assert [batch["label"][:, 0].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5]]


def test_a_source_that_ends_before_its_reader_does_not_lose_the_readers_place(videos):
    @pipeline_def(batch_size=2)
    def graph():
        _, labels = fn.readers.video(
            filenames=FILES[:6], labels=[], sequence_length=40, name="Reader"
        )
        return labels, fn.external_source([[0, 1], [2, 3]], cycle="raise")

    with GenericIterator(
        graph(), ["label", "x"], reader_name="Reader", auto_reset=True
    ) as iterator:
        epochs = [[batch[0]["label"][:, 0].tolist() for batch in iterator] for _ in range(3)]
    assert epochs == [[[0, 1], [2, 3]], [[4, 5]], [[0, 1]]]


@pytest.mark.parametrize(
    ("policy", "batches", "expected"),
    [
        # An epoch that the source interrupts goes on after it, and is cut where it ends.
        (LastBatchPolicy.PARTIAL, 2, [[[0, 1], [2, 3]], [[4, 5], [6]], [[0, 1], [2, 3]]]),
        # The source ends with the batch that is dropped, and begins again with that.
        (LastBatchPolicy.DROP, 3, [[[0, 1], [2, 3], [4, 5]], [[0, 1], [2, 3]], [[4, 5]]]),
    ],
)
def test_a_padding_reader_beside_a_source_that_ends_early_keeps_its_epochs(
    videos, policy, batches, expected
):
    @pipeline_def(batch_size=2)
    def graph():
        _, labels = fn.readers.video(
            filenames=FILES, labels=[], sequence_length=40, name="Reader", pad_last_batch=True
        )
        return labels, fn.external_source(TEN[:batches], cycle="raise")

    with GenericIterator(
        graph(), ["label", "x"], reader_name="Reader", auto_reset=True, last_batch_policy=policy
    ) as iterator:
        epochs = [[batch[0]["label"][:, 0].tolist() for batch in iterator] for _ in range(3)]
    assert epochs == expected


def test_without_a_size_an_epoch_lasts_as_long_as_its_source():
    pipe = pipeline_def(lambda: fn.external_source([[0, 1], [2]], cycle="raise"))(batch_size=2)
    with GenericIterator(pipe, ["x"], auto_reset=True) as iterator:
        for _ in range(3):
            assert [batch[0]["x"].tolist() for batch in iterator] == [[0, 1], [2]]
        assert len(iterator) == 0  # as in DALI


def test_a_ragged_output_is_named_with_its_shapes(videos):
    @pipeline_def(batch_size=2)
    def ragged():
        return fn.external_source(lambda: [torch.zeros(2, 3), torch.zeros(4, 3)])

    with (
        GenericIterator(ragged(), ["pictures"]) as iterator,
        pytest.raises(UnsupportedError, match=r"'pictures' is ragged.*\(2, 3\), \(4, 3\).*resize"),
    ):
        next(iterator)


def test_batches_own_their_memory(videos):
    pipe = labelled(batch_size=4, pad_last_batch=True)
    policy = LastBatchPolicy.PARTIAL
    with GenericIterator(
        pipe, ["clip", "label"], reader_name="Reader", last_batch_policy=policy
    ) as iterator:
        first = next(iterator)[0]["clip"]
        before = first.clone()
        last = next(iterator)[0]["clip"]
        assert torch.equal(first, before)
        assert last.untyped_storage().nbytes() == last.nbytes  # a cut keeps no whole batch alive


def test_pipelines_stay_in_step_when_one_fails(videos):
    videos.broken.add("clip1.mp4")
    pipes = [labelled(batch_size=1, files=files) for files in (FILES[:3], FILES[3:6])]
    with GenericIterator(pipes, ["clip", "label"], reader_name="Reader") as iterator:
        next(iterator)
        with pytest.raises(OperatorError, match="clip1"):
            next(iterator)
        assert [part["label"].item() for part in next(iterator)] == [2, 2]
        with pytest.raises(StopIteration):
            next(iterator)


def test_a_dropped_iterator_ends_its_threads(videos):
    iterator = GenericIterator(labelled(batch_size=2), ["clip", "label"], reader_name="Reader")
    next(iterator)
    assert threading.active_count() > 1
    del iterator


def test_all_pipelines_begin_before_one_is_waited_for():
    """Each function waits for the other, as several GPUs would work at the same time."""
    both = threading.Barrier(2)

    def meet(value):
        both.wait(60)
        return value

    def graph():
        return fn.python_function(fn.external_source(lambda: [[1]]), function=meet)

    pipes = [pipeline_def(graph)(batch_size=1) for _ in range(2)]
    with GenericIterator(pipes, ["x"], size=4, prepare_first_batch=False) as iterator:
        assert [[part["x"].tolist() for part in batch] for batch in iterator] == [[[[1]]] * 2] * 2


@pytest.mark.gpu
def test_each_pipeline_of_an_iterator_has_its_gpu():
    count = torch.cuda.device_count()
    if count < 2:
        pytest.skip("needs two GPUs")

    @pipeline_def(batch_size=2)
    def graph(shard):
        return fn.external_source(lambda: np.full((2, 3), shard, np.float32), batch=True).gpu() + 1

    pipes = [graph(gpu, device_id=gpu) for gpu in range(count)]
    with GenericIterator(pipes, ["x"], size=4 * count) as iterator:
        for batch in iterator:
            for gpu, part in enumerate(batch):
                assert part["x"].device == torch.device("cuda", gpu)
                assert (part["x"] == gpu + 1).all()
