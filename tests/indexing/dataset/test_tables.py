"""Tables of users: what is read of files, and lists in their rows."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import videoloader as vl
from videoloader.errors import ArgumentError, ArgumentTypeError, FormatError
from videoloader.indexing.dataset.tables import as_table, read_table

TWICE = pa.table([[[1]], [[2]], [[3]]], names=["a", "a", "b"])


def test_values_of_csv_may_have_several_lines(tmp_path):
    """Also where the blocks end in which the file is read, of a megabyte."""
    names = ['a "b"\n' * 8 + f"c {number}, d" for number in range(50_000)]
    pd.DataFrame({"name": names}).to_csv(tmp_path / "a.csv", index=False)
    assert read_table(tmp_path / "a.csv")["name"].to_pylist() == names


def test_columns_of_tsv_are_parted_by_tabs(tmp_path):
    (tmp_path / "a.tsv").write_text("video\tname\na\tx, y\n")
    assert read_table(tmp_path / "a.tsv").to_pylist() == [{"video": "a", "name": "x, y"}]


def test_columns_of_csv_may_be_named(tmp_path):
    (tmp_path / "a.csv").write_text("007,x\n008,y\n")
    table = read_table(tmp_path / "a.csv", texts=["id"], column_names=["id", "name"])
    assert table.to_pylist() == [{"id": "007", "name": "x"}, {"id": "008", "name": "y"}]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize(
    "text",
    ["null", '\n null\n{"a": 1}', '{"a": 1}\n' + "null\n" * 600_000],
    ids=["alone", "first", "later"],
)
def test_json_lines_of_null_are_an_error(tmp_path, name, text):
    """Of which pyarrow crashes, where a block of a megabyte has nothing else."""
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=rf"{name}: no table"):
        read_table(tmp_path / name)


def test_rows_in_a_list_may_lack_columns_of_later_ones():
    table, _ = as_table([{"a": 1}, {"a": 2, "b": Path("x")}])
    assert table.to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


@pytest.mark.parametrize("value", [10**30, "\ud800"])
def test_values_that_arrow_cannot_hold_are_an_error(tmp_path, value):
    (tmp_path / "a.json").write_text(json.dumps([{"a": [value]}]))
    with pytest.raises(FormatError, match=r"a\.json: no table"):
        read_table(tmp_path / "a.json")
    with pytest.raises(FormatError, match=r"a\.json: no table"):
        vl.unnest(tmp_path / "a.json", "a")
    with pytest.raises(FormatError, match="no table"):
        vl.unnest({"a": [json.dumps([value])]}, "a")
    for table in ({"a": [value]}, [{"a": value}]):
        with pytest.raises(ArgumentTypeError, match="a table is the path"):
            as_table(table)


def test_a_number_of_thousands_of_digits_is_an_error(tmp_path):
    (tmp_path / "a.json").write_text(f"[{'9' * 5000}]")
    with pytest.raises(FormatError, match=r"a\.json: no table"):
        read_table(tmp_path / "a.json")


def test_columns_of_one_name_are_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,b\n1,2,3\n")
    for table, name in ((tmp_path / "a.csv", r"a\.csv"), (TWICE, "the table")):
        with pytest.raises(ArgumentError, match=f"{name}: has 2 columns '[ab]'; rename one"):
            as_table(table)


elements = st.lists(st.tuples(st.floats(0, 9), st.text()), max_size=4)


@given(st.lists(st.one_of(st.none(), elements)))
def test_each_element_of_lists_is_a_row(lists):
    parted = [None if each is None else [*zip(*each, strict=True)] or [(), ()] for each in lists]
    table = {
        "n": pa.array(range(len(lists)), pa.int64()),
        "at": pa.array([each and each[0] for each in parted], pa.list_(pa.float64())),
        "text": pa.array([each and each[1] for each in parted], pa.list_(pa.string())),
    }
    found = vl.unnest(pa.table(table), ["at", "text"])
    expected = [(n, at, text) for n, each in enumerate(lists) for at, text in each or ()]
    assert [tuple(row.values()) for row in found.to_pylist()] == expected


@pytest.mark.parametrize("missing", [[None, None], ["", None], [" ", "[]"]])
def test_lists_that_are_all_missing_make_no_row(missing):
    found = vl.unnest({"a": missing, "b": [1, 2]}, "a")
    assert found.to_pydict() == {"b": [], "a": []}


def test_an_empty_cell_of_csv_is_a_missing_list(tmp_path):
    (tmp_path / "a.csv").write_text('v,a\nx,"[1, 2]"\ny,\n')
    found = vl.unnest(tmp_path / "a.csv", "a").to_pylist()
    assert found == [{"v": "x", "a": 1}, {"v": "x", "a": 2}]


def test_objects_become_columns_and_keep_their_names_apart():
    table = {
        "id": ["a", "b"],
        "parts": [[{"id": 0, "x": 1.5}, {"id": 1}], [{"x": 2.5, "id": 0}]],
    }
    assert vl.unnest(table, "parts").to_pylist() == [
        {"id": "a", "parts.id": 0, "x": 1.5},
        {"id": "a", "parts.id": 1, "x": None},
        {"id": "b", "parts.id": 0, "x": 2.5},
    ]


@pytest.mark.parametrize("how", ["read", "file", "list"])
def test_objects_by_video_are_rows(tmp_path, how):
    value = {"all": {"v": {"a": [1, 2], "b": 5}, "w": {"a": [3]}}}
    if how == "list":
        value = {"all": [{"video_id": name} | row for name, row in value["all"].items()]}
    if how != "read":
        (tmp_path / "a.json").write_text(json.dumps(value))
        value = tmp_path / "a.json"
    assert vl.unnest(value, "a", at="all").to_pylist() == [
        {"video_id": "v", "b": 5, "a": 1},
        {"video_id": "v", "b": 5, "a": 2},
        {"video_id": "w", "b": None, "a": 3},
    ]


def test_the_column_of_names_has_a_name_of_its_own():
    value = {"v": {"video_id": 3, "a": [1]}}
    with pytest.raises(ArgumentError, match="'video_id' of their own; give another key="):
        vl.unnest(value, "a")
    assert vl.unnest(value, "a", key="name").to_pylist() == [{"name": "v", "video_id": 3, "a": 1}]


@pytest.mark.parametrize(
    ("table", "lists", "more", "error", "message"),
    [
        ({"a": [[1]], "b": [[1, 2]]}, ["a", "b"], {}, ArgumentError, "row 0 has 1 in 'a' .* 2 in"),
        ({"a": [[1]]}, [], {}, ArgumentError, "lists= names no column"),
        ({"a": [[1]]}, 1, {}, ArgumentTypeError, "lists= is the name of a column"),
        (TWICE, "a", {}, ArgumentError, "has 2 columns 'a'"),
        (TWICE, "b", {}, ArgumentError, "has 2 columns 'a'"),
        ({"a": [1]}, "a", {}, ArgumentError, "column 'a' has values of type int64, .* no lists"),
        ({"a": [[1]]}, "b", {}, ArgumentError, "no column 'b'; it has a"),
        ({"a": ["[1", None]}, "a", {}, ArgumentError, r"'\[1' in row 0, which is no list"),
        ({"a": [None, "7"]}, "a", {}, ArgumentError, "'7' in row 1, which is no list"),
        ({"a": ["[" * 9999]}, "a", {}, ArgumentError, "in row 0, which is no list"),
        ({"x": {"v": {"a": [1]}}}, "a", {"at": "y"}, ArgumentError, "no 'y'; it has x"),
        ({"v": {"a": [1]}, "w": {"a": ["x"]}}, "a", {}, FormatError, "no table"),
        ({"x": {"v": 1}}, "a", {"at": "x"}, FormatError, "no table"),
        (7, "a", {}, ArgumentTypeError, "a table is the path"),
    ],
)
def test_what_cannot_be_unnested_is_an_error(table, lists, more, error, message):
    with pytest.raises(error, match=message):
        vl.unnest(table, lists, **more)


def test_a_column_of_lists_may_be_named_twice():
    assert vl.unnest({"a": [[1, 2]]}, ["a", "a"]).to_pydict() == {"a": [1, 2]}


def test_a_file_is_named_in_errors(tmp_path):
    (tmp_path / "a.json").write_text("[")
    with pytest.raises(FormatError, match=r"a\.json: no table"):
        vl.unnest(tmp_path / "a.json", "a")
    with pytest.raises(vl.errors.SourceError, match=r"b\.json"):
        vl.unnest(tmp_path / "b.json", "a")
    (tmp_path / "c.json").write_text('{"x": {"a": {"b": [1]}}}')
    with pytest.raises(ArgumentError, match=r"c\.json: has no column 'b'.*at="):
        vl.unnest(tmp_path / "c.json", "b")
