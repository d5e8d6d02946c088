"""Lists of paths and numbers that were damaged, or made to hurt."""

import json
from fractions import Fraction

import pytest

import videoloader as vl
from videoloader.dali.readers.files.listing import listed
from videoloader.dali.readers.files.nemo_asr import _entries
from videoloader.dali.readers.video.file_list import read_file_list
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset.listing import find_items
from videoloader.sources.lists import exact_number
from videoloader.training.known_bad import read_lines

LONG = "x" * 300 + ".mp4"
HUGE = [
    "9" * 5000,
    "1e100",
    "1e99999999",
    "-1e+099999999",
    "1e-99999999",
    "1" * 3000 + "/" + "7" * 3000,
]


@pytest.fixture
def write(tmp_path):
    def write(data, name="list.txt"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.mark.parametrize("text", ["12", "-3", "0.5", "1e-3", "30000/1001", ".5", "1e6"])
def test_numbers_are_exact(text):
    assert exact_number(text) == Fraction(text)


@pytest.mark.parametrize("text", HUGE)
def test_numbers_of_too_many_digits_take_no_time(text):
    with pytest.raises(OverflowError, match="has too many digits"):
        exact_number(text)


@pytest.mark.parametrize("text", ["", "a", "1/0", "x" * 1000, "1e", "2024-" * 20])
def test_texts_that_are_no_numbers_are_told(text):
    with pytest.raises(ValueError):  # noqa: PT011  (of several texts)
        exact_number(text)


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("line", ["a.mp4 {}", "a.mp4 1 {}", "a.mp4 1 0 {}", "a.mp4 1 {} 3"])
def test_numbers_of_too_many_digits_name_the_line(write, tmp_path, monkeypatch, number, line):
    monkeypatch.chdir(tmp_path)
    write(b"", "a.mp4")
    path = write(f"a.mp4 0\n{line.format(number)}\n")
    with pytest.raises(vl.errors.ArgumentError, match=r"list\.txt, line 2: .* has too many digits"):
        read_file_list(path)


@pytest.mark.parametrize("label", ["9" * 5000, str(2**31), str(-(2**31) - 1)])
def test_labels_of_too_many_bits_name_the_line(write, tmp_path, label):
    path = write(f"a.mp4 0\na.mp4 {label}\n")
    with pytest.raises(
        vl.errors.FormatError, match=r"list\.txt, line 2: the label .* is over 32 bits"
    ):
        listed(str(path), labelled=True)
    if len(label) < 20:
        with pytest.raises(
            vl.errors.ArgumentError, match=r"line 2: the label -?\d+ is over 32 bits"
        ):
            read_labels(file_list=path)
    with pytest.raises(
        vl.errors.ArgumentError, match=r"b\.png: the label -?\d+ is (over 32|not an int)"
    ):
        read_labels("file", files=["a.png", "b.png"], labels=[0, int(label[:100])])


def read_labels(reader="video", **options):
    @vl.dali.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def graph():
        rule = {"sequence_length": 1} if reader == "video" else {}
        return getattr(vl.dali.fn.readers, reader)(**options, **rule)

    with graph() as pipe:
        pipe.build()


@pytest.mark.parametrize(
    "read",
    [
        read_file_list,
        find_items,
        lambda path: list(_entries(str(path), 0, 0)),
        lambda path: list(read_lines(path)),
    ],
)
def test_lines_that_are_no_text_are_named(write, read):
    first = {read_file_list: b"a.mp4 1\n", find_items: b"a.mp4\n"}.get(
        read, b'{"audio_filepath": "a.wav"}\n'
    )
    with pytest.raises(vl.errors.SourceError, match=r"list\.txt.* line 2"):
        read(write(first + "café.mp4 2\n{}\n".encode("latin-1")))


@pytest.mark.parametrize("name", [LONG, "d/" * 2200 + "a.mp4"])
def test_names_that_are_too_long_name_the_line(write, name):
    for read, line in (
        (read_file_list, f"{name} 3"),
        (lambda path: listed(str(path), labelled=True), f"{name} 3"),
        (find_items, name),
    ):
        with pytest.raises(
            vl.errors.SourceError, match=r"list\.txt, line 1: the name .* is too long"
        ):
            read(write(line))


def test_names_that_are_too_long_are_errors_of_ours_everywhere(tmp_path):
    for use in (vl.Video, vl.index_video, lambda p: vl.Loader(p, vl.UniformClip(1), batch_size=1)):
        with pytest.raises(vl.errors.SourceError):
            use(LONG)
    with pytest.raises(vl.errors.SourceError):
        vl.index_dataset(LONG, tmp_path / "set.parquet", 0, on_error="raise")
    with pytest.raises(vl.errors.SourceError):
        vl.index_dataset(tmp_path, tmp_path / f"{LONG}.parquet", 0)
    with pytest.raises(vl.errors.SourceError):
        vl.open_dataset(LONG)
    with pytest.raises(vl.errors.SourceError):
        read_labels(file_root=LONG)
    with pytest.raises(vl.errors.SourceError):
        vl.LabelColumn(LONG).labels(["a"])


@pytest.mark.parametrize(
    "line", ["a.mp4 3", "a.mp4\tcat", "a.mp4,3", "my clip.MP4, 3", "a.tar 0 9"]
)
def test_a_list_of_paths_and_labels_is_named_at_once(write, line):
    message = r"list\.txt, line 2: '.*' is a path and something behind it"
    with pytest.raises(vl.errors.FormatError, match=message):
        vl.Loader(write(f"b.mp4\n{line}\n"), vl.UniformClip(1), batch_size=1)


@pytest.mark.parametrize("name", ["train.csv", "val.TSV"])
def test_a_table_in_place_of_a_list_is_named_at_once(tmp_path, name):
    (tmp_path / name).write_text("a.mp4 3\n")
    with pytest.raises(vl.errors.FormatError, match=rf"{name}: a table, .* labels=LabelColumn"):
        vl.Loader(tmp_path / name, vl.UniformClip(1), batch_size=1)
    with pytest.raises(vl.errors.FormatError, match="file_list"):
        find_items(f"https://example.org/{name}?token=1")


def test_a_path_with_blanks_is_one_path(write, tmp_path):
    encode_video(tmp_path / "a.mp4", frames=2, size=(160, 120), codec="mpeg4")
    (tmp_path / "a.mp4").rename(tmp_path / "a.mp4 copy")
    names = [item.path for item in find_items(write("a.mp4 copy\nmy clip.mp4\nlist of 3, all\n"))]
    expected = ["a.mp4 copy", "my clip.mp4", "list of 3, all"]
    assert names == [str(tmp_path / name) for name in expected]


def test_an_index_of_an_archive_with_a_count_of_too_many_digits_is_named(write, tmp_path):
    from videoloader.dali.readers.records.archive_samples import read_index

    for count in ("9" * 5000, "²"):
        with pytest.raises(vl.errors.FormatError, match="no index of an archive"):
            read_index(str(write(f"v1.2 {count}\n")))


def test_a_log_that_is_nested_without_end_is_named(write):
    with pytest.raises(vl.errors.SourceError, match="line 1 is no JSON"):
        list(read_lines(write("[" * 200_000 + "\n{}\n")))


def test_annotations_that_are_no_text_or_hold_huge_numbers_are_named(write):
    from videoloader.dali.readers.files.annotations import read_annotations

    for data in (
        json.dumps({"images": []}).encode("utf-16"),
        b"\xff\xfe{}",
        b'{"a": ' + b"9" * 5000,
        b'{"categories": [{"id": 1e999}], "annotations": [], "images": []}',
    ):
        with pytest.raises(vl.errors.FormatError, match=r"list\.txt: no "):
            read_annotations(
                str(write(data)), size_threshold=0, with_crowds=True, keep_labels=False
            )
