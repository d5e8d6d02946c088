"""Status files of running jobs, and the command that shows them."""

import gc
import io
import json
import os
import re
import signal
import sys
import tempfile
import time

import pytest
from damaged_videos import make_videos
from programs import Program
from rich.console import Console
from shared_folders import give_away, make_shared
from torch.utils.data import DataLoader
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.cli.live_view import read_statuses, status_table
from videoloader.machinery.runtime import status

JOB = """
import sys, time
import videoloader as vl
videos = vl.Loader(sys.argv[1:] * 100, vl.UniformClip(2), batch_size=4, workers=0, on_error="skip")
for epoch in range(100):
    for batch in videos:
        time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("top") / "videos"
    return make_videos(folder, count=3, unreadable=[1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where this process, and those that it starts, tell what they do."""
    folder = tmp_path / "status"
    monkeypatch.setenv("VIDEOLOADER_STATUS", str(folder))
    yield folder
    for path in folder.glob("*.json"):
        path.unlink()


def loader(paths, **options):
    return vl.Loader(paths, vl.UniformClip(2), batch_size=1, workers=0, **options)


def rendered(runs, width=150):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(status_table(runs, width))
    return console.export_text()


def test_nothing_is_written_unless_it_is_asked_for(paths, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    for value in ("", "0", "off"):
        monkeypatch.setenv("VIDEOLOADER_STATUS", value)
        assert status.status_file() is None
    with loader(paths[:1]) as batches:
        list(batches)
    assert not list(tmp_path.iterdir())


def test_files_are_in_the_folder_of_the_user_that_nobody_else_may_read(monkeypatch, tmp_path):
    monkeypatch.setenv("VIDEOLOADER_STATUS", "1")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert status.status_folder() == tmp_path / "videoloader"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    assert status.status_folder().name == f"videoloader-{os.getuid()}"


def test_a_run_tells_at_most_once_a_second_and_takes_its_file_away(paths, folder, monkeypatch):
    written = []
    real = status.StatusFile._write
    monkeypatch.setattr(
        status.StatusFile, "_write", lambda file: (written.append(time.monotonic()), real(file))
    )
    begin = time.monotonic()
    with loader([paths[0]] * 60) as batches:
        for _ in batches:
            time.sleep(0.01)
        (run,) = read_statuses()
        assert (run["pid"], run["run"], run["epoch"]) == (os.getpid(), "Loader", 0)
        assert folder.stat().st_mode & 0o077 == 0
    assert 1 <= len(written) <= 1 + (time.monotonic() - begin) / status.PERIOD
    assert not list(folder.iterdir())


def test_epochs_shorter_than_a_second_have_a_rate(paths, folder, monkeypatch):
    monkeypatch.setattr("videoloader.machinery.runtime.monitor.PERIOD", 0.1)
    with loader([paths[0]] * 4) as batches:
        for _ in range(8):
            for _ in batches:
                time.sleep(0.01)
            (run,) = read_statuses()
    assert run["recent"]["samples_per_second"] > 0
    assert run["recent"]["seconds"] > 0


def test_a_dropped_run_is_told_of_no_more(paths, folder):
    batches = loader([paths[0]] * 2)
    list(batches)
    assert len(read_statuses()) == 1
    del batches
    gc.collect()
    assert not read_statuses()


def test_a_folder_that_cannot_be_written_costs_the_run_nothing(
    paths, tmp_path, monkeypatch, caplog
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VIDEOLOADER_STATUS", str(tmp_path / "file" / "status"))
    with loader([paths[0]] * 3) as batches:
        assert len(list(batches)) == 3
    assert caplog.text.count("no status is written") == 1


def test_ranks_of_a_job_are_shown_until_they_are_killed(paths, folder, monkeypatch):
    monkeypatch.setattr("videoloader.cli.machine.console", Console(width=160))
    jobs = [
        Program(
            [sys.executable, "-c", JOB, *paths],
            env=os.environ | {"RANK": str(rank), "WORLD_SIZE": "2"},
        )
        for rank in (1, 0)
    ]
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            runs = read_statuses()
            if len(runs) == 2 and all(run["total"]["errors"] for run in runs):
                break
            time.sleep(0.1)
        assert [(run["rank"], run["pid"]) for run in runs] == [
            ("0", jobs[1].pid),
            ("1", jobs[0].pid),
        ]
        text = CliRunner().invoke(app, ["top", "--once"]).stdout
        assert re.search(rf"0/2 +{jobs[1].pid} +python -c Loader", text)
        assert "2 runs" in text
        assert "decode" in text
        found = json.loads(CliRunner().invoke(app, ["top", "--json"]).stdout)
        assert {run["pid"] for run in found} == {job.pid for job in jobs}
        for job in jobs:
            job.send_signal(signal.SIGKILL)
            job.wait()
        assert len(list(folder.glob("*.json"))) == 2
        assert "no loader or pipeline" in CliRunner().invoke(app, ["top", "--once"]).stdout
        assert not list(folder.glob("*.json"))
    finally:
        for job in jobs:
            job.kill()
            job.wait()


def test_the_file_of_another_process_with_the_same_number_is_stale(paths, folder):
    with loader([paths[0]] * 2) as batches:
        list(batches)
        (path,) = folder.iterdir()
        facts = json.loads(path.read_text())
        path.write_text(json.dumps(facts | {"began": facts["began"] - 1}))
        assert not read_statuses()
        assert not path.exists()


def test_processes_of_another_container_are_left_alone(paths, folder):
    with loader([paths[0]] * 2) as batches:
        list(batches)
        (path,) = folder.iterdir()
        facts = json.loads(path.read_text())
        path.write_text(json.dumps(facts | {"space": "pid:[1]", "began": -1}))
        assert len(read_statuses()) == 1
        path.unlink()


def test_what_is_no_status_is_passed_over(folder):
    folder.mkdir()
    for number, text in enumerate(("", "[]", "{}", "nonsense")):
        (folder / f"{number}.json").write_text(text)
    assert read_statuses() == []
    assert "VIDEOLOADER_STATUS=1" in rendered([])


STATUS = {
    "pid": 1,
    "began": -1,
    "space": "of another container",
    "command": "train.py",
    "rank": None,
    "num_ranks": None,
    "updated": 0.0,
    "runs": [
        {
            "run": "Loader",
            "updated": 0.0,
            "waits_for": "",
            "queues": [["decode", 1, 2]],
            "epoch": 0,
            "batches": 10,
            "total": {"batches": 1, "frames_decoded": 1, "frames_discarded": 0, "errors": 0},
            "recent": {
                "seconds": 1.0,
                "waited_share": 0.5,
                "samples_per_second": 8,
                "frames_decoded": 1,
                "bytes_read": 1,
            },
        }
    ],
}


def wrong_values(value):
    """The value with one part after the other left out, or of another kind."""
    yield from (None, "text", [], {}, 7, True, float("nan"), float("inf"), 10**400, "9" * 5000)
    if isinstance(value, dict):
        for name, part in value.items():
            yield {key: of for key, of in value.items() if key != name}
            yield from ({**value, name: wrong} for wrong in wrong_values(part))
    if isinstance(value, list):
        for number, part in enumerate(value):
            yield from ([*value[:number], w, *value[number + 1 :]] for w in wrong_values(part))


def test_no_status_file_ends_the_command(folder):
    folder.mkdir()
    path = folder / "1.json"
    path.write_text(json.dumps(STATUS))
    assert "train.py Loader" in rendered(read_statuses())
    for wrong in wrong_values(STATUS):
        path.write_text(json.dumps(wrong))
        rendered(read_statuses())
        json.dumps(read_statuses())
    path.write_text("[" * 100_000)
    assert read_statuses() == []
    path.write_text(" " * (1 << 21) + json.dumps(STATUS))  # larger than any status
    assert read_statuses() == []
    path.unlink()
    os.mkfifo(path)
    assert read_statuses() == []
    path.unlink()


def test_names_of_runs_control_no_terminal(folder):
    folder.mkdir()
    (folder / "1.json").write_text(json.dumps(STATUS | {"command": "\x1b]0;title\x07\x1b[2J"}))
    (run,) = read_statuses()
    assert "\x1b" not in run["command"] + rendered([run])


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_folder_that_another_user_made_first_is_not_used(
    paths, tmp_path, monkeypatch, caplog, kind
):
    shared = make_shared(tmp_path / "shared")
    monkeypatch.setenv("TMPDIR", str(shared))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("VIDEOLOADER_STATUS", "1")
    theirs, target = status.status_folder(), tmp_path / "target"
    if kind == "link":
        target.mkdir()
        theirs.symlink_to(target)
    else:
        theirs.mkdir(mode=0o777)
    mine = tmp_path / "mine"
    mine.write_text("precious")
    theirs.joinpath(f"{os.getpid()}.partial").symlink_to(mine)
    give_away(theirs, monkeypatch)
    before = sorted(theirs.iterdir())
    with loader(paths[:1]) as batches:
        assert len(list(batches)) == 1
    assert mine.read_text() == "precious"
    assert sorted(theirs.iterdir()) == before
    assert "belongs to another user" in caplog.text
    found = CliRunner().invoke(app, ["top", "--once"])
    assert found.exit_code == 2
    assert "belongs to another user" in found.output


def test_a_table_points_out_who_waits_and_who_gives_nothing(paths, folder):
    with loader([paths[0]] * 2) as batches:
        list(batches)
        (run,) = read_statuses()
    waiting = run | {"recent": run["recent"] | {"waited_share": 0.4}, "waits_for": "decode"}
    stuck = run | {"age": 12.3, "rank": "7", "num_ranks": "8"}
    text = rendered([waiting, stuck])
    assert "40%" in text
    assert "no batch for 12 s" in text
    assert "7/8" in text


@pytest.mark.parametrize("width", [80, 100, 150])
def test_headers_are_whole_on_narrow_terminals(paths, folder, width):
    with loader([paths[0]] * 2) as batches:
        list(batches)
        (run,) = read_statuses()
    run |= {"pid": 4194304, "command": "train_a_model.py", "rank": "63", "num_ranks": "64"}
    header = rendered([run | {"batches": 100_000, "epoch": 17}], width).splitlines()[1].split()
    assert header[:7] == ["rank", "pid", "job", "step", "samples/s", "waits", "for"]
    assert header[-1] == "failed"
    assert len(header) == (12 if width >= 120 else 8)


@pytest.mark.parametrize("method", ["fork", "spawn"])  # a fork server may have an older environment
def test_workers_of_a_data_loader_tell_what_they_do(paths, folder, method):
    dataset = vl.ClipDataset([paths[0], paths[2]] * 8, vl.UniformClip(2), on_error="replace")
    batches = DataLoader(dataset, 2, num_workers=2, multiprocessing_context=method)
    iterator = iter(batches)
    taken = [next(iterator) for _ in range(6)]
    runs = [run for run in read_statuses(folder) if run["run"] == "ClipDataset"]
    assert len({run["pid"] for run in runs}) == 2
    assert os.getpid() not in {run["pid"] for run in runs}
    assert sum(run["total"]["samples"] for run in runs) >= 2
    assert "2 runs" in rendered(runs)
    assert "0%  " not in rendered(runs).splitlines()[3][40:70]
    taken += list(iterator)
    stats = dataset.stats()
    assert (stats.batches, stats.samples) == (8, 16)
    assert stats["decode"].samples == 16
    assert stats.work.decoded >= 32
    assert stats.seconds > 0
    assert "sum over processes" in str(stats)
    del iterator, batches


def test_failures_of_workers_are_counted(paths):
    dataset = vl.ClipDataset(paths, vl.UniformClip(2), on_error="skip")
    assert len(list(DataLoader(dataset, 3, num_workers=1, collate_fn=list))) == 1
    stats = dataset.stats()
    assert (stats.samples, stats.errors) == (2, 1)
    assert str(stats).endswith(", 1 failed")
