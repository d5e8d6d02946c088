"""Jobs of many small tasks: what costs a worker costs its task, and nothing else."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from child_processes import children

from videoloader.errors import ArgumentError
from videoloader.machinery.workers import processors
from videoloader.machinery.workers import tasks as tasks_module
from videoloader.machinery.workers.process import WorkerProcess
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.tasks import run_tasks

HERE = "test_tasks"


def noted(task, *, folder):
    """Note the call, and do what the name of the task says."""
    number, deed = task
    with (Path(folder) / str(number)).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if deed == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "fail":
        raise KeyError("a bug")
    if deed == "nap":
        time.sleep(0.5)
    if deed == "hang":
        time.sleep(1000)
    return number


@pytest.fixture
def function(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return f"{HERE}:noted"


def calls(folder):
    """How often each task was called, and by how many processes all of them."""
    pids = {int(file.name): file.read_text().split() for file in folder.iterdir()}
    return Counter(map(len, pids.values())), len(set().union(*pids.values()))


@pytest.mark.parametrize("workers", [1, 3])
def test_a_task_that_costs_its_worker_is_recorded_and_not_tried_again(function, tmp_path, workers):
    deeds = {40: "die", 41: "die", 170: "fail", 299: "die"}
    tasks = [(number, deeds.get(number, "")) for number in range(300)]
    before = children()
    done = dict(
        run_tasks(
            function, tasks, workers=workers, time_limit=60, arguments={"folder": str(tmp_path)}
        )
    )
    assert children() == before
    for number, deed in tasks:
        result = done.pop((number, deed))
        if deed:
            kind = "KeyError" if deed == "fail" else "WorkerDied"
            assert isinstance(result, TaskFailure)
            assert result.kind == kind
            assert ("SIGKILL" in result.reason) == (deed == "die")
        else:
            assert result == number
        assert len((tmp_path / str(number)).read_text().split()) == 1
    assert not done


def test_ranks_of_a_host_share_its_processors(function, tmp_path, monkeypatch):
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: range(6))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    tasks = [(number, "") for number in range(8)]
    made = []
    team = tasks_module.TaskWorkers

    def note(*arguments, workers, **options):
        made.append(workers)
        return team(*arguments, workers=workers, **options)

    monkeypatch.setattr(tasks_module, "TaskWorkers", note)
    for workers in (None, 1):
        list(
            run_tasks(
                function,
                tasks,
                workers=workers,
                time_limit=60,
                arguments={"folder": str(tmp_path)},
            )
        )
    assert made == [2, 1]


def test_a_bug_in_a_task_costs_no_worker(function, tmp_path):
    tasks = [(number, "fail" if number % 2 else "") for number in range(20)]
    arguments = {"folder": str(tmp_path)}
    list(run_tasks(function, tasks, workers=1, time_limit=60, arguments=arguments))
    pids = {(tmp_path / str(number)).read_text() for number, _ in tasks}
    assert len(pids) == 1


def test_tasks_behind_one_that_hangs_are_done_by_another_worker(function, tmp_path):
    tasks = [(0, ""), (1, "hang"), *((number, "") for number in range(2, 50))]
    arguments = {"folder": str(tmp_path)}
    done = list(run_tasks(function, tasks, workers=1, time_limit=1.5, arguments=arguments))
    kinds = Counter(getattr(result, "kind", "done") for _, result in done)
    assert kinds == {"TimeLimit": 1, "done": 49}


def test_results_that_are_taken_slowly_make_no_other_late(function, tmp_path):
    tasks, arguments = [(0, ""), (1, "nap")], {"folder": str(tmp_path)}
    found = []
    for _, result in run_tasks(function, tasks, workers=2, time_limit=1.0, arguments=arguments):
        found.append(result)
        time.sleep(1.2)  # meanwhile the other task is done
    assert sorted(found) == [0, 1]


def test_tasks_that_wait_run_together_in_one_process(function, tmp_path):
    tasks = [(number, "nap") for number in range(20)]
    arguments = {"folder": str(tmp_path)}
    found = run_tasks(function, tasks, workers=1, time_limit=60, arguments=arguments, threads=10)
    first = next(found)
    begin = time.monotonic()  # the process has started
    assert [result for _, result in (first, *found)] == list(range(20))
    assert time.monotonic() - begin < 0.5 * 10
    assert len({(tmp_path / str(number)).read_text() for number in range(20)}) == 1


@pytest.mark.parametrize("together", ["threads", "group"])
def test_of_a_group_whose_worker_is_lost_the_others_are_done(function, tmp_path, together):
    deeds = {2: "fail", 5: "die", 37: "hang"}
    tasks = [(number, deeds.get(number, "")) for number in range(40)]
    options = {"arguments": {"folder": str(tmp_path)}, together: 4}
    done = dict(run_tasks(function, tasks, workers=1, time_limit=0.5, **options))
    kinds = {number: getattr(done[number, deed], "kind", "") for number, deed in tasks}
    expected = {2: "KeyError", 5: "WorkerDied", 37: "TimeLimit"}
    assert kinds == {number: expected.get(number, "") for number in range(40)}
    assert len(done) == 40


@pytest.mark.parametrize("workers", [1, 3])
def test_short_tasks_travel_together_and_are_called_once(function, tmp_path, workers, monkeypatch):
    sent = []
    give = WorkerProcess.give
    monkeypatch.setattr(WorkerProcess, "give", lambda *given: (sent.append(given), give(*given))[1])
    tasks = [(number, "") for number in range(100)]
    arguments = {"folder": str(tmp_path)}
    found = run_tasks(
        function, tasks, workers=workers, time_limit=60, arguments=arguments, group=40
    )
    assert dict(found) == {task: task[0] for task in tasks}
    assert calls(tmp_path)[0] == {1: 100}
    assert 4 * workers <= len(sent) < 6 * workers + 4  # a slow machine divides a group


def test_a_group_that_takes_long_is_divided_among_workers(function, tmp_path):
    tasks = [(number, "nap" if number < 4 else "") for number in range(48)]
    found = run_tasks(
        function,
        tasks,
        workers=3,
        time_limit=1.2,  # of a task, not of the group
        arguments={"folder": str(tmp_path)},
        group=4,
    )
    assert dict(found) == {task: task[0] for task in tasks}
    assert calls(tmp_path)[0] == {1: 48}


def test_each_worker_gets_some_of_few_tasks(function, tmp_path):
    tasks = [(number, "nap") for number in range(2)]
    arguments = {"folder": str(tmp_path)}
    list(run_tasks(function, tasks, workers=2, time_limit=60, arguments=arguments, group=32))
    assert calls(tmp_path) == ({1: 2}, 2)


def test_a_negative_number_of_workers_is_an_error():
    with pytest.raises(ArgumentError, match="workers must be a whole number of at least 0, got -1"):
        next(run_tasks("math:sqrt", [1.0], workers=-1, time_limit=1))
