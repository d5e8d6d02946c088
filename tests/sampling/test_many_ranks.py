"""512 ranks that become 384 in the middle of an epoch: arithmetic alone, no frame is decoded."""

import json
from dataclasses import replace

import numpy as np
import pytest
from synthetic_index import write_index

import videoloader as vl
from videoloader.sampling.orders.batch_order import BatchOrder
from videoloader.sampling.orders.reader_epochs import Epochs
from videoloader.sampling.orders.sample_order import SampleOrder

RANKS, FEWER = 512, 384
SIZE = 200_003  # of which neither number of ranks is a part
BATCH = 8


def drawn(order, epoch, stop=None, start=0):
    """The samples of every rank from a position on, or of its first `stop` batches."""
    found = []
    for rank in range(order.num_ranks):
        own = replace(order, rank=rank)
        count = own.num_places(start, epoch)
        count = count if stop is None else min(count, stop * order.batch_size)
        found.append(own.numbers(epoch, 0, count, start))
    return found


@pytest.fixture(scope="module")
def samples():
    return SampleOrder(SIZE, seed=3)


@pytest.mark.parametrize("remainder", ["keep", "drop", "repeat"])
def test_512_ranks_share_an_epoch(samples, remainder):
    order = BatchOrder(samples, 3, 0, RANKS, remainder, BATCH)
    parts = drawn(order, epoch=1)
    counts = np.bincount(np.concatenate(parts), minlength=SIZE)
    sizes = {len(part) for part in parts}
    steps = {replace(order, rank=rank).num_steps(0, 1) for rank in range(RANKS)}
    if remainder == "keep":
        assert (counts == 1).all()
        assert max(sizes) - min(sizes) <= 1
    elif remainder == "drop":
        assert counts.max() == 1
        assert len(sizes) == len(steps) == 1
        assert SIZE - counts.sum() < RANKS * BATCH
    else:
        assert counts.min() == 1
        assert len(sizes) == len(steps) == 1
        assert counts.sum() - SIZE < RANKS


def test_384_ranks_go_on_where_512_stopped(tmp_path):
    """The state is that of a loader; it passes through JSON, as in a checkpoint."""
    write_index(tmp_path / "set.parquet", 20_011, {})
    dataset = vl.open_dataset(tmp_path / "set.parquet")
    options = {"batch_size": BATCH, "seed": 3, "remainder": "keep"}
    clips = vl.RandomClip(16)
    before = vl.Loader(dataset, clips, rank=0, num_ranks=RANKS, **options)
    done = 3
    before._iterations._done = before.order.position(done)  # as after three batches
    state = json.dumps(before.state_dict())
    assert len(state) < 100
    after = vl.Loader(dataset, clips, rank=5, num_ranks=FEWER, **options)
    after.load_state_dict(json.loads(state))
    assert after.state_dict() == before.state_dict()
    position = after.state_dict()["position"]
    first = np.concatenate(drawn(before.order, 0, stop=done))
    rest = drawn(after.order, 0, start=position)
    assert len(first) == position == done * RANKS * BATCH
    assert sorted(np.concatenate([first, *rest])) == list(range(20_011))
    sizes = [len(part) for part in rest]
    assert max(sizes) - min(sizes) <= 1
    assert (
        len(set(map(len, drawn(replace(after.order, remainder="repeat"), 0, None, position)))) == 1
    )


def test_shards_of_readers_go_on_likewise():
    before = [Epochs(SIZE, BATCH, RANKS, shard) for shard in range(RANKS)]
    stop = 30  # batches of each shard, of about 49 in the epoch
    done = [
        shard.shard(0)[place.position]
        for shard in before
        for batch in range(stop)
        for place in shard.batch(batch)
        if place.epoch == 0
    ]
    assert len(done) == RANKS * stop * BATCH
    after = [Epochs(SIZE, BATCH, FEWER, shard) for shard in range(FEWER)]
    after = [shard.resumed(before[0].division, stop) for shard in after]
    left = after[0].left
    rest, sizes = [], []
    for shard in after:
        shards, positions = left.places(0, np.array(shard.shard(0)))
        rest += [before[each].shard(0)[at] for each, at in zip(shards, positions, strict=True)]
        sizes.append(len(positions))
    assert sorted(done + rest) == list(range(SIZE))
    assert max(sizes) - min(sizes) <= 1
    later = [number for shard in after for number in shard.shard(1)]
    assert sorted(later) == list(range(SIZE))
