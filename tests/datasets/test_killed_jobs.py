"""Jobs that are killed between their file operations: `tests/attacks/jobs.py`, shortened."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "attacks/jobs.py"
JOBS = ("cut", "transcode to LeRobot", "scenes", "report")


def test_a_job_killed_at_any_operation_leaves_no_half_file_and_goes_on():
    command = [sys.executable, SCRIPT, *JOBS, "--most", "2"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [*JOBS]
