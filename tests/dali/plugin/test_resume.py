"""Iterators go on where they stood, and the rest is the same, bit for bit."""

import itertools
import json

import numpy as np
import pytest

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.errors import ArgumentError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for number in range(11):
        (folder / f"{number:02}").write_bytes(bytes([number]))
    return [str(folder / f"{number:02}") for number in range(11)]


@pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
def drawn(files, shards):
    _, number = fn.readers.file(
        files=files, labels=list(range(len(files))), name="Reader", random_shuffle=True, **shards
    )
    return number, fn.random.uniform(shape=[2])


def iterator(files, seed=5, policy=LastBatchPolicy.FILL, pipelines=1, **shards):
    made = [
        drawn(files, {"num_shards": pipelines, "shard_id": shard, **shards}, seed=seed)
        for shard in range(pipelines)
    ]
    return GenericIterator(
        made, ["number", "noise"], reader_name="Reader", last_batch_policy=policy
    )


def values(step):
    return [(batch["number"].flatten().tolist(), batch["noise"].tolist()) for batch in step]


def three_epochs(batches):
    return [[values(step) for step in batches] for _ in range(3)]


POLICIES = list(LastBatchPolicy)


@pytest.mark.parametrize(
    ("policy", "pad", "stick", "pipelines"),
    [*itertools.product(POLICIES, [False, True], [False, True], [2]), (POLICIES[0], True, True, 1)],
)
def test_after_any_batch_the_rest_is_the_same(files, policy, pad, stick, pipelines):
    options = {"policy": policy, "pipelines": pipelines}
    options |= {"pad_last_batch": pad, "stick_to_shard": stick}
    with iterator(files, **options) as whole:
        expected = three_epochs(whole)
    line = [(epoch, step) for epoch, steps in enumerate(expected) for step in steps]
    with iterator(files, **options) as before, iterator(files, **options) as after:
        taken = 0
        for epoch in range(2):
            for step in before:
                taken += 1
                state = json.loads(json.dumps(before.state_dict()))
                after.load_state_dict(state)  # in place, whatever it gave meanwhile
                assert after.state_dict() == state
                rest = [(epoch, values(step)) for step in after] if _has_rest(after) else []
                later = epoch + 1
                rest += [(later, values(step)) for step in after]
                assert rest == [each for each in line[taken:] if each[0] <= later]
                assert line[taken - 1] == (epoch, values(step))


def _has_rest(batches):
    return not batches._is_at_end()


def test_a_pipeline_without_a_seed_takes_that_of_the_state(files):
    with iterator(files, seed=None) as before:
        next(before)
        state = before.state_dict()
        expected = [values(step) for step in before]
    with iterator(files, seed=None) as after:
        after.load_state_dict(state)
        assert [values(step) for step in after] == expected


def test_sources_of_a_number_go_on_and_their_epochs_too():
    def source(info):
        if info.iteration >= 4:
            raise StopIteration
        return np.array([info.epoch_idx, info.iteration])

    def make():
        pipe = pipeline_def(lambda: fn.external_source(source, batch=False))
        made = pipe(batch_size=1, num_threads=1, seed=0, enable_checkpointing=True)
        return GenericIterator(made, ["x"])

    with make() as whole:
        epochs = [[batch["x"].tolist() for (batch,) in whole] for _ in range(3)]
    assert [len(epoch) for epoch in epochs] == [4] * 3
    with make() as before, make() as after:
        list(before)
        for done, _ in enumerate(before):
            after.load_state_dict(before.state_dict())
            if done < 3:  # after the last batch the next loop is the next epoch
                assert [batch["x"].tolist() for (batch,) in after] == epochs[1][done + 1 :]
            assert [batch["x"].tolist() for (batch,) in after] == epochs[2]


def test_states_that_do_not_fit_are_refused(files):
    with iterator(files) as one, iterator(files, pipelines=2) as two:
        state = one.state_dict()
        words = "over 2 pipelines, this one has 1"
        with (
            GenericIterator([drawn(files, {}, seed=5)], ["number", "noise"], size=11) as other,
            pytest.raises(ArgumentError, match=words),
        ):
            other.load_state_dict(two.state_dict())
        words = "11 samples, this one has 7"
        with iterator(files[:7]) as other, pytest.raises(ArgumentError, match=words):
            other.load_state_dict(state)
        with iterator(files, seed=6) as other, pytest.raises(ArgumentError, match="seed"):
            other.load_state_dict(state)

    def sized(size):
        return GenericIterator(drawn(files, {}, seed=5), ["number", "noise"], size=size)

    with sized(11) as one, sized(11) as same, sized(7) as other, iterator(files) as reading:
        state = one.state_dict()
        same.load_state_dict(state)
        with pytest.raises(ArgumentError, match="11 samples, this one has 7"):
            other.load_state_dict(state)
        with pytest.raises(ArgumentError, match="size and reader_name must be the same"):
            reading.load_state_dict(state)

    pipe = pipeline_def(lambda: fn.random.uniform())(batch_size=1, num_threads=1)
    words = "enable_checkpointing=True"
    with GenericIterator(pipe, ["x"], size=3) as plain, pytest.raises(ArgumentError, match=words):
        plain.state_dict()
    with pytest.raises(ArgumentError, match="closed"):
        one.load_state_dict(state)
