from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from videoloader.dali.readers.video.file_list import Entry, FrameRange, list_folders, read_file_list
from videoloader.errors import ArgumentError, SourceError


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Entries of a list with the given text; paths as (path, label, start, end)."""
    monkeypatch.chdir(tmp_path)

    def read(text, *files, unit="frames"):
        for file in files:
            (tmp_path / file).touch()
        (tmp_path / "list.txt").write_text(text)
        return [
            (entry.path, entry.label, entry.start, entry.end)
            for entry in read_file_list("list.txt", unit)
        ]

    return read


def test_a_line_is_a_path_a_label_and_a_range(listed):
    text = "a.mp4 3\n\nb.mp4 4 10\n  c.mp4\t5 10 20  \n"
    assert listed(text) == [
        ("a.mp4", 3, None, None),
        ("b.mp4", 4, 10, None),
        ("c.mp4", 5, 10, 20),
    ]


@pytest.mark.parametrize("files", [(), ("my clip.mp4",)])
def test_a_path_may_have_blanks(listed, files):
    assert listed("my clip.mp4 3 1 2\n", *files) == [("my clip.mp4", 3, 1, 2)]


def test_a_path_may_end_in_a_number(listed):
    assert listed("take 2 7\n", "take 2") == [("take 2", 7, None, None)]
    assert listed("take 2 7 1\n", "take 2") == [("take 2", 7, 1, None)]


def test_times_are_exact(listed):
    assert listed("a.mp4 0 0.1 1e-3\n", unit="timestamps") == [
        ("a.mp4", 0, Fraction(1, 10), Fraction(1, 1000))
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.mp4 1\nb.mp4 cat\n", r"list.txt, line 2: label 'cat' is not an integer"),
        ("a.mp4 cat 1 2\n", r"line 1: label 'cat' is not an integer"),
        ("a.mp4 1.5\n", r"line 1: label '1.5' is not an integer"),
        ("a.mp4\n", r"line 1: no label after 'a.mp4'"),
        ("a.mp4 1 0.5\n", r"line 1: start and end are frame numbers"),
        ("\n\n", "lists no file"),
    ],
)
def test_a_line_that_is_wrong_is_named(listed, text, message):
    with pytest.raises(ArgumentError, match=message):
        listed(text, "a.mp4", "b.mp4")


def test_a_list_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"missing\.txt: no such file"):
        read_file_list(tmp_path / "missing.txt")


def test_folders_are_classes(tmp_path):
    for file in ("b/2.mp4", "b/1.mp4", "a/x/3.mp4", "a/.hidden", ".c/4.mp4"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    entries = [
        (entry.path.removeprefix(f"{tmp_path}/"), entry.label) for entry in list_folders(tmp_path)
    ]
    assert entries == [("a/x/3.mp4", 0), ("b/1.mp4", 1), ("b/2.mp4", 1)]


def test_a_root_without_folders_or_none_at_all_is_an_error(tmp_path):
    (tmp_path / "a.mp4").touch()
    with pytest.raises(ArgumentError, match="no folder with files in it"):
        list_folders(tmp_path)
    with pytest.raises(SourceError, match="is no folder"):
        list_folders(tmp_path / "a.mp4")


def index(pts):
    pts, time_base = np.array(pts), Fraction(1, 100)
    duration = (pts[-1] - pts[0] + 10) / 100
    return SimpleNamespace(num_frames=len(pts), pts=pts, time_base=time_base, duration=duration)


def resolve(start, end, video, **rules):
    start, end = (None if value is None else Fraction(value) for value in (start, end))
    return FrameRange(**rules).resolve(Entry("a.mp4", 0, start, end, "line 1"), video)


@pytest.mark.parametrize(
    ("start", "end", "include_end", "expected"),
    [
        (None, None, True, (0, 40)),
        (5, None, True, (5, 40)),
        (5, 9, True, (5, 10)),
        (5, 9, False, (5, 9)),
        (5, 400, True, (5, 40)),
        (-10, -5, False, (30, 35)),
        (5, 5, True, (5, 6)),
    ],
)
def test_frames(start, end, include_end, expected):
    assert resolve(start, end, index(range(40)), unit="frames", include_end=include_end) == expected


@pytest.mark.parametrize(("start", "end"), [(40, None), (9, 8), (5, 5)])
def test_a_range_without_frames_is_an_error_that_names_the_line(start, end):
    with pytest.raises(ArgumentError, match=r"line 1: .* holds no frame of a\.mp4, which has 40"):
        resolve(start, end, index(range(40)), unit="frames", include_end=False)


TIMES = index([100, 110, 135, 140, 180])  # hundredths of a second, from 1.0 s


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("start_down_end_up", (1, 5)),
        ("start_up_end_down", (2, 4)),
        ("all_up", (2, 5)),
        ("all_down", (1, 4)),
    ],
)
def test_times_become_frames_by_the_rounding(rounding, expected):
    assert resolve("0.2", "0.7", TIMES, rounding=rounding) == (expected[0], expected[1] - 1)
    assert resolve("0.2", "0.7", TIMES, rounding=rounding, include_end=True) == expected


@pytest.mark.parametrize("rounding", ["start_down_end_up", "all_down", "all_up"])
def test_the_time_of_a_frame_is_that_frame(rounding):
    assert resolve("0.1", "0.4", TIMES, rounding=rounding) == (1, 3)
    assert resolve("0.1", "0.4", TIMES, rounding=rounding, include_end=True) == (1, 4)


@pytest.mark.parametrize("rounding", ["start_down_end_up", "start_up_end_down"])
@pytest.mark.parametrize(("end", "stop"), [(None, 5), ("0.9", 5), ("7", 5), ("0.8", 4)])
def test_a_range_to_the_duration_has_the_last_frame(rounding, end, stop):
    assert resolve("0.1", end, TIMES, rounding=rounding) == (1, stop)


def test_an_end_time_past_the_last_frame_is_clamped():
    assert resolve("0.1", "99", TIMES) == (1, 5)
    assert resolve("0.1", None, TIMES) == (1, 5)
