"""Segments on the timelines of a page."""

import json
import re
import threading

import numpy as np
import pytest
from chromium import Page, needs_chromium
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.datasets.report.browse import BrowseServer
from videoloader.datasets.report.page import write_report
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("forked_workers")

TABLE = {
    "video": ["1", "0", "1", "gone", "bad"],
    "start": [1.0, 0.0, 0.0, 0.0, 0.0],
    "end": [None, 0.5, 9.0, 1.0, 1.0],
    "label": ["run", "jump", None, "run", "run"],
}
SEGMENTS = {  # by key: of 40 frames, 20 a second
    "0.mp4": [[0, 0.25, "video: 0, start: 0.0, end: 0.5, label: jump"]],
    "1.mp4": [
        [0.5, 1, "video: 1, start: 1.0, label: run"],
        [0, 1, "video: 1, start: 0.0, end: 9.0"],
    ],
    "2.mp4": [],
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    for number in range(3):
        encode_video(folder / f"{number}.mp4", frames=40, fps=20, size=(64, 48))
    (folder / "bad.mp4").write_bytes(bytes(4000))
    with vl.index_dataset(folder, folder.parent / "set.parquet", 0) as dataset:
        yield dataset


@pytest.fixture
def segments(dataset):
    return vl.Segments(TABLE, dataset, on_missing="skip")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def counts_of(data):
    column = next(each for each in data["columns"] if each["name"] == "segments")
    return [column["words"][value] for value in column["values"]]


def test_a_report_has_the_segments_of_each_video(dataset, segments, tmp_path):
    page = write_report(dataset, tmp_path / "report", segments=segments, workers=0).read_text()
    data = data_of(page)
    assert counts_of(data) == [len(SEGMENTS.get(key, ())) for key in dataset.keys]
    for row, pictures in data["pictures"].items():
        assert pictures["segments"] == SEGMENTS[dataset.keys[int(row)]]
    without = data_of(write_report(dataset, tmp_path / "report", workers=0).read_text())
    assert all("segments" not in pictures for pictures in without["pictures"].values())
    assert "segments" not in {each["name"] for each in without["columns"]}


def test_scenes_are_segments_in_frames(dataset, tmp_path):
    run = CliRunner().invoke
    index, scenes = str(dataset.path), str(tmp_path / "scenes.parquet")
    made = run(app, ["scenes", index, "-o", scenes])
    assert made.exit_code == 1, made.output  # one video is none
    options = ["--segments", scenes, "--segment-unit", "frames", "--workers", "0"]
    told = run(app, ["report", index, "-o", str(tmp_path / "out"), *options])
    assert told.exit_code == 0, told.output
    data = data_of((tmp_path / "out" / "index.html").read_text())
    assert counts_of(data) == [1, 1, 1, 0]
    assert [each["segments"][0][:2] for each in data["pictures"].values()] == [[0, 1]] * 3


@pytest.mark.parametrize("command", ["report", "browse"])
def test_a_table_that_is_none_is_an_error_of_ours(dataset, tmp_path, command):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    options = ["--segments", str(tmp_path / "table.csv")]
    told = CliRunner().invoke(app, [command, str(dataset.path), *options])
    assert told.exit_code == 2
    assert "table.csv" in told.output


def test_segments_of_no_data_set_index_are_refused(dataset, tmp_path):
    table = {"video": [dataset.item(0).path], "start": [0], "end": [1]}
    with pytest.raises(ArgumentError, match="index="):
        write_report(dataset, tmp_path / "report", segments=vl.Segments(table))


@needs_chromium
def test_a_browser_shows_segments_on_the_timeline(dataset, segments):
    with BrowseServer(dataset, segments=segments) as server, Page() as page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.open(server.address)
        page.run("filterBy('segments>1')")
        assert page.run("Array.from(order)") == [1]
        page.run("pick(1)")
        page.wait("document.querySelectorAll('.track b').length === 2")
        places = page.run(
            "(() => { const whole = document.querySelector('.track').getBoundingClientRect();"
            "return [...document.querySelectorAll('.track b')].map((each) => {"
            "const { left, right } = each.getBoundingClientRect();"
            "return [left, right].map((at) => (at - whole.left) / whole.width); }); })()"
        )
        assert np.allclose(places, [each[:2] for each in SEGMENTS["1.mp4"]], atol=0.01)
        titles = page.run("[...document.querySelectorAll('.track b')].map((each) => each.title)")
        assert titles == [each[2] for each in SEGMENTS["1.mp4"]]
        assert page.errors == []
        server.shutdown()
