"""`read_clips` on a real Ray cluster: the samples of a `Loader`, in blocks of known size."""

import sys
import types

import numpy as np
import pytest
import torch
from test_docs_blocks import blocks_of

import videoloader as vl
from videoloader.datasets.ray import read_clips
from videoloader.demo.videos import encode_video, read_frame_number


def on_ray(test):
    """Mark a test; one worker of a run has them all, since a cluster takes ten seconds to start."""
    return pytest.mark.needs("ray")(pytest.mark.xdist_group("ray")(test))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Videos of 20, 21, ... frames in two classes, the last of another size."""
    folder = tmp_path_factory.mktemp("read_clips") / "videos"
    for number in range(6):
        place = folder / f"class{number % 2}"
        place.mkdir(parents=True, exist_ok=True)
        size = (64, 48) if number < 5 else (32, 64)
        encode_video(place / f"{number}.mp4", frames=20 + number, size=size)
    return vl.index_dataset(folder, folder.parent / "set.parquet", 0)


def rows_of(data):
    """The rows of a data set of Ray Data, by sample and epoch; frames as they are."""
    rows = data.take_all()
    return sorted(rows, key=lambda row: (row["epoch"], row["sample"], row["frame_numbers"][0]))


def samples_of(loader, epochs=1):
    """What a loader gives, sample by sample, as `rows_of`."""
    found = []
    for epoch in range(epochs):
        loader.set_epoch(epoch)
        for batch in loader:
            for at in range(len(batch["sample"])):
                row = {name: np.asarray(values[at]) for name, values in batch.items()}
                found.append(row | {"epoch": epoch})
    loader.close()
    return sorted(found, key=lambda row: (row["epoch"], row["sample"], row["frame_numbers"][0]))


def assert_equal(rows, samples):
    assert len(rows) == len(samples)
    for row, sample in zip(rows, samples, strict=True):
        assert row.keys() == sample.keys()
        for name, value in sample.items():
            assert np.array_equal(row[name], value), name


CASES = {
    "random": (vl.RandomClip(4, stride=3), {"shuffle": True, "seed": 3}),
    "sizes": (vl.RandomClip(3), {"seed": 1, "clips_per_video": 2, "layout": "FHWC"}),
    "every clip": (vl.DenseClips(8), {"clips_per_video": "all", "size": 16}),
    "views": (vl.EvenClips(2, 4), {"resize_shorter": 24, "crop_size": 16, "num_crops": 3}),
    "augmented": (
        vl.RandomClip(4),
        {
            "size": (16, 24),
            "random_resized_crop": ((0.2, 1), (0.5, 2)),
            "random_flip": 0.5,
            "dtype": "float16",
            "mean": 102,
            "labels": lambda key: len(key),
            "weights": [1, 2, 3, 4, 5, 6],
        },
    ),
}


@on_ray
@pytest.mark.parametrize("case", CASES)
def test_samples_are_those_of_a_loader(case, cluster, dataset):
    sampler, options = CASES[case]
    data = read_clips(
        dataset, sampler, num_epochs=2, read_args={"override_num_blocks": 3}, **options
    )
    loader = vl.Loader(dataset, sampler, batch_size=2, workers=0, **options)
    assert_equal(rows_of(data), samples_of(loader, 2))


@on_ray
@pytest.mark.parametrize("case", CASES)
def test_rows_and_bytes_of_read_tasks_are_known_beforehand(case, cluster, dataset, monkeypatch):
    import ray.data

    sampler, options = CASES[case]
    asked = []
    monkeypatch.setattr(ray.data, "read_datasource", lambda source, **how: asked.append(source))
    read_clips(dataset, sampler, num_epochs=2, workers=0, **options)
    (source,) = asked
    told = 0
    for task in source.get_read_tasks(4):
        tables = list(task())
        assert task.metadata.num_rows == sum(table.num_rows for table in tables)
        size = sum(table.nbytes for table in tables)
        # Labels and what Arrow has beside tensors of variable shapes come on top.
        assert size * 0.9 < task.metadata.size_bytes <= size
        told += task.metadata.size_bytes
    assert source.estimate_inmemory_data_size() == told


@on_ray
def test_rows_come_in_the_order_of_a_loader_where_ray_data_keeps_orders(cluster, dataset):
    import ray.data

    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    try:
        options = {"shuffle": True, "seed": 5, "size": 16}
        data = read_clips(dataset, vl.RandomClip(2), epoch=3, num_epochs=2, **options)
        found = [int(each) for batch in data.iter_batches() for each in batch["sample"]]
    finally:
        context.execution_options.preserve_order = False
    with vl.Loader(dataset, vl.RandomClip(2), batch_size=6, workers=0, **options) as loader:
        loader.set_epoch(3)
        epochs = [batch["sample"].tolist() for _ in range(2) for batch in loader]
    assert found == epochs[0] + epochs[1]
    assert epochs[0] != epochs[1]


@on_ray
def test_batches_of_torch_go_to_a_training_loop(cluster, dataset):
    data = read_clips(dataset, vl.EvenClips(1, 4), size=(16, 24), labels=len)
    (shard,) = data.streaming_split(1)
    batches = list(shard.iter_torch_batches(batch_size=4))
    assert [len(batch["labels"]) for batch in batches] == [4, 2]
    frames = torch.cat([batch["frames"] for batch in batches])
    assert frames.shape == (6, 1, 4, 3, 16, 24)
    assert frames.dtype == torch.uint8


@on_ray
def test_actors_read_paths(cluster, dataset):
    import ray.data

    how = {"compute": ray.data.ActorPoolStrategy(size=1)}
    data = read_clips(dataset.root, vl.RandomClip(4), workers=0, read_args=how)
    loader = vl.Loader(dataset.root, vl.RandomClip(4), batch_size=1, workers=0)
    assert_equal(rows_of(data), samples_of(loader))
    assert set(data.unique("labels")) == {0, 1}  # classes are folders


@on_ray
@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("how", ["random", "every clip"])
def test_segments_are_read_as_a_loader_reads_them(how, indexed, cluster, dataset):
    rows = {
        "video": ["0", "3", "5", "3"],
        "start": [2, 5, 0, 10],
        "end": [14, 99, 12, 22],
        "label": ["a", "b", "a", "c"],
    }
    where = {"index": dataset} if indexed else {"root": dataset.root}
    segments = vl.Segments(rows, unit="frames", **where)
    sampler, per_video = (vl.RandomClip(4), 1) if how == "random" else (vl.EvenClips(2, 6), "all")
    options = {"clips_per_video": per_video, "labels": "label", "columns": ["start"], "seed": 3}
    data = read_clips(segments, sampler, read_args={"override_num_blocks": 2}, **options)
    loader = vl.Loader(segments, sampler, batch_size=2, workers=0, **options)
    assert_equal(rows_of(data), samples_of(loader))


@on_ray
def test_a_video_that_fails_is_named_or_replaced(cluster, dataset, tmp_path):
    import ray

    paths = [dataset.item(row).path for row in range(3)]
    paths[1] = str(tmp_path / "gone.mp4")
    with pytest.raises(ray.exceptions.RayTaskError, match=r"gone\.mp4"):
        read_clips(paths, vl.RandomClip(2), size=16).take_all()
    rows = read_clips(paths, vl.RandomClip(2), size=16, on_error="mask").take_all()
    assert sorted("gone.mp4" in row["error"] for row in rows) == [False, False, True]
    assert sorted(row["mask"].all() for row in rows) == [False, True, True]


@on_ray
def test_a_reader_on_a_gpu_is_an_actor_that_takes_one(cluster, dataset, monkeypatch):
    import ray.data

    asked = {}
    monkeypatch.setattr(ray.data, "read_datasource", lambda source, **how: asked.update(how))
    read_clips(dataset, vl.RandomClip(2), device="cuda", read_args={"concurrency": 2})
    assert asked.pop("compute").min_size == 1
    assert asked == {"num_gpus": 1, "concurrency": 2}


@on_ray
def test_a_cluster_without_enough_gpus_is_named_before_ray_waits_for_one(cluster, dataset):
    with pytest.warns(RuntimeWarning, match=r"needs 2 GPU .+ more than 1; Ray waits") as warned:
        read_clips(dataset, vl.RandomClip(2), device="cuda", read_args={"num_gpus": 2})
    assert warned[0].filename == __file__


def beside_a_gpu(count):
    """A sampler; where it is unpickled, a GPU made of FFmpeg decodes, and the CPU cannot."""
    import gpu_decoder
    from fake_gpu import put_in_place

    import videoloader.datasets.ray
    from videoloader.decoding.cpu.local import LocalEngine

    patch = pytest.MonkeyPatch()
    put_in_place(patch)
    gpu_decoder.follow(patch)
    decoder = gpu_decoder.make_decoder()
    patch.delattr(LocalEngine, "_decode_video")
    patch.setattr(videoloader.datasets.ray, "shared_decoder", lambda device, workers, **_: decoder)
    return vl.UniformClip(count)


class Sampler(vl.UniformClip):
    def __reduce__(self):
        return beside_a_gpu, (self.count,)


@on_ray
def test_readers_on_a_gpu_give_the_clips_that_nvdec_decodes_there(cluster, dataset):
    videos = dataset.filter(min_width=64)
    rows = rows_of(read_clips(videos, Sampler(3), device="cuda", layout="FHWC"))
    assert len(rows) == 5
    for row in rows:
        numbers = [read_frame_number(frame) for frame in row["frames"]]
        assert numbers == row["frame_numbers"].tolist()
        assert numbers[-1] == videos[row["sample"]].num_frames - 1


@on_ray
def test_the_blocks_of_the_page_about_clusters_run(cluster, dataset, monkeypatch):
    monkeypatch.chdir(dataset.path.parent)
    names = {}
    blocks = [code for _, code in blocks_of("cluster.md") if code.startswith("import ray")]
    assert len(blocks) == 2
    for code in blocks:
        exec(compile(code, "cluster.md", "exec"), names)
    assert names["table"]["frames"].to_pylist() == [20, 22, 24, 21, 23, 25]
    assert names["batch"]["frames"].shape == (4, 8, 3, 64, 64)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "bfloat16"}, "bfloat16"),
        ({"device": "gpu"}, "device"),
        ({"num_epochs": 0}, "num_epochs"),
        ({"clips_per_video": "all"}, "several clips"),
        ({"size": 8, "resize_shorter": 8}, "not both"),
    ],
)
def test_arguments_that_have_no_meaning_are_refused(dataset, monkeypatch, options, words):
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.data", types.ModuleType("ray.data"))
    with pytest.raises(vl.errors.ArgumentError, match=words):
        read_clips(dataset, vl.RandomClip(2), **options)


def test_ray_data_is_asked_for_where_it_is_missing(dataset, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(vl.errors.UnsupportedError, match=r"videoloader\[ray\]"):
        read_clips(dataset, vl.RandomClip(2))
