"""Shares the samples of a batch among the threads of a stage, as many as its work is worth."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable

from videoloader.pipeline.graph.compiler import CompiledStage, Step
from videoloader.pipeline.run.pool import SamplePool, work_alone
from videoloader.pipeline.run.state import BatchState, Part
from videoloader.runtime.stage_thread import StageThread
from videoloader.tensors.batch import Batch

__all__ = ["SampleSharing"]

_PARTS = 2
"""Parts of a batch for each thread: what is made between operators exists for one part only."""

_WORTH_A_PART = 5e-4
"""Seconds of work from which a part is worth its own way through the threads of a pool."""

_WAITING = 2e-3
"""Seconds from which a part counts by the clock, not by the work of its thread.

It may wait for files; a shorter one may only have waited for the interpreter lock.
"""


class SampleSharing:
    """Sends the samples of batches through stages in parts.

    Args:
        num_threads: that share the samples.
    """

    def __init__(self, num_threads: int) -> None:
        self._num_threads = num_threads
        self._seconds: dict[CompiledStage, float] = {}
        """Of work on the last batch, for each stage."""

    def is_little(self, compiled: CompiledStage) -> bool:
        """Whether a batch of the size of the last one is not worth its way to another thread."""
        return self._seconds.get(compiled, math.inf) <= _WORTH_A_PART

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
            wanted = min(wanted, math.ceil(self._seconds[compiled] / _WORTH_A_PART))
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
                work_alone()
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
    """A batch cut into at most so many parts of nearly one size; the batch itself is a part."""
    samples = len(state)
    count = max(1, min(count, samples))
    if count == 1:
        return [state.whole()]
    bounds = [samples * number // count for number in range(count + 1)]
    return [Part(state, start, stop) for start, stop in itertools.pairwise(bounds)]
