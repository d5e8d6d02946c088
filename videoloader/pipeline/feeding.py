"""The external sources of a pipeline: what they are fed with, and their worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from videoloader.errors import ArgumentError
from videoloader.pipeline.graph.nodes import DataNode, Node
from videoloader.readers.external import FedSource
from videoloader.workers.python_pool import PythonPool

if TYPE_CHECKING:
    from videoloader.pipeline.run.program import Program
    from videoloader.runtime.stages import StageRunner
    from videoloader.system.pickling import CallbackPickler

__all__ = ["Feeding"]


class Feeding:
    """The methods of a pipeline for its external sources."""

    prefetch_queue_depth: int
    _copies: dict[Node, Node]
    _runner: StageRunner | None
    _py_num_workers: int
    _py_start_method: str
    _py_callback_pickler: CallbackPickler
    _program: Program | None

    def build(self) -> None:
        """Open the sources and check the devices."""
        raise NotImplementedError

    def _built(self) -> Program:
        raise NotImplementedError

    def start_py_workers(self) -> None:
        """Start the processes of parallel external sources now.

        Workers that are forks start before the process uses CUDA: where several pipelines have
        them, call this on each before one of them runs.
        """
        self.build()

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Bytes of shared memory by which parallel external sources pass on what they make.

        "capacities" has one number for each piece of work that may be on its way at a time, and
        "per_sample_capacities" the same divided by its samples.
        """
        parallel = self._built().sources.parallel
        return {
            "capacities": [size for each in parallel for size in each.capacities()],
            "per_sample_capacities": [
                size for each in parallel for size in each.sample_capacities()
            ],
        }

    def input_feed_count(self, input_name: str) -> int:
        """Batches to feed to an external source before the first run, to keep all stages busy.

        One is enough: `run` waits for no more than its own batch.
        """
        self._fed_source(input_name)
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
        if isinstance(data_node, DataNode):
            self._built()  # nodes have their names from here on
            name = self._copies.get(data_node.node, data_node.node).name
        else:
            name = data_node
        self._fed_source(name).feed(data, layout, cuda_stream)
        self._allow_fed()

    def feed_inputs(self, batches: Mapping[str, Any]) -> None:
        """Feed several sources a batch each, by name; if one refuses its batch, none is fed."""
        self._built().sources.feed(batches)
        self._allow_fed()

    def _allow_fed(self) -> None:
        """Let the stages begin the batches that all sources were fed."""
        if self._runner is not None:
            self._runner.allow(self._built().sources.num_fed or 0)

    def _fed_source(self, name: str) -> FedSource:
        source = self._built().sources.get(name)
        if not isinstance(source, FedSource):
            raise ArgumentError(f"the pipeline has no external source named {name!r}")
        return source

    @property
    def _py_pool(self) -> PythonPool | None:
        """The processes of parallel external sources, if there are any."""
        pool = None if self._program is None else self._program.sources.python_pool
        return pool if pool is not None and pool.pool is not None else None

    def _new_python_pool(self) -> PythonPool | None:
        if self._py_num_workers < 1:
            return None
        return PythonPool(self._py_num_workers, self._py_start_method, self._py_callback_pickler)
