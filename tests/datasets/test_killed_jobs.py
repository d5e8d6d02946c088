"""Jobs that are killed between their file operations: `tests/attacks/jobs.py`, shortened."""

import sys
from pathlib import Path

from programs import run_program

SCRIPT = Path(__file__).parents[1] / "attacks/jobs.py"
JOBS = ("cut", "transcode to LeRobot", "scenes", "report")


def test_a_job_killed_at_any_operation_leaves_no_half_file_and_goes_on():
    done = run_program([sys.executable, SCRIPT, *JOBS, "--most", "2"], check=True)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [*JOBS]
