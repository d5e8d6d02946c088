"""TFRecord, RecordIO and LMDB."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from record_files import example, field, recordio, write_tfrecord
from stored_batches import read_epoch

from videoloader.dali import fn
from videoloader.dali.readers.records.caffe import _Datums, _Protos
from videoloader.dali.readers.records.lmdb_file import data_file, find_values
from videoloader.dali.readers.records.protobuf import fields, integers
from videoloader.dali.tfrecord import FixedLenFeature, VarLenFeature, float32, int64, string
from videoloader.dali.tools import rec2idx, tfrecord2idx
from videoloader.errors import ArgumentError, FormatError, OperatorError, VideoError

REFERENCES = Path(__file__).parents[1] / "references"

RECORDS = [
    example(image=b"abc", label=[5], box=[1.0, 2.0, 3.0, 4.0], negative=[-3]),
    example(image=b"defg", label=[6], box=[1.5, 2.0], negative=[-4, 2]),
    example(image=b"", label=[7]),
]


@pytest.fixture
def tfrecord(tmp_path):
    path, index = tmp_path / "a.tfrecord", tmp_path / "a.idx"
    index.write_text(write_tfrecord(path, RECORDS))

    def read(features, paths=(str(path),), indexes=(str(index),), **arguments):
        return read_epoch(
            fn.readers.tfrecord,
            path=list(paths),
            index_path=list(indexes),
            features=features,
            **arguments,
        )

    read.path, read.index = str(path), str(index)
    return read


def test_features_come_as_they_were_asked_for(tfrecord):
    samples = tfrecord(
        {
            "image": FixedLenFeature((), string, ""),
            "label": FixedLenFeature([1], int64, -1),
            "box": VarLenFeature([2], float32, 0.0),
        }
    )
    assert [bytes(image) for image, _, _ in samples] == [b"abc", b"defg", b""]
    assert [label.tolist() for _, label, _ in samples] == [[5], [6], [7]]
    assert [box.tolist() for _, _, box in samples[:2]] == [[[1, 2], [3, 4]], [[1.5, 2]]]
    assert [value.dtype for value in samples[0]] == [np.uint8, np.int64, np.float32]
    scalars = tfrecord({"label": FixedLenFeature([], int64, -1)})
    assert [label.shape for (label,) in scalars] == [()] * 3
    vectors = tfrecord({"negative": VarLenFeature(int64, 0)}, batches=2)
    assert [vector.tolist() for (vector,) in vectors] == [[-3], [-4, 2]]


def test_what_a_record_lacks_has_the_default(tfrecord):
    samples = tfrecord(
        {"box": FixedLenFeature([6], float32, 7.0), "no": VarLenFeature(int64, 9)}, batches=1
    )
    assert samples[0][0].tolist() == [1, 2, 3, 4, 7, 7]
    assert (samples[0][1].shape, samples[0][1].item()) == ((), 9)


def test_an_index_chooses_records_and_is_not_needed_for_all(tfrecord, tmp_path):
    lines = Path(tfrecord.index).read_text().splitlines()
    (tmp_path / "b.idx").write_text("\n".join([lines[2], lines[0]]))
    features = {"label": FixedLenFeature([1], int64, -1)}
    chosen = tfrecord(features, indexes=[str(tmp_path / "b.idx")])
    assert [label.item() for (label,) in chosen] == [7, 5]
    both = tfrecord(features, [tfrecord.path] * 2, [tfrecord.index] * 2)
    assert [label.item() for (label,) in both] == [5, 6, 7, 5, 6, 7]
    assert [label.item() for (label,) in tfrecord(features, indexes=())] == [5, 6, 7]


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ({"box": FixedLenFeature([1], float32, 0.0)}, "4 values, more than"),
        ({"box": FixedLenFeature([4], int64, 0)}, "values of float32, int64"),
        ({"box": VarLenFeature([3], float32, 0.0)}, "do not fill rows"),
    ],
)
def test_values_that_do_not_fit_name_the_record(tfrecord, feature, message):
    with pytest.raises(OperatorError, match=message):
        tfrecord(feature)


def test_what_is_no_feature_is_refused(tfrecord):
    with pytest.raises(TypeError, match="'box'"):
        tfrecord({"box": 10})
    with pytest.raises(ArgumentError, match="empty"):
        tfrecord({})
    with pytest.raises(ArgumentError, match="1 index files for 2"):
        tfrecord({"box": VarLenFeature(float32)}, [tfrecord.path] * 2)
    with pytest.raises(ArgumentError, match="type of a feature"):
        VarLenFeature(9)


def test_a_record_that_is_cut_is_an_error_of_ours_or_lacks_a_feature(tmp_path):
    features = {"negative": FixedLenFeature([], int64, 0)}
    values = set()
    for cut in range(1, len(RECORDS[0])):
        write_tfrecord(tmp_path / "bad", [RECORDS[0][:cut]])
        try:
            ((value,),) = read_epoch(
                fn.readers.tfrecord, path=str(tmp_path / "bad"), features=features
            )
        except OperatorError as error:
            assert "bad at index 0" in str(error)
        else:
            values.add(value.item())
    assert values <= {0}


def test_every_integer_survives_its_field():
    for number in (0, 1, 127, 128, -1, 2**63 - 1, -(2**63)):
        (found,) = fields(memoryview(field(3, number)))
        assert (found.number, integers(found.value)) == (3, [number])


def test_recordio_has_images_and_labels_in_the_order_of_the_file(tmp_path):
    records = [
        recordio(3.0, b"abc"),
        recordio([1.0, 2.5], b"defgh"),
        recordio(7.0, b""),
    ]
    starts = np.cumsum([0, *map(len, records)]).tolist()[:-1]
    (tmp_path / "a.rec").write_bytes(b"".join(records))
    (tmp_path / "a.idx").write_text(
        "".join(f"{key}\t{start}\n" for key, start in reversed(list(enumerate(starts))))
    )
    found = read_epoch(
        fn.readers.mxnet, path=str(tmp_path / "a.rec"), index_path=str(tmp_path / "a.idx")
    )
    assert [bytes(image) for image, _ in found] == [b"abc", b"defgh", b""]
    assert [labels.tolist() for _, labels in found] == [[3.0], [1.0, 2.5], [7.0]]
    (tmp_path / "bad.idx").write_text("0\t4\n")
    with pytest.raises(OperatorError, match=r"a\.rec"):
        read_epoch(
            fn.readers.mxnet, path=[str(tmp_path / "a.rec")], index_path=str(tmp_path / "bad.idx")
        )


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """A database that LMDB wrote, see references/lmdb_file.py."""
    folder = tmp_path_factory.mktemp("lmdb")
    (folder / "data.mdb").write_bytes(np.load(REFERENCES / "lmdb_file.npz")["data"].tobytes())
    return str(folder)


def test_all_values_of_a_database_are_found_in_the_order_of_their_keys(database):
    sys.path.insert(0, str(REFERENCES))
    keys, places = find_values(data_file(database))
    assert keys == [b"%064d" % number for number in range(150)]
    data = Path(data_file(database)).read_bytes()
    for number in range(150):
        written = next(each for each in range(150) if each * 7919 % 150 == number)
        length = written * 37 % 400 if written % 17 else written * 29 % 6000
        offset, size = places[number]
        assert data[offset : offset + size] == bytes([written % 251]) * length


def test_a_damaged_database_is_an_error_of_ours_or_has_all_values(database, tmp_path):
    data = bytearray(Path(data_file(database)).read_bytes())
    rng = np.random.default_rng(3)
    for _ in range(150):
        bad = bytearray(data)
        for place in rng.integers(0, 12 * 4096, 8):
            bad[place] = int(rng.integers(256))
        (tmp_path / "data.mdb").write_bytes(bad[: int(rng.integers(1, len(bad)))])
        try:
            keys, _ = find_values(str(tmp_path / "data.mdb"))
        except (VideoError, OSError) as error:
            assert "data.mdb" in str(error)
        else:
            assert len(keys) == 150


def stored(kind, value, **arguments):
    """What is read of one value of a database."""
    values = kind.__new__(kind)
    values._arguments = arguments
    values._with_image = arguments.get("image_available", True)
    values._with_label = arguments.get("label_available", True)
    values.name = lambda number: "value"
    values.data = lambda number: memoryview(value)
    return [sample.value.tolist() for sample in values.read(0)]


def test_a_datum_has_an_image_and_a_label():
    datum = field(1, 3) + field(2, 4) + field(4, b"jpeg") + field(5, -2) + field(7, 1)
    assert stored(_Datums, datum) == [list(b"jpeg"), [-2]]
    assert stored(_Datums, datum, image_available=False) == [[-2]]
    assert stored(_Datums, field(4, b"")) == [[], []]


def proto(**values):
    numbers = {"dims": 1, "data_type": 2, "floats": 3, "ints": 4, "text": 6}
    return field(
        1,
        b"".join(
            field(numbers[key], each)
            for key, several in values.items()
            for each in (several if isinstance(several, list) else [several])
        ),
    )


@pytest.mark.parametrize(
    ("label_type", "protos", "expected"),
    [
        (0, [proto(dims=1, ints=5)], [[5]]),
        (1, [proto(ints=[1, 3])], [[0, 1, 0, 1]]),
        (2, [proto(dims=2, floats=[0.5, 1.5])], [[0.5, 1.5]]),
        (3, [proto(ints=[2, 0]), proto(floats=[0.5, 0.25])], [[0.25, 0, 0.5, 0]]),
        (4, [], []),
    ],
)
def test_tensor_protos_have_labels_of_every_type(label_type, protos, expected):
    value = (
        proto(dims=1, text=b"jpeg") + b"".join(protos) + proto(dims=4, floats=[0.0, 1.0, 2.0, 3.0])
    )
    given = {
        "image_available": True,
        "label_type": label_type,
        "num_labels": 4,
        "additional_inputs": 0,
        "bbox": True,
    }
    assert stored(_Protos, value, **given) == [list(b"jpeg"), *expected, [0, 1, 2, 3]]
    with pytest.raises(FormatError, match="no tensor for the input"):
        stored(_Protos, value, **{**given, "additional_inputs": 2})


def test_what_is_no_database_is_named(tmp_path):
    (tmp_path / "data.mdb").write_bytes(bytes(20_000))
    with pytest.raises(FormatError, match=r"data\.mdb"):
        read_epoch(fn.readers.caffe, path=str(tmp_path))
    with pytest.raises(OSError, match="/nowhere"):
        read_epoch(fn.readers.caffe2, path="/nowhere")
    with pytest.raises(ArgumentError, match="nothing is read"):
        read_epoch(fn.readers.caffe, path="x", image_available=False, label_available=False)
    assert data_file(os.fspath(tmp_path)) == os.path.join(tmp_path, "data.mdb")


@pytest.mark.parametrize("parts", [1, 3])
def test_the_tools_write_the_index_that_the_readers_take(tmp_path, tfrecord, parts, capsys):
    assert tfrecord2idx.main([tfrecord.path, str(tmp_path / "new.idx")]) == 0
    assert (tmp_path / "new.idx").read_text() == Path(tfrecord.index).read_text()
    records = [recordio(float(at), bytes(range(at, 40)), parts) for at in range(3)]
    (tmp_path / "a.rec").write_bytes(b"".join(records))
    index = str(tmp_path / "rec.idx")
    assert rec2idx.main([str(tmp_path / "a.rec"), index]) == 0
    assert "3 records" in capsys.readouterr().out
    found = read_epoch(fn.readers.mxnet, path=str(tmp_path / "a.rec"), index_path=index)
    assert [labels.tolist() for _, labels in found] == [[0.0], [1.0], [2.0]]
    if parts == 1:
        assert [bytes(image) for image, _ in found] == [bytes(range(at, 40)) for at in range(3)]
    assert rec2idx.main([tfrecord.path, index]) == 1
    assert tfrecord.path in capsys.readouterr().err
