"""A data set index compared with an earlier one."""

import json
import re
import shutil

import pyarrow as pa
import pytest
from chromium import Page, needs_chromium
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.datasets.report.changes import find_changes
from videoloader.datasets.report.columns import page_columns
from videoloader.demo.videos import encode_video

EXPECTED = {
    "added.mp4": "new",
    "broken.mp4": "no longer readable",
    "longer.mp4": "changed",
    "mended.mp4": "readable now",
    "same.mp4": "same",
    "touched.mp4": "same",
}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """The data set indexes of a folder before and after some changes."""
    place = tmp_path_factory.mktemp("set")
    folder = place / "videos"
    folder.mkdir()
    for name in ("broken", "longer", "same", "touched", "gone", "gone too"):
        encode_video(folder / f"{name}.mp4", frames=10, size=(64, 48))
    (folder / "mended.mp4").write_bytes(bytes(4000))
    vl.index_dataset(folder, place / "before.parquet", 0).close()
    shutil.copy(folder / "same.mp4", folder / "added.mp4")
    shutil.copy(folder / "same.mp4", folder / "mended.mp4")
    (folder / "broken.mp4").write_bytes(bytes(4000))
    encode_video(folder / "longer.mp4", frames=20, size=(64, 48))
    (folder / "touched.mp4").touch()
    for name in ("gone", "gone too"):
        (folder / f"{name}.mp4").unlink()
    vl.index_dataset(folder, place / "now.parquet", 0).close()
    return place / "before.parquet", place / "now.parquet"


def test_rows_of_the_same_key_are_compared(indexes):
    with vl.open_dataset(indexes[0]) as before, vl.open_dataset(indexes[1]) as now:
        found, gone = find_changes(now.table, before.table)
        changes = dict(zip(now.keys, found, strict=True))
        assert {key: text.partition(":")[0] for key, text in changes.items()} == EXPECTED
        assert gone == ["gone too.mp4", "gone.mp4"]
        names = changes["longer.mp4"].removeprefix("changed: ").split(", ")
        assert {"size", "num_frames", "duration"} <= {*names}
        assert not {"codec", "width", "mtime_ns", "index"} & {*names}
        assert find_changes(now.table, now.table) == (["same"] * len(now), [])
        nothing = now.table.slice(0, 0)
        assert find_changes(now.table, nothing) == (["new"] * len(now), [])
        assert find_changes(nothing, now.table) == ([], now.keys)


def test_columns_that_an_older_file_lacks_are_no_change(indexes):
    with vl.open_dataset(indexes[1]) as now:
        table = now.table
        place = table.column_names.index("mean_gop")
        older = table.set_column(place, "mean_gop", pa.nulls(len(table), pa.float64()))
        assert {*find_changes(table, older)[0]} == {"same"}


def test_columns_of_users_stay_beside_those_of_the_page(indexes):
    with vl.open_dataset(indexes[1]) as now:
        own = {name: [name] * len(now) for name in ("change", "change_", "failure_reason")}
        table = now.table
        for name, values in own.items():
            table = table.append_column(name, pa.array(values))
        columns = page_columns(table, None, changes=["same"] * len(now))
    found = {each["name"]: each for each in columns}
    for name, shown in (
        ("change", "change__"),
        ("change_", "change_"),
        ("failure_reason", "failure_reason_"),
    ):
        assert found[shown]["words"] == [name]
        assert found[shown]["sql"] == f'"{name}"'
    assert found["change"]["words"] == ["same"]
    assert found["change"]["sql"] == ""
    assert None in found["failure_reason"]["words"]
    assert "failure_reason" not in found["failure_reason"]["words"]
    assert found["change__"]["label"] == "change (of the index)"


@needs_chromium
def test_a_page_shows_what_has_changed(indexes, tmp_path):
    before, now = map(str, indexes)
    options = ["-o", str(tmp_path), "--before", before, "--pictures", "0", "--workers", "0"]
    told = CliRunner().invoke(app, ["report", now, *options])
    assert told.exit_code == 0, told.output
    page_path = tmp_path / "index.html"
    data = json.loads(re.search(r'id="data">(.*?)</script>', page_path.read_text(), re.S)[1])
    assert data["gone"] == {"count": 2, "keys": ["gone too.mp4", "gone.mp4"]}
    with Page() as page:
        page.open(page_path.as_uri())
        gone = page.run("document.getElementById('gone').textContent")
        assert gone == "no longer in the data set: 2gone too.mp4\ngone.mp4"
        page.run("filterBy('change:same')")
        assert page.run("Array.from(order, (row) => value(columns[0], row))") == [
            key for key, change in EXPECTED.items() if change == "same"
        ]
        assert page.errors == []
