"""Filters over the columns of a data set index; the oracle is a loop over rows in Python."""

import operator
import subprocess
import sys

import numpy as np
import pyarrow.compute as pc
import pytest
from processor_time import seconds_of_a_step
from synthetic_index import write_index

import videoloader as vl
from videoloader.errors import ArgumentError, ArgumentTypeError

ROWS = 5000


def random_columns(count, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "num_frames": rng.integers(1, 300, count),
        "num_keyframes": rng.integers(1, 9, count),
        "duration": rng.uniform(0.1, 12, count),
        "fps": rng.choice([23.976, 25.0, 60.0], count),
        "width": rng.choice([320, 640, 1920], count),
        "height": rng.choice([240, 360, 1080], count),
        "rotation": rng.choice([0, 90, 180, 270], count),
        "codec": rng.choice(["h264", "hevc", "av1"], count).tolist(),
        "container": rng.choice(["mp4", "matroska"], count).tolist(),
    }


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("filtered") / "set.parquet"
    columns = random_columns(ROWS)
    columns["error"] = [None if row % 7 else "broken" for row in range(ROWS)]
    write_index(path, ROWS, columns)
    with vl.open_dataset(path) as opened:
        yield opened


def displayed(row):
    sides = row["width"], row["height"]
    return sides[::-1] if row["rotation"] in (90, 270) else sides


MEASURES = {
    "frames": lambda row: row["num_frames"],
    "keyframes": lambda row: row["num_keyframes"],
    "duration": lambda row: row["duration"],
    "fps": lambda row: row["fps"],
    "width": lambda row: displayed(row)[0],
    "height": lambda row: displayed(row)[1],
    "pixels": lambda row: row["width"] * row["height"],
    "aspect": lambda row: displayed(row)[0] / displayed(row)[1],
}


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("frames", 64),
        ("keyframes", 3),
        ("duration", 4.5),
        ("fps", 25),
        ("width", 640),
        ("height", 360),
        ("pixels", 640 * 360),
        ("aspect", 16 / 9),
    ],
)
@pytest.mark.parametrize(("bound", "meets"), [("min", operator.ge), ("max", operator.le)])
def test_limits_by_name_are_inclusive(dataset, what, limit, bound, meets):
    rows = dataset.table.to_pylist()
    expected = [
        number
        for number, row in enumerate(rows)
        if row["error"] is None and meets(MEASURES[what](row), limit)
    ]
    found = dataset.filter(**{f"{bound}_{what}": limit})
    assert found.rows.tolist() == expected
    assert 0 < len(found) < len(dataset.videos)


def test_names_of_codecs_and_containers_are_one_or_several(dataset):
    table = dataset.table.to_pylist()
    both = dataset.filter(codecs=["h264", "av1"], containers="mp4").rows.tolist()
    assert both == [
        number
        for number, row in enumerate(table)
        if row["error"] is None and row["codec"] in ("h264", "av1") and row["container"] == "mp4"
    ]
    assert dataset.filter(codecs=["h264", "av1"], containers="mov").rows.tolist() == both
    assert not len(dataset.filter(codecs=["theora", "msmpeg4v3"], containers=["nut", "ogg"]))


def test_any_expression_over_the_columns_goes_together_with_limits(dataset):
    expression = (pc.field("num_frames") / pc.field("num_keyframes") > 20) & ~pc.ends_with(
        pc.field("key"), "3.mp4"
    )
    found = dataset.filter(expression, max_duration=6).rows.tolist()
    assert found == [
        number
        for number, row in enumerate(dataset.table.to_pylist())
        if row["error"] is None
        and row["num_frames"] // row["num_keyframes"] > 20
        and not row["key"].endswith("3.mp4")
        and row["duration"] <= 6
    ]


def test_numbers_are_those_of_what_is_left_and_rows_those_of_the_data_set(dataset):
    videos = dataset.filter(min_frames=200)
    for number in (0, 7, len(videos) - 1, -1):
        row = videos.row(number)
        assert row == videos.rows[number]
        assert videos.item(number) == dataset.item(row)
    assert (videos.num_frames >= 200).all()
    with pytest.raises(IndexError):
        videos.row(len(videos))


def test_filters_follow_one_another(dataset):
    one_by_one = dataset.filter(min_frames=100).filter(codecs="av1").filter(max_height=360)
    at_once = dataset.videos.filter(min_frames=100, codecs="av1", max_height=360)
    assert one_by_one.rows.tolist() == at_once.rows.tolist()
    assert dataset.filter().rows.tolist() == dataset.videos.rows.tolist()


def test_a_missing_value_meets_no_condition(tmp_path):
    write_index(tmp_path / "s.parquet", 3, {"fps": [None, 25.0, 30.0]})
    with vl.open_dataset(tmp_path / "s.parquet") as dataset:
        assert dataset.filter(max_fps=100).rows.tolist() == [1, 2]
        assert dataset.filter(~(pc.field("fps") > 26)).rows.tolist() == [1]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"min_frame": 3}, ArgumentError, "did you mean min_frames"),
        ({"min_frames": "many"}, ArgumentError, "min_frames='many' is no limit"),
        ({"codecs": [1]}, ArgumentError, "codecs=.* is no limit"),
        ({"codecs": ["h265"]}, ArgumentError, "no codec is called 'h265'; did you mean hevc"),
        ({"codecs": ["av1", "H264"]}, ArgumentError, "'H264'; did you mean h264"),
        ({"codecs": "nothing"}, ArgumentError, "'nothing'; names are h264, .* others of FFmpeg"),
        ({"containers": "mkv"}, ArgumentError, "no container is called 'mkv'.*mean matroska"),
        ({"containers": ["mp4", "webm"]}, ArgumentError, "'webm'; did you mean matroska"),
        ({"containers": "matroksa"}, ArgumentError, "did you mean matroska"),
        ({"pixel_formats": "yuv420"}, ArgumentError, "is called 'yuv420'; did you mean yuv420p"),
        ({"pixel_formats": ["yuv420p", "10 bits"]}, ArgumentError, "'10 bits'; names are FFmpeg's"),
        (pc.field("frames") > 3, ArgumentError, "its columns are key, path"),
        (pc.field("num_frames") + 3, ArgumentError, "fits no data set index"),
        (lambda row: True, ArgumentTypeError, "expression of pyarrow"),
    ],
)
def test_what_is_no_filter_is_an_error(dataset, given, error, message):
    with pytest.raises(error, match=message):
        dataset.filter(**given) if isinstance(given, dict) else dataset.filter(given)


def test_a_filter_that_leaves_nothing_is_told_by_loaders(dataset):
    nothing = dataset.filter(min_frames=10**6)
    assert len(nothing) == 0
    with pytest.raises(ArgumentError, match="filter, split or sample left none of"):
        vl.ClipDataset(nothing, vl.RandomClip(4))


MILLION = """
import sys, time
import pyarrow.parquet, pyarrow.dataset
from pathlib import Path
from videoloader.indexing.dataset.filtering import as_condition, matching_rows

def peak():  # kilobytes; getrusage counts those of the process that forked this one
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before = peak()
begin = time.perf_counter()
rows = matching_rows(Path(sys.argv[1]), as_condition(None, {"min_frames": 150, "max_aspect": 1.5}))
seconds = time.perf_counter() - begin
print(len(rows), seconds, peak() - before)
"""


def test_a_million_rows_are_filtered_in_seconds_and_little_memory(tmp_path):
    count = 1_000_000
    columns = random_columns(count, seed=1)
    write_index(tmp_path / "large.parquet", count, columns, index=b"x" * 200)
    script = [sys.executable, "-c", MILLION, str(tmp_path / "large.parquet")]
    told = subprocess.run(script, capture_output=True, text=True, timeout=120, check=True)
    found, seconds, kilobytes = told.stdout.split()
    turned = np.isin(columns["rotation"], [90, 270])
    width = np.where(turned, columns["height"], columns["width"])
    height = np.where(turned, columns["width"], columns["height"])
    assert int(found) == np.sum((columns["num_frames"] >= 150) & (width / height <= 1.5))
    assert float(seconds) < 1e9 * seconds_of_a_step()  # 2e7 on a free machine
    assert int(kilobytes) < 150_000  # the indexes alone are 200 MB
