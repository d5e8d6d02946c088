"""A contender's process: imports its library, then forks one process for each case.

Commands come as lines on stdin, answers go as lines of JSON to stdout. `begin` forks, and the new
process answers until `end`; so several contenders can be measured turn by turn, and what disturbs
the machine meets all of them alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from decoders import CONTENDERS, MEAN, STD, Contender, Floor, Job
from footage import Reference, Verdict
from numpy.typing import NDArray

_TICK = os.sysconf("SC_CLK_TCK")
_SAMPLING = 0.01  # seconds between looks at the memory
_BEGIN, _END = b"b", b"e"  # of watching the memory


# -- The forked process: one case. --


def serve_case(
    contender: Contender, request: dict[str, Any], note: Callable[[bytes], Any]
) -> dict[str, Any]:
    """Once to warm up, while memory is watched; then as told; then a look at the frames."""
    made = request["job"]
    clips = tuple(tuple(clip) for clip in made["clips"])
    job = Job(tuple(made["paths"]), clips, made["size"], made["chunk"])
    for path in job.paths:
        Path(path).read_bytes()  # into the page cache
    contender.prepare(job)
    note(_BEGIN)
    contender.run(job, lambda *_: None)
    note(_END)
    say({})
    result = None
    while hear() == "run":
        result = None
        with busy_thread() if request["busy"] else contextlib.nullcontext():
            begin, begin_cpu = time.perf_counter(), tree_cpu()
            result = contender.run(job, lambda *_: None)
            seconds, cpu_seconds = time.perf_counter() - begin, tree_cpu() - begin_cpu
        say({"ms": 1e3 * seconds, "cpu_ms": 1e3 * cpu_seconds})
    verdict = verdict_of(contender, job, result, request["references"])
    return {
        "frames": verdict.frames,
        "wrong_frames": verdict.wrong,
        "difference": round(verdict.difference, 3),
    }


def verdict_of(contender: Contender, job: Job, result: list[Any] | None, file: str) -> Verdict:
    """Every picture of the last repetition beside a full decode; a stream is decoded once more."""
    if isinstance(contender, Floor):
        return Verdict(0, 0, 0.0)  # it gives no pictures
    references = [Reference(grids) for grids in np.load(file, mmap_mode="r")]
    verdicts = [Verdict(0, 0, 0.0)]
    normalised = job.size is not None
    if not job.clips:
        contender.run(
            job,
            lambda number, frame: verdicts.append(references[0].judge(number, as_picture(frame))),
        )
        missing = len(references[0].grids) - (len(verdicts) - 1)
        verdicts.append(Verdict(missing, missing, 0.0))
    for place, (clip, frames) in enumerate(zip(job.clips, result or [], strict=False)):
        reference = references[place if job.is_many else 0]
        for number, frame in zip(clip, frames, strict=True):
            verdicts.append(reference.judge(number, as_picture(frame, normalised=normalised)))
    return sum(verdicts[1:], verdicts[0])


def as_picture(frame: Any, *, normalised: bool = False) -> NDArray[np.uint8]:
    """A frame as uint8 (H, W, 3), whatever the contender's layout."""
    picture = np.asarray(getattr(frame, "data", frame) if not hasattr(frame, "numpy") else frame)
    if picture.shape[0] == 3:
        picture = picture.transpose(1, 2, 0)
    if normalised:
        picture = (picture * np.array(STD) + MEAN).round().clip(0, 255)
    return np.ascontiguousarray(picture, dtype=np.uint8)


@contextlib.contextmanager
def busy_thread() -> Iterator[None]:
    """A thread that never leaves Python while the block runs, as a training loop."""
    stop = threading.Event()

    def spin() -> None:
        count = 0
        while not stop.is_set():
            for _ in range(1000):
                count += 1

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# -- What the system says about a process and those below it. --


def tree(pid: int) -> list[int]:
    """The process and its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                found += tree(int(child))
    return found


def tree_cpu() -> float:
    """Seconds of processor time of this process and its descendants, reaped ones too."""
    ticks = 0
    for pid in tree(os.getpid()):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / _TICK


def tree_memory(pid: int) -> float:
    """MiB of a process and its descendants; what they share counts once."""
    own, files, shared = 0, 0, 0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{one}/status").read_text().splitlines()
            kib = {
                line.split()[0]: int(line.split()[1]) for line in lines if line.startswith("Rss")
            }
            own += kib.get("RssAnon:", 0)
            files = max(files, kib.get("RssFile:", 0))
            shared = max(shared, kib.get("RssShmem:", 0))
    return (own + files + shared) / 1024


# -- The server. --


def hear() -> str:
    """The next line; nothing is read ahead, since the next may be for another process."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1 << 20)
        if not piece:
            return ""
        line += piece
    return line.decode().strip()


def say(answer: dict[str, Any]) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")


def serve(contender: Contender, request: dict[str, Any]) -> float:
    """Fork for one case, wait until it is done, and give the peak of its memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setpgid(0, 0)
        try:
            answer = serve_case(contender, request, lambda text: os.write(writing, text))
        except BaseException as error:  # noqa: BLE001  (the parent says what went wrong)
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        say(answer)
        sys.exit(0)  # and not os._exit: worker processes end in the handlers of this
    os.close(writing)
    peak = _watch(child, reading)
    os.waitpid(child, 0)
    os.close(reading)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)  # what it left behind
    return peak


def _watch(child: int, reading: int) -> float:
    """Peak memory between the notes, in MiB."""
    peak = 0.0
    if os.read(reading, 1) == _BEGIN:
        while not select.select([reading], [], [], _SAMPLING)[0]:
            peak = max(peak, tree_memory(child))
    return peak


def main() -> None:
    contender = CONTENDERS[sys.argv[1]]
    contender.load()
    while request := hear():
        say({"peak_memory_mib": round(serve(contender, json.loads(request)), 1)})


if __name__ == "__main__":
    main()
