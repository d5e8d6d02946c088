"""`Pipeline`: a graph of operators that gives batches."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.pipeline.checkpoint import Checkpoint
from videoloader.pipeline.current import current_pipeline, pop_current, push_current
from videoloader.pipeline.drawing import to_dot
from videoloader.pipeline.graph import DataNode, Graph, Node
from videoloader.pipeline.program import Program
from videoloader.pipeline.promotion import promote
from videoloader.pipeline.serialization import read_graph, write_graph
from videoloader.pipeline.stages import StageRunner
from videoloader.pipeline.stats import PipelineStats
from videoloader.readers.external import ExternalSource
from videoloader.tensors import TensorList

__all__ = ["Pipeline"]

_HARMLESS: Mapping[str, tuple[Any, ...]] = {
    "bytes_per_sample": (0,),
    "debug": (False,),
    "default_cuda_stream_priority": (0,),
    "enable_conditionals": (False,),
    "exec_async": (True, False),
    "exec_dynamic": (True, False),
    "exec_pipelined": (True, False),
    "experimental_exec_dynamic": (True, False),
    "max_streams": (-1,),
    "output_dtype": (),
    "output_ndim": (),
    "py_callback_pickler": (),
    "py_num_workers": (1,),
    "py_start_method": ("fork",),
}
"""DALI's other arguments, with the values (besides None) that say what happens here anyway."""


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
        set_affinity: pin each of the threads that work on samples to a processor: those of the
            environment variable DALI_AFFINITY_MASK ("3,5,6,10") first, then those near the GPU,
            or those of the process. Worker processes that decode are not pinned.
        enable_memory_stats: count the memory of the outputs of operators, for
            `executor_statistics`.
        enable_checkpointing: let `checkpoint()` give the state.
        checkpoint: state of a pipeline to go on from, as `checkpoint()` gave it.
        **others: DALI's other arguments: exec_async, exec_pipelined, exec_dynamic and
            experimental_exec_dynamic, which choose between executors that give the same batches
            and have no effect, and the defaults of bytes_per_sample, debug,
            default_cuda_stream_priority, enable_conditionals, max_streams, output_dtype,
            output_ndim, py_callback_pickler, py_num_workers and py_start_method. Other values
            are an error.
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
        set_affinity: bool = False,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: str | bytes | None = None,
        **others: Any,
    ) -> None:
        _check_others(others)
        self.batch_size = _at_least_one("batch_size", batch_size)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.num_threads = (
            cores or 1 if num_threads in (None, -1) else _at_least_one("num_threads", num_threads)
        )
        self.device_id = None if device_id in (None, -1) else device_id
        self._state = None if checkpoint is None else Checkpoint.read(checkpoint)
        if self._state is not None:
            seed = self._state.checked_seed(seed)
        self.seed: int = secrets.randbits(63) if seed in (None, -1) else int(seed or 0)
        if isinstance(prefetch_queue_depth, Mapping):
            prefetch_queue_depth = max(prefetch_queue_depth.values())
        self.prefetch_queue_depth = _at_least_one("prefetch_queue_depth", prefetch_queue_depth)
        self._fuse = fuse
        self._set_affinity = bool(set_affinity)
        self._with_memory = bool(enable_memory_stats)
        self._has_checkpoints = bool(enable_checkpointing) or self._state is not None
        self._graph: Graph | None = None
        self._epoch = self._epoch_start = 0
        self._outputs: tuple[DataNode, ...] = ()
        self._kept: list[Node] = []
        self._ownership = object()  # of its nodes, which must not keep the pipeline alive
        self._program: Program | None = None
        self._runner: StageRunner | None = None
        self._is_closed = False
        self._scopes: list[bool] = []

    @staticmethod
    def current() -> Pipeline | None:
        """The pipeline that is being defined; None outside of definitions."""
        return current_pipeline()

    @staticmethod
    def push_current(pipeline: Pipeline) -> None:
        """Make a pipeline the current one, as a `with` block around its definition does."""
        push_current(pipeline)

    @staticmethod
    def pop_current() -> None:
        """Make the pipeline current that was current before `push_current`."""
        pop_current()

    def set_outputs(self, *outputs: Any) -> None:
        """Say what a batch consists of, and collect the graph of operators that make it.

        Args:
            *outputs: data nodes, and constants: numbers, lists, arrays, tensors. One may come
                several times.
        """
        if self._program is not None:
            raise ArgumentError("the pipeline is built, its outputs are set")
        if not outputs:
            raise ArgumentError("a pipeline needs at least one output")
        nodes = [promote(value, f"output {at}") for at, value in enumerate(outputs)]
        self._graph = self._collect(nodes)
        self._outputs = self._graph.outputs

    def add_sink(self, data_node: DataNode) -> None:
        """Run the operator of a data node though no output needs it."""
        if self._program is not None:
            raise ArgumentError("the pipeline is built, its graph is fixed")
        self._kept.append(data_node.node)

    def define_graph(self) -> Any:
        """Call operators and return the outputs; for subclasses, which `build` calls it of."""
        raise ArgumentError("the pipeline has no outputs; see set_outputs")

    @property
    def is_built(self) -> bool:
        """Whether the graph is fixed and its sources are open."""
        return self._program is not None

    def build(self) -> None:
        """Open the sources and check the devices; `run` does it if nobody did."""
        if self._is_closed:
            raise ArgumentError("the pipeline is closed")
        if self._program is None:
            if self._state is not None:
                self._state.check(self.batch_size)
            if not self._outputs:
                self._define(self.define_graph)
            self._graph = self._collect(self._outputs)  # with sinks that were added since
            gpu = "cuda" if self.device_id is None else f"cuda:{self.device_id}"
            self._program = Program(
                self._graph,
                seed=self.seed,
                num_threads=self.num_threads,
                gpu=gpu,
                depth=self.prefetch_queue_depth,
                fuse=self._fuse,
                set_affinity=self._set_affinity,
                with_memory=self._with_memory,
            )
            if self._state is not None:
                self._epoch, self._epoch_start = self._state.epoch, self._state.epoch_start
                self._program.resume(self._epoch, self._epoch_start)

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

    def outputs(self) -> tuple[TensorList, ...]:
        """The next batch: `run` under other names of DALI's, this and `share_outputs`."""
        return self.run()

    share_outputs = outputs

    def release_outputs(self) -> None:
        """Nothing to do: a batch belongs to whoever took it."""

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

    def save_graph_to_dot_file(
        self,
        filename: str | Path,
        *,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Write the compiled graph in Graphviz's DOT language: `dot -Tsvg graph.dot`.

        Args:
            filename: of the file.
            show_tensors: draw what flows between operators as nodes too.
            show_ids: obsolete in DALI as well; an error unless it is None.
            use_colors: a color for each kind of stage.
        """
        if show_ids is not None:
            raise UnsupportedError("show_ids has no effect in DALI any more; leave it out")
        compiled = self._built().compiled
        text = to_dot(compiled, self._outputs, show_tensors=show_tensors, use_colors=use_colors)
        Path(filename).write_text(text, encoding="utf-8")

    def executor_statistics(self) -> dict[str, dict[str, list[int]]]:
        """Memory of the outputs of each operator by name, with `enable_memory_stats`.

        Each has one number of bytes for each output: "real_memory_size" of the largest batch and
        "max_real_memory_size" of the largest sample; "reserved_memory_size" and
        "max_reserved_memory_size" with the rest of the memory that they lie in. Operators that
        a decoder does have the decoder's output as theirs.
        """
        memory = self._built().meter.read_memory()
        if memory is None:
            raise ArgumentError(
                "executor_statistics needs a pipeline with enable_memory_stats=True"
            )
        return memory

    def checkpoint(self, filename: str | Path | None = None) -> bytes:
        """The state of the pipeline after the last batch that was taken.

        A pipeline of the same definition and arguments that gets it as `checkpoint` goes on with
        the same batches. An external source must be a function of `SampleInfo`, `BatchInfo` or
        the number of the batch, or be fed with `feed_input`; others are refused.

        Args:
            filename: a file to write it to as well.
        """
        if not self._has_checkpoints:
            raise ArgumentError("checkpoint() needs a pipeline with enable_checkpointing=True")
        self._built().check_has_no_state()
        taken = self.resumed_at if self._runner is None else self._runner.taken
        state = Checkpoint(
            self.seed, self.batch_size, taken, self._epoch, self._epoch_start
        ).write()
        if filename is not None:
            Path(filename).write_bytes(state)
        return state

    def serialize(
        self, define_graph: Callable[[], Any] | None = None, filename: str | Path | None = None
    ) -> bytes:
        """The graph and the arguments of the pipeline as text, in a format of this library.

        `Pipeline.deserialize` makes a pipeline of it that gives the same batches. Python code is
        not written: a graph with a source or a function in it is refused. An `external_source`
        without a source is written, and fed by its name.

        Args:
            define_graph: a function that gives the outputs, for a pipeline that has none yet.
            filename: a file to write it to as well.
        """
        if define_graph is not None:
            if self._outputs:
                raise ArgumentError("the pipeline has outputs; define_graph is for one without")
            self._define(define_graph)
        if not self._outputs:
            self._define(self.define_graph)
        text = write_graph(
            self._collect(self._outputs),
            {
                "batch_size": self.batch_size,
                "num_threads": self.num_threads,
                "device_id": self.device_id,
                "seed": self.seed,
                "prefetch_queue_depth": self.prefetch_queue_depth,
                "fuse": self._fuse,
                "set_affinity": self._set_affinity,
                "enable_memory_stats": self._with_memory,
                "enable_checkpointing": self._has_checkpoints,
            },
        )
        if filename is not None:
            Path(filename).write_bytes(text)
        return text

    @classmethod
    def deserialize(
        cls,
        serialized_pipeline: str | bytes | None = None,
        filename: str | Path | None = None,
        **overrides: Any,
    ) -> Pipeline:
        """A pipeline from what `serialize` gave.

        Args:
            serialized_pipeline: the text.
            filename: a file with it, in place of it.
            **overrides: arguments of `Pipeline` in place of those that were written.
        """
        if (serialized_pipeline is None) == (filename is None):
            raise ArgumentError("give either serialized_pipeline or filename")
        text = Path(filename).read_bytes() if filename is not None else serialized_pipeline
        assert text is not None
        arguments, define = read_graph(text)
        pipeline = Pipeline(**{**arguments, **overrides})
        pipeline._take(define)
        return pipeline

    def deserialize_and_build(self, serialized_pipeline: str | bytes) -> None:
        """Take the graph that `serialize` gave, with the arguments of this pipeline; build it."""
        if self._outputs:
            raise ArgumentError("the pipeline has a graph of its own")
        _, define = read_graph(serialized_pipeline)
        self._take(define)
        self.build()

    def _take(self, define: Callable[[], Any]) -> None:
        """Take the outputs and the kept nodes of a serialized pipeline."""
        outputs, kept = define()
        self._kept = list(kept)
        self.set_outputs(*outputs)

    @property
    def resumed_at(self) -> int:
        """Number of the first batch: 0, or by the checkpoint."""
        return 0 if self._state is None else self._state.batches

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
        has_ended = self._runner.resume(self._program.reset)
        if has_ended:
            self._epoch, self._epoch_start = self._epoch + 1, self._runner.taken
        return has_ended

    def close(self) -> None:
        """End the threads and drop the batches made ahead. The pipeline cannot run again."""
        self._is_closed = True
        if self._runner is not None:
            self._runner.close()
        self._runner = self._program = None

    def __enter__(self) -> Pipeline:
        is_definition = not self._outputs and not self._is_closed
        self._scopes.append(is_definition)
        if is_definition:
            push_current(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._scopes.pop():
            pop_current()
        else:
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "built" if self._program else "not built"
        nodes = ", ".join(node.name for node in self._graph.nodes) if self._graph else ""
        return f"Pipeline(batch_size={self.batch_size}, seed={self.seed}, {state}: {nodes})"

    def _define(self, define_graph: Callable[[], Any]) -> None:
        """Take the outputs that a function gives."""
        push_current(self)
        try:
            outputs = define_graph()
        finally:
            pop_current()
        self.set_outputs(*(outputs if isinstance(outputs, tuple | list) else (outputs,)))

    def _collect(self, outputs: Sequence[DataNode]) -> Graph:
        return Graph.collect(outputs, self._kept, batch_size=self.batch_size, owner=self._ownership)

    def _built(self) -> Program:
        self.build()
        assert self._program is not None
        return self._program

    def _started(self) -> StageRunner:
        program = self._built()
        if self._runner is None:
            fed = program.num_fed
            self._runner = StageRunner(
                program.stages(),
                depth=self.prefetch_queue_depth,
                on_demand=fed is not None,
                first=self.resumed_at,
            )
            self._runner.allow(fed or 0)
        return self._runner


def _at_least_one(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError(f"{name} of a pipeline must be an int, at least 1, got {value!r}")
    return int(value)


def _check_others(others: Mapping[str, Any]) -> None:
    for name, value in others.items():
        if name not in _HARMLESS:
            raise ArgumentError(f"a pipeline has no argument {name!r}")
        if value is not None and value not in _HARMLESS[name]:
            raise UnsupportedError(f"{name} of a pipeline is not supported yet, got {value!r}")
