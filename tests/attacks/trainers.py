"""`ClipDataset` and `EpochSampler` in the loaders of other libraries, as far as they are installed.

Run with `pip install lightning accelerate torchdata`: python tests/attacks/trainers.py
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.demo.videos import encode_video

COUNT = 12


def clips(loader: Any) -> list[tuple[int, int]]:
    """(sample, first frame) of each sample of a pass."""
    found = []
    for batch in loader:
        found += zip(batch["sample"].tolist(), batch["frame_numbers"][:, 0].tolist(), strict=True)
    return found


def expected(dataset: vl.ClipDataset, epoch: int) -> list[tuple[int, int]]:
    """The same, made one by one."""
    sampler = vl.EpochSampler(dataset, seed=4)
    sampler.set_epoch(epoch)
    return [(key.sample, int(dataset[key]["frame_numbers"][0])) for key in sampler]


def trained(dataset: vl.ClipDataset, loader: Any, **options: Any) -> list[list[tuple[int, int]]]:
    """What Lightning trains on in each of three epochs."""
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.seen: list[list[tuple[int, int]]] = []

        def on_train_epoch_start(self) -> None:
            self.seen.append([])

        def training_step(self, batch: Any, _: int) -> torch.Tensor:
            first = batch["frame_numbers"][:, 0]
            self.seen[-1] += zip(batch["sample"].tolist(), first.tolist(), strict=True)
            loss: torch.Tensor = self.layer(torch.ones(1, 1)).sum()
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    model = Model()
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    trainer.fit(model, loader)
    return model.seen


def lightning_trains(dataset: vl.ClipDataset) -> None:
    """Plain shuffling differs by epoch; our sampler gives its own clips."""
    plain = trained(dataset, DataLoader(dataset, 4, shuffle=True))
    assert len({tuple(sorted(epoch)) for epoch in plain}) == 3
    loader = DataLoader(dataset, 4, sampler=vl.EpochSampler(dataset, seed=4))
    assert trained(dataset, loader) == [expected(dataset, epoch) for epoch in range(3)]


def lightning_shards(dataset: vl.ClipDataset) -> None:
    """What Lightning puts around a sampler for several ranks gives the clips of the whole."""
    from lightning.fabric.utilities.data import _set_sampler_epoch
    from lightning.fabric.utilities.distributed import DistributedSamplerWrapper

    for epoch in (0, 1, 5):
        found = []
        for rank in range(3):
            inner = vl.EpochSampler(dataset, seed=4)
            sampler = DistributedSamplerWrapper(inner, num_replicas=3, rank=rank)
            loader = DataLoader(dataset, 2, sampler=sampler)
            _set_sampler_epoch(loader, epoch)
            found += clips(loader)
        assert sorted(found) == sorted(expected(dataset, epoch))


def accelerate_shards(dataset: vl.ClipDataset) -> None:
    """So does accelerate."""
    from accelerate.data_loader import prepare_data_loader

    loaders = []
    for rank in range(2):
        loader = DataLoader(dataset, 2, sampler=vl.EpochSampler(dataset, seed=4))
        loaders.append(
            prepare_data_loader(loader, num_processes=2, process_index=rank, put_on_device=False)
        )
    for epoch in range(3):
        found = [pair for loader in loaders for pair in clips(loader)]
        assert sorted(found) == sorted(expected(dataset, epoch))
    dataset.set_epoch(None)
    plain = prepare_data_loader(DataLoader(dataset, 2), put_on_device=False)
    assert len({tuple(clips(plain)) for _ in range(3)}) == 3
    dataset.set_epoch(None)


def torchdata_resumes(dataset: vl.ClipDataset) -> None:
    """A state that was taken after any batch gives the rest of the epoch, and the next ones."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    def make(workers: int, sampler: Any) -> Any:
        return StatefulDataLoader(dataset, 2, sampler=sampler(), num_workers=workers)

    def ours() -> Any:
        return vl.EpochSampler(dataset, seed=4)

    for workers in (0, 2):
        for epochs in (0, 1):
            for stop in range(1, COUNT // 2 + 1):
                loader = make(workers, ours)
                for epoch in range(epochs):
                    assert clips(loader) == expected(dataset, epoch)
                batches = iter(loader)
                found = clips([next(batches) for _ in range(stop)])
                resumed = make(workers, ours)
                resumed.load_state_dict(loader.state_dict())
                found += clips(resumed)
                assert found == expected(dataset, epochs), (workers, epochs, stop)
                assert clips(resumed) == expected(dataset, epochs + 1), (workers, epochs, stop)
    # Plain numbers: workers begin with the seed that they had.
    loader = StatefulDataLoader(dataset, 2, num_workers=2)
    batches = iter(loader)
    first = clips([next(batches)])
    state = loader.state_dict()
    rest = clips(batches)
    resumed = StatefulDataLoader(dataset, 2, num_workers=2)
    resumed.load_state_dict(state)
    assert clips(resumed) == rest, first


CASES: dict[str, list[Callable[[vl.ClipDataset], None]]] = {
    "lightning": [lightning_trains, lightning_shards],
    "accelerate": [accelerate_shards],
    "torchdata": [torchdata_resumes],
}


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        encode_video(path, frames=300, size=(64, 64))
        dataset = vl.ClipDataset([path] * COUNT, vl.RandomClip(2))
        for library, cases in CASES.items():
            try:
                __import__(library)
            except ImportError:
                print(f"{library}: not installed")  # noqa: T201
                continue
            for case in cases:
                case(dataset)
                print(f"{library}: {case.__name__} ok")  # noqa: T201


if __name__ == "__main__":
    main()
