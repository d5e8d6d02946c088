"""What a job does with what Ray loses, and when it is stopped; see `test_on_ray` for real Ray."""

import sys

import fake_ray
import pytest

import videoloader as vl
from videoloader.machinery.workers import on_ray
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.tasks import run_tasks

HOW = {"workers": None, "time_limit": 60, "ray": True}


@pytest.fixture(autouse=True)
def no_process_stays(monkeypatch):
    process = on_ray._Process()
    monkeypatch.setattr(on_ray, "_process", process)
    yield
    if process._timer is not None:
        process._timer.cancel()
    process._close()


def test_calls_that_ray_loses_are_repeated_task_by_task(monkeypatch):
    ray = fake_ray.make(dies_on=[9])
    monkeypatch.setitem(sys.modules, "ray", ray)
    found = dict(run_tasks("math:sqrt", [*range(40)], **HOW))
    lost = found.pop(9)
    assert lost == TaskFailure("its process on Ray died (WorkerCrashedError)")
    assert found == {n: n**0.5 for n in range(40) if n != 9}
    # Four calls for each processor; the one that is lost is made again, a task at a time.
    assert sorted(ray.calls) == [1] * 5 + [5] * 8


def test_calls_of_a_job_that_is_stopped_are_cancelled(monkeypatch):
    ray = fake_ray.make()
    monkeypatch.setitem(sys.modules, "ray", ray)
    results = run_tasks("math:sqrt", [*range(40)], ahead=1, **HOW)
    next(results)
    results.close()
    assert [each.tasks for each in ray.cancelled] == [[0], [1], [2]]


def test_a_job_that_waits_for_a_gpu_warns(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake_ray.make())
    with pytest.warns(RuntimeWarning, match=r"needs 1 GPU .+ more than 0; Ray waits"):
        assert [*run_tasks("math:sqrt", [4], gpus=1, **HOW)] == [(4, 2.0)]


def test_an_error_of_a_node_ends_the_job_and_names_the_node(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake_ray.make())
    monkeypatch.setattr(on_ray.socket, "gethostname", lambda: "node7")
    with pytest.raises(vl.errors.ResourceError, match=r"^no room \(on the Ray node node7\)$"):
        [*run_tasks("ray_cluster:lack", [1], **HOW)]


def test_the_process_of_a_ray_worker_ends_when_it_has_no_calls(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake_ray.make())
    monkeypatch.setattr(on_ray, "IDLE", 0.1)
    [*run_tasks("math:sqrt", [1], **HOW)]
    on_ray._process._timer.join()
    assert on_ray._process._workers is None
    assert [*run_tasks("math:sqrt", [4], **HOW)] == [(4, 2.0)]


def test_a_cluster_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", fake_ray.make(has_cluster=False))
    with pytest.raises(vl.errors.ResourceError, match=r"'host:1' \(nobody listens\); `ray start"):
        [*run_tasks("math:sqrt", [1], **{**HOW, "ray": "host:1"})]


def test_ray_is_asked_for_by_name_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(vl.errors.UnsupportedError, match=r"videoloader\[ray\]"):
        [*run_tasks("math:sqrt", [1], **HOW)]
