"""Readers of dynamic mode: epochs, shards and batches."""

import threading

import numpy as np
import pytest
import torch
from record_files import example, write_tfrecord

import videoloader as vl
from videoloader.dali import fn, tfrecord
from videoloader.dali.experimental import dynamic as ndd
from videoloader.dali.readers import stored_samples
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.workers.processors import usable_processors


@pytest.fixture
def files(tmp_path):
    """Five files of one byte, their numbers."""
    for number in range(5):
        path = tmp_path / f"class{number // 3}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes([number]))
    return tmp_path


@pytest.fixture
def reader_of(files):
    made = []

    def make(**given):
        made.append(ndd.readers.File(file_root=files, **given))
        return made[-1]

    yield make
    for reader in made:
        reader.close()


def epoch(reader, batch_size=None):
    """The numbers of the files, by batch."""
    return [content.torch().flatten().tolist() for content, _ in reader.next_epoch(batch_size)]


# What the sample numbers of three epochs are, as NVIDIA's package gives them.
EPOCHS = [
    ({}, 2, [[[0, 1], [2, 3], [4, 0]], [[1, 2], [3, 4], [0, 1]], [[2, 3], [4, 0], [1, 2]]]),
    ({}, None, [[[0], [1], [2], [3], [4]]] * 3),
    ({"pad_last_batch": True}, 2, [[[0, 1], [2, 3], [4, 4]]] * 3),
    ({"num_shards": 2}, 2, [[[0, 1]], [[2, 3], [4, 0]], [[1, 2]]]),
    ({"num_shards": 2, "shard_id": 1}, None, [[[2], [3], [4]], [[0], [1]], [[2], [3], [4]]]),
    (
        {"num_shards": 2, "stick_to_shard": True, "pad_last_batch": True},
        2,
        [[[0, 1], [1, 1]]] * 3,
    ),
]


@pytest.mark.parametrize(("given", "size", "expected"), EPOCHS)
def test_epochs_are_those_of_dali(reader_of, given, size, expected):
    reader = reader_of(**given)
    assert [epoch(reader, size) for _ in expected] == expected


def test_batches_and_samples_are_tuples_of_outputs(reader_of):
    for content, label in reader_of().next_epoch(batch_size=2):
        assert isinstance(content, ndd.Batch)
        assert isinstance(label, ndd.Batch)
        assert (content.dtype, label.dtype) == (ndd.uint8, ndd.int32)
    for content, label in reader_of().next_epoch():
        assert isinstance(content, ndd.Tensor)
        assert (content.shape, label.item()) == ((1,), content[0].item() // 3)


def test_the_batch_size_may_be_given_with_the_reader(reader_of):
    reader = reader_of(batch_size=3)
    assert epoch(reader) == [[0, 1, 2], [3, 4, 0]]
    with pytest.raises(ArgumentError, match="batch_size is 3 since its first epoch, got 2"):
        reader.next_epoch(batch_size=2)
    assert epoch(reader, 3) == [[1, 2, 3], [4, 0, 1]]


def test_an_epoch_that_was_left_has_used_up_what_it_gave(reader_of):
    reader = reader_of()
    for _ in reader.next_epoch(batch_size=2):
        break
    assert epoch(reader, 2) == [[2, 3], [4, 0], [1, 2]]
    reader.close()
    assert epoch(reader, 2) == [[0, 1], [2, 3], [4, 0]]


def test_shuffled_epochs_are_those_of_a_pipeline(reader_of, files):
    given = {"random_shuffle": True, "seed": 5, "initial_fill": 4}
    pipeline = vl.dali.Pipeline(batch_size=2, num_threads=1)
    with pipeline:
        pipeline.set_outputs(*fn.readers.file(file_root=files, **given))
    expected = [pipeline.run()[0].as_array().flatten().tolist() for _ in range(6)]
    pipeline.close()
    reader = reader_of(**given)
    found = [*epoch(reader, 2), *epoch(reader, 2)]
    assert found == expected
    first = np.concatenate(found)[:5].tolist()
    assert sorted(first) == [0, 1, 2, 3, 4] != first


def test_batches_stay_what_they_are(reader_of):
    batches = [content for content, _ in reader_of().next_epoch(batch_size=2)]
    assert [batch.torch().flatten().tolist() for batch in batches] == [[0, 1], [2, 3], [4, 0]]


def test_a_reader_of_one_output_gives_a_tuple_of_one(tmp_path):
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", np.full((2, 2), number, np.float32))
    reader = ndd.readers.Numpy(file_root=tmp_path, file_filter="*.npy")
    found = [array for (array,) in reader.next_epoch()]
    assert [array.torch().tolist() for array in found] == [[[n, n], [n, n]] for n in range(3)]
    reader.close()


def test_named_outputs_come_in_a_dictionary(tmp_path):
    path, index = tmp_path / "a.tfrecord", tmp_path / "a.index"
    index.write_text(write_tfrecord(path, [example(label=[7]), example(label=[8])]))
    features = {"label": tfrecord.FixedLenFeature([1], tfrecord.int64, 0)}
    reader = ndd.readers.TFRecord(path=path, index_path=index, features=features)
    assert [sample["label"].item() for sample in reader.next_epoch()] == [7, 8]
    assert [batch["label"].shape for batch in reader_epoch(path, index, features)] == [[(1,)] * 2]
    reader.close()


def reader_epoch(path, index, features):
    reader = ndd.readers.TFRecord(path=path, index_path=index, features=features, batch_size=2)
    yield from reader.next_epoch()
    reader.close()


def test_clips_of_a_video_are_read(tmp_path):
    frames = torch.arange(8, dtype=torch.uint8)[:, None, None, None].expand(8, 32, 48, 3) * 25
    vl.write_video(frames.contiguous(), tmp_path / "a.mp4", fps=30)
    reader = ndd.readers.Video(filenames=[tmp_path / "a.mp4"], sequence_length=4)
    clips = [clip for (clip, *_) in reader.next_epoch()]
    reader.close()
    assert [(clip.shape, clip.layout) for clip in clips] == [((4, 32, 48, 3), "FHWC")] * 2
    with vl.Video(tmp_path / "a.mp4") as video:
        expected = video.get_frames().frames
    assert torch.equal(torch.cat([clip.torch() for clip in clips]), expected)


def test_metadata_have_dalis_keys(reader_of):
    found = reader_of(num_shards=2, shard_id=1, pad_last_batch=True).get_metadata(2)
    assert found == {
        "epoch_size": 5,
        "epoch_size_padded": 6,
        "number_of_shards": 2,
        "shard_id": 1,
        "pad_last_batch": True,
        "stick_to_shard": False,
    }


def test_a_context_says_how_many_threads_read(reader_of):
    reader = reader_of()
    with ndd.EvalContext(num_threads=3):
        epoch(reader)
    assert reader._pipeline.num_threads == 3
    ndd.set_num_threads(2)
    try:
        list(reader_of().next_epoch(ctx=ndd.EvalContext(num_threads=1)))
        assert ndd.get_num_threads() == 2
    finally:
        ndd.set_num_threads(None)
    assert ndd.get_num_threads() == usable_processors()


def test_wrong_arguments_are_errors_where_the_reader_is_made(files):
    with pytest.raises(ArgumentError, match="file_rot"):
        ndd.readers.File(file_rot=files)
    with pytest.raises(ArgumentError, match="batches"):
        ndd.readers.File(file_root=files, shard_id=ndd.as_batch([0, 1]))
    with pytest.raises(ArgumentError, match="GPU"):
        ndd.readers.File(file_root=files, device="gpu")
    with pytest.raises(UnsupportedError, match="checkpoints"):
        ndd.readers.File(file_root=files, enable_checkpointing=True)
    with pytest.raises(UnsupportedError, match="capture"):
        ndd.readers.File(file_root=files).next_epoch(batch_size=2, capture=True)
    with pytest.raises(AttributeError, match="File"):
        _ = ndd.readers.Files


def test_a_missing_file_names_itself(tmp_path):
    reader = ndd.readers.File(files=["gone.bin"], file_root=tmp_path)
    with pytest.raises(vl.VideoError, match=r"gone\.bin"):
        list(reader.next_epoch(batch_size=1))
    reader.close()


def test_a_closed_reader_leaves_no_threads(reader_of, monkeypatch):
    for name, value in (("PATIENCE", 0.0), ("_AT_ONCE", -1.0), ("_FEW", 0)):  # threads read
        monkeypatch.setattr(stored_samples, name, value)
    before = {*threading.enumerate()}  # a thread of an earlier test may end meanwhile
    reader = reader_of()
    epoch(reader, 2)
    made = {*threading.enumerate()} - before
    assert any(thread.name.startswith("videoloader-read") for thread in made)
    reader.close()
    assert not {*threading.enumerate()} - before
