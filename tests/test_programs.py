"""Programs in forks are what they are in an interpreter of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from programs import PIPE, Program, TimeoutExpired, run_program

SEEN = """
import json, os, sys, warnings
print(json.dumps([
    sys.argv, os.getcwd(), sorted(os.environ.items()), sys.path[0], __name__, sys.stdin.read(),
    sys.modules["__main__"].__dict__ is globals(), os.getsid(0) == os.getpid(),
    globals().get("__file__"), "/extra" in sys.path,
]))
print("error", file=sys.stderr)
"""
ENDS = {
    "returns": "print(1)",
    "exits": "import sys; sys.exit(7)",
    "exits with words": "import sys; sys.exit('wrong')",
    "raises": "raise ValueError('wrong')",
    "is killed": "import os, signal; print(1, flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "is interrupted": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "writes at its end": "import atexit; atexit.register(print, 'end')",
    "waits for threads": "import threading as t; t.Timer(0.1, print, ['end']).start()",
    "warns": "import warnings; warnings.warn('wrong')",
    "leaves a file open": "import os; open(os.devnull)",
}


def of_its_own(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


@pytest.mark.parametrize("kind", ["code", "module", "script"])
@pytest.mark.parametrize("new_session", [False, True])
def test_a_program_sees_what_it_was_given(tmp_path, kind, new_session):
    (tmp_path / "seen.py").write_text(SEEN)
    words = {"code": ["-c", SEEN], "module": ["-m", "seen"], "script": [tmp_path / "seen.py"]}
    options = {"cwd": tmp_path, "start_new_session": new_session}
    options["env"] = {"PATH": os.environ["PATH"], "PYTHONPATH": "/extra", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, *words[kind], "a", "b c"]
    found = run_program(command, input=b"given", **options)
    expected = of_its_own(command, input="given", **options)
    assert json.loads(found.stdout) == json.loads(expected.stdout)
    assert found.stderr == expected.stderr == "error\n"


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("flags", [(), ("-W", "error"), ("-W", "error::DeprecationWarning")])
def test_a_program_ends_as_one_of_its_own(end, flags):
    command = [sys.executable, *flags, "-c", ENDS[end]]
    found, expected = run_program(command), of_its_own(command)
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert found.stderr.splitlines()[-1:] == expected.stderr.splitlines()[-1:]


def test_libraries_are_imported_and_no_thread_is_started():
    code = "import os, sys; print('torch' in sys.modules, os.listdir(f'/proc/{os.getppid()}/task'))"
    found = run_program([sys.executable, "-c", code], check=True).stdout
    assert re.fullmatch(r"True \['\d+'\]\n", found)


def test_a_program_has_the_open_files_that_it_was_given():
    reading, writing = os.pipe()
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))); "
    code += f"os.write({writing}, b'a')"
    options = {"pass_fds": [writing]}
    command = [sys.executable, "-c", code]
    found, expected = run_program(command, **options), of_its_own(command, **options)
    assert os.read(reading, 9) == b"aa"
    os.close(reading)
    os.close(writing)
    assert found.stdout == expected.stdout


def test_a_running_program_is_read_and_stopped():
    code = "import os, time; print(os.getpid(), os.getpgid(0), flush=True); time.sleep(100)"
    with Program([sys.executable, "-c", code], stdout=PIPE, text=True, process_group=0) as program:
        assert program.stdout.readline() == f"{program.pid} {program.pid}\n"
        assert program.poll() is None
        with pytest.raises(TimeoutExpired):
            program.wait(0.01)
        program.send_signal(signal.SIGTERM)
        assert program.communicate(timeout=60) == ("", None)
    assert program.returncode == -signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(program.pid, 0)


def test_a_program_that_takes_too_long_is_killed():
    begin = time.monotonic()
    with pytest.raises(TimeoutExpired):
        run_program([sys.executable, "-c", "import time; time.sleep(100)"], timeout=0.2)
    assert time.monotonic() - begin < 60


def test_a_failure_is_told_with_what_the_program_wrote():
    with pytest.raises(AssertionError, match=r"(?s)exit code 1.*ValueError: wrong"):
        run_program([sys.executable, "-c", "raise ValueError('wrong')"], check=True)
