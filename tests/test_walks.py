"""How much of the library a warm request, a batch and a run walk through, in calls and modules.

Each call costs the interpreter time that no faster decoder gives back. Python 3.12 and newer count
fewer calls, since comprehensions are none there.
"""

import importlib.util
from pathlib import Path

import pytest

WALKS = Path(__file__).parent.parent / "benchmarks" / "walks.py"

# Measured: 274 in 23, 159 in 31, 600 in 54, 840 to 930 in 69: waiting threads call again.
MOST = {
    "index_video": (280, 23),
    "get_frames": (162, 31),
    "Loader, a batch": (650, 55),
    "pipeline, a run": (1000, 70),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("walks", WALKS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.walks(tmp_path_factory.mktemp("walks"))


@pytest.mark.parametrize("job", MOST)
def test_a_job_walks_through_few_modules_and_calls(found, job):
    calls, modules = MOST[job]
    assert 50 < found[job]["calls"] <= calls
    assert 10 < found[job]["modules"] <= modules
