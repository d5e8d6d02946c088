"""How much of the library a warm request, a batch and a run walk through, in calls and modules.

Each call costs the interpreter time that no faster decoder gives back. Python 3.12 and newer count
fewer calls, since comprehensions are none there.
"""

import json
import os
import sys
from pathlib import Path

import pytest
from programs import run_program

ROOT = Path(__file__).parent.parent

# Measured: 274 in 23, 159 in 31, 600 in 54, 840 to 930 in 69: waiting threads call again.
MOST = {
    "index_video": (280, 23),
    "get_frames": (162, 31),
    "Loader, a batch": (650, 55),
    "pipeline, a run": (1000, 70),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Counted in a process of its own: threads and garbage of other tests would be counted too."""
    program = (
        "import json, pathlib, sys; import walks; "
        "print(json.dumps(walks.walks(pathlib.Path(sys.argv[1]))))"
    )
    folder = tmp_path_factory.mktemp("walks")
    path = os.pathsep.join([str(ROOT / "benchmarks"), str(ROOT)])
    command = [sys.executable, "-c", program, folder]
    environment = {**os.environ, "PYTHONPATH": path}
    done = run_program(command, env=environment, check=True, timeout=300)
    return json.loads(done.stdout)


@pytest.mark.parametrize("job", MOST)
def test_a_job_walks_through_few_modules_and_calls(found, job):
    calls, modules = MOST[job]
    assert 50 < found[job]["calls"] <= calls
    assert 10 < found[job]["modules"] <= modules
