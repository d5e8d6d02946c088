"""What a pipeline tells of itself: its arguments, readers, stages, times and memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.pipeline.graph.drawing import to_dot
from videoloader.runtime.monitor import Monitor
from videoloader.runtime.run_stats import RunStats

if TYPE_CHECKING:
    from videoloader.decoding.rules import OnError
    from videoloader.pipeline.expected import ExpectedOutputs
    from videoloader.pipeline.graph.graph import Graph
    from videoloader.pipeline.graph.nodes import DataNode
    from videoloader.pipeline.run.program import Program
    from videoloader.readers.failures.failures import ErrorPolicy, SampleFailure
    from videoloader.runtime.stages import StageRunner
    from videoloader.types import DataType

__all__ = ["Inspection"]


class Inspection:
    """The methods and properties of a pipeline that change nothing."""

    batch_size: int
    prefetch_queue_depth: int
    seed: int
    _is_closed: bool
    _graph: Graph | None
    _program: Program | None
    _outputs: tuple[DataNode, ...]
    _runner: StageRunner | None
    _expected: ExpectedOutputs
    _options: Mapping[str, Any]
    _monitor: Monitor
    _errors: ErrorPolicy

    def _built(self) -> Program:
        raise NotImplementedError

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "built" if self._program else "not built"
        nodes = ", ".join(node.name for node in self._graph.nodes) if self._graph else ""
        return f"Pipeline(batch_size={self.batch_size}, seed={self.seed}, {state}: {nodes})"

    @property
    def on_error(self) -> OnError:
        """What becomes of samples that fail, where readers do not say themselves."""
        return self._errors.on_error

    @property
    def max_batch_size(self) -> int:
        """Largest number of samples in a batch."""
        return self.batch_size

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        self._built()
        return len(self._outputs)

    def fed_inputs(self) -> dict[str, str]:
        """External sources that are fed, by name, with the torch device that each puts data on."""
        return {name: source.device for name, source in self._built().sources.fed.items()}

    def output_dtype(self) -> list[DataType | None]:
        """The element types that the constructor was told, one for each output."""
        return self._expected.dtypes(self.num_outputs)

    def output_ndim(self) -> list[int | None]:
        """The numbers of dimensions that the constructor was told, one for each output."""
        return self._expected.ndims(self.num_outputs)

    @property
    def exec_pipelined(self) -> bool:
        """As given; stages always overlap."""
        return bool(self._options["exec_pipelined"])

    @property
    def exec_async(self) -> bool:
        """As given; batches are always made in threads of the pipeline."""
        return bool(self._options["exec_async"])

    @property
    def exec_separated(self) -> bool:
        """Whether two queue depths were given; the larger is used."""
        return isinstance(self._options["prefetch_queue_depth"], Mapping)

    @property
    def exec_dynamic(self) -> bool:
        """As given; by default whether DALI would choose this executor."""
        given = self._options["exec_dynamic"]
        if given is None:
            return self.exec_pipelined and self.exec_async and not self.exec_separated
        return bool(given)

    @property
    def cpu_queue_size(self) -> int:
        """The queue depth of the CPU, as given."""
        return self._queue_size("cpu_size")

    @property
    def gpu_queue_size(self) -> int:
        """The queue depth of the GPU, as given."""
        return self._queue_size("gpu_size")

    def _queue_size(self, name: str) -> int:
        depth = self._options["prefetch_queue_depth"]
        return int(depth.get(name, self.prefetch_queue_depth) if self.exec_separated else depth)

    @property
    def set_affinity(self) -> bool:
        """Whether the threads that work on samples are pinned to processors."""
        return bool(self._options["set_affinity"])

    @property
    def enable_memory_stats(self) -> bool:
        """Whether `executor_statistics` has something to tell."""
        return bool(self._options["enable_memory_stats"])

    @property
    def bytes_per_sample(self) -> int:
        """As given; no effect."""
        return int(self._options["bytes_per_sample"] or 0)

    @property
    def max_streams(self) -> Any:
        """As given, -1 by default; no effect, as in DALI."""
        return -1 if self._options["max_streams"] is None else self._options["max_streams"]

    @property
    def default_cuda_stream_priority(self) -> Any:
        """As given, 0 by default; no effect, as in DALI."""
        return self._options["default_cuda_stream_priority"] or 0

    @property
    def stream_policy(self) -> Any:
        """As given; no effect: every stage on a GPU has a stream of its own."""
        return self._options["stream_policy"]

    @property
    def concurrency(self) -> Any:
        """As given; no effect: stages always overlap."""
        return self._options["concurrency"]

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
        """Samples in the data set of a reader; of every reader by name without one.

        As in DALI, the number is rounded up to a multiple of the shards where readers pad.
        """
        if name is not None:
            return self.reader_meta(name)["epoch_size_padded"]
        return {key: meta["epoch_size_padded"] for key, meta in self.reader_meta().items()}

    @property
    def failures(self) -> list[SampleFailure]:
        """What went wrong in the readers so far, by time; of each the first 10,000 failures."""
        readers = self._built().failures().values()
        found = [each for failures in readers for each in failures]
        return sorted(found, key=lambda failure: failure.time)

    def stats(self) -> RunStats:
        """What was done since the pipeline was built or restored.

        A mapping from the name of each operator to its samples, seconds and failed samples. Its
        `stages` say how long each stage worked and waited, and `str()` of it in one line whether
        the consumer waits, and for what. See docs/stats.md.
        """
        program = self._built()
        return RunStats.of(
            None if self._runner is None else self._runner.stats(),
            operators=program.operator_stats(),
            samples=self._monitor.samples,
            first_samples=self._monitor.first_samples,
            work=program.meter.work,
            engines=program.engines(),
            errors=sum(failures.count for failures in program.failures().values()),
        ).since(self._monitor.before)

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
        memory = self._built().memory
        if memory is None:
            raise ArgumentError(
                "executor_statistics needs a pipeline with enable_memory_stats=True"
            )
        return memory.read()
