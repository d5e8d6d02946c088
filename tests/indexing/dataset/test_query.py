"""Conditions in SQL over a data set index; the oracle is pyarrow's filter or a loop in Python."""

import json
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from synthetic_index import write_index
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError
from videoloader.indexing.dataset import count_by, query_rows, sql
from videoloader.indexing.dataset.sql import Query, answer

pytestmark = pytest.mark.usefixtures("forked_workers")

pytest.importorskip("duckdb")

ROWS = 9000


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("asked") / "set.parquet"
    rng = np.random.default_rng(0)
    columns = {
        "codec": rng.choice(["h264", "hevc", "av1"], ROWS).tolist(),
        "height": rng.choice([240, 720, 1080], ROWS),
        "fps": [None if row % 5 == 0 else 25.0 for row in range(ROWS)],
        "error": ["broken" if row % 7 == 0 else None for row in range(ROWS)],
        "error_kind": ["FormatError" if row % 7 == 0 else None for row in range(ROWS)],
    }
    write_index(path, ROWS, columns, index=b"not read")
    return path


@pytest.fixture(scope="module")
def dataset(path):
    with vl.open_dataset(path) as opened:
        yield opened


def run(*words):
    return CliRunner().invoke(app, ["query", *map(str, words)])


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        (
            "codec = 'av1' and height >= 720",
            (pc.field("codec") == "av1") & (pc.field("height") >= 720),
        ),
        ("fps is null or HEIGHT<500", pc.field("fps").is_null() | (pc.field("height") < 500)),
        ("not fps > 20", ~(pc.field("fps") > 20)),
        ("key like '%9.mp4' -- of these", pc.ends_with(pc.field("key"), "9.mp4")),
        ("videos.height > (select avg(height) from videos)", pc.field("height") > 680),
        ("true", pc.scalar(True)),  # noqa: FBT003
    ],
)
def test_a_condition_in_sql_finds_what_a_filter_finds(dataset, where, condition):
    found = dataset.query(where)
    assert found.rows.tolist() == dataset.filter(condition).rows.tolist()
    later = dataset.sample(500).query(where)
    assert later.rows.tolist() == dataset.sample(500).filter(condition).rows.tolist()


def test_rows_and_joined_columns_can_be_asked_for(dataset):
    assert dataset.query("row between 10 and 15").rows.tolist() == [10, 11, 12, 13, 15]
    stems = [f"{row:07}" for row in range(ROWS)]
    joined = dataset.join({"stem": stems, "score": np.arange(ROWS)}, on="stem")
    assert joined.query("score = row and score % 100 = 1").rows.tolist() == [
        row for row in range(1, ROWS, 100) if row % 7
    ]


def test_a_column_row_of_a_file_does_not_hide_the_numbers_of_rows(tmp_path):
    write_index(tmp_path / "own.parquet", 4, {})
    table = pq.read_table(tmp_path / "own.parquet")
    table = table.append_column("Row", [[9, 8, 7, 6]])
    pq.write_table(table, tmp_path / "rows.parquet", write_page_checksum=True)
    with vl.open_dataset(tmp_path / "rows.parquet") as rows:
        found = [rows.query(f"row = {row}").rows.tolist() for row in rows.videos.rows]
        assert found == [[row] for row in rows.videos.rows]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("height >", "is no SQL: syntax error"),
        ("'open", "is no SQL: unterminated"),
        ("drop table videos", "is no SQL"),
        ("1 = 1; drop table videos", "is no SQL"),
        ("true) ; select (1", "is no condition"),
        ("true) from videos where (true", "is no condition alone"),
        ("true) union select (true", "is no condition alone"),
        ("true), (true", "is no condition alone"),
        ("true) order by (1", "is no condition alone"),
        ("true) as kept where (true", "is no condition alone"),
        ("select 1", "is no condition alone"),
        ("", "is no condition alone"),
        ("height", "it gives INTEGER, not true or false"),
        ("codec, height", "does not apply|not true or false"),
        ("hieght > 3", "did you mean height. columns are key, path"),
        ("codec = h264", "quote texts: codec = 'h264'; columns are key"),
        ('height > 3 and codec="h264"', "quote texts: codec='h264'; columns are key"),
        ("count(*) > 3", "aggregates"),
        ("codec = 3", "Could not convert"),
        ("codec in (select column0 from read_csv('/etc/passwd'))", "the table function 'read_csv'"),
        ("codec in (select column0 from '/etc/passwd')", "the table '/etc/passwd'"),
        ("codec in (select key from dataset)", "the table 'dataset'"),
        ("(select count(*) from range(1000000000000)) > 0", "the table function 'range'; it may"),
        ("exists (from range(3), videos)", "the table function 'range'"),
        ("exists (from videos v join (from range(3)) on true)", "the table function 'range'"),
        ("1 = (select 1 where exists (from generate_series(3)))", "'generate_series'"),
        ("exists (from videos where exists (from query('select 1')))", "'query'"),
        ("1 in (values (1), (2)) or exists (values (1))", "a table of the kind EXPRESSION_LIST"),
        ("exists (from (show tables))", "a table of the kind SHOW_REF"),
        ("exists (from information_schema.tables)", "the table 'tables'"),
        ("exists (from main.videos)", "the table 'videos'"),
        ("exists (with videos as (select 1) from videos)", r"a table of its own \(WITH\)"),
        (
            "exists (with recursive v as (select 1 union all select 2) from videos)",
            r"a table of its own \(WITH\)",
        ),
        ("height > 3\0", "no SQL|no condition|does not apply"),
        ("read_text('/etc/passwd') is not null", "does not apply"),
    ],
)
def test_what_is_no_condition_is_an_error_that_says_why(dataset, where, words):
    with pytest.raises(ArgumentError, match=words):
        answer(Query(dataset, where))


@pytest.mark.parametrize(
    "where",
    [
        "len(range(1000000000 + row)) > 0",  # that much memory
        "length(repeat('x', 2000000000 + row::int)) > 0",
        "levenshtein(repeat('a', 200000), repeat('b', 200000 + row::int)) > 0",  # that much time
        "(select count(*) from videos a, videos b, videos c, videos d) > 0",
        "(select count(distinct a.key || b.key) from videos a, videos b) > 0",
        "(select length(string_agg(a.key || b.key)) from videos a, videos b) > 0",
    ],
)
@pytest.mark.usefixtures("fresh_workers")
def test_no_condition_takes_more_time_or_memory_than_it_may(dataset, where, monkeypatch, tmp_path):
    monkeypatch.setattr(sql, "MEMORY", 1 << 30)
    monkeypatch.chdir(tmp_path)
    begin = time.monotonic()
    with pytest.raises(ArgumentError, match=r"more memory|took longer than 3 s|MemoryError|died"):
        query_rows(dataset, where, time_limit=3)
    assert time.monotonic() - begin < 30  # the start of a process included
    assert not [*tmp_path.iterdir()]  # nothing was spilled


@pytest.mark.usefixtures("fresh_workers")
def test_counting_by_an_expression_takes_no_more_either(dataset):
    with pytest.raises(ArgumentError, match=r"more memory|took longer than 3 s|died"):
        count_by(dataset, "true", "length(repeat('x', 2000000000 + row::int))", time_limit=3)


NESTED = [
    lambda n: "(" * n + "true" + ")" * n,
    lambda n: "not " * n + "true",
    lambda n: "true" + " and (true" * n + ")" * n,
    lambda n: "length(" * n + "key" + ")" * n + " > 0",
    lambda n: "(select " * n + "true" + ")" * n,
    lambda n: "case when true then " * n + "true" + " end" * n,
]


@pytest.mark.parametrize(
    "where", [*(form(900) for form in NESTED), NESTED[1](100_000)], ids=range(7)
)
def test_deep_nesting_is_answered_or_an_error_of_ours(dataset, where):
    with suppress(ArgumentError):
        query_rows(dataset, where)


def test_a_data_set_whose_urls_are_signed_by_a_function_is_queried(path):
    with vl.open_dataset(path, sign=lambda url: f"{url}?signed") as dataset:
        found = dataset.sample(500).query("height > 700").rows.tolist()
        assert found == dataset.sample(500).filter(pc.field("height") > 700).rows.tolist()
        assert len(query_rows(dataset, "true")) == ROWS


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "1", None])
def test_a_time_limit_is_a_number_of_seconds(dataset, wrong):
    with pytest.raises(ArgumentError, match="time_limit must be a number above 0"):
        dataset.query("true", time_limit=wrong)


def test_a_query_of_all_columns_and_many_numbers_fits(dataset):
    numbers = ", ".join(map(str, range(0, ROWS, 2)))
    wanted = dataset.filter(pc.field("error").is_null()).rows
    found = dataset.query(f"row in ({numbers})").rows.tolist()
    assert found == [row for row in wanted.tolist() if row % 2 == 0]


@pytest.mark.parametrize("where", ["key = '\udcff'", "key > '\ud800'"])
def test_a_query_that_is_no_text_is_an_error_of_ours(dataset, path, where):
    with pytest.raises(ArgumentError, match="is no text"):
        dataset.query(where)
    told = run(path, where)
    assert (told.exit_code, "Traceback" in told.output) == (2, False)
    with pytest.raises(ArgumentError, match="is no text"):
        count_by(dataset, "true", where)


def test_too_few_open_files_are_no_fault_of_the_query(dataset):
    program = """
import os, resource, sys
import duckdb, pyarrow.parquet
import videoloader as vl
dataset = vl.open_dataset(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
while True:
    try:
        held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        break
most = len(held)
for free in (0, 1, 3, 5, 20):
    while len(held) > most - free:
        os.close(held.pop())
    try:
        dataset.query("height > 3")
    except vl.errors.ResourceError as error:
        print(free, "ResourceError")
    else:
        print(free, "answered")
"""
    told = subprocess.run(
        [sys.executable, "-c", program, dataset.path], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert len(lines) == 5
    assert (lines[0], lines[-1]) == ("0 ResourceError", "20 answered")


def test_a_query_reads_the_columns_that_it_names(dataset, monkeypatch):
    asked = []
    columns = type(dataset).columns
    monkeypatch.setattr(
        type(dataset), "columns", lambda self, wanted: asked.append(wanted) or columns(self, wanted)
    )
    answer(Query(dataset, "codec = 'av1' and Height > 3"))
    assert asked == [["key", "codec", "height"]]


def test_without_duckdb_the_error_names_the_extra(dataset, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(vl.errors.UnsupportedError, match=r'pip install "videoloader\[query\]"'):
        dataset.query("true")


def test_the_command_counts_lists_and_groups(path, dataset):
    table = dataset.table.to_pylist()
    expected = [row for row in table if row["codec"] == "av1" and row["height"] >= 720]
    where = "codec = 'av1' and height >= 720"
    assert run(path, where, "--count").output.strip() == str(len(expected))
    lines = run(path, where, "--json", "--limit", 0).output.splitlines()
    assert [json.loads(line)["key"] for line in lines] == [row["key"] for row in expected]
    assert (
        f"{len(expected)} of {ROWS} rows, {len(expected) - 20} not shown" in run(path, where).output
    )
    lines = run(path, "--by", "codec", "--json").output.splitlines()
    groups = [json.loads(line) for line in lines]
    assert {group["value"]: group["videos"] for group in groups} == {
        codec: sum(row["codec"] == codec for row in table) for codec in ("h264", "hevc", "av1")
    }
    assert groups[0]["hours"] == pytest.approx(groups[0]["videos"] * 4 / 3600)
    assert "h264" in run(path, "--by", "codec").output
    failures = run(path, "error is not null", "--by", "error_kind", "--json").output
    assert json.loads(failures)["videos"] == len(dataset.failed)


@pytest.mark.parametrize(
    "words",
    [
        ["hieght > 3"],
        ["true", "--by", "no"],
        ["true", "--count", "--by", "codec"],
        ["not " * 5000 + "true"],
        ["levenshtein(repeat('a', 200000), repeat('b', 200000)) > 0", "--time-limit", "1"],
    ],
    ids=lambda words: words[0][:10],
)
def test_the_command_ends_with_code_2_where_it_cannot(path, words):
    told = run(path, *words)
    assert told.exit_code == 2
    assert "Traceback" not in told.output


def test_a_part_is_a_data_set_index_whose_loader_gives_the_same_clips(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(6):
        options = {"codec": "mpeg4"} if number % 2 else {}
        encode_video(folder / f"{number}.mp4", frames=20 + number, **options)
    (folder / "broken.mp4").write_bytes(b"nothing")
    with vl.index_dataset(folder, tmp_path / "set.parquet", 0) as dataset:
        part = tmp_path / "parts" / "h264.parquet"
        told = run(tmp_path / "set.parquet", "codec = 'h264'", "-o", part)
        assert told.exit_code == 0, told.output
        assert "3 of 7 rows" in told.output
        options = {"batch_size": 3, "size": (32, 32), "seed": 7, "shuffle": True, "workers": 0}
        here = vl.Loader(dataset.query("codec = 'h264'"), vl.RandomClip(4), **options)
        there = vl.Loader(str(part), vl.RandomClip(4), **options)
        (one,), (other,) = list(here), list(there)
        assert (one["frames"] == other["frames"]).all()
        assert one["frame_numbers"].tolist() == other["frame_numbers"].tolist()
        with vl.open_dataset(part) as opened:
            assert [opened.key(row) for row in other["sample"].tolist()] == [
                dataset.key(row) for row in one["sample"].tolist()
            ]
            assert opened.root == dataset.root
            stored = pq.read_table(part).drop_columns(["index"])
            rows = dataset.query("codec = 'h264'").rows
            assert stored.to_pylist() == dataset.table.take(rows).to_pylist()
            assert [*opened] == [dataset[int(row)] for row in rows]
        failures = tmp_path / "failures.parquet"
        assert run(tmp_path / "set.parquet", "error is not null", "-o", failures).exit_code == 0
        with vl.open_dataset(failures) as opened:
            assert opened.errors["key"].to_pylist() == ["broken.mp4"]


def test_a_part_of_many_rows_is_in_groups_of_the_usual_size(dataset, tmp_path):
    with dataset.query("row % 7 != 3").write(tmp_path / "part.parquet") as part:
        file = pq.ParquetFile(part.path)
        sizes = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
        assert sizes == [4096, len(part) - 4096]
        assert part.keys == dataset.query("row % 7 != 3").select(["key"])[0].to_pylist()


def test_loaders_take_labels_and_columns_that_were_joined(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in "abc":
        encode_video(folder / f"{name}_000010.mp4", frames=10)
    stems = {
        "id": ["c", "a", "b"],
        "class": ["run", "jump", "run"],
        "caption": ["of c", "of a", "of b"],
    }
    with vl.index_dataset(folder, tmp_path / "set.parquet", 0) as dataset:
        joined = dataset.join(stems, key="id", on=lambda path: path.rpartition("/")[2][0])
        options = {"batch_size": 3, "workers": 0, "size": (16, 16)}
        loader = vl.Loader(
            joined, vl.UniformClip(2), labels="class", columns=["caption"], **options
        )
        (batch,) = loader
        assert loader.classes == ["jump", "run"]
        assert batch["labels"].tolist() == [0, 1, 1]
        assert batch["caption"] == ["of a", "of b", "of c"]
        with pytest.raises(ArgumentError, match=r"labels='caption' .* has the columns key, path"):
            vl.Loader(dataset, vl.UniformClip(2), labels="caption", batch_size=3)
        table = tmp_path / "table.csv"
        table.write_text("id,class\nc,run\na,jump\nb,run\n")
        column = vl.LabelColumn(table, "class", "id", on=lambda path: path.rpartition("/")[2][0])
        (again,) = vl.Loader(folder, vl.UniformClip(2), labels=column, **options)
        assert again["labels"].tolist() == [0, 1, 1]


def test_the_command_prints_no_control_characters_of_names(tmp_path):
    names = ["/a/\x1b[31mred.mp4", "/a/two\nlines.mp4"]
    write_index(tmp_path / "set.parquet", 2, {"key": names, "path": names})
    told = CliRunner().invoke(app, ["query", str(tmp_path / "set.parquet")]).output
    assert "\\x1b[31mred.mp4" in told
    assert "two\\nlines.mp4" in told
    assert "\x1b[31m" not in told
