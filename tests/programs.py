"""Programs that tests start, in forks of one interpreter that has imported torch and videoloader.

An interpreter that imports torch takes 2 s of processor time, a fork and its end 0.07 s. `Program`
and `run_program` stand in for `subprocess.Popen` and `subprocess.run`. Their command is
`sys.executable`, options `-W` with an action and a category, then `-c` and code, `-m` and a module,
or a script. Arguments, folder, environment, open files, process id, signals and exit code are as in
a process of its own. Use `subprocess` where a test is about the import of what `preload` imports,
the start or the end of an interpreter, limits that it starts with, children of the process that
runs the test, or variables that are read when a library is imported.

The server is this file as a script. The process that starts a run of tests starts it too, and the
workers of pytest-xdist find its socket in their environment. It imports at the first request, and
has one thread. A connection is one program: the request and its open files go there, the process id
and then the exit code come back. The server ends with the process that started it.
"""

import atexit
import builtins
import ctypes
import fcntl
import gc
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, CompletedProcess, TimeoutExpired

__all__ = ["Program", "run_program", "serving_programs"]

ADDRESS = "VIDEOLOADER_TEST_PROGRAMS"
# Variables with which libraries start no thread when they are imported: torch, Arrow's allocator.
NO_THREADS = {"OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
PRELOADED = set()
ROOM = 1 << 20  # bytes of a request, at most


class Program(subprocess.Popen):
    """A running program, with the part of the interface of its base class that is used."""

    def __init__(
        self,
        command,
        *,
        stdin=None,
        stdout=None,
        stderr=None,
        text=False,
        cwd=None,
        env=None,
        pass_fds=(),
        process_group=-1,
        start_new_session=False,
    ):
        assert command[0] == sys.executable
        self.args, self.returncode, self._lock = command, None, threading.RLock()
        self.stdout = self.stderr = None
        request = {
            "words": [os.fspath(word) for word in command[1:]],
            "folder": os.path.abspath(cwd or "."),
            "environment": dict(os.environ if env is None else env),
            "descriptors": [0, 1, 2, *pass_fds],
            "process_group": process_group,
            "new_session": start_new_session,
        }
        with ExitStack() as ours:
            files = [0 if stdin is None else stdin]
            for number, name, given in ((1, "stdout", stdout), (2, "stderr", stderr)):
                file = {None: number, STDOUT: files[-1]}.get(given, given)
                if given == PIPE:
                    reading, file = os.pipe()
                    ours.callback(os.close, file)
                    setattr(self, name, os.fdopen(reading, "r" if text else "rb"))
                files.append(file)
            null = ours.enter_context(open(os.devnull, "r+b"))
            files = [null if file == DEVNULL else file for file in files]
            files = [file if isinstance(file, int) else file.fileno() for file in files]
            self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._server.connect(os.environ[ADDRESS])
            socket.send_fds(self._server, [json.dumps(request).encode()], [*files, *pass_fds])
        self.pid = int(self._server.recv(32))

    def wait(self, timeout=None):
        """The exit code, when it has ended."""
        with self._lock:
            if self.returncode is None:
                self._server.settimeout(timeout and max(timeout, 0))
                try:
                    self.returncode = int(self._server.recv(32))
                except (TimeoutError, BlockingIOError):
                    raise TimeoutExpired(self.args, timeout) from None
                self._server.close()
        return self.returncode

    def poll(self):
        """The exit code, or None while it runs."""
        if self._lock.acquire(blocking=False):  # no other thread waits
            try:
                with suppress(TimeoutExpired):
                    self.wait(0)
            finally:
                self._lock.release()
        return self.returncode

    def communicate(self, timeout=None):
        """What it wrote, when it has ended; less than a pipe holds."""
        self.wait(timeout)
        return tuple(file and file.read() for file in (self.stdout, self.stderr))

    def send_signal(self, number):
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and its exit code is on its way
                os.kill(self.pid, number)

    def __exit__(self, *_):
        for file in (self.stdout, self.stderr):
            if file is not None:
                file.close()
        self.wait()


def run_program(command, *, input=b"", timeout=120, check=False, **options):  # noqa: A002
    """Run a program to its end, or kill it at the time limit; what it writes comes as text."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(input)
        files[0].seek(0)
        options = dict(zip(("stdin", "stdout", "stderr"), files, strict=True)) | options
        program = Program(command, **options)
        try:
            program.wait(timeout)
        finally:
            program.kill()
            program.wait()
        for file in files:
            file.seek(0)
        out, err = (file.read().decode() for file in files[1:])
    assert not check or program.returncode == 0, f"exit code {program.returncode}\n{err}"
    return CompletedProcess(command, program.returncode, out, err)


@contextmanager
def serving_programs():
    """Run the server, for this process and those that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[ADDRESS] = f"{folder}/socket"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(os.environ[ADDRESS])
            listener.listen(64)
            server = subprocess.Popen(
                [sys.executable, __file__, str(listener.fileno())],
                stdin=PIPE,
                env=os.environ | NO_THREADS,
                pass_fds=[listener.fileno()],
                process_group=0,  # Ctrl-C is for the tests
            )
        try:
            yield
        finally:
            server.stdin.close()
            server.wait()


def serve(listener):
    """Start what is asked for. Returns in forks: the request and the open files of a program."""
    running = {}  # process id and connection of a program, by what tells its end
    while True:
        ready, _, _ = select.select([listener, sys.stdin, *running], [], [])
        if sys.stdin in ready:  # closed
            sys.exit()
        for end in running.keys() & set(ready):
            child, connection = running.pop(end)
            os.close(end)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            with connection, suppress(BrokenPipeError):
                connection.send(str(code).encode())
        if listener in ready:
            connection, _ = listener.accept()
            request, files, _, _ = socket.recv_fds(connection, ROOM, 16)
            if not request:  # the test was interrupted
                connection.close()
                continue
            preload()
            child = os.fork()
            if not child:
                for each in (listener, connection, *(other for _, other in running.values())):
                    each.close()
                for end in running:
                    os.close(end)
                return json.loads(request), files
            for file in files:
                os.close(file)
            connection.send(str(child).encode())
            running[os.pidfd_open(child)] = child, connection


def preload():
    """Import what most programs import, without starting a thread."""
    if "torch" in sys.modules:
        return
    atexit.register(keep_preloaded)  # the last to be called
    before = {*sys.modules}
    import cv2  # noqa: F401
    import pyarrow.compute
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401
    import torch  # noqa: F401

    import videoloader as vl
    import videoloader.cli
    import videoloader.dali.fn

    assert vl.Loader, vl.Video
    gc.collect()
    gc.freeze()
    PRELOADED.update(sys.modules.keys() - before)


def keep_preloaded():
    """At the end of a program free what is its own: to free the libraries takes 0.2 s.

    Their modules stay, and no destructors of C++ are called after the interpreter has ended.
    """
    kept = [sys.modules.pop(name, None) for name in PRELOADED]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    system = ctypes.CDLL(None)
    system.on_exit(system._exit, None)


def become(request, files):
    """Take the open files, folder and environment of a program."""
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, 500) for file in files]  # out of the way
    for file in files:
        os.close(file)
    for file, number in zip(moved, request["descriptors"], strict=True):
        os.dup2(file, number)
        os.close(file)
    if request["new_session"]:
        os.setsid()
    if request["process_group"] >= 0:
        os.setpgid(0, request["process_group"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])


def run(words):
    """Run a program in this process, as the interpreter runs one after these words."""
    while words[0] == "-W":
        action, _, category = f"{words[1]}::".split(":")[:3]
        warnings.simplefilter(action, getattr(builtins, category or "Warning"))
        sys.warnoptions.append(words[1])
        words = words[2:]
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    match words:
        case "-m", name, *arguments:
            sys.path[0], sys.argv = os.getcwd(), [name, *arguments]
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case "-c", code, *arguments:
            sys.path[0], sys.argv = "", ["-c", *arguments]
            exec(compile(code, "<string>", "exec"), vars(main))
        case script, *arguments:
            sys.path[0], sys.argv = os.path.dirname(script), [script, *arguments]
            main.__file__ = script
            exec(compile(Path(script).read_bytes(), script, "exec"), vars(main))


if __name__ == "__main__":
    request, files = serve(socket.socket(fileno=int(sys.argv[1])))
    become(request, files)
    run(request["words"])
