"""Checking a data set: what is damaged, by whatever way the job goes."""

import json
import pickle

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.decoding import check
from videoloader.decoding.check import check_dataset
from videoloader.demo.videos import encode_video
from videoloader.training.known_bad import read_known

COUNT, NO_VIDEO, DAMAGED, CHANGED = 6, 1, (2, 5), 4


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Six rows: one is no video, two have a damaged frame, and one was changed since."""
    folder = tmp_path_factory.mktemp("check") / "videos"
    folder.mkdir()
    for number in range(COUNT):
        path = folder / f"{number}.mp4"
        encode_video(path, frames=12, size=(64, 64), options={"g": "4", "bf": "0"})
        if number in DAMAGED:
            packet = vl.index_video(path).packets[8]
            data = bytearray(path.read_bytes())
            start = int(packet["offset"])
            data[start : start + int(packet["size"])] = bytes(int(packet["size"]))
            path.write_bytes(data)
        if number == NO_VIDEO:
            path.write_bytes(b"no video")
    dataset = vl.index_dataset(folder, folder.parent / "set.parquet", 0, root=folder)
    (folder / f"{CHANGED}.mp4").write_bytes((folder / "0.mp4").read_bytes() + b"?")
    return dataset


@pytest.fixture(scope="module")
def expected(dataset, tmp_path_factory):
    """The table of an undisturbed job in one process."""
    out = tmp_path_factory.mktemp("expected") / "damage.parquet"
    return check_dataset(dataset, out, workers=0).to_pylist()


def test_the_table_says_which_rows_are_damaged_and_in_which_way(dataset, expected):
    assert [row["row"] for row in expected] == [2, 4, 5]
    for row in expected:
        assert row["key"] == dataset.keys[row["row"]] == f"{row['row']}.mp4"
        assert row["path"] == dataset.item(row["row"]).path
    assert [row["error_kind"] for row in expected] == [
        "DecodeError",
        "StaleIndexError",
        "DecodeError",
    ]
    assert "its size differs" in expected[1]["reason"]
    assert 8 in expected[0]["frames"]
    assert expected[1]["frames"] == []


@pytest.mark.parametrize("stops_at", [1, 3, 4])
def test_an_interrupted_job_goes_on_where_it_was(
    dataset, expected, tmp_path, monkeypatch, stops_at
):
    out = tmp_path / "damage.parquet"
    decoded = []
    real = check.check_video

    def stopped(task, **options):
        if len(decoded) == stops_at:
            raise KeyboardInterrupt
        decoded.append(task[0])
        return real(task, **options)

    monkeypatch.setattr(check, "check_video", stopped)
    with pytest.raises(KeyboardInterrupt):
        check_dataset(dataset, out, workers=0)
    assert [path.name for path in tmp_path.iterdir()] == ["damage.parquet.journal"]
    first, decoded[:] = list(decoded), []
    stops_at = -1
    told = []
    table = check_dataset(dataset, out, workers=0, progress=lambda *now: told.append(now))
    assert sorted(first + decoded) == dataset.videos.rows.tolist()
    assert table.to_pylist() == pq.read_table(out).to_pylist() == expected
    assert told[0][0] == len(first) + 1
    assert told[-1] == (5, 5, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["damage.parquet"]
    check_dataset(dataset, out, workers=0)
    assert len(decoded) == 5 - len(first) + 5  # a job that is done begins anew


def test_what_was_found_of_a_file_that_changed_is_found_again(dataset, tmp_path, monkeypatch):
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in "ab":
        encode_video(folder / f"{name}.mp4", frames=5, size=(64, 64))
    opened = vl.index_dataset(folder, tmp_path / "set.parquet", 0)
    seen, real = [], check.check_video

    def stopped(task, **options):
        seen.append(task[0])
        if task[0] == 1:
            raise KeyboardInterrupt
        return real(task, **options)

    monkeypatch.setattr(check, "check_video", stopped)
    for path, count in ((folder / "a.mp4", 6), (folder / "a.mp4", 7)):
        with pytest.raises(KeyboardInterrupt):
            check_dataset(opened, tmp_path / "damage.parquet", workers=0)
        encode_video(path, frames=count, size=(64, 64))
        opened = vl.index_dataset(folder, tmp_path / "set.parquet", 0)
    assert seen == [0, 1, 0, 1]


def test_shards_check_every_video_once(dataset, expected, tmp_path):
    parts = [
        check_dataset(dataset, tmp_path / f"{part}.parquet", workers=0, shard=(part, 3))
        for part in range(3)
    ]
    assert [row for part in parts for row in part.to_pylist()] == expected
    with pytest.raises(vl.errors.ArgumentError, match="shard"):
        check_dataset(dataset, tmp_path / "x.parquet", workers=0, shard=(3, 3))


def test_workers_find_the_same(dataset, expected, tmp_path):
    assert check_dataset(dataset, tmp_path / "a.parquet", workers=1).to_pylist() == expected


def test_a_second_check_of_the_same_output_is_refused(dataset, tmp_path):
    from videoloader.indexing.dataset.journal import Journal

    journal = Journal(tmp_path / "damage.parquet.journal")
    with pytest.raises(vl.errors.SourceError, match="another job is at work"):
        check_dataset(dataset, tmp_path / "damage.parquet", workers=0)
    journal.remove()


def test_results_pickle(expected):
    damage = check.Damage((1, 2), "DecodeError", "no")
    assert pickle.loads(pickle.dumps(damage)) == damage


def test_findings_come_by_their_first_frame_and_one_frame_is_told_as_one(
    dataset, tmp_path, monkeypatch
):
    damage = [check.Damage(frames, "DecodeError", "broken") for frames in ((7,), (2, 5, 6), ())]
    monkeypatch.setattr(check, "check_video", lambda task, **_: damage if task[0] == 0 else [])
    words = ["check", str(dataset.path), "--out", str(tmp_path / "damage.parquet")]
    told = CliRunner().invoke(app, [*words, "--workers", "0", "--root", str(dataset.root)])
    lines = [line.partition(": ")[2] for line in told.stderr.splitlines() if "broken" in line]
    assert lines == ["all: broken", "3 frames from 2 on: broken", "frame 7: broken"]


def test_the_command_prints_what_is_damaged_as_json(dataset, expected, tmp_path):
    words = ["check", str(dataset.path), "--out", str(tmp_path / "damage.parquet"), "--json"]
    told = CliRunner().invoke(app, [*words, "--workers", "0", "--root", str(dataset.root)])
    assert told.exit_code == 1
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert lines == expected
    (tmp_path / "damage.jsonl").write_text(told.stdout)
    known = [read_known(tmp_path / f"damage.{ending}") for ending in ("parquet", "jsonl")]
    assert known[0] == known[1]
    assert len(known[0]) == 3
