import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import videoloader as vl
from videoloader.readers.labels import LabelColumn, labels_of_keys

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
    assert labels_of_keys(LabelColumn(table(rows, suffix)), KEYS) == ([3, 4, 5], [])


def test_texts_are_classes(table):
    path = table([("run/a.mp4", "run"), ("walk/a.mp4", "jump"), ("b.mp4", "run")])
    assert labels_of_keys(LabelColumn(path), KEYS) == ([1, 0, 1], ["jump", "run"])


@pytest.mark.parametrize(
    ("rows", "options", "error", "words"),
    [
        ([("a.mp4", 1), ("b.mp4", 2)], {}, vl.ArgumentError, "'a.mp4' stands for /data/run/a.mp4"),
        ([("run/a.mp4", 1), ("b.mp4", 2)], {}, vl.ArgumentError, "1 of 3 videos have no label"),
        ([("b.mp4", 1), ("b.mp4", 2)], {}, vl.ArgumentError, "'b.mp4' has two labels, 1 and 2"),
        ([("b.mp4", 1), ("c.mp4", "")], {}, vl.ArgumentError, "'c.mp4' has no value"),
        ([("b.mp4", 1)], {"label": "class"}, vl.ArgumentError, "no column 'class'; it has path"),
        ([("b.mp4", 1)], {"key": "video"}, vl.ArgumentError, "no column 'video'"),
        ([("b.mp4", "1,2")], {}, vl.FormatError, r"labels\.csv: no table"),
    ],
)
def test_a_table_that_does_not_say_it_is_an_error(table, rows, options, error, words):
    with pytest.raises(error, match=words):
        labels_of_keys(LabelColumn(table(rows), **options), KEYS)


def test_a_table_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(vl.SourceError, match=r"none\.csv: cannot be read"):
        labels_of_keys(LabelColumn(tmp_path / "none.csv"), KEYS)


def test_a_function_gives_integers(table):
    assert labels_of_keys(len, KEYS) == ([15, 16, 15], [])
    with pytest.raises(vl.ArgumentError, match=r"labels gave 'x' for /data/run/a\.mp4"):
        labels_of_keys(lambda key: "x", KEYS)
