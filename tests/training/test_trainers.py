"""What we give to torchdata's StatefulDataLoader, Lightning and accelerate goes on as they do."""

import itertools

import pytest
import torch
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.demo.videos import encode_video

COUNT, BATCH = 12, 2

# What the libraries themselves do, or advise.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{words}")
    for words in (
        "'set_vital' is deprecated",
        "The '.*' does not have many workers",
        "Be aware that when using `ckpt_path`",
        r"`isinstance\(treespec, LeafSpec\)` is deprecated",
    )
]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Long videos, so that two random clips of one are hardly ever the same."""
    path = tmp_path_factory.mktemp("trainers") / "clip.mp4"
    encode_video(path, frames=300, size=(64, 64), options={"g": "10"})
    return [path] * COUNT


@pytest.fixture
def dataset(paths):
    return vl.ClipDataset(paths, vl.RandomClip(2), seed=4)


def loader(paths, **options):
    return vl.Loader(
        paths,
        vl.RandomClip(2),
        **{"batch_size": BATCH, "shuffle": True, "seed": 4, "workers": 0, **options},
    )


def pairs(batch):
    """(sample, first frame, checksum) of each sample of a batch."""
    sums = batch["frames"].double().mean(dim=(1, 2, 3, 4)).tolist()
    first = batch["frame_numbers"][:, 0].tolist()
    return list(zip(batch["sample"].tolist(), first, sums, strict=True))


def clips(batches):
    return [clip for batch in batches for clip in pairs(batch)]


@pytest.fixture(scope="module")
def epochs(paths):
    """What three epochs hold, by a loader of our own."""
    with loader(paths) as batches:
        return [clips(batches) for _ in range(3)]


def sampler(**ranks):
    return vl.EpochSampler(COUNT, seed=4, **ranks)


# --- torchdata


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_goes_on_after_any_batch(dataset, epochs, workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def make():
        return stateful.StatefulDataLoader(dataset, BATCH, sampler=sampler(), num_workers=workers)

    whole = make()
    assert [clips(whole), clips(whole)] == epochs[:2]
    for done in range(1, COUNT // BATCH + 1) if not workers else (1, 4, 6):
        before = make()
        clips(before)
        batches = iter(before)
        found = clips(itertools.islice(batches, done))
        resumed = make()
        resumed.load_state_dict(before.state_dict())
        del batches
        assert found + clips(resumed) == epochs[1]
        assert clips(resumed) == epochs[2]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stateful_loader_goes_on_with_other_ranks(dataset, epochs, workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def ranks(count):
        return [
            stateful.StatefulDataLoader(
                dataset, BATCH, sampler=sampler(rank=rank, num_ranks=count), num_workers=workers
            )
            for rank in range(count)
        ]

    before = ranks(2)
    seen = [pair for one in before for pair in clips(itertools.islice(one, 1))]
    state = before[0].state_dict()
    after = ranks(3)
    for one in after:
        one.load_state_dict(state)
    rest = [clips(one) for one in after]
    # 8 are left, so one of the three ranks repeats the first of the epoch.
    assert [len(part) for part in rest] == [3, 3, 3]
    found = [*seen, *itertools.chain(*rest)]
    assert sorted(set(found)) == sorted(epochs[0])
    assert len(found) == COUNT + 1


def test_numbers_that_a_stateful_loader_draws_go_on_too(dataset):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")
    before = stateful.StatefulDataLoader(dataset, BATCH, num_workers=2)
    batches = iter(before)
    next(batches)
    state, rest = before.state_dict(), clips(batches)
    resumed = stateful.StatefulDataLoader(dataset, BATCH, num_workers=2)
    resumed.load_state_dict(state)
    assert clips(resumed) == rest


# --- Lightning


def lightning():
    return pytest.importorskip("pytorch_lightning")


def model():
    class Model(lightning().LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.seen = []

        def training_step(self, batch, _):
            self.seen.append(pairs(batch))
            return self.layer(torch.ones(1, 1)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    return Model()


def trainer(tmp_path, **options):
    return lightning().Trainer(
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        **{"max_epochs": 3, "enable_checkpointing": False, **options},
    )


def flat(steps):
    return [clip for step in steps for clip in step]


def make_source(kind, dataset, paths):
    """What is given to `Trainer.fit`."""
    if kind == "Loader":
        return loader(paths)
    if kind == "DataLoader":
        return DataLoader(dataset, BATCH, sampler=sampler())
    stateful = pytest.importorskip("torchdata.stateful_dataloader")
    return stateful.StatefulDataLoader(dataset, BATCH, sampler=sampler())


@pytest.mark.parametrize("kind", ["Loader", "DataLoader", "StatefulDataLoader"])
def test_lightning_trains_on_epochs_of_ours(dataset, paths, epochs, tmp_path, kind):
    module = model()
    trainer(tmp_path).fit(module, make_source(kind, dataset, paths))
    assert flat(module.seen) == flat(epochs)


def test_clips_of_plain_numbers_differ_in_each_epoch_of_lightning(dataset, tmp_path):
    module = model()
    trainer(tmp_path).fit(module, DataLoader(dataset, COUNT, shuffle=True))
    assert len({tuple(sorted(epoch)) for epoch in module.seen}) == 3


@pytest.mark.parametrize("kind", ["Loader", "StatefulDataLoader"])
def test_lightning_goes_on_from_any_of_its_checkpoints(dataset, paths, epochs, tmp_path, kind):
    keep = lightning().callbacks.ModelCheckpoint(
        tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1, save_last=False
    )
    first = model()
    trainer(tmp_path, max_epochs=2, callbacks=[keep], enable_checkpointing=True).fit(
        first, make_source(kind, dataset, paths)
    )
    assert flat(first.seen) == flat(epochs[:2])
    for step in (1, 5, 6, 11):
        second = model()
        state = tmp_path / f"step={step}.ckpt"
        trainer(tmp_path).fit(second, make_source(kind, dataset, paths), ckpt_path=state)
        assert flat(second.seen) == flat(epochs)[step * BATCH :], step


def test_what_lightning_puts_around_a_sampler_gives_the_clips_of_the_whole(dataset, epochs):
    lightning()
    from lightning_fabric.utilities.data import _set_sampler_epoch
    from lightning_fabric.utilities.distributed import DistributedSamplerWrapper

    for epoch in (0, 2):
        found = []
        for rank in range(3):
            wrapper = DistributedSamplerWrapper(sampler(), num_replicas=3, rank=rank)
            part = DataLoader(dataset, BATCH, sampler=wrapper)
            _set_sampler_epoch(part, epoch)
            found += clips(part)
        assert sorted(found) == sorted(epochs[epoch])


# --- accelerate


def accelerate():
    return pytest.importorskip("accelerate")


def test_accelerate_gives_each_rank_its_clips(dataset, epochs):
    accelerate()
    from accelerate.data_loader import prepare_data_loader

    parts = [
        prepare_data_loader(
            DataLoader(dataset, BATCH, sampler=sampler()),
            num_processes=2,
            process_index=rank,
            put_on_device=False,
        )
        for rank in range(2)
    ]
    for epoch in range(3):
        assert sorted(pair for part in parts for pair in clips(part)) == sorted(epochs[epoch])


def test_clips_of_plain_numbers_differ_in_each_epoch_of_accelerate(dataset):
    accelerate()
    from accelerate.data_loader import prepare_data_loader

    plain = prepare_data_loader(DataLoader(dataset, BATCH), put_on_device=False)
    assert len({tuple(clips(plain)) for _ in range(3)}) == 3


@pytest.mark.parametrize("done", [1, 4, 6])
def test_accelerate_keeps_the_state_of_a_loader(paths, epochs, tmp_path, done):
    with loader(paths) as before:
        accelerator = accelerate().Accelerator(cpu=True)
        accelerator.register_for_checkpointing(before)
        clips(before)
        found = clips(itertools.islice(before, done))
        accelerator.save_state(tmp_path / "state")
    with loader(paths) as after:
        accelerator = accelerate().Accelerator(cpu=True)
        accelerator.register_for_checkpointing(after)
        accelerator.load_state(tmp_path / "state")
        if done < COUNT // BATCH:
            found += clips(after)
        assert found == epochs[1]
        assert clips(after) == epochs[2]


def test_accelerate_goes_on_with_a_stateful_loader(dataset, epochs, tmp_path):
    pytest.importorskip("torchdata.stateful_dataloader")
    config = accelerate().DataLoaderConfiguration(use_stateful_dataloader=True)

    def make():
        accelerator = accelerate().Accelerator(cpu=True, dataloader_config=config)
        return accelerator, accelerator.prepare(DataLoader(dataset, BATCH, sampler=sampler()))

    accelerator, before = make()
    assert clips(before) == epochs[0]
    found = clips(itertools.islice(before, 2))
    accelerator.save_state(tmp_path / "state")
    accelerator, after = make()
    accelerator.load_state(tmp_path / "state")
    after.set_epoch(1)  # which accelerate does not keep
    assert found + clips(after) == epochs[1]
    assert clips(after) == epochs[2]
