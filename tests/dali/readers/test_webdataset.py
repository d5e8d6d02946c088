import io
import tarfile

import pytest
from stored_batches import read_epoch

from videoloader.dali import fn, types
from videoloader.dali.readers.records.archive_samples import write_index
from videoloader.errors import ArgumentError, FormatError, OperatorError, SourceError

MEMBERS = [
    ("0.jpg", b"j0"), ("0.cls", b"00"), ("1.jpg", b"j1"), ("1.txt", b"t1"), ("dir/2.JPG", b"J2"),
    ("dir/2.cls", b"22"), (".hidden.jpg", b"h"), ("3.left.png", b"l3"), ("3.right.png", b"r3"),
    ("noext", b"n"), ("4.cls", b""), ("4.jpg", b"j4"), ("0.jpg", b"again"), ("5.cls", b"5555"),
    ("5.cls", b"second"), ("dir.x/6.jpg", b"6"),
]  # fmt: skip


def write_tar(path, members):
    with tarfile.open(path, "w") as tar:
        folder = tarfile.TarInfo("dir/")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return str(path)


@pytest.fixture
def archives(tmp_path):
    return [
        write_tar(tmp_path / "a.tar", MEMBERS),
        write_tar(tmp_path / "b.tar", [("7.jpg", b"j7"), ("7.cls", b"0123")]),
    ]


def read(paths, ext, **arguments):
    return [
        [bytes(value.tobytes()) for value in sample]
        for sample in read_epoch(fn.readers.webdataset, paths=paths, ext=ext, **arguments)
    ]


def test_members_of_one_name_are_a_sample(archives):
    assert read(archives[0], ["jpg", "cls"]) == [
        [b"j0", b"00"], [b"j1", b""], [b"", b"22"], [b"", b""], [b"", b""], [b"j4", b""],
        [b"again", b""], [b"", b"5555"], [b"6", b""],
    ]  # fmt: skip


def test_an_output_may_have_one_of_several_extensions(archives):
    found = read(archives[0], ["jpg;left.png", "cls;txt"], missing_component_behavior="skip")
    assert found == [[b"j0", b"00"], [b"j1", b"t1"], [b"j4", b""]]
    found = read(archives[0], "jpg", case_sensitive_extensions=False)
    assert found[2] == [b"J2"]


def test_a_missing_member_leaves_the_sample_out_or_fails(archives):
    found = read(archives, ["cls"], missing_component_behavior="Skip")
    assert found == [[b"00"], [b"22"], [b""], [b"5555"], [b"0123"]]
    with pytest.raises(FormatError, match=r"1\.jpg.*'cls'"):
        read(archives, ["jpg", "cls"], missing_component_behavior="error")


def test_outputs_have_element_types(archives):
    (sample,) = read_epoch(
        fn.readers.webdataset,
        paths=archives[1],
        ext=["jpg", "cls"],
        dtypes=[types.UINT8, types.INT16],
    )
    assert sample[1].tolist() == [0x3130, 0x3332]
    with pytest.raises(OperatorError, match=r"7\.cls"):
        read(archives[1], ["jpg", "cls"], dtypes=[types.UINT8, types.FLOAT64])


def test_an_index_file_gives_the_same_samples(archives, tmp_path):
    indexes = []
    for number, path in enumerate(archives):
        indexes.append(str(tmp_path / f"{number}.idx"))
        write_index(path, indexes[-1])
    found = read(archives, ["jpg;txt"], index_paths=indexes)
    assert found == [each for at, each in enumerate(read(archives, ["jpg;txt"])) if at != 4]
    lines = (tmp_path / "1.idx").read_text().splitlines()
    assert lines == ["v1.2 1", "jpg 1024 2 7.jpg cls 2048 4 7.cls"]
    (tmp_path / "old.idx").write_text("v1.1 1\njpg 1024 2 cls 2048 4\n")
    found = read(archives[1], ["cls"], index_paths=str(tmp_path / "old.idx"))
    assert found == [[b"0123"]]


@pytest.mark.parametrize(
    "text",
    ["garbage", "v1.3 1\n", "v1.2 1\njpg 1 2\n", "v1.2 2\njpg 1 2 n\n", "v1.2 1\njpg -1 2 n\n"],
)
def test_a_damaged_index_is_named(archives, tmp_path, text):
    (tmp_path / "bad.idx").write_text(text)
    with pytest.raises(FormatError, match=r"bad\.idx"):
        read(archives[1], ["jpg"], index_paths=str(tmp_path / "bad.idx"))


def test_archives_are_visited_in_another_order_after_the_first_epoch(archives):
    found = [sample[0] for sample in read(archives, ["jpg"], shuffle_after_epoch=True, batches=40)]
    epochs = [tuple(found[at : at + 10]) for at in range(0, 40, 10)]
    shuffled = read(archives, ["jpg"], shuffle_after_epoch=True, random_shuffle=True, batches=20)
    for at in (0, 10):
        assert sorted(shuffled[at : at + 10]) == sorted([sample] for sample in epochs[0])
    assert epochs[0][:3] == (b"j0", b"j1", b"")
    assert set(epochs) == {epochs[0], (b"j7", *epochs[0][:9])}


@pytest.mark.parametrize("data", [b"x" * 5000, b"x"])
def test_what_is_no_archive_is_named(tmp_path, data):
    (tmp_path / "bad.tar").write_bytes(data)
    with pytest.raises(FormatError, match=r"bad\.tar"):
        read(str(tmp_path / "bad.tar"), ["jpg"])


def test_an_archive_that_is_cut_off_is_named(archives, tmp_path):
    with open(archives[0], "rb") as file:
        data = file.read()
    (tmp_path / "cut.tar").write_bytes(data[:5000])
    with pytest.raises((FormatError, SourceError), match=r"cut\.tar"):
        read(str(tmp_path / "cut.tar"), ["jpg"])


def test_arguments_without_a_meaning_are_named(archives):
    for arguments, message in (
        ({"ext": []}, "ext is empty"),
        ({"ext": ["a"], "index_paths": ["x", "y", "z"]}, "3 index_paths for 2"),
        ({"ext": ["a"], "dtypes": [types.UINT8] * 2}, "2 dtypes for 1"),
        ({"ext": ["a"], "missing_component_behavior": "x"}, "missing_component_behavior"),
        ({"ext": ["zip"], "missing_component_behavior": "skip"}, "no sample"),
    ):
        with pytest.raises(ArgumentError, match=message):
            read(archives, **arguments)
