import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import videoloader as vl
from videoloader.training.labels.label_column import LabelColumn, labels_of_paths

KEYS = ["/data/run/a.mp4", "/data/walk/a.mp4", "shard.tar/b.mp4"]


@pytest.fixture
def table(tmp_path):
    """Writes a table of paths and labels; gives its path."""

    def write(rows, suffix=".csv"):
        path = tmp_path / f"labels{suffix}"
        if suffix == ".csv":
            lines = [f"{name},{label}" for name, label in rows]
            path.write_text("\n".join(["path,label", *lines]) + "\n")
        else:
            names, labels = zip(*rows, strict=True)
            pq.write_table(pa.table({"path": names, "label": labels}), path)
        return path

    return write


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_video_is_found_by_the_longest_end_of_its_key(table, suffix):
    rows = [("a.mp4", 7), ("run/a.mp4", 3), ("/data/walk/a.mp4", 4), ("b.mp4", 5), ("c.mp4", 6)]
    assert labels_of_paths(LabelColumn(table(rows, suffix)), KEYS) == [3, 4, 5]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_video_is_found_by_its_name_without_folder_and_ending(table, suffix):
    keys = ["train/0012.mp4", "train/a.b.webm", "shard.tar/-x_Y.mp4"]
    rows = [("0012", "run"), ("a.b", "jump"), ("-x_Y", "run"), ("12", "walk")]
    path = table(rows, suffix)
    assert labels_of_paths(LabelColumn(path), keys) == ["run", "jump", "run"]
    assert labels_of_paths(dict(rows), keys) == ["run", "jump", "run"]
    twins = ["a/0012.mp4", "a/0012.mkv"]
    with pytest.raises(
        vl.errors.ArgumentError, match=r"'0012' stands for a/0012\.mp4 and a/0012\.mkv"
    ):
        labels_of_paths(LabelColumn(path), twins)


def test_columns_keep_their_type(table):
    rows = [("run/a.mp4", 0.5), ("walk/a.mp4", -2.0), ("b.mp4", 1e9)]
    for suffix in (".csv", ".parquet"):
        assert labels_of_paths(LabelColumn(table(rows, suffix)), KEYS) == [0.5, -2.0, 1e9]
    rows = [("run/a.mp4", [1, 0]), ("walk/a.mp4", [0, 1]), ("b.mp4", [1, 1])]
    path = table(rows, ".parquet")
    assert labels_of_paths(LabelColumn(path), KEYS) == [[1, 0], [0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("rows", "options", "error", "words"),
    [
        (
            [("a.mp4", 1), ("b.mp4", 2)],
            {},
            vl.errors.ArgumentError,
            "'a.mp4' stands for /data/run/a.mp4",
        ),
        (
            [("run/a.mp4", 1), ("b.mp4", 2)],
            {},
            vl.errors.ArgumentError,
            r"1 of 3 videos have no label.*missing=\"drop\"",
        ),
        (
            [("b.mp4", 1), ("b.mp4", 2)],
            {},
            vl.errors.ArgumentError,
            "'b.mp4' has two labels, 1 and 2",
        ),
        ([("b.mp4", 1), ("c.mp4", "")], {}, vl.errors.ArgumentError, "'c.mp4' has no value"),
        (
            [("b.mp4", 1)],
            {"label": "class"},
            vl.errors.ArgumentError,
            "no column 'class'; it has path",
        ),
        (
            [("b.mp4", 1)],
            {"key": "video"},
            vl.errors.ArgumentError,
            "no column 'video'.*; key= names",
        ),
        ([("b.mp4", 1)], {}, vl.errors.ArgumentError, r"by on= what .* in column 'path', such"),
        ([("b.mp4", "1,2")], {}, vl.errors.FormatError, r"labels\.csv: no table"),
    ],
)
def test_a_table_that_does_not_say_it_is_an_error(table, rows, options, error, words):
    with pytest.raises(error, match=words):
        labels_of_paths(LabelColumn(table(rows), **options), KEYS)


def test_a_table_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(vl.errors.SourceError, match=r"none\.csv: no such file"):
        labels_of_paths(LabelColumn(tmp_path / "none.csv"), KEYS)
