"""`Pipeline`: a graph of operators that gives batches."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import numpy as np

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.pipeline.graph import DataNode, Graph, defining
from videoloader.pipeline.program import Program
from videoloader.pipeline.stages import StageRunner
from videoloader.pipeline.stats import PipelineStats
from videoloader.readers.external import ExternalSource
from videoloader.tensors import TensorList

__all__ = ["PIPELINE_ARGUMENTS", "Pipeline"]

_UNUSED = {
    "bytes_per_sample",
    "default_cuda_stream_priority",
    "enable_memory_stats",
    "exec_async",
    "exec_dynamic",
    "exec_pipelined",
    "experimental_exec_dynamic",
    "max_streams",
    "py_callback_pickler",
    "py_num_workers",
    "py_start_method",
    "set_affinity",
}
_ABSENT = {
    "checkpoint": None,
    "debug": False,
    "enable_checkpointing": False,
    "enable_conditionals": False,
    "output_dtype": None,
    "output_ndim": None,
}

PIPELINE_ARGUMENTS = frozenset(
    {
        "batch_size",
        "num_threads",
        "device_id",
        "seed",
        "prefetch_queue_depth",
        "fuse",
        *_UNUSED,
        *_ABSENT,
    }
)
"""Keywords of a pipeline, which `pipeline_def` adds to those of a definition."""


class Pipeline:
    """Runs a graph of operators, some batches ahead of whoever takes them.

    Most pipelines are made with `pipeline_def`. By hand::

        with Pipeline(batch_size=8) as pipe:
            clips = fn.readers.video(filenames=files, sequence_length=16)
            pipe.set_outputs(fn.resize(clips, resize_shorter=256))
        with pipe:
            (clips,) = pipe.run()

    The first block defines the graph; once there are outputs, a `with` block closes the pipeline
    at its end. A pipeline that is dropped ends its threads as well.

    What a sample is depends on the seed, its number in the data set of the first reader, and the
    epoch: not on `num_threads`, `prefetch_queue_depth`, `batch_size` or shards. Without a reader
    samples are numbered as they come.

    Reading, decoding, operators on the CPU and operators on a GPU are stages that overlap, each a
    batch ahead of the next.

    Args:
        batch_size: samples in a batch.
        num_threads: threads that work on samples; as many as there are processors by default.
        device_id: the GPU of operators with device="gpu"; the current one by default. Without
            such operators no GPU is needed.
        seed: of all random draws; None or -1 draws one, see `self.seed`.
        prefetch_queue_depth: finished batches that wait to be taken. DALI's dict of two depths
            gives the larger.
        fuse: let decoders resize, crop, flip, normalise and cast by themselves where operators
            behind them do so. Pixels differ from those of the operators by at most 3 of 255, by 0.5
            in the mean: they are rounded once, not after each operator.
        **others: DALI's other arguments. No meaning here: bytes_per_sample,
            default_cuda_stream_priority, enable_memory_stats, exec_async, exec_dynamic,
            exec_pipelined, experimental_exec_dynamic, max_streams, py_callback_pickler,
            py_num_workers, py_start_method, set_affinity. Not supported yet, an error unless at
            their default: checkpoint, debug, enable_checkpointing, enable_conditionals,
            output_dtype, output_ndim.
    """

    def __init__(
        self,
        batch_size: int = -1,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = None,
        *,
        prefetch_queue_depth: int | Mapping[str, int] = 2,
        fuse: bool = True,
        **others: Any,
    ) -> None:
        _check_others(others)
        self.batch_size = _at_least_one("batch_size", batch_size)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.num_threads = (
            cores or 1 if num_threads in (None, -1) else _at_least_one("num_threads", num_threads)
        )
        self.device_id = None if device_id in (None, -1) else device_id
        self.seed: int = secrets.randbits(63) if seed in (None, -1) else int(seed or 0)
        if isinstance(prefetch_queue_depth, Mapping):
            prefetch_queue_depth = max(prefetch_queue_depth.values())
        self.prefetch_queue_depth = _at_least_one("prefetch_queue_depth", prefetch_queue_depth)
        self._fuse = fuse
        self._graph = Graph(self.batch_size)
        self._outputs: tuple[DataNode, ...] = ()
        self._program: Program | None = None
        self._runner: StageRunner | None = None
        self._is_closed = False
        self._scope: AbstractContextManager[None] | None = None

    def set_outputs(self, *outputs: DataNode) -> None:
        """Say what a batch consists of."""
        if self._program is not None:
            raise ArgumentError("the pipeline is built, its outputs are set")
        for output in outputs:
            if not isinstance(output, DataNode):
                raise ArgumentError(
                    f"a pipeline gives data nodes, got {type(output).__name__}: {output!r}"
                )
        if not outputs:
            raise ArgumentError("a pipeline needs at least one output")
        self._outputs = outputs

    def build(self) -> None:
        """Open the sources and check the devices; `run` does it if nobody did."""
        if self._is_closed:
            raise ArgumentError("the pipeline is closed")
        if self._program is None:
            if not self._outputs:
                raise ArgumentError("the pipeline has no outputs; see set_outputs")
            gpu = "cuda" if self.device_id is None else f"cuda:{self.device_id}"
            self._program = Program(
                self._graph,
                self._outputs,
                seed=self.seed,
                num_threads=self.num_threads,
                gpu=gpu,
                depth=self.prefetch_queue_depth,
                fuse=self._fuse,
            )

    def run(self) -> tuple[TensorList, ...]:
        """The next batch, one `TensorList` for each output; the caller owns its memory.

        Raises:
            OperatorError: an operator failed on a sample of this batch, which is lost; the next
                call gives the next batch.
            StopIteration: an external source has ended; `reset` begins its next epoch.
        """
        outputs: tuple[TensorList, ...] = self._started().next().deliver()
        return outputs

    def schedule_run(self) -> None:
        """Begin to make batches ahead, without waiting for one."""
        self._started()

    def share_outputs(self) -> tuple[TensorList, ...]:
        """The next batch: `run` under the name that goes with `schedule_run`."""
        return self.run()

    def release_outputs(self) -> None:
        """Nothing to do: a batch belongs to whoever took it."""

    def outputs(self) -> tuple[TensorList, ...]:
        """The next batch: `run` under another of DALI's names."""
        return self.run()

    def feed_input(self, data_node: str | DataNode, data: Any) -> None:
        """Queue a batch for an `external_source` that has no source of its own.

        Args:
            data_node: the node or its name.
            data: a tensor, an array, a `TensorList` or a list of samples.
        """
        name = data_node.node.name if isinstance(data_node, DataNode) else data_node
        source = self._built().sources.get(name)
        if not isinstance(source, ExternalSource):
            raise ArgumentError(f"the pipeline has no external source named {name!r}")
        source.feed(data)
        if self._runner is not None:
            self._runner.allow(self._built().num_fed or 0)

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Size and sharding of a reader, with DALI's keys; of every reader without a name."""
        sources = self._built().sources
        metas = {key: meta for key in sources if (meta := sources[key].meta()) is not None}
        if name is None:
            return metas
        if name not in metas:
            raise ArgumentError(
                f"the pipeline has no reader named {name!r}; it has {', '.join(metas) or 'none'}"
            )
        return metas[name]

    def epoch_size(self, name: str | None = None) -> Any:
        """Samples in the data set of a reader; of every reader by name without one."""
        if name is not None:
            return self.reader_meta(name)["epoch_size"]
        return {key: meta["epoch_size"] for key, meta in self.reader_meta().items()}

    def stats(self) -> PipelineStats:
        """What was done so far.

        A mapping from the name of each operator to its samples, seconds and replaced samples. Its
        `stages` say how long each stage worked and waited, and `str()` of it in one line whether
        the consumer waits, and for what.
        """
        runner = None if self._runner is None else self._runner.stats()
        return PipelineStats(self._built().operator_stats(), runner)

    def describe(self) -> str:
        """The stages of the pipeline, one a line, and what decoders do of the operators."""
        return "\n".join(map(str, self._built().compiled))

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self._outputs)

    def reset(self) -> bool:
        """Begin the next epoch of external sources that have ended; otherwise do nothing.

        They have ended when no batch is left to take; where the next one is still in the making,
        this waits for it.

        Returns:
            Whether they had ended.
        """
        if self._runner is None or self._program is None or not self._program.may_end:
            return False
        return self._runner.resume(self._program.reset)

    def close(self) -> None:
        """End the threads and drop the batches made ahead. The pipeline cannot run again."""
        self._is_closed = True
        if self._runner is not None:
            self._runner.close()
        self._runner = self._program = None

    def __enter__(self) -> Pipeline:
        if not self._outputs and not self._is_closed:
            self._scope = defining(self._graph)
            self._scope.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._scope is None:
            self.close()
        else:
            scope, self._scope = self._scope, None
            scope.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "built" if self._program else "not built"
        nodes = ", ".join(node.name for node in self._graph.nodes)
        return f"Pipeline(batch_size={self.batch_size}, seed={self.seed}, {state}: {nodes})"

    def _built(self) -> Program:
        self.build()
        assert self._program is not None
        return self._program

    def _started(self) -> StageRunner:
        program = self._built()
        if self._runner is None:
            fed = program.num_fed
            self._runner = StageRunner(
                program.stages(), depth=self.prefetch_queue_depth, on_demand=fed is not None
            )
            self._runner.allow(fed or 0)
        return self._runner


def _at_least_one(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError(f"{name} of a pipeline must be an int, at least 1, got {value!r}")
    return int(value)


def _check_others(others: Mapping[str, Any]) -> None:
    for name, value in others.items():
        if name in _ABSENT and value != _ABSENT[name]:
            raise UnsupportedError(f"{name} of a pipeline is not supported yet, got {value!r}")
        if name not in _ABSENT and name not in _UNUSED:
            raise ArgumentError(f"a pipeline has no argument {name!r}")
