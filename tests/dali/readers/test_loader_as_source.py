"""A `Loader` is the source of a pipeline: buckets and packs reach its operators as they are."""

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import Pipeline
from videoloader.errors import OperatorError

BATCHES = {
    "buckets": vl.Buckets([(8, 64, 64), (16, 64, 112)], max_pixels=1 << 18, upscale=True),
    "packs": vl.Packing(max_tokens=2000, patch=(2, 16, 16), max_pixels=1 << 14),
}


@pytest.fixture(scope="module")
def dataset(demo_folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("set") / "set.parquet"
    return vl.index_dataset(demo_folder, path)


def loader_of(dataset, name):
    clips = vl.RandomClip(16)
    return vl.Loader(dataset, clips, batches=BATCHES[name], seed=5, layout="FHWC")


@pytest.mark.parametrize("name", BATCHES)
def test_batches_arrive_as_the_loader_made_them(dataset, name):
    loader, twin = loader_of(dataset, name), loader_of(dataset, name)

    def batches():
        for batch in loader:
            yield batch["frames"], batch["sample"]

    with Pipeline(batch_size=16, num_threads=2) as pipe:
        arguments = {"num_outputs": 2, "layout": ["FHWC", ""], "cycle": "raise", "no_copy": True}
        frames, sample = fn.external_source(batches, **arguments)
        pipe.set_outputs(frames, fn.flip(frames), sample)
    shapes = set()
    for _ in range(2):  # epochs
        seen = []
        for expected in twin:
            frames, flipped, sample = pipe.run()
            assert torch.equal(torch.cat([each.reshape(1) for each in sample]), expected["sample"])
            for clip, mirrored, as_loaded in zip(frames, flipped, expected["frames"], strict=True):
                np.testing.assert_array_equal(np.asarray(clip), as_loaded.numpy())
                np.testing.assert_array_equal(np.asarray(mirrored), as_loaded.numpy()[:, :, ::-1])
                shapes.add(tuple(clip.shape))
            seen += expected["sample"].tolist()
        with pytest.raises(StopIteration):
            pipe.run()
        pipe.reset()
        assert sorted(seen) == list(range(len(dataset)))
    assert len(shapes) > 1


def test_whole_batches_of_a_loader_are_refused_with_what_to_give(dataset):
    with Pipeline(batch_size=16, num_threads=2) as pipe:
        pipe.set_outputs(*fn.external_source(loader_of(dataset, "buckets"), num_outputs=2))
    message = r"the source gave a dictionary with frames, .*; give the 2 values of the outputs as"
    with pytest.raises(OperatorError, match=message):
        pipe.run()
