"""`Pipeline`: a graph of operators that gives batches."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from videoloader.decoding.rules import OnError
from videoloader.errors import ArgumentError
from videoloader.pipeline.arguments import at_least_one, check_others, queue_depth, start_method
from videoloader.pipeline.checkpointing import Checkpointing
from videoloader.pipeline.conditionals import converted
from videoloader.pipeline.expected import ExpectedOutputs
from videoloader.pipeline.graph.current import current_pipeline, pop_current, push_current
from videoloader.pipeline.graph.graph import Graph
from videoloader.pipeline.graph.nodes import DataNode, Node
from videoloader.pipeline.graph.promotion import promote
from videoloader.pipeline.graph.serialization import read_graph, refuse_untrusted, write_graph
from videoloader.pipeline.run.checkpoint import Checkpoint
from videoloader.pipeline.run.program import Program
from videoloader.readers.failures.failures import ErrorPolicy
from videoloader.runtime.monitor import STATS_INTERVAL, Monitor, OnStats
from videoloader.runtime.stages import StageRunner
from videoloader.system.forking import ForkSafeLock
from videoloader.system.pickling import CallbackPickler
from videoloader.workers.processors import usable_processors

__all__ = ["Pipeline"]


class Pipeline(Checkpointing):
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

    Threads may share a pipeline that is built. They take turns in `run`, `outputs`, `reset`,
    `checkpoint` and `restore`, and each batch goes to one of them; `feed_input` and `close` may be
    called meanwhile. Python sources run in the thread that calls `run`. One thread defines it.

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
            in the mean: they are rounded once, not after each operator. On a GPU, also run colour
            operators that follow each other as one kernel, which changes no pixel.
        set_affinity: pin each of the threads that work on samples to a processor: those of the
            environment variable DALI_AFFINITY_MASK ("3,5,6,10") first, then those near the GPU,
            or those of the process. Worker processes that decode are not pinned.
        enable_conditionals: let `if`, `and`, `or` and `not` work on data nodes, sample by sample,
            in a definition of `pipeline_def` and in `define_graph`. See docs/conditionals.md.
        enable_memory_stats: count the memory of the outputs of operators, for
            `executor_statistics`.
        on_error: what readers do with samples that fail, where they do not say themselves, and
            what operators that decode videos do: `raise`, `skip`, `replace` or `mask`; see
            docs/failures.md, also for the next two.
        max_errors: failures of a reader from which on `run` raises `TooManyFailuresError`: a
            number, or a share of the samples.
        error_log: a file to which each failure is appended as a line of JSON.
        on_stats: called every `stats_interval` seconds, in the thread that takes batches, with the
            `stats()` of the time since the last call. See docs/stats.md.
        stats_interval: seconds.
        enable_checkpointing: let `checkpoint()` give the state.
        checkpoint: state of a pipeline to go on from, as `checkpoint()` gave it.
        py_num_workers: processes for external sources with `parallel=True`; they start when the
            pipeline is built, if there is such a source.
        py_start_method: how they start. "fork" needs no pickling and is fast, but not possible once
            the process uses CUDA; "spawn" and "forkserver" start fresh interpreters, and fork only
            where those cannot import a source, as in a notebook.
        py_callback_pickler: pickles the sources for "spawn" and "forkserver": a module or object
            with `dumps` and `loads`, or a tuple of one and of keywords for each. By default pickle,
            with lambdas, inner functions and those of `pickling.pickle_by_value` as code.
        output_dtype: element type of the outputs, or a list with one for each; a batch of another
            type is an error. None takes any.
        output_ndim: number of dimensions of a sample, likewise.
        output_layout: layout of a sample, likewise.
        exec_pipelined, exec_async, exec_dynamic, experimental_exec_dynamic: choose between
            executors in DALI; taken, no effect but for how many batches `schedule_run` begins.
        bytes_per_sample, max_streams, default_cuda_stream_priority, stream_policy, concurrency:
            taken, no effect.
        **others: DALI's argument debug, where it is False.
    """

    def __init__(
        self,
        batch_size: int | None = None,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | Mapping[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        fuse: bool = True,
        enable_memory_stats: bool = False,
        enable_conditionals: bool = False,
        on_error: OnError = "raise",
        max_errors: int | float | None = None,
        error_log: str | os.PathLike[str] | None = None,
        on_stats: OnStats | None = None,
        stats_interval: float = STATS_INTERVAL,
        enable_checkpointing: bool = False,
        checkpoint: str | bytes | None = None,
        py_num_workers: int | None = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: Any = None,
        concurrency: Any = None,
        **others: Any,
    ) -> None:
        check_others(others)
        self._turn = ForkSafeLock()
        self._monitor = Monitor(on_stats, stats_interval)
        self._errors = ErrorPolicy(on_error, max_errors, error_log)
        self._expected = ExpectedOutputs(output_dtype, output_ndim, output_layout)
        self._options = {
            "exec_pipelined": exec_pipelined,
            "exec_async": exec_async,
            "exec_dynamic": (
                exec_dynamic if experimental_exec_dynamic is None else experimental_exec_dynamic
            ),
            "prefetch_queue_depth": prefetch_queue_depth,
            "bytes_per_sample": bytes_per_sample,
            "set_affinity": set_affinity,
            "enable_memory_stats": enable_memory_stats,
            "max_streams": max_streams,
            "default_cuda_stream_priority": default_cuda_stream_priority,
            "stream_policy": stream_policy,
            "concurrency": concurrency,
        }
        self.prefetch_queue_depth = queue_depth(prefetch_queue_depth, exec_async=exec_async)
        self.batch_size = at_least_one("batch_size", batch_size)
        if num_threads in (None, -1):
            num_threads = usable_processors()
        self.num_threads = at_least_one("num_threads", num_threads)
        self.device_id = None if device_id in (None, -1) else device_id
        self._state = None if checkpoint is None else Checkpoint.read(checkpoint)
        if self._state is not None:
            seed = self._state.checked_seed(seed)
        self._has_seed = seed is not None and seed >= 0
        self.seed: int = secrets.randbits(63) if seed is None or seed < 0 else int(seed)
        self._fuse = fuse
        self.enable_conditionals = bool(enable_conditionals)
        self._has_checkpoints = bool(enable_checkpointing) or self._state is not None
        self._py_num_workers = 1 if py_num_workers is None else int(py_num_workers)
        self._py_start_method = start_method(py_start_method)
        self._py_callback_pickler = CallbackPickler.of(py_callback_pickler)
        self._graph: Graph | None = None
        self._epoch = self._epoch_start = 0
        self._outputs: tuple[DataNode, ...] = ()
        self._kept: list[Node] = []
        self._copies: dict[Node, Node] = {}  # of nodes that other pipelines have
        self._ownership = object()  # of its nodes, which must not keep the pipeline alive
        self._program: Program | None = None
        self._runner: StageRunner | None = None
        self._is_closed = False
        self._scopes: list[bool] = []
        self._scheduled: int | None = None  # None: nothing was, in this epoch
        self._setup_ended = False
        self._places: Sequence[int] | None = None  # of the samples of the last batch

    @staticmethod
    def current() -> Pipeline | None:
        """The pipeline that is being defined; None outside of definitions."""
        pipeline = current_pipeline()
        assert pipeline is None or isinstance(pipeline, Pipeline)
        return pipeline

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

    def add_sink(self, data_node: DataNode | Node) -> None:
        """Run the operator of a data node though no output needs it."""
        if self._program is not None:
            raise ArgumentError("the pipeline is built, its graph is fixed")
        self._kept.append(data_node.node if isinstance(data_node, DataNode) else data_node)

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
            if not self._outputs:
                self._define(self.define_graph)
            self._expected.check_count(len(self._outputs))
            self._graph = self._collect(self._outputs)  # with sinks that were added since
            program = self._made(self._graph)
            if self._state is not None:
                try:
                    program.go_on(self._state)
                except ArgumentError:
                    program.close()
                    raise
                self._epoch, self._epoch_start = self._state.epoch, self._state.epoch_start
            self._program = program

    def serialize(
        self, define_graph: Callable[[], Any] | None = None, filename: str | Path | None = None
    ) -> bytes:
        """The graph and the arguments of the pipeline as text, in a format of this library.

        `Pipeline.deserialize` makes a pipeline of it that gives the same batches. Python code is
        not written: a graph with a source or a function in it is refused. An `external_source`
        without a source is written, and fed by its name. URLs are written without user, password
        and query, which may be secret: give what they grant by other means where the text is read.

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
                "set_affinity": self.set_affinity,
                "enable_memory_stats": self.enable_memory_stats,
                "enable_checkpointing": self._has_checkpoints,
                **self._errors.as_dict(),
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
        *,
        trusted: bool = False,
        **overrides: Any,
    ) -> Pipeline:
        """A pipeline from what `serialize` gave.

        The text says which files and URLs are read: do not run that of somebody else where such
        reads would harm. It runs no code.

        Args:
            serialized_pipeline: the text.
            filename: a file with it, in place of it.
            trusted: take what writes files too: `error_log` of the pipeline and of readers,
                `save_preprocessed_annotations`, `fn.dump_image`. Otherwise it is an error.
            **overrides: arguments of `Pipeline` in place of those that were written.
        """
        if (serialized_pipeline is None) == (filename is None):
            raise ArgumentError("give either serialized_pipeline or filename")
        text = Path(filename).read_bytes() if filename is not None else serialized_pipeline
        assert text is not None
        arguments, define = read_graph(text, trusted=trusted)
        if not trusted and arguments.get("error_log") and "error_log" not in overrides:
            refuse_untrusted(f"error_log={arguments['error_log']!r} of the pipeline")
        pipeline = Pipeline(**{**arguments, **overrides})
        pipeline._take(define)
        return pipeline

    def deserialize_and_build(
        self, serialized_pipeline: str | bytes, *, trusted: bool = False
    ) -> None:
        """Take the graph that `serialize` gave, with the arguments of this pipeline; build it.

        Args:
            serialized_pipeline: the text.
            trusted: as for `deserialize`.
        """
        if self._outputs:
            raise ArgumentError("the pipeline has a graph of its own")
        _, define = read_graph(serialized_pipeline, trusted=trusted)
        self._take(define)
        self.build()

    def _take(self, define: Callable[[], Any]) -> None:
        """Take the outputs and the kept nodes of a serialized pipeline."""
        outputs, kept = define()
        self._kept = list(kept)
        self.set_outputs(*outputs)

    def close(self) -> None:
        """End the threads and drop the batches made ahead. The pipeline cannot run again."""
        self._is_closed = True
        self._monitor.close()
        if self._runner is not None:
            self._runner.close()
        if self._program is not None:
            self._program.close()
        self._runner = self._program = self._scheduled = None

    def __enter__(self) -> Pipeline:
        is_definition = not (self._outputs or self._is_closed)
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
        is_definition = self._scopes.pop()
        if is_definition:
            pop_current()
        if not is_definition or self._program is not None:
            self.close()

    def _define(self, define_graph: Callable[[], Any]) -> None:
        """Take the outputs that a function gives."""
        define = converted(define_graph) if self.enable_conditionals else define_graph
        push_current(self)
        try:
            outputs = define()
        finally:
            pop_current()
        self.set_outputs(*(outputs if isinstance(outputs, tuple | list) else (outputs,)))

    def _collect(self, outputs: Sequence[DataNode]) -> Graph:
        return Graph.collect(
            outputs,
            self._kept,
            batch_size=self.batch_size,
            owner=self._ownership,
            copies=self._copies,
        )

    def node_made(self, node: Node) -> None:
        """Called with every node that the definition makes."""

    def inject(self, value: Any) -> DataNode | None:  # noqa: ARG002
        """The data node of a batch at hand, which only debug mode takes; None for other values."""
        return None

    def _made(self, graph: Graph) -> Program:
        return Program(
            graph,
            seed=self.seed,
            num_threads=self.num_threads,
            gpu="cuda" if self.device_id is None else f"cuda:{self.device_id}",
            depth=self.prefetch_queue_depth,
            fuse=self._fuse,
            set_affinity=self.set_affinity,
            with_memory=self.enable_memory_stats,
            python_pool=self._new_python_pool(),
            errors=self._errors,
            is_async=bool(self._options["exec_async"]),
        )

    def _built(self) -> Program:
        if self._program is None or self._is_closed:
            self.build()
        assert self._program is not None
        return self._program
