"""The threads that share the samples of a batch, and the processors that they run on."""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from videoloader.dali.pipeline.graph.compiler import CompiledStage, Step
from videoloader.dali.pipeline.run.batch_state import BatchState, Part
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.runtime.stage_thread import StageThread, is_wanted

_AFFINITY = "DALI_AFFINITY_MASK"

_PARTS = 2
"""Parts of a batch for each thread: intermediate results exist for one part at a time."""

WORTH_A_PART = 5e-4
"""Least seconds of work for a part that is handed to a thread of a pool."""

_WAITING = 2e-3
"""The time of a part that takes more seconds is measured by the clock, since it may wait for files.

That of a shorter part is the processor time of its thread: it may only have waited for the
interpreter lock.
"""

_starting = threading.Lock()
"""Held while workers start: the number of torch's threads is then not that of the process."""

_here = threading.local()


class SamplePool:
    """Runs a job for every part of a batch.

    Args:
        threads: that run them.
        is_pinned: whether they are bound to processors; then no job runs in another thread.
    """

    def __init__(self, threads: ThreadPoolExecutor, *, is_pinned: bool = False) -> None:
        self._threads = threads
        self._is_pinned = is_pinned

    def run(self, job: Callable[[int], None], count: int) -> None:
        """Run the job for parts 0 to count - 1; the error of the first that failed, if any.

        In a stage that was closed, the rest is not run. A single part
        is not worth waking another thread.
        """
        if count == 1 and not self._is_pinned:
            return job(0)
        wanted = is_wanted()

        def run_if_wanted(at: int) -> None:
            if not wanted():
                raise CancelledError
            job(at)

        futures: list[Future[None]] = [
            self._threads.submit(run_if_wanted, at) for at in range(count)
        ]
        failure: BaseException | None = None
        for future in futures:
            try:
                future.result()
            except BaseException as error:  # noqa: BLE001  (raised when no sample runs any more)
                failure = failure or error
                for other in futures:
                    other.cancel()
        if failure is not None:
            raise failure
        return None


@contextmanager
def sample_pool(num_threads: int, name: str, cpus: Sequence[int] = ()) -> Iterator[SamplePool]:
    """Threads for samples, in which torch takes no threads of its own.

    It takes none in the thread of a stage that calls this either: it may do the work by itself.

    Args:
        num_threads: as many.
        name: that the names of the threads begin with.
        cpus: a processor for each thread; none: they run anywhere.
    """
    with ThreadPoolExecutor(num_threads, name) as threads:
        _start(threads, num_threads, cpus)
        yield SamplePool(threads, is_pinned=bool(cpus))


def _work_alone() -> None:
    """Have torch take no threads of its own in this thread, from here on."""
    if getattr(_here, "is_alone", False):
        return
    with _starting:
        _restore(torch.get_num_threads())
    _here.is_alone = True


def _restore(number: int) -> None:
    """The number of torch's threads in threads that others start from here on.

    It is the one that was set last, in any thread. That of a stage keeps none of its own.
    """
    if threading.current_thread() is threading.main_thread():
        torch.set_num_threads(number)
        return
    torch.set_num_threads(1)
    other = threading.Thread(target=torch.set_num_threads, args=(number,))
    try:
        other.start()
    except RuntimeError:  # at the end of the interpreter
        torch.set_num_threads(number)
    else:
        other.join()


def _start(pool: ThreadPoolExecutor, num_threads: int, cpus: Sequence[int]) -> None:
    """Start all workers, and keep torch from starting threads of its own inside each.

    If one of them fails, which happens at the end of the interpreter too, none is left waiting.
    """
    everybody = threading.Barrier(num_threads)

    def settle(number: int) -> None:
        try:
            if cpus:
                pin_thread(cpus[number])
            torch.get_num_threads()  # the first call in a thread takes over that of the process
            torch.set_num_threads(1)
            everybody.wait()
        except BaseException:
            everybody.abort()
            raise

    with _starting:
        intra = torch.get_num_threads()
        try:
            workers = [pool.submit(settle, number) for number in range(num_threads)]
            failures = [error for worker in workers if (error := worker.exception())]
            if failures:  # of those that only waited for the one that failed, none says why
                raise min(failures, key=lambda e: isinstance(e, threading.BrokenBarrierError))
        except BaseException:
            everybody.abort()
            pool.shutdown(cancel_futures=True)  # none may set the number after this
            raise
        finally:
            _restore(intra)


class SampleSharing:
    """Sends the samples of batches through stages in parts."""

    def __init__(self, num_threads: int) -> None:
        self._num_threads = num_threads
        self._seconds: dict[CompiledStage, float] = {}
        """Seconds of work on the last batch, for each stage."""

    def is_little(self, compiled: CompiledStage) -> bool:
        """Whether a batch of the size of the last one is not worth its way to another thread."""
        return self._seconds.get(compiled, math.inf) <= WORTH_A_PART

    def run(
        self,
        compiled: CompiledStage,
        state: BatchState,
        pool: SamplePool | None,
        run_step: Callable[[Step, Part], None],
    ) -> None:
        """Send the samples of a batch through the steps of a stage, shared by the threads.

        Args:
            compiled: the stage.
            state: the batch.
            pool: the threads; without them this thread does it all.
            run_step: sends a part of the batch through a step.
        """
        wanted = _PARTS * self._num_threads
        if compiled in self._seconds:
            wanted = min(wanted, math.ceil(self._seconds[compiled] / WORTH_A_PART))
        parts = _parts(state, wanted)
        seconds = [0.0] * len(parts)

        def run(number: int) -> None:
            part, begin, began_at = parts[number], time.thread_time(), time.perf_counter()
            for step, dropped in zip(compiled.steps, compiled.dropped, strict=True):
                run_step(step, part)
                part.drop(dropped)
            waited = time.perf_counter() - began_at
            seconds[number] = waited if waited > _WAITING else time.thread_time() - begin

        if pool is None:
            if isinstance(threading.current_thread(), StageThread):
                _work_alone()
            for number in range(len(parts)):
                run(number)
        else:
            pool.run(run, len(parts))
        self._seconds[compiled] = sum(seconds)
        if len(parts) == 1:
            return
        state.whole().drop(list(itertools.chain(*compiled.dropped)))
        made = {node.ordinal for step in compiled.steps for node in step.nodes}
        for key in {key: None for part in parts for key in part.values if key[0] in made}:
            state.values[key] = Batch.joined([part.values[key] for part in parts])


def _parts(state: BatchState, count: int) -> list[Part]:
    """A batch cut into at most `count` parts of about one size; one part is the batch itself."""
    samples = len(state)
    count = max(1, min(count, samples))
    if count == 1:
        return [state.whole()]
    bounds = [samples * number // count for number in range(count + 1)]
    return [Part(state, start, stop) for start, stop in itertools.pairwise(bounds)]


def thread_cpus(num_threads: int, near: Sequence[int] = ()) -> list[int]:
    """The processor of each worker thread.

    The first threads get the processors of the environment variable DALI_AFFINITY_MASK, such as
    "3,5,6,10". Those that are left get the processors near the GPU in turn, or without one those
    of the process.

    Args:
        num_threads: worker threads of the pipeline.
        near: processors near the GPU.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise UnsupportedError("set_affinity=True needs Linux: this system cannot pin threads")
    allowed = sorted(os.sched_getaffinity(0))
    mask = _mask(os.environ.get(_AFFINITY, ""), allowed)[:num_threads]
    others = [cpu for cpu in near if cpu in allowed] or allowed
    left = num_threads - len(mask)
    return mask + [others[number % len(others)] for number in range(left)]


def pin_thread(cpu: int) -> None:
    """Let the calling thread run on one processor only."""
    os.sched_setaffinity(0, {cpu})


def cpus_near_gpu(address: str, root: Path = Path("/sys/bus/pci/devices")) -> list[int]:
    """The processors on the side of a GPU, by its PCI address; none if that is not known."""
    try:
        text = (root / address.lower() / "local_cpulist").read_text(encoding="ascii").strip()
    except OSError:
        return []
    near: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        near += range(int(first), int(last or first) + 1)
    return near


def _mask(text: str, allowed: Sequence[int]) -> list[int]:
    try:
        cpus = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ArgumentError(
            f'{_AFFINITY} is a comma-separated list of processors, such as "3,5", got {text!r}'
        ) from None
    wrong = [cpu for cpu in cpus if cpu not in allowed]
    if wrong:
        raise ArgumentError(
            f"{_AFFINITY} names processor {wrong[0]}, which this process may not use; "
            f"it may use {', '.join(map(str, allowed))}"
        )
    return cpus


def pci_address(device: str) -> str:
    """Where the system finds a GPU, such as "0000:0b:00.0"; "" if torch does not say."""
    facts: Any = torch.cuda.get_device_properties(torch.device(device))
    if not hasattr(facts, "pci_bus_id"):  # before torch 2.8
        return ""
    return f"{facts.pci_domain_id:04x}:{facts.pci_bus_id:02x}:{facts.pci_device_id:02x}.0"
