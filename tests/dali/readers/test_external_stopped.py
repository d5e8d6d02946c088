"""Workers of parallel sources that a signal stops."""

import itertools
import os
import re
import signal
import time

import pytest
import python_sources as sources

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.readers.external import parallel
from videoloader.errors import OperatorError

pytestmark = [pytest.mark.usefixtures("no_threads_left"), pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(parallel, "PATIENCE", 0.1)


def made(source):
    definition = pipeline_def(lambda: fn.external_source(source, batch=False, parallel=True))
    return definition(batch_size=2, py_num_workers=2)


def test_a_stopped_worker_is_named_and_ends_the_run():
    with made(sources.Counted()) as pipe:
        pipe.run()
        stopped = pipe._py_pool.pids()[1]
        os.kill(stopped, signal.SIGSTOP)
        told = rf"Python worker 1 \(process {stopped}\), at work for \S+, has been stopped"
        with pytest.raises(OperatorError, match=told):  # behind what was made before
            list(itertools.islice(iter(pipe.run, None), 9))
        with pytest.raises(OperatorError, match=re.escape("stopped by a signal")):
            pipe.run()


def slow(info):
    time.sleep(0.5)
    return sources.Counted()(info)


def test_a_source_that_works_is_waited_for():
    with made(slow) as pipe:
        assert [sample[0].item() for sample in pipe.run()[0]] == [0, 1]
