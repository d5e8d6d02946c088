"""The soak in a short form: `make soak` runs it for minutes."""

import re
import sys
from pathlib import Path

from programs import run_program


def test_a_run_with_damage_kills_and_restores_gives_every_sample_once():
    words = [Path(__file__).parent / "soak.py", "--samples", "800", "--kill-every", "300"]
    command = [sys.executable, "-W", "error", *words]
    done = run_program(command, timeout=250, check=True)
    kills = re.match(r"792 samples of 2 epochs in \d+ s, (\d+) workers killed", done.stdout)
    assert kills, done.stdout
    assert int(kills[1]) >= 2
