"""What `repr` says of the public classes."""

import numpy as np
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video

CLASSES = sorted(name for name in vl.__all__ if isinstance(getattr(vl, name), type))


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What `repr` gives for one object of each public class, by name."""
    folder = tmp_path_factory.mktemp("values")
    path = encode_video(folder / "a.mp4", frames=5, size=(32, 16))
    with vl.Video(path) as video:
        sound = np.zeros((1, 8000), np.float32), 16000
        vl.write_video(video.get_frames(), folder / "s.mp4", fps=30, audio=sound)
        texts = [repr(video)]
    both = [(path, [0, 1]), (folder / "none.mp4", [0])]
    batch = vl.decode_batch(both, workers=0, on_error="mask", size=(16, 32))
    dataset = vl.index_dataset(path, folder / "set.parquet", workers=0)
    sampler = vl.UniformClip(2)
    videos = [path, folder / "none.mp4"]
    with vl.Loader(videos, sampler, batch_size=2, workers=0, on_error="skip") as loader:
        assert len([*loader]) == 1
    clips = vl.ClipDataset(dataset, sampler)
    with vl.Audio(folder / "s.mp4") as audio, vl.BatchDecoder(workers=3) as decoder, dataset:
        texts += map(
            repr,
            [
                *(audio, decoder, dataset, dataset[0], loader, loader.failures[0], clips, sampler),
                *(batch, batch.clips[0], batch.failures[0], vl.errors.VideoError("a.mp4: broken")),
                vl.Buckets([(2, 16, 16)], max_tokens=64, patch=(1, 16, 16)),
                vl.ClipRequest(path.read_bytes(), [0]),
                vl.EpochSampler(clips, seed=3, rank=1, num_ranks=2),
                *(vl.LabelColumn("labels.csv"), vl.TableColumns("table.csv")),
                vl.Packing(max_tokens=64, patchify=(1, 16, 16)),
                *(vl.RandomClip(4), vl.DenseClips(4), vl.EvenClips(2, count=4)),
                vl.SegmentClip(3),
                vl.Segments({"video": [path], "start": [0], "end": [0.1]}),
            ],
        )
    return {text.lstrip("<").partition("(")[0].partition(" ")[0]: text for text in texts}


@pytest.mark.parametrize("name", CLASSES)
def test_a_public_class_says_what_it_holds_in_one_line(said, name):
    text = said[name]
    assert " object at 0x" not in text
    assert "\n" not in text
    assert len(text) < 600


def test_what_decodes_and_draws_says_where_it_stands(said):
    assert said["BatchDecoder"] == "BatchDecoder(cpu, 3 workers)"
    with vl.BatchDecoder(workers=0, threads=2) as decoder:
        assert repr(decoder) == "BatchDecoder(cpu, 2 threads)"
    assert said["EpochSampler"] == "EpochSampler(1 samples, rank 1 of 2, seed 3, next epoch 0)"
    sampler = vl.EpochSampler(9)
    sampler.set_epoch(2, skip=4)
    assert repr(sampler) == "EpochSampler(9 samples, seed 0, next epoch 2 from sample 4)"
    inner = vl.EpochSampler([3, 4])
    assert repr(vl.EpochSampler(inner)) == f"EpochSampler({inner!r}, seed 0, next epoch 0)"


def test_a_request_of_bytes_does_not_show_them(said):
    assert said["ClipRequest"].startswith("ClipRequest(source=<")
    assert " bytes>, frames=[0]" in said["ClipRequest"]
