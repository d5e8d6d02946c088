"""Labels of all kinds, from every place they come from to the batch."""

import fractions
import pickle

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video
from videoloader.training.labels.label_values import as_labels

CLIP = vl.UniformClip(1)
KINDS = [
    ([3, 2**40, -1], torch.int64, [3, 2**40, -1]),
    ([True, False, True], torch.int64, [1, 0, 1]),
    ([0.95, 1.05, -2], torch.float32, [0.95, 1.05, -2]),
    ([fractions.Fraction(1, 4), 0.5, 1], torch.float32, [0.25, 0.5, 1]),
    (np.array([1, 2, 3], np.uint8), torch.int64, [1, 2, 3]),
    (np.array([0.1, 0.2, 0.3]), torch.float32, [0.1, 0.2, 0.3]),
    (torch.tensor([0.5, 0.25, 3], dtype=torch.bfloat16), torch.float32, [0.5, 0.25, 3]),
    (torch.tensor([5, 6, 7]), torch.int64, [5, 6, 7]),
    (pa.array([0.5, 1.5, 2.5]), torch.float32, [0.5, 1.5, 2.5]),
    ([np.float64(0.5), torch.tensor(1.5), 2], torch.float32, [0.5, 1.5, 2]),
    ([[1, 0], [0, 1], [1, 1]], torch.int64, [[1, 0], [0, 1], [1, 1]]),
    (
        [(0.5, 1), np.array([2, 3]), torch.tensor([4.5, 5])],
        torch.float32,
        [[0.5, 1], [2, 3], [4.5, 5]],
    ),
    (np.eye(3), torch.float32, np.eye(3).tolist()),
    (["run", "jump", "run"], torch.int64, [1, 0, 1]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three videos of some frames; the middle row of an index is of a file that is none."""
    path = tmp_path_factory.mktemp("labelled")
    for name in ("a.mp4", "c.mp4", "d.mp4"):
        encode_video(path / name, frames=3, size=(160, 120), codec="mpeg4")
    return path


@pytest.mark.parametrize(("given", "dtype", "values"), KINDS)
def test_labels_keep_their_type_in_every_way_of_loading(folder, given, dtype, values):
    with vl.Loader(folder, CLIP, batch_size=3, workers=0, labels=given) as loader:
        (batch,) = loader
    dataset = vl.ClipDataset(folder, CLIP, labels=given)
    (collated,) = DataLoader(dataset, batch_size=3)
    for found in (batch["labels"], collated["labels"]):
        assert found.dtype == dtype
        assert torch.equal(found, torch.tensor(values).to(dtype))
    names = sorted(folder.glob("*.mp4"))
    if max(np.abs(values).reshape(-1)) > 2**31:
        with pytest.raises(
            vl.errors.ArgumentError, match=r"c\.mp4: the label 1099511627776 is over 32"
        ):
            read(names, given)
        return
    found = read(names, given)
    assert found.dtype == (torch.int32 if dtype is torch.int64 else dtype)
    assert torch.equal(found, torch.tensor(values).reshape(3, -1).to(found.dtype))


def read(names, labels, **options):
    """The labels that `fn.readers.video` gives."""

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def graph():
        return fn.readers.video(
            filenames=names, labels=labels, sequence_length=1, uniform_sample=True, **options
        )

    with graph() as pipe:
        return pipe.run()[1].as_tensor()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, None, 2], r"v1: has no label, got None"),
        ([None, None, None], r"v0: has no label, got None"),
        (["a", "b", ""], r"v2: has no label, got ''"),
        ([0.5, float("nan"), 1], r"v1: the label nan is not a finite float32"),
        ([0.5, 1e300, 1], r"v1: the label 1e\+300 is not a finite float32"),
        (np.array([1, np.inf, 0.5]), r"v1: the label inf is not a finite"),
        ([[1, 2], [1, float("nan")]], r"v1: the label \[ 1. nan\] is not a finite"),
        ([[1, 2], [1]], r"v1: its label has the shape \(1,\), that of v0 \(2,\)"),
        ([[1], [[1], [2, 3]]], r"v1: the label .* is ragged"),
        ([[1], []], r"v1: the label \[\] is no vector of numbers"),
        ([["a"], ["b"]], r"v0: the label \['a'\] is no vector of numbers"),
        ([1, "b"], r"v1: the label 'b' is of another kind than that of v0, 1"),
        ([1.5, [2.5]], r"v1: the label \[2.5\] is of another kind than that of v0, 1.5"),
        ([1, {}], r"v1: the label {} is no integer, float, text or vector"),
        ([1, 2**70], r"v1: the label 1180591620717411303424 is not an integer of 64 bits"),
        (np.array([1, 2**63], np.uint64), r"v1: the label 9223372036854775808 is not an integer"),
    ],
)
def test_labels_that_are_none_name_the_video(labels, message):
    with pytest.raises(vl.errors.ArgumentError, match=message):
        as_labels(labels, "v{}".format)


def test_the_video_of_a_wrong_label_is_named_by_its_path(folder):
    for make in (vl.ClipDataset, lambda *a, **o: vl.Loader(*a, batch_size=1, **o)):
        with pytest.raises(vl.errors.ArgumentError, match=r"c\.mp4: the label nan"):
            make(folder, CLIP, labels=[0.0, float("nan"), 1.0])
        with pytest.raises(
            vl.errors.ArgumentError, match=r"given as LabelColumn\(file, label=column\)"
        ):
            make(folder, CLIP, labels="labels.csv")


def test_only_the_labels_of_rows_that_are_videos_count(folder, tmp_path):
    bad = tmp_path / "b.mp4"
    bad.write_bytes(b"no video")
    names = sorted(folder.glob("*.mp4"))
    index = vl.index_dataset([names[0], bad, *names[1:]], tmp_path / "set.parquet", workers=0)
    dataset = vl.ClipDataset(index, CLIP, labels=[0.25, None, 0.5, 0.75])
    assert dataset.labels == [0.25, 0.5, 0.75]
    dataset = vl.ClipDataset(index, CLIP, labels=np.array([1, np.nan, 2, 3]))
    assert [dataset[number]["labels"].item() for number in range(3)] == [1, 2, 3]
    again = pickle.loads(pickle.dumps(dataset))
    assert again[2]["labels"].item() == 3


def test_labels_follow_the_videos_that_are_kept(folder, tmp_path):
    log = tmp_path / "errors.jsonl"
    log.write_text('{"path": "%s", "frame": null}\n' % (folder / "a.mp4"))
    options = {"labels": ["x", "y", "z"], "skip_known": log}
    (batch,) = vl.Loader(folder, CLIP, batch_size=3, workers=0, **options)
    assert batch["labels"].tolist() == [1, 2]


@pytest.mark.parametrize("labels", [[0.5, 1.5, 1.5], [[1], [2], [2]]])
def test_only_classes_are_balanced(folder, labels):
    message = "balanced draws every class as often"
    with pytest.raises(vl.errors.ArgumentError, match=message):
        vl.Loader(folder, CLIP, batch_size=1, labels=labels, balanced=True)
    with pytest.raises(vl.VideoError, match=message):
        read(sorted(folder.glob("*.mp4")), labels, balanced=True)
