"""Numbers of classes that are the same in training and validation."""

import shutil

import pytest
import torch

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video

CLIP = vl.UniformClip(1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A set of three classes, and one that lacks the first of them."""
    root = tmp_path_factory.mktemp("classes")
    encode_video(root / "v.mp4", frames=3, size=(160, 120), codec="mpeg4")
    for folder in ("train/cat", "train/dog", "train/owl", "val/dog", "val/owl"):
        (root / folder).mkdir(parents=True)
        shutil.copy(root / "v.mp4", root / folder / "v.mp4")
    return root


def loader(videos, **options):
    return vl.Loader(videos, CLIP, batch_size=3, workers=0, **options)


def collated(dataset):
    return torch.tensor([dataset[number]["labels"] for number in range(len(dataset))])


def test_a_validation_set_has_the_classes_of_the_training_set(folders):
    train, own = loader(folders / "train"), loader(folders / "val")
    assert (train.classes, own.classes) == (["cat", "dog", "owl"], ["dog", "owl"])
    val = loader(folders / "val", classes=train.classes)
    assert val.classes == train.classes
    (batch,) = val
    assert batch["labels"].tolist() == [1, 2]
    dataset = vl.ClipDataset(folders / "val", CLIP, classes=train.classes)
    assert collated(dataset).tolist() == [1, 2]
    assert dataset.classes == train.classes
    again = vl.ClipDataset(folders / "val", CLIP, classes=dataset.classes[::-1])
    assert collated(again).tolist() == [1, 0]


def test_classes_number_the_texts_of_tables_and_functions(folders, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("path,label\ndog/v.mp4,bark\nowl/v.mp4,hoot\n")
    by_folder = {"dog/v.mp4": "bark", "owl/v.mp4": "hoot"}
    classes = ["hoot", "meow", "bark"]
    for labels in (vl.LabelColumn(table), by_folder, ["bark", "hoot"], lambda k: by_folder[k[-9:]]):
        dataset = vl.ClipDataset(folders / "val", CLIP, labels=labels, classes=classes)
        assert collated(dataset).tolist() == [2, 0]


def test_a_class_that_is_not_among_them_names_the_video(folders, tmp_path):
    message = r"train/cat/v\.mp4: its class 'cat' is not among the 2 classes: dog, owl"
    with pytest.raises(vl.errors.ArgumentError, match=message):
        loader(folders / "train", classes=["dog", "owl"])
    with pytest.raises(vl.errors.ArgumentError, match=message):
        vl.ClipDataset(folders / "train", CLIP, classes=["dog", "owl"])
    with pytest.raises(vl.errors.ArgumentError, match=message):
        read(file_root=folders / "train", classes=["dog", "owl"])
    with pytest.raises(vl.errors.ArgumentError, match="is not among the 0 classes"):
        loader(folders / "val", classes=[])


def test_integers_number_the_classes(folders):
    dataset = vl.ClipDataset(folders / "val", CLIP, labels=[1, 0], classes=["a", "b"])
    assert dataset.classes == ["a", "b"]
    for wrong in (2, -1):
        with pytest.raises(
            vl.errors.ArgumentError, match=rf"owl/v\.mp4: the label {wrong} is the number"
        ):
            vl.ClipDataset(folders / "val", CLIP, labels=[1, wrong], classes=["a", "b"])
    # A training set of integers has no names to tell.
    train = vl.ClipDataset(folders / "train", CLIP, labels=[7, 8, 9])
    assert collated(
        vl.ClipDataset(folders / "val", CLIP, labels=[8, 9], classes=train.classes)
    ).tolist() == [8, 9]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": ["a", "b", "a"]}, "classes has 'a' twice"),
        ({"classes": "ab"}, "classes are names"),
        ({"classes": [1, 2]}, "classes are names"),
        ({"classes": ["a"], "labels": [0.5, 0.25]}, "classes go with labels that are texts"),
    ],
)
def test_classes_that_are_none_are_refused(folders, options, message):
    with pytest.raises(vl.errors.ArgumentError, match=message):
        loader(folders / "val", **options)


def test_classes_of_videos_without_labels_are_refused(folders):
    with pytest.raises(vl.errors.ArgumentError, match="nothing says of which class"):
        loader([folders / "v.mp4"], classes=["a"])


def read(**options):
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def graph():
        return fn.readers.video(sequence_length=1, uniform_sample=True, **options)

    with graph() as pipe:
        return pipe.run()[1].as_tensor().reshape(-1).tolist()


def test_readers_of_pipelines_take_classes(folders):
    classes = ["cat", "dog", "owl"]
    assert read(file_root=folders / "val") == [0, 1]
    assert read(file_root=folders / "val", classes=classes) == [1, 2]
    assert read(dataset=folders / "val", labels=["owl", "dog"], classes=classes) == [2, 1]
    with pytest.raises(vl.errors.ArgumentError, match="classes goes with labels or file_root"):
        read(filenames=[folders / "v.mp4"], classes=classes)
