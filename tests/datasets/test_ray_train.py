"""Ray Train with two workers on CPUs: each clip once, and going on after a failure."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from test_docs_blocks import blocks_of

import videoloader as vl
from videoloader.demo.videos import encode_video

# Each worker takes a little of a processor, so that read tasks have one.
WORKERS = {"num_workers": 2, "resources_per_worker": {"CPU": 0.1}}

pytestmark = [
    pytest.mark.needs("ray"),
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore"),  # of Ray about its own code
]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray_train") / "videos"
    folder.mkdir()
    for number in range(8):
        encode_video(folder / f"{number}.mp4", frames=60, size=(64, 64))
    return vl.index_dataset(folder, folder.parent / "set.parquet", 0)


def clips_of(batch):
    """(sample, frame numbers) of each clip of a batch."""
    numbers = [tuple(map(int, each.reshape(-1))) for each in batch["frame_numbers"]]
    return list(zip(map(int, batch["sample"]), numbers, strict=True))


@pytest.fixture(scope="module")
def epochs(dataset):
    """The clips of two epochs, by a `Loader` of one process."""
    options = {"batch_size": 2, "shuffle": True, "seed": 3, "workers": 0}
    with vl.Loader(dataset, vl.RandomClip(2), **options) as loader:
        return [sorted(clip for batch in loader for clip in clips_of(batch)) for _ in range(2)]


def fit(loop, folder, failures=0, **options):
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    run = RunConfig(
        name="run", storage_path=str(folder), failure_config=FailureConfig(max_failures=failures)
    )
    trainer = TorchTrainer(loop, scaling_config=ScalingConfig(**WORKERS), run_config=run, **options)
    return trainer.fit()


def report(state):
    """Save a checkpoint, in a worker; those of all ranks are the same."""
    import ray.train

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "state.json").write_text(json.dumps(state))
        ray.train.report(state, checkpoint=ray.train.Checkpoint.from_directory(folder))


def steps_of(folder):
    """The clips of each step that the ranks wrote down, in one list; how many steps there are."""
    files = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    clips = [(sample, tuple(numbers)) for step in files for sample, numbers in step]
    return sorted(clips), len(files)


def test_a_loader_goes_on_where_a_failure_ended_its_rank(cluster, dataset, epochs, tmp_path):
    def loop(config):
        import ray.train
        import torch

        context = ray.train.get_context()
        rank, num_ranks = context.get_world_rank(), context.get_world_size()
        loader = vl.Loader(
            config["dataset"],
            vl.RandomClip(2),
            batch_size=1,
            shuffle=True,
            seed=3,
            workers=0,
            rank=rank,
            num_ranks=num_ranks,
        )
        saved = ray.train.get_checkpoint()
        if saved is not None:
            with saved.as_directory() as folder:
                loader.load_state_dict(json.loads(Path(folder, "state.json").read_text()))
        for epoch in range(loader.epoch, 2):
            for batch in loader:
                state = loader.state_dict()
                total = torch.ones(1)
                torch.distributed.all_reduce(total)
                assert total.item() == num_ranks == 2
                at = f"{epoch}-{state['epoch']}-{state['position']}"
                if rank == 1 and saved is None and state["position"] == 6:
                    os._exit(7)
                report(state)
                clips = clips_of(batch)
                Path(config["told"], f"{at}-{rank}.json").write_text(json.dumps(clips))

    told = tmp_path / "told"
    told.mkdir()
    config = {"dataset": dataset, "told": str(told)}
    result = fit(loop, tmp_path, failures=1, train_loop_config=config)
    assert result.error is None
    assert result.metrics["epoch"] == 2
    clips, steps = steps_of(told)
    assert clips == sorted(epochs[0] + epochs[1])
    assert steps == 2 * len(dataset)
    assert epochs[0] != epochs[1]


def test_rows_of_read_clips_go_to_one_worker_each_and_the_next_run_takes_the_next_epoch(
    cluster, dataset, epochs, tmp_path
):
    from videoloader.datasets.ray import read_clips

    def loop(config):
        import ray.train
        import torch

        rank = ray.train.get_context().get_world_rank()
        shard = ray.train.get_dataset_shard("train")
        for step, batch in enumerate(shard.iter_torch_batches(batch_size=2)):
            assert batch["frames"].shape == (2, 2, 3, 64, 64)
            assert set(batch["epoch"].tolist()) == {config["epoch"]}
            torch.distributed.all_reduce(torch.ones(1))
            clips = clips_of(batch)
            Path(config["told"], f"{step}-{rank}.json").write_text(json.dumps(clips))
        report({"epoch": config["epoch"] + 1})

    first = 0
    for epoch in range(2):
        told = tmp_path / f"told{epoch}"
        told.mkdir()
        data = read_clips(dataset, vl.RandomClip(2), shuffle=True, seed=3, epoch=first)
        result = fit(
            loop,
            tmp_path / str(epoch),
            train_loop_config={"epoch": first, "told": str(told)},
            datasets={"train": data},
        )
        clips, steps = steps_of(told)
        assert clips == epochs[epoch]
        assert steps == 4
        first = result.metrics["epoch"]


def test_the_block_of_the_page_about_many_nodes_trains(cluster, dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(dataset.path.parent)
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray Train keeps results
    names = {"__name__": "__main__", "vl": vl, "json": json}
    (code,) = [code for _, code in blocks_of("many-nodes.md") if "TorchTrainer" in code]
    exec(compile(code, "many-nodes.md", "exec"), names)
    assert names["result"].error is None
    assert names["result"].metrics["epoch"] == 1
