"""One iteration of a loader: errors in it, a second one, threads, and where a run goes on."""

import gc
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from damaged_videos import make_videos
from torch.utils.data import WeightedRandomSampler

import videoloader as vl

COUNT, BAD = 6, {2, 4}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("iterations")
    return make_videos(folder / "good", count=COUNT)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    return make_videos(folder / "bad", count=COUNT, unreadable=sorted(BAD))


def loader(videos, **options):
    options = {"batch_size": 1, "workers": 0, **options}
    return vl.Loader(videos, vl.UniformClip(2), **options)


def numbers(batches):
    return [number for batch in batches for number in batch["sample"].tolist()]


def taken(iterator):
    """The samples of an epoch, None where a batch is an error."""
    found = []
    while True:
        try:
            found += next(iterator)["sample"].tolist()
        except StopIteration:
            return found
        except vl.VideoError:
            found.append(None)


# -- errors


def test_the_next_batch_follows_an_error(damaged):
    batches = loader(damaged)
    iterator = iter(batches)
    assert taken(iterator) == [0, 1, None, 3, None, 5]
    assert taken(iterator) == []
    assert batches.state_dict()["epoch"] == 1


def test_a_state_after_an_error_goes_on_with_the_next_batch(damaged):
    before, after = loader(damaged), loader(damaged)
    iterator = iter(before)
    with pytest.raises(vl.VideoError, match=r"2\.mp4"):
        for _ in iterator:
            pass
    after.load_state_dict(before.state_dict())
    assert taken(iter(after)) == [3, None, 5]


def test_too_many_failures_end_the_epoch(damaged):
    iterator = iter(loader(damaged, on_error="skip", max_errors=1))
    with pytest.raises(vl.errors.TooManyFailuresError):
        list(iterator)
    assert list(iterator) == []


def test_an_error_of_a_transform_costs_its_batch(paths):
    def transform(sample):
        if sample["sample"] == 1:
            raise KeyError("label")
        return sample

    iterator = iter(loader(paths, sample_transform=transform))
    assert next(iterator)["sample"].tolist() == [0]
    with pytest.raises(KeyError, match="label"):
        next(iterator)
    assert numbers(iterator) == [2, 3, 4, 5]


# -- a second iteration, threads


def test_a_second_iteration_refuses_the_first_one(paths):
    batches = loader(paths)
    first = iter(batches)
    assert next(first)["sample"].tolist() == [0]
    second = iter(batches)  # begins with its first batch
    assert next(first)["sample"].tolist() == [1]
    assert next(second)["sample"].tolist() == [0]
    with pytest.raises(vl.errors.ClosedError, match="another iteration of Loader"):
        next(first)
    del first
    assert numbers(second) == [1, 2, 3, 4, 5]
    assert batches.epoch == 1


def test_a_loop_inside_another_is_an_error_of_the_outer_one(paths):
    batches, seen = loader(paths), []
    outer = ((batch, seen.append(numbers(batches))) for batch in batches)
    with pytest.raises(vl.errors.ClosedError, match="make a second loader"):
        list(outer)
    assert seen == [[0, 1, 2, 3, 4, 5]]


def test_a_finished_iteration_stays_finished_whatever_comes_after_it(paths):
    batches = loader(paths)
    first = iter(batches)
    assert len(list(first)) == COUNT
    second = iter(batches)
    assert list(first) == []
    assert len(list(second)) == COUNT


@pytest.mark.parametrize("end", ["loader", "iterator"])
def test_closing_ends_an_iteration(paths, end):
    batches = loader(paths)
    iterator = iter(batches)
    next(iterator)
    (batches if end == "loader" else iterator).close()
    assert list(iterator) == []
    assert batches.state_dict() == {"epoch": 0, "position": 1, "seed": 0, "size": COUNT}


def test_threads_that_share_an_iterator_take_each_batch_once(paths):
    iterator = iter(loader(paths * 8))
    begin = threading.Barrier(4)

    def take(_):
        begin.wait()
        return [number for batch in iterator for number in batch["sample"].tolist()]

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(take, range(4)))
    assert sorted(itertools.chain(*parts)) == [*range(8 * COUNT)]


def test_threads_that_begin_iterations_leave_one_of_them(paths):
    batches = loader(paths)
    begin = threading.Barrier(4)

    def take(_):
        begin.wait()
        iterator = iter(batches)
        try:
            return numbers(iterator)
        except vl.errors.ClosedError:
            return None

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(take, range(4)))
    whole = [each for each in found if each is not None]
    assert whole
    assert all(each == [*range(COUNT)] for each in whole)


def test_dropping_an_iterator_waits_for_no_thread(paths, monkeypatch):
    # The collector may drop it in a thread that its own threads wait for, such as one that decodes.
    joined = []
    iterator = iter(loader(paths))
    next(iterator)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", lambda thread, timeout=None: joined.append(thread))
        del iterator
        gc.collect()
    assert not joined


def test_dropping_an_iterator_ends_its_threads(paths):
    before = set(threading.enumerate())
    batches = loader(paths)
    for _ in batches:
        break
    gc.collect()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
    assert set(threading.enumerate()) <= before
    assert batches.stats().batches == 1


# -- epochs and states


@pytest.mark.parametrize("done", range(1, COUNT + 1))
def test_a_run_that_goes_on_trains_each_epoch_once(paths, done):
    def train(batches, last=None):
        seen = []
        for epoch in range(batches.epoch, 2):
            batches.set_epoch(epoch)
            for batch in batches:
                seen += [(epoch, number) for number in batch["sample"].tolist()]
                if len(seen) == last:
                    return seen
        return seen

    options = {"shuffle": True, "seed": 4}
    before, after = loader(paths, **options), loader(paths, **options)
    seen = train(before, last=done)
    after.load_state_dict(before.state_dict())
    assert after.epoch == after.next_epoch == (done == COUNT)
    assert seen + train(after) == train(loader(paths, **options))


def test_the_state_of_a_finished_epoch_is_the_beginning_of_the_next(paths):
    batches = loader(paths, batch_size=4, remainder="drop")
    assert len(list(batches)) == 1
    assert (batches.epoch, batches.next_epoch) == (0, 1)
    state = batches.state_dict()
    assert (state["epoch"], state["position"]) == (1, 0)
    batches.load_state_dict({**state, "epoch": 3, "position": 4})  # too few are left for a batch
    assert (batches.epoch, batches.next_epoch) == (4, 4)


def test_ranks_tell_of_one_epoch_though_only_one_of_them_has_a_batch_left(paths):
    ranks = [loader(paths[:5], rank=rank, num_ranks=2, remainder="keep") for rank in (0, 1)]
    state = {"epoch": 0, "position": 4, "seed": 0, "size": 5}
    for part in ranks:
        part.load_state_dict(state)
    assert [part.epoch for part in ranks] == [0, 0]
    assert [numbers(part) for part in ranks] == [[4], []]
    assert [part.state_dict()["epoch"] for part in ranks] == [1, 1]


def test_an_epoch_that_is_set_begins_there(paths):
    batches = loader(paths, shuffle=True)
    next(iter(batches))
    batches.set_epoch(5)
    assert (batches.epoch, batches.state_dict()["epoch"], batches.state_dict()["position"]) == (
        *(5, 5),
        0,
    )
    expected = loader(paths, shuffle=True).order.batch(5, 0)
    assert next(iter(batches))["sample"].tolist() == expected.tolist()


WRONG = [-1, 1.5, 10**9, True, "1", None, float("nan"), torch.tensor(1.5), np.float64(2)]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_positions_that_no_epoch_has_are_refused(paths, wrong):
    batches = loader(paths)
    batches.load_state_dict({**batches.state_dict(), "position": 2})
    state = batches.state_dict()
    with pytest.raises(vl.errors.ArgumentError, match="position of a state must be a whole number"):
        batches.load_state_dict({**state, "position": wrong})
    assert batches.state_dict() == state
    sampler = vl.EpochSampler(COUNT, shuffle=False)
    with pytest.raises(vl.errors.ArgumentError, match="given of a state must be a whole number"):
        sampler.load_state_dict({"epoch": 0, "given": wrong})
    assert [draw.sample for draw in sampler] == [*range(COUNT)]
    with pytest.raises(vl.errors.ArgumentError, match="start of an epoch must be a whole number"):
        batches.order.num_steps(wrong)


@pytest.mark.parametrize("wrong", [wrong for wrong in WRONG if wrong != 10**9], ids=str)
def test_epochs_that_do_not_count_are_refused(paths, wrong):
    batches, sampler = loader(paths), vl.EpochSampler(COUNT)
    data = vl.ClipDataset(paths, vl.UniformClip(2))
    for each in (batches, sampler):
        state = each.state_dict()
        with pytest.raises(
            vl.errors.ArgumentError, match="epoch of a state must be a whole number"
        ):
            each.load_state_dict({**state, "epoch": wrong})
        assert each.state_dict() == state
    for each in (batches, sampler) if wrong is None else (batches, sampler, data):
        with pytest.raises(vl.errors.ArgumentError, match="epoch must be a whole number"):
            each.set_epoch(wrong)


def test_states_of_something_else_are_refused(paths):
    for each in (loader(paths), vl.EpochSampler(COUNT)):
        with pytest.raises(vl.errors.ArgumentError, match="the state has no 'epoch', only model"):
            each.load_state_dict({"model": 1})
        with pytest.raises(vl.errors.ArgumentError, match="a state is what state_dict"):
            each.load_state_dict([1, 2])


def test_more_than_another_sampler_draws_is_told_when_it_draws():
    sampler = vl.EpochSampler(WeightedRandomSampler([1, 2, 3], 4))
    sampler.load_state_dict({"epoch": 0, "given": 5})
    with pytest.raises(vl.errors.ArgumentError, match="whole number from 0 to 4, got 5"):
        next(iter(sampler))


def test_numbers_of_numpy_and_torch_are_taken(paths):
    batches = loader(paths)
    state = {name: np.int64(value) for name, value in batches.state_dict().items()}
    batches.load_state_dict({**state, "position": torch.tensor(4)})
    assert numbers(batches) == [4, 5]
