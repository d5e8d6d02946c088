"""`Pipeline`: a graph of operators that gives batches.

A pipeline defines a graph, checks its own arguments, and has parts for the rest: `Program` opens
the sources and does the work, `StagedRun` makes batches ahead and counts them, or `DebugRun` one at
a time; `Monitor` counts what the consumer takes.
"""

from __future__ import annotations

import inspect
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from videoloader.dali.pipeline.conditionals import converted
from videoloader.dali.pipeline.graph.current import current_pipeline, pop_current, push_current
from videoloader.dali.pipeline.graph.drawing import to_dot
from videoloader.dali.pipeline.graph.graph import Graph
from videoloader.dali.pipeline.graph.nodes import DataNode, Node
from videoloader.dali.pipeline.graph.promotion import promote
from videoloader.dali.pipeline.graph.serialization import read_graph, refuse_untrusted, write_graph
from videoloader.dali.pipeline.options import (
    START_METHODS,
    ExpectedOutputs,
    OperatorConcurrency,
    StreamPolicy,
    check_names,
    count_of,
    device_number,
    member_or_none,
    queue_depth,
    seed_or_none,
)
from videoloader.dali.pipeline.run.checkpoint import Checkpoint
from videoloader.dali.pipeline.run.debug import DebugRun
from videoloader.dali.pipeline.run.program import Program
from videoloader.dali.pipeline.run.run_options import RunOptions
from videoloader.dali.pipeline.run.staged import StagedRun
from videoloader.dali.tensors import TensorList
from videoloader.dali.types import DataType
from videoloader.decoding.failures import FailurePolicy, SampleFailure
from videoloader.decoding.options import OnError
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.runtime.monitor import STATS_INTERVAL, Monitor, OnStats
from videoloader.machinery.runtime.run_stats import RunStats
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.forking import ForkSafeLock, in_turn
from videoloader.machinery.system.pickling import CallbackPickler
from videoloader.machinery.workers.processors import usable_processors
from videoloader.machinery.workers.python_pool import PythonPool
from videoloader.sampling.orders.reader_epochs import Epochs


class Pipeline:
    """Runs a graph of operators, some batches ahead of its consumer.

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
            in a definition of `pipeline_def` and in `define_graph`. See docs/dali/conditionals.md.
        enable_memory_stats: count the memory of the outputs of operators, for
            `executor_statistics`.
        on_error: what readers do with samples that fail, where they do not say themselves, and
            what operators that decode videos, images and sounds do: `raise`, `skip`, `replace` or
            `mask`; see docs/dali/failures.md, also for the next two.
        max_errors: failures of a reader from which on `run` raises `TooManyFailuresError`: a
            number, or a share of the samples.
        error_log: a file to which each failure is appended as a line of JSON.
        on_stats: called every `stats_interval` seconds, in the thread that takes batches, with the
            `stats()` of the time since the last call. See docs/training/stats.md.
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
        exec_pipelined, exec_async, exec_dynamic, experimental_exec_dynamic: of DALI's executors,
            see "Arguments without effect" in docs/dali/from-dali.md.
        bytes_per_sample, max_streams, default_cuda_stream_priority, stream_policy, concurrency:
            likewise.
        debug: for functions of `pipeline_def`; here it must be False.

    Attributes:
        batch_size, max_batch_size: largest number of samples in a batch.
        num_threads, device_id, seed, prefetch_queue_depth, set_affinity, enable_memory_stats,
            enable_conditionals, py_num_workers, py_start_method: as given or drawn, checked.
        exec_pipelined, exec_async, bytes_per_sample, max_streams, default_cuda_stream_priority,
            stream_policy, concurrency: as given; -1 and 0 are DALI's defaults.
        exec_dynamic: as given; by default whether DALI would choose its dynamic executor.
        exec_separated: whether two queue depths were given.
        cpu_queue_size, gpu_queue_size: these, or the one depth.

    >>> from videoloader.dali import fn
    >>> pipe = Pipeline(batch_size=2, num_threads=1)
    >>> with pipe:
    ...     clips = fn.readers.video(filenames=["clip.mp4"], sequence_length=16)
    ...     pipe.set_outputs(fn.resize(clips, resize_shorter=32))
    >>> with pipe:
    ...     pipe.run()[0].shape()
    [(16, 32, 48, 3), (16, 32, 48, 3)]
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
        stream_policy: StreamPolicy | None = None,
        concurrency: OperatorConcurrency | None = None,
        debug: bool | None = False,
        **others: Any,
    ) -> None:
        check_names("a pipeline", others, PIPELINE_ARGUMENTS)
        if debug:
            raise UnsupportedError("debug of a pipeline is an argument of pipeline_def functions")
        self._turn = ForkSafeLock()
        self._monitor = Monitor(on_stats, stats_interval)
        self._errors = FailurePolicy(on_error, max_errors, error_log)
        self._expected = ExpectedOutputs(output_dtype, output_ndim, output_layout)
        depths = prefetch_queue_depth
        self.exec_pipelined, self.exec_async = bool(exec_pipelined), bool(exec_async)
        self.exec_separated = isinstance(depths, Mapping)
        if experimental_exec_dynamic is not None:
            exec_dynamic = experimental_exec_dynamic
        if exec_dynamic is None:
            exec_dynamic = self.exec_pipelined and self.exec_async and not self.exec_separated
        self.exec_dynamic = bool(exec_dynamic)
        self.prefetch_queue_depth = depth = queue_depth(depths, exec_async=self.exec_async)
        given = depths if isinstance(depths, Mapping) else {}
        self.cpu_queue_size = int(given.get("cpu_size", depth))
        self.gpu_queue_size = int(given.get("gpu_size", depth))
        self.bytes_per_sample = count_of("bytes_per_sample", bytes_per_sample or 0, least=0)
        self.max_streams = -1 if max_streams is None else max_streams
        self.default_cuda_stream_priority = default_cuda_stream_priority or 0
        self.stream_policy = member_or_none("stream_policy", stream_policy, StreamPolicy)
        self.concurrency = member_or_none("concurrency", concurrency, OperatorConcurrency)
        self.batch_size = self.max_batch_size = count_of("batch_size", batch_size)
        if num_threads in (None, -1):
            num_threads = usable_processors()
        self.num_threads = count_of("num_threads", num_threads)
        self.device_id = device_number(device_id)
        self._state = None if checkpoint is None else Checkpoint.read(checkpoint)
        seed = seed_or_none(seed)
        if self._state is not None:
            seed = self._state.checked_seed(seed)
        self._has_seed = seed is not None
        self.seed: int = secrets.randbits(63) if seed is None else seed
        self._fuse = fuse
        self.set_affinity = bool(set_affinity)
        self.enable_memory_stats = bool(enable_memory_stats)
        self.enable_conditionals = bool(enable_conditionals)
        self._has_checkpoints = bool(enable_checkpointing) or self._state is not None
        workers = 1 if py_num_workers is None else py_num_workers
        self.py_num_workers = count_of("py_num_workers", workers, least=0)
        self.py_start_method = one_of("py_start_method", py_start_method, START_METHODS)
        self._pickler = CallbackPickler.of(py_callback_pickler)
        self._graph: Graph | None = None
        self._outputs: tuple[DataNode, ...] = ()
        self._kept: list[Node] = []
        self._copies: dict[Node, Node] = {}  # of nodes that other pipelines have
        self._ownership = object()  # owner of its nodes, which must not keep the pipeline alive
        self._run: StagedRun | DebugRun | None = None  # from `build` on
        self._is_closed = False
        self._scopes: list[bool] = []

    @classmethod
    def _in_debug_mode(cls, definition: Callable[[], Any], **arguments: Any) -> Pipeline:
        """A pipeline that runs its definition for every batch, each operator when called."""
        pipeline = cls(**arguments)
        if pipeline._has_checkpoints:
            raise UnsupportedError("a pipeline in debug mode has no checkpoints")
        program = pipeline._made(Graph((), ()))
        pipeline._run = DebugRun(program, definition, pipeline)
        return pipeline

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "built" if self._run else "not built"
        nodes = ", ".join(node.name for node in self._graph.nodes) if self._graph else ""
        return f"Pipeline(batch_size={self.batch_size}, seed={self.seed}, {state}: {nodes})"

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
        """Set the outputs of a batch, and collect the graph of operators that make them.

        Args:
            *outputs: data nodes, and constants: numbers, lists, arrays, tensors. One may come
                several times.
        """
        if self._run is not None:
            raise ArgumentError("the pipeline is built, its outputs are set")
        if not outputs:
            raise ArgumentError("a pipeline needs at least one output")
        nodes = [promote(value, f"output {at}") for at, value in enumerate(outputs)]
        self._graph = self._collect(nodes)
        self._outputs = self._graph.outputs

    def add_sink(self, data_node: DataNode | Node) -> None:
        """Run the operator of a data node though no output needs it."""
        if isinstance(self._run, DebugRun):
            return  # every operator runs
        if self._run is not None:
            raise ArgumentError("the pipeline is built, its graph is fixed")
        self._kept.append(data_node.node if isinstance(data_node, DataNode) else data_node)

    def define_graph(self) -> Any:
        """Call operators and return the outputs; for subclasses, which `build` calls it of."""
        raise ArgumentError("the pipeline has no outputs; see set_outputs")

    @property
    def is_built(self) -> bool:
        """Whether the graph is fixed and its sources are open."""
        return self._run is not None

    def build(self) -> None:
        """Open the sources and check the devices."""
        if self._is_closed:
            raise ArgumentError("the pipeline is closed")
        if self._run is None:
            if not self._outputs:
                self._define(self.define_graph)
            self._expected.check_count(len(self._outputs))
            self._graph = self._collect(self._outputs)  # with sinks that were added since
            program = self._made(self._graph)
            try:
                self._run = self._staged(program)
            except ArgumentError:
                program.close()
                raise

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
        count = len(self._outputs)
        text = write_graph(
            self._collect(self._outputs),
            {
                "batch_size": self.batch_size,
                "num_threads": self.num_threads,
                "device_id": self.device_id,
                "seed": self.seed,
                "exec_pipelined": self.exec_pipelined,
                "prefetch_queue_depth": self.prefetch_queue_depth,
                "exec_async": self.exec_async,
                "output_dtype": self._expected.dtypes(count),
                "output_ndim": self._expected.ndims(count),
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
        """A pipeline from the result of `serialize`.

        The text says which files and URLs are read: do not run a text that you do not trust where
        such reads would harm. It runs no code.

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
        pipeline._take_graph(define)
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
        self._take_graph(define)
        self.build()

    @in_turn
    def run(self, cuda_stream: Any = None, /, **inputs: Any) -> tuple[TensorList, ...]:
        """The next batch, one `TensorList` for each output; the caller owns its memory.

        Threads may call this: they take turns, and each batch goes to one of them.

        Args:
            cuda_stream: a `torch.cuda.Stream` on which the outputs are used; by default the
                current one.
            **inputs: a batch for each external source of that name; see `feed_input`.

        Raises:
            OperatorError: an operator failed on a sample of this batch, which is lost; the next
                call gives the next batch.
            StopIteration: an external source has ended; `reset` begins its next epoch.
        """
        for name, data in inputs.items():
            self.feed_input(name, data)
        self._built().schedule(self.iter_setup)
        return self._taken(cuda_stream)

    @in_turn
    def schedule_run(self) -> None:
        """Begin one more batch without waiting for it; the first time, as many as queues hold.

        `outputs` or `share_outputs` gives it.
        """
        self._built().schedule(self.iter_setup)

    @in_turn
    def outputs(self, cuda_stream: Any = None) -> tuple[TensorList, ...]:
        """The next batch that was scheduled.

        Args:
            cuda_stream: a `torch.cuda.Stream` on which the outputs are used; by default the
                current one.

        Raises:
            StopIteration: none is, or the source has ended.
        """
        return self._taken(cuda_stream)

    def _taken(self, cuda_stream: Any) -> tuple[TensorList, ...]:
        if self._run is None:
            raise StopIteration
        if cuda_stream is None:
            outputs = self._run.take()
        else:
            with torch.cuda.stream(cuda_stream):
                outputs = self._run.take()
        if self._expected.are_any:
            self._expected.check(outputs)
        self._monitor.take(self, len(outputs[0]) if outputs else 0)
        return outputs

    share_outputs = outputs

    def release_outputs(self) -> None:
        """Does nothing: the caller owns a batch that it has taken."""

    def enable_api_check(self, enable: bool) -> None:
        """Does nothing: `run`, `schedule_run` and iterators may be mixed."""

    def num_samples(self, count: int) -> int:
        """Samples of the last batch that are among the first `count` that it was to have.

        As many, unless `on_error="skip"` left some out.
        """
        return count if self._run is None else self._run.num_samples(count)

    @in_turn
    def empty(self) -> bool:
        """Whether no batch that was scheduled is left to take.

        Waits for the next one, for it may turn out to be the end.
        """
        return self._run is None or self._run.is_empty()

    def iter_setup(self) -> None:
        """Called before each batch begins; subclasses feed sources here.

        StopIteration ends the epoch.
        """

    @in_turn
    def reset(self) -> bool:
        """Begin the next epoch of external sources that have ended; otherwise do nothing.

        They have ended when no batch is left to take; where the next one is still in the making,
        this waits for it.

        Returns:
            Whether they had ended.
        """
        return self._run is not None and self._run.reset()

    @property
    def resumed_at(self) -> int:
        """Number of the first batch: 0, or by the checkpoint."""
        return 0 if self._state is None else self._state.batches

    @property
    def restored_from(self) -> Checkpoint | None:
        """The checkpoint that the pipeline resumes from."""
        return self._state

    @property
    def next_batch(self) -> int:
        """Number of the batch that `run` gives next."""
        return self.resumed_at if self._run is None else self._run.next_batch

    def start_py_workers(self) -> None:
        """Start the processes of parallel external sources now.

        Workers that are forks start before the process uses CUDA: where several pipelines have
        them, call this on each before one of them runs.
        """
        self.build()

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Bytes of shared memory in which parallel external sources pass on their batches.

        "capacities" has one number for each piece of work that may be on its way at a time, and
        "per_sample_capacities" the same divided by its samples.
        """
        return self._built().program.sources.memory_of_workers()

    def input_feed_count(self, input_name: str) -> int:
        """Batches to feed to an external source before the first run, to keep all stages busy.

        One is enough: `run` waits for no more than its own batch.
        """
        self._built().program.sources.fed_source(input_name)
        return self.prefetch_queue_depth

    def feed_input(
        self,
        data_node: str | DataNode,
        data: Any,
        layout: str | None = None,
        cuda_stream: Any = None,
        use_copy_kernel: bool = False,  # noqa: ARG002  DALI's choice between two ways to copy
    ) -> None:
        """Queue a batch for an `external_source` that has no source of its own, or `inputs.video`.

        Args:
            data_node: the node or its name.
            data: an array or tensor (N, ...), a `TensorList` or a list of samples. It is copied
                before this returns, unless the source has `no_copy`.
            layout: meaning of the dimensions of a sample.
            cuda_stream: on which data on a GPU is ready; by default the current one.
            use_copy_kernel: taken for DALI's sake.
        """
        run = self._built()  # nodes have their names from here on
        if isinstance(data_node, DataNode):
            data_node = self._copies.get(data_node.node, data_node.node).name
        run.feed(data_node, data, layout, cuda_stream)

    def feed_inputs(self, batches: Mapping[str, Any]) -> None:
        """Feed several sources a batch each, by name; if one refuses its batch, none is fed."""
        self._built().feed_all(batches)

    def fed_inputs(self) -> dict[str, str]:
        """External sources that are fed, by name, with the torch device that each puts data on."""
        return {name: source.device for name, source in self._built().program.sources.fed.items()}

    @in_turn
    def checkpoint(self, filename: str | Path | None = None) -> bytes:
        """The state of the pipeline after the last batch that was taken.

        A pipeline of the same definition and arguments that gets it as `checkpoint` goes on with
        the same batches. Readers may have another number of shards or another batch size: they
        divide what is left of the epoch anew, so that no sample is lost or repeated. All shards
        must have given as many batches and have the same seed. An external source must be a
        function of `SampleInfo`, `BatchInfo` or the number of the batch, or be fed with
        `feed_input`; others are refused.

        Args:
            filename: a file to write it to as well.
        """
        if not self._has_checkpoints:
            raise ArgumentError("checkpoint() needs a pipeline with enable_checkpointing=True")
        run = self._built()
        assert isinstance(run, StagedRun)  # debug mode has no checkpoints
        state = run.checkpoint(self.seed, has_seed=self._has_seed).write()
        if filename is not None:
            Path(filename).write_bytes(state)
        return state

    @in_turn
    def restore(self, checkpoint: str | bytes) -> None:
        """Go on where `checkpoint()` was called, dropping the batches made ahead.

        Readers stay open, so this takes no longer for a large data set. A pipeline without a seed
        of its own takes that of the checkpoint, and is then built again, as are those with external
        sources.
        """
        run = self._run
        if not self._has_checkpoints or isinstance(run, DebugRun):
            raise ArgumentError("restore() needs a pipeline with enable_checkpointing=True")
        if self._is_closed:
            raise ArgumentError("the pipeline is closed")
        state = Checkpoint.read(checkpoint)
        seed = state.checked_seed(self.seed if self._has_seed else None)
        if run is not None:
            run.program.epochs_after(state)  # before anything is changed
            run.stop()
        is_built_again = run is not None and (run.program.sources.may_end or seed != self.seed)
        self.seed, self._state = seed, state
        self._monitor.begin()
        if run is None:
            return
        if is_built_again:  # external sources have a state, readers have none
            run.program.close()
            self._run = None
            self.build()
        else:
            self._monitor.before = run.program.stats(RunStats(), self._monitor)
            self._run = self._staged(run.program)

    def divides_anew(self, checkpoint: str | bytes) -> bool:
        """Whether the readers have other shards or batches than in a checkpoint."""
        readers = Checkpoint.read(checkpoint).readers
        own = self._built().program.epochs.values()
        return any(mine.divides_anew(its) for mine, its in zip(own, readers, strict=False))

    def reader_epochs(self, name: str) -> Epochs:
        """Division of a reader's samples into shards and batches."""
        return self._built().program.epochs[name]

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline resumes from a checkpoint."""
        return self._state is not None

    def reader_meta(self, name: str | None = None) -> dict[str, Any]:
        """Size and sharding of a reader, with DALI's keys; of every reader without a name."""
        metas = self._built().reader_metas()
        if name is None:
            return metas
        if name not in metas:
            raise ArgumentError(
                f"the pipeline has no reader named {name!r}; it has {', '.join(metas) or 'none'}"
            )
        return metas[name]

    def epoch_size(self, name: str | None = None) -> Any:
        """Samples in the data set of a reader; of every reader by name without one.

        As in DALI, the number is rounded up to a multiple of the shards where readers pad.
        """
        if name is not None:
            return self.reader_meta(name)["epoch_size_padded"]
        return {key: meta["epoch_size_padded"] for key, meta in self.reader_meta().items()}

    @property
    def failures(self) -> list[SampleFailure]:
        """Failures in the readers so far, by time; the first 10,000 of each reader."""
        readers = self._built().program.failures().values()
        found = [each for failures in readers for each in failures]
        return sorted(found, key=lambda failure: failure.time)

    def stats(self) -> RunStats:
        """Statistics since the pipeline was built or restored.

        A mapping from the name of each operator to its samples, seconds and failed samples. Its
        `stages` say how long each stage worked and waited, and `str()` of it in one line whether
        the consumer waits, and for what. See docs/training/stats.md.
        """
        run = self._built()
        return run.program.stats(run.stats(), self._monitor)

    def describe(self) -> str:
        """The stages of the pipeline, one a line, with the operators fused into decoders."""
        return "\n".join(map(str, self._built().program.compiled))

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
        compiled = self._built().program.compiled
        text = to_dot(compiled, self._outputs, show_tensors=show_tensors, use_colors=use_colors)
        Path(filename).write_text(text, encoding="utf-8")

    def executor_statistics(self) -> dict[str, dict[str, list[int]]]:
        """Memory of the outputs of each operator by name, with `enable_memory_stats`.

        Each has one number of bytes for each output: "real_memory_size" of the largest batch and
        "max_real_memory_size" of the largest sample; "reserved_memory_size" and
        "max_reserved_memory_size" with the rest of the memory that they lie in. Operators that
        a decoder does have the decoder's output as theirs.
        """
        memory = self._built().program.memory
        if memory is None:
            raise ArgumentError(
                "executor_statistics needs a pipeline with enable_memory_stats=True"
            )
        return memory.read()

    @property
    def on_error(self) -> OnError:
        """The policy for samples that fail, where readers have none of their own."""
        return self._errors.on_error

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return self._built().num_outputs

    def output_dtype(self) -> list[DataType | None]:
        """The argument `output_dtype`, for each output."""
        return self._expected.dtypes(self.num_outputs)

    def output_ndim(self) -> list[int | None]:
        """The argument `output_ndim`, for each output."""
        return self._expected.ndims(self.num_outputs)

    def close(self) -> None:
        """End the threads and drop the batches made ahead. The pipeline cannot run again."""
        self._is_closed = True
        self._monitor.close()
        if self._run is not None:
            self._run.close()
        self._run = None

    def __enter__(self) -> Pipeline:
        is_definition = not (self._outputs or self._run or self._is_closed)
        self._scopes.append(is_definition)
        if is_definition:
            push_current(self)
        return self

    def __exit__(self, *_: object) -> None:
        is_definition = self._scopes.pop()
        if is_definition:
            pop_current()
        if not is_definition or self._run is not None:
            self.close()

    def _take_graph(self, define: Callable[[], Any]) -> None:
        """Take the outputs and the kept nodes of a serialized pipeline."""
        outputs, kept = define()
        self._kept = list(kept)
        self.set_outputs(*outputs)

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

    def _made(self, graph: Graph) -> Program:
        options = RunOptions(
            batch_size=self.batch_size,
            seed=self.seed,
            num_threads=self.num_threads,
            gpu="cuda" if self.device_id is None else f"cuda:{self.device_id}",
            depth=self.prefetch_queue_depth,
            fuse=self._fuse,
            set_affinity=self.set_affinity,
            with_memory=self.enable_memory_stats,
            errors=self._errors,
            is_async=self.exec_async,
        )
        workers = self.py_num_workers
        pool = PythonPool(workers, self.py_start_method, self._pickler) if workers else None
        return Program(graph, options, pool)

    def _staged(self, program: Program) -> StagedRun:
        """The run of a program, from the checkpoint on if there is one."""
        return StagedRun(
            program,
            at_first=self.prefetch_queue_depth if self.exec_pipelined else 1,
            state=self._state,
        )

    def _built(self) -> StagedRun | DebugRun:
        if self._run is None or self._is_closed:
            self.build()
        assert self._run is not None
        return self._run

    @property
    def _py_pool(self) -> PythonPool | None:
        """The processes of parallel external sources, if there are any."""
        pool = None if self._run is None else self._run.program.sources.python_pool
        return pool if pool is not None and pool.pool is not None else None


PIPELINE_ARGUMENTS = tuple(inspect.signature(Pipeline).parameters)[:-1]  # without `others`
