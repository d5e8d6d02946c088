"""Clips that differ by epoch and draw, repeat by seed, and go on where a run was interrupted."""

import itertools
import pickle
import tracemalloc
import warnings
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from noise import add_noise
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    WeightedRandomSampler,
)

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.sampling import generator
from videoloader.training import epoch_sampler
from videoloader.training.epoch_sampler import _occurrences

COUNT, FRAMES = 6, 200
SAMPLER = vl.RandomClip(count=2)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Long videos, so that two random clips of one are hardly ever the same."""
    folder = tmp_path_factory.mktemp("epochs")
    encode_video(folder / "0.mp4", frames=FRAMES, size=(64, 64), options={"g": "10"})
    paths = [folder / f"{number}.mp4" for number in range(COUNT)]
    for path in paths[1:]:
        path.write_bytes(paths[0].read_bytes())
    return paths


@pytest.fixture
def dataset(paths):
    return vl.ClipDataset(paths, SAMPLER)


def clips(loader):
    """(sample, first frame) of each sample of a pass."""
    return [
        pair
        for batch in loader
        for pair in zip(
            batch["sample"].tolist(), batch["frame_numbers"][:, 0].tolist(), strict=True
        )
    ]


LOADERS = {
    "main": {"num_workers": 0},
    "one": {"num_workers": 1},
    "two": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
}
every_loader = pytest.mark.parametrize("options", LOADERS.values(), ids=LOADERS)


# --- Numbers of any sampler, nothing said about epochs


@every_loader
def test_clips_of_a_number_differ_from_epoch_to_epoch(paths, options):
    def run(seed):
        torch.manual_seed(7)
        loader = DataLoader(vl.ClipDataset(paths, SAMPLER, seed=seed), batch_size=2, **options)
        return [clips(loader) for _ in range(3)]

    epochs = run(seed=0)
    assert [[sample for sample, _ in epoch] for epoch in epochs] == [list(range(COUNT))] * 3
    assert all(len(set(of)) > 1 for of in zip(*epochs, strict=True))
    assert run(seed=0) == epochs
    assert run(seed=1) != epochs


@every_loader
def test_clips_of_a_number_differ_from_draw_to_draw(dataset, options):
    torch.manual_seed(7)
    order = WeightedRandomSampler([0.0, 1.0, 0, 0, 0, 0], num_samples=12)
    found = clips(DataLoader(dataset, batch_size=2, sampler=order, **options))
    assert {sample for sample, _ in found} == {1}
    assert len({first for _, first in found}) > 9


def test_the_seed_of_torch_is_part_of_what_workers_draw(dataset):
    def run(seed):
        torch.manual_seed(seed)
        return clips(DataLoader(dataset, batch_size=2, num_workers=2))

    assert run(1) == run(1) != run(2)


def test_transforms_differ_like_clips(paths):
    dataset = vl.ClipDataset(paths, vl.UniformClip(2), add_noise)
    assert not torch.equal(dataset[0]["frames"], dataset[0]["frames"])
    keys = [
        vl.sampling.Draw(0, 0, 0),
        vl.sampling.Draw(0, 0, 1),
        vl.sampling.Draw(0, 1, 0),
        vl.sampling.Draw(0, 0, 0),
    ]
    made = [dataset[key]["frames"] for key in keys]
    assert [torch.equal(made[0], other) for other in made] == [True, False, False, True]


# --- set_epoch


@every_loader
def test_after_set_epoch_a_number_is_one_clip_whatever_loads_it(dataset, options):
    expected = {}
    for epoch in (3, 0, 3, 3):
        dataset.set_epoch(epoch)
        found = clips(DataLoader(dataset, batch_size=4, **options))
        assert found == expected.setdefault(epoch, found)
        assert [(s, int(dataset[s]["frame_numbers"][0])) for s, _ in found] == found
    assert expected[0] != expected[3]
    assert dataset.epoch == 3
    dataset.set_epoch(None)
    assert dataset.epoch is None
    assert clips(DataLoader(dataset)) != clips(DataLoader(dataset))
    with pytest.raises(vl.errors.ArgumentError, match="epoch must be a whole number of at least 0"):
        dataset.set_epoch(-1)


def test_spawned_workers_that_live_on_do_the_same(dataset):
    numbers = [0, 1, 2, 3, 4, 5]
    order = list(numbers)  # of the loader; what stands in it changes
    spawned = DataLoader(
        dataset,
        batch_size=3,
        sampler=order,
        num_workers=1,
        multiprocessing_context="spawn",
        persistent_workers=True,
    )
    assert clips(spawned) != clips(spawned)
    for epoch in (1, 0):
        dataset.set_epoch(epoch)
        assert clips(spawned) == clips(spawned) == clips(DataLoader(dataset))
    order[:] = [vl.sampling.Draw(number, 2, 7) for number in numbers]
    assert clips(spawned) == clips(DataLoader(dataset, sampler=order))


def test_repeated_numbers_are_told_after_set_epoch(dataset):
    dataset.set_epoch(0)
    loader = DataLoader(dataset, batch_size=3, sampler=[0, 1, 2, 3, 1, 3])
    with pytest.warns(UserWarning, match="EpochSampler"):
        clips(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clips(loader)  # once is enough
        fresh = vl.ClipDataset([dataset._videos.items[0].path] * 6, SAMPLER)
        fresh.set_epoch(0)
        clips(DataLoader(fresh, batch_size=6))
        clips(DataLoader(fresh, batch_size=3, sampler=vl.EpochSampler([1, 1, 1])))


# --- EpochSampler


def test_draws_are_counted(dataset):
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 100):
        numbers = rng.integers(0, 7, size)
        seen = Counter()
        expected = []
        for number in numbers.tolist():
            expected.append(seen[number])
            seen[number] += 1
        assert _occurrences(numbers).tolist() == expected


@pytest.mark.parametrize("draw", [0, 1, 5])
def test_streams_of_draws_do_not_overlap(draw):
    first = generator(3, sample=4, epoch=5, draw=draw).integers(1 << 62, size=1000)
    others = [(3, 4, 5, draw + 1), (3, 5, 5, draw), (3, 4, 6, draw), (4, 4, 5, draw)]
    for seed, sample, epoch, other in others:
        second = generator(seed, sample=sample, epoch=epoch, draw=other)
        assert not set(first.tolist()) & set(second.integers(1 << 62, size=1000).tolist())


def test_epochs_are_permutations_that_repeat_by_seed(dataset):
    sampler = vl.EpochSampler(dataset, seed=3)
    epochs = [list(sampler) for _ in range(4)]
    assert [{draw.epoch for draw in epoch} for epoch in epochs] == [{0}, {1}, {2}, {3}]
    for epoch in epochs:
        assert sorted(draw.sample for draw in epoch) == list(range(COUNT))
        assert {draw.draw for draw in epoch} == {0}
    assert len({tuple(draw.sample for draw in epoch) for epoch in epochs}) > 1
    sampler.set_epoch(2)
    assert list(sampler) == epochs[2]
    assert list(sampler) == epochs[3]
    assert list(vl.EpochSampler(COUNT, seed=3)) == epochs[0] != list(vl.EpochSampler(COUNT, seed=4))
    assert [draw.sample for draw in vl.EpochSampler([4, 2, 4], shuffle=False)] == [4, 2, 4]
    with pytest.raises(vl.errors.ArgumentError, match="no samples"):
        vl.EpochSampler([])


@every_loader
def test_its_clips_do_not_depend_on_what_loads_them(dataset, options):
    def run(**options):
        sampler = vl.EpochSampler(WeightedRandomSampler([1, 9, 1, 1, 1, 1], 12), seed=5)
        loader = DataLoader(dataset, batch_size=3, sampler=sampler, **options)
        return [clips(loader) for _ in range(2)]

    found = run(**options)
    torch.rand(5)  # which moves on what torch's own samplers draw from
    assert found == run()
    assert found[0] != found[1]
    repeated = [first for sample, first in found[0] if sample == 1]
    assert len(repeated) > 4
    assert len(set(repeated)) > len(repeated) - 2


@pytest.mark.parametrize("done", [0, 1, 5, 6, 11, 12])
@pytest.mark.parametrize("inner", [False, True])
def test_an_interrupted_epoch_goes_on_with_its_own_clips(dataset, done, inner):
    def make():
        samples = (
            RandomSampler(range(COUNT), replacement=True, num_samples=12)
            if inner
            else [*range(COUNT)] * 2
        )
        return vl.EpochSampler(samples, seed=9)

    sampler = make()
    whole = [list(sampler), list(sampler)]
    by_skip = make()
    by_skip.set_epoch(0, skip=done)
    assert list(by_skip) == whole[0][done:]
    assert list(by_skip) == whole[1]
    sampler = make()
    begun = iter(sampler)
    assert [next(begun) for _ in range(done)] == whole[0][:done]
    state = pickle.loads(pickle.dumps(sampler.state_dict()))
    resumed = make()
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    resumed.set_epoch(0)  # as trainers do, who know the epoch only
    loader = DataLoader(dataset, batch_size=5, sampler=resumed)
    expected = [
        (s, int(dataset[vl.sampling.Draw(s, e, d)]["frame_numbers"][0])) for s, e, d in whole[0]
    ]
    assert clips(loader) == expected[done:]
    assert list(resumed) == whole[1]


def test_the_number_of_an_epoch_can_be_set_while_another_runs(dataset):
    sampler = vl.EpochSampler(dataset)
    first = iter(sampler)
    next(first)
    assert next(iter(sampler)).epoch == 1  # one that was left is over
    sampler.set_epoch(0)
    assert next(iter(sampler)).epoch == 0


def test_the_epoch_goes_to_the_sampler_inside():
    inner = DistributedSampler(range(10), num_replicas=2, rank=1)
    sampler = vl.EpochSampler(inner)
    for epoch in (0, 1, 4):
        sampler.set_epoch(epoch)
        found = [draw.sample for draw in sampler]
        inner.set_epoch(epoch)
        assert found == list(inner)


class AroundASampler(DistributedSampler):
    """What Lightning puts around samplers that it does not know."""

    def __init__(self, sampler, **options):
        self.sampler = sampler
        super().__init__(list(sampler), **options)

    def __iter__(self):
        listed = list(self.sampler)
        return (listed[place] for place in super().__iter__())

    def set_epoch(self, epoch):
        super().set_epoch(epoch)
        self.sampler.set_epoch(epoch)


def test_shards_and_batches_of_it_are_the_clips_of_the_whole(dataset):
    whole = vl.EpochSampler(dataset, seed=2)
    whole.set_epoch(3)
    expected = {(s, int(dataset[vl.sampling.Draw(s, 3)]["frame_numbers"][0])) for s, _, _ in whole}
    found = []
    for rank in range(2):
        inner = vl.EpochSampler(dataset, seed=2)
        sampler = AroundASampler(inner, num_replicas=2, rank=rank)
        sampler.set_epoch(3)
        batches = BatchSampler(sampler, 2, drop_last=False)
        found += clips(DataLoader(dataset, batch_sampler=batches, num_workers=rank))
    assert len(found) == COUNT
    assert set(found) == expected


# --- Ranks


class Listed(Dataset):
    """Whose samples are the draws themselves."""

    def __len__(self):
        return 23

    def __getitem__(self, draw):
        return draw


def drawn(sampler, **options):
    """The samples of a pass, as a DataLoader gives them."""
    loader = DataLoader(Listed(), 3, sampler=sampler, collate_fn=list, **options)
    return [draw for batch in loader for draw in batch]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than processors
@pytest.mark.parametrize("workers", range(6))
def test_ranks_and_workers_share_an_epoch_and_lose_no_sample(workers):
    whole = vl.EpochSampler(23, seed=3)
    whole.set_epoch(2)
    expected = list(whole)
    for ranks in range(1, 8):
        found, lengths = [], set()
        for rank in range(ranks):
            sampler = vl.EpochSampler(23, seed=3, rank=rank, num_ranks=ranks, remainder="keep")
            sampler.set_epoch(2)
            # Processes for some of the ranks only: each has the same code, and they take long.
            part = drawn(sampler, num_workers=workers if rank == ranks - 1 else 0)
            assert len(part) == len(sampler)
            assert part == expected[rank::ranks]
            found += part
            lengths.add(len(part))
        assert sorted(found) == sorted(expected)
        assert max(lengths) - min(lengths) <= 1


@given(
    st.integers(1, 60),
    st.integers(1, 7),
    st.integers(1, 7),
    st.sampled_from(["keep", "repeat", "drop"]),
    st.integers(1, 5),
    st.booleans(),
    st.data(),
)
def test_an_epoch_goes_on_with_other_ranks(size, before, after, remainder, chunk, shuffle, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epoch_sampler, "_TOGETHER", chunk)  # so that there are several

        def ranks(count, epoch, given=0):
            for rank in range(count):
                sampler = vl.EpochSampler(
                    size, shuffle=shuffle, seed=1, rank=rank, num_ranks=count, remainder=remainder
                )
                sampler.load_state_dict({"epoch": epoch, "given": given})
                yield sampler

        steps = data.draw(st.integers(0, size // before))
        seen, states = [], []
        for sampler in ranks(before, 4):
            seen += itertools.islice(sampler, steps)
            states.append(sampler.state_dict())
        assert len({*map(str, states)}) == 1
        rest = [list(sampler) for sampler in ranks(after, 4, states[0]["given"])]
        left = size - steps * before
        draws = [*seen, *itertools.chain(*rest)]
        found = [draw.sample for draw in draws]
        if remainder == "keep":
            assert sorted(found) == list(range(size))
        elif remainder == "drop":
            assert len(set(found)) == len(found) == size - left % after
        else:
            assert set(found) == set(range(size))
            assert len(found) == size + -left % after
        if remainder != "keep":
            assert len({len(part) for part in rest}) == 1
        assert {(draw.epoch, draw.draw) for draw in draws} <= {(4, 0)}


def test_its_order_is_that_of_a_loader(dataset, paths):
    for rank in range(2):
        options = {"shuffle": True, "seed": 6, "rank": rank, "num_ranks": 2}
        order = vl.Loader(paths, SAMPLER, batch_size=3, workers=0, **options).order
        sampler = vl.EpochSampler(dataset, **options)
        for epoch in range(2):
            assert [draw.sample for draw in sampler] == order.batch(epoch, 0).tolist()


def test_ranks_share_what_another_sampler_draws():
    def make(**ranks):
        return vl.EpochSampler(WeightedRandomSampler([1, 9, 1, 5], 14), seed=8, **ranks)

    whole = list(make())
    for rank in range(2):
        assert list(make(rank=rank, num_ranks=2)) == whole[rank::2]


def test_ten_million_samples_begin_and_go_on_at_once():
    sampler = vl.EpochSampler(10**7, seed=1)
    whole = list(itertools.islice(sampler, 3000))
    sampler.load_state_dict({"epoch": 0, "given": 2000})
    tracemalloc.start()
    assert list(itertools.islice(sampler, 1000)) == whole[2000:]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**6


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"rank": 2, "num_ranks": 2}, "rank must be"), ({"remainder": "wrap"}, "remainder must be")],
)
def test_wrong_ranks_are_refused(wrong, words):
    with pytest.raises(vl.errors.ArgumentError, match=words):
        vl.EpochSampler(4, **wrong)
