import itertools
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from videoloader import fn
from videoloader.errors import ArgumentError, OperatorError, UnsupportedError
from videoloader.pipeline import pipeline_def
from videoloader.plugin.pytorch import DALIGenericIterator, GenericIterator, LastBatchPolicy
from videoloader.plugin.pytorch.schedule import plan_epoch
from videoloader.readers.epochs import Epochs

pytest_plugins = ["fake_videos"]
pytestmark = pytest.mark.usefixtures("no_threads_left")

FILES = [f"clip{number}.mp4" for number in range(7)]
POLICIES = list(LastBatchPolicy)


@pipeline_def(num_threads=2, device_id=0, seed=3)
def labelled(files=FILES, **reader):
    clips, labels = fn.readers.video(
        filenames=files, labels=[], sequence_length=40, name="Reader", **reader
    )
    return clips, labels


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


@st.composite
def runs(draw):
    num_shards = draw(st.integers(1, 3))
    return {
        "size": draw(st.integers(num_shards, 15)),
        "batch_size": draw(st.integers(1, 5)),
        "num_shards": num_shards,
        "stick_to_shard": draw(st.booleans()),
        "pad_last_batch": draw(st.booleans()),
    }


def walk(run, policy, epochs):
    """Epochs of an iterator over one pipeline a shard, by walking through tagged samples.

    A tagged sample is (epoch, sample, is it padding).
    """
    size, shards, batch_size = run["size"], run["num_shards"], run["batch_size"]

    def stream(shard_id):
        for epoch in itertools.count():
            shard = (shard_id if run["stick_to_shard"] else shard_id + epoch) % shards
            samples = list(range(shard * size // shards, (shard + 1) * size // shards))
            yield from ((epoch, sample, False) for sample in samples)
            if run["pad_last_batch"]:
                largest = -(-size // shards)
                length = -(-largest // batch_size) * batch_size
                yield from [(epoch, samples[-1], True)] * (length - len(samples))

    streams = [stream(shard_id) for shard_id in range(shards)]
    ahead = [[] for _ in streams]

    def peek(position):
        if not ahead[position]:
            ahead[position] = list(itertools.islice(streams[position], batch_size))
        return ahead[position]

    result, epoch = [], 0
    while len(result) < epochs:
        batches = []
        # The epoch lasts while a pipeline has something of it to come.
        while any(peek(position)[0][0] <= epoch for position in range(shards)):
            batches.append([peek(position) for position in range(shards)])
            ahead = [[] for _ in streams]
        if not batches:
            epoch += 1
            continue
        kept = []
        for batch in batches:
            own = [[s for s in part if s[0] == epoch and not s[2]] for part in batch]
            if policy is LastBatchPolicy.FILL:
                kept.append([[s[1] for s in part] for part in batch])
            elif policy is LastBatchPolicy.PARTIAL or all(len(part) == batch_size for part in own):
                kept.append([[s[1] for s in part] for part in own])
        result.append(kept)
        epoch += 1
    return result


@settings(max_examples=300)
@given(runs(), st.sampled_from(POLICIES))
def test_epochs_are_those_of_a_model_that_walks(run, policy):
    batch_size = run["batch_size"]
    streams = [Epochs(shard_id=shard, **run) for shard in range(run["num_shards"])]
    expected = walk(run, policy, epochs=5)
    epoch, start = 0, 0
    for wanted in expected:
        plan = plan_epoch(streams, epoch, start, policy)
        got = []
        for batch in range(plan.start, plan.stop):
            counts = plan.kept(batch, batch_size, policy)
            got.append(
                [
                    [stream.shard(e)[p] for e, p in stream.batch(batch)][:count]
                    for stream, count in zip(streams, counts, strict=True)
                ]
            )
        assert got == wanted
        assert len(plan) == len(wanted)
        epoch, start = plan.epoch + 1, plan.end


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("padded", [True, False])
def test_the_iterator_follows_the_plan_over_several_pipelines(videos, policy, padded):
    run = {
        "size": 7,
        "batch_size": 2,
        "num_shards": 2,
        "stick_to_shard": False,
        "pad_last_batch": padded,
    }
    pipes = [
        labelled(shard_id=shard, num_shards=2, pad_last_batch=padded, batch_size=2)
        for shard in range(2)
    ]
    with GenericIterator(
        pipes, ["clip", "label"], reader_name="Reader", last_batch_policy=policy, auto_reset=True
    ) as iterator:
        assert labels_of(iterator, 4) == walk(run, policy, 4)


def test_without_auto_reset_an_epoch_ends_until_reset(videos):
    with GenericIterator(
        labelled(batch_size=4, pad_last_batch=True), ["clip", "label"], reader_name="Reader"
    ) as iterator:
        assert len(list(iterator)) == 2
        assert list(iterator) == []
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
        assert [batch[0]["x"].tolist() for batch in iterator] == [[6, 7], [8, 9]]


def ending(*batches):
    """A pipeline whose source ends after these batches, and begins again after a reset."""
    pipe = pipeline_def(lambda: fn.external_source(list(batches), cycle="raise"))
    return pipe(batch_size=len(batches[0]))


def values_of(iterator):
    return [[part["x"].tolist() for part in batch] for batch in iterator]


TEN = [[number, number + 1] for number in range(0, 10, 2)]
EPOCH_OF_TEN = [[batch] for batch in TEN]


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
                assert list(iterator) == []
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
            assert epoch == [[[0, 1]] * 2, [[2, 3]] * 2, [[], [4]]]  # 4 samples, and 5


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


def test_without_a_size_an_epoch_lasts_as_long_as_its_source():
    pipe = pipeline_def(lambda: fn.external_source([[0, 1], [2]], cycle="raise"))(batch_size=2)
    with GenericIterator(pipe, ["x"], auto_reset=True) as iterator:
        for _ in range(3):
            assert [batch[0]["x"].tolist() for batch in iterator] == [[0, 1], [2]]
        with pytest.raises(TypeError, match="length of an epoch is not known"):
            len(iterator)


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
        assert list(iterator) == []


def test_a_dropped_iterator_ends_its_threads(videos):
    iterator = GenericIterator(labelled(batch_size=2), ["clip", "label"], reader_name="Reader")
    next(iterator)
    assert threading.active_count() > 1
    del iterator


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output_map": ["clip"]}, "1 names .* for a pipeline with 2 outputs"),
        ({"output_map": ["clip", "clip"]}, "names an output twice"),
        ({"reader_name": "Nobody"}, "no reader named 'Nobody'; it has Reader"),
        ({"reader_name": "Reader", "size": 3}, "excludes size"),
        ({"size": 0}, "size must be at least 1, or -1"),
    ],
)
def test_arguments_without_a_meaning_are_errors(videos, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        GenericIterator(
            **{"pipelines": labelled(batch_size=2), "output_map": ["a", "b"]} | arguments
        )


def test_pipelines_must_fit_together(videos):
    with pytest.raises(ArgumentError, match="at least one pipeline"):
        GenericIterator([], ["a"])
    with pytest.raises(ArgumentError, match=r"different batch sizes: \[2, 3\]"):
        GenericIterator([labelled(batch_size=2), labelled(batch_size=3)], ["a", "b"])
    with pytest.raises(ArgumentError, match="readers 'Reader' differ"):
        GenericIterator(
            [labelled(batch_size=2), labelled(batch_size=2, files=FILES[:3])],
            ["a", "b"],
            reader_name="Reader",
        )
