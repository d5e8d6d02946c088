"""The sources of a pipeline: its readers, and external sources with their worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import torch

from videoloader.dali.operators.batch_source import BatchSource, Columns, SourceContext
from videoloader.dali.pipeline.graph.nodes import Node
from videoloader.dali.pipeline.run.evaluate import operator_error
from videoloader.dali.pipeline.run.run_options import RunOptions
from videoloader.dali.readers.external import FedSource
from videoloader.dali.readers.external.parallel import ParallelSource
from videoloader.dali.readers.stored_samples import SampleReader
from videoloader.dali.readers.video.planned import ReadError
from videoloader.decoding.failures import Failures
from videoloader.errors import ArgumentError, TooManyFailuresError, UnsupportedError
from videoloader.machinery.workers.python_pool import PythonPool

Planned: TypeAlias = "Mapping[Node, Sequence[Any] | Columns]"
"""The samples of a batch, by source."""

NOTHING: Planned = MappingProxyType({})


class Sources(Mapping[str, BatchSource]):
    """The sources that were opened, by the names of their operators."""

    def __init__(self, options: RunOptions, python_pool: PythonPool | None) -> None:
        self._options = options
        self.python_pool = python_pool
        self._opened: dict[str, BatchSource] = {}
        self._nodes: list[Node] = []  # of these
        self._interrupted: dict[Node, Sequence[Any] | Columns] = {}
        self._external: list[FedSource] = []

    def __getitem__(self, name: str) -> BatchSource:
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._opened)

    def __len__(self) -> int:
        return len(self._opened)

    def open(self, node: Node) -> None:
        """Make the source of a node ready."""
        options, own = self._options, node.constants.get("seed")
        has_own = own not in (None, -1)
        context = SourceContext(
            node.name,
            0 if has_own else node.stage,  # readers with one seed give one order
            int(own or 0) if has_own else options.seed,
            options.batch_size,
            options.num_threads,
            options.torch_device(node.device),
            self.python_pool,
            options.errors,
        )
        skipped = ("seed", *node.operator.decoding)
        arguments = {key: value for key, value in node.constants.items() if key not in skipped}
        source = self._opened[node.name] = node.operator.run(context, **arguments)
        self._nodes.append(node)
        if isinstance(source, FedSource):
            self._external.append(source)

    def start_workers(self) -> None:
        """Start the processes that sources work in, if there are any."""
        if self.parallel and self.python_pool is not None:
            uses_cuda: Any = torch.cuda.is_initialized
            self.python_pool.start(may_fork=not uses_cuda())

    def planned(self, node: Node, iteration: int) -> Sequence[Any] | Columns:
        """Draw the samples of a batch from a source."""
        try:
            return self._opened[node.name].plan(iteration)
        except StopIteration:
            raise
        except ReadError as error:
            own = error.error
            if isinstance(own, TooManyFailuresError):
                raise own from own.__cause__
            raise operator_error(node, iteration, error.position, error.origin, own) from own
        except Exception as error:
            raise operator_error(node, iteration, None, "", error) from error

    @property
    def asked(self) -> list[Node]:
        """The sources that the thread of the caller asks for their batches.

        All that may end, where one of them calls Python code of the user's in this process.
        """
        if not any(source.calls_user for source in self._external):
            return []
        return [node for node in self._nodes if isinstance(self[node.name], FedSource)]

    def ask(self, iteration: int) -> Planned:
        """Draw the samples of a batch from the sources that run in the thread of the caller.

        If Ctrl-C interrupts this, the next call goes on with the sources not asked yet.
        """
        known = self._interrupted
        try:
            items = self._planned_by(self.asked, iteration, known)
        except Exception:
            known.clear()
            raise
        self._interrupted = {}
        return items

    def planned_by_all(self, iteration: int, asked: Planned) -> Planned:
        """Draw the samples of a batch from every source; `asked` is the result of `ask`."""
        return self._planned_by(self._nodes, iteration, dict(asked))

    def _planned_by(
        self, nodes: Sequence[Node], iteration: int, known: dict[Node, Sequence[Any] | Columns]
    ) -> Planned:
        """Complete `known`, the samples of a batch that some sources gave already."""
        in_order = not known
        has_ended = False
        for node in nodes:
            try:
                if node not in known:
                    known[node] = self.planned(node, iteration)
            except StopIteration:  # ask the others too, so that all count the same batches
                has_ended = True
        if has_ended:
            raise StopIteration
        return known if in_order else {node: known[node] for node in nodes}

    @property
    def fed(self) -> dict[str, FedSource]:
        """The sources by name that are fed with batches and give these."""
        return {
            name: source
            for name, source in self.items()
            if isinstance(source, FedSource) and source.is_fed and source.gives_what_is_fed
        }

    def fed_source(self, name: str) -> FedSource:
        """An external source, by its name."""
        source = self.get(name)
        if not isinstance(source, FedSource):
            raise ArgumentError(f"the pipeline has no external source named {name!r}")
        return source

    def metas(self) -> dict[str, dict[str, Any]]:
        """Size and sharding of each reader, by its name."""
        return {name: meta for name in self if (meta := self[name].meta()) is not None}

    def feed(self, batches: Mapping[str, Any]) -> None:
        """Queue a batch for each of several sources, or for none where one refuses its own."""
        sources = self.fed
        if unknown := batches.keys() - sources.keys():
            raise ArgumentError(
                f"the pipeline has no external source {', '.join(sorted(unknown))} to be fed; "
                f"it has {', '.join(sources)}"
            )
        made = [(sources[name], sources[name].prepared(batch)) for name, batch in batches.items()]
        for source, batch in made:
            source.queue(batch)

    @property
    def num_fed(self) -> int | None:
        """Batches for which all fed sources have data; None without such sources."""
        fed = [source for source in self._external if source.is_fed]
        return min((s.num_fed for s in fed if not s.repeats_last), default=0) if fed else None

    @property
    def only_repeat(self) -> bool:
        """Whether all sources repeat the batch that was fed last: nothing can be made ahead."""
        fed = [s for s in self.values() if isinstance(s, FedSource) and s.repeats_last]
        return bool(fed) and len(fed) == len(self)

    @property
    def is_blocking(self) -> bool:
        """Whether a run waits until data is fed."""
        for source in self._external:
            if source.is_blocking and source.is_fed and not source.repeats_last:
                return True
        return False

    @property
    def parallel(self) -> list[ParallelSource]:
        """The sources that worker processes run."""
        return [source.parallel for source in self._external if source.parallel is not None]

    def memory_of_workers(self) -> dict[str, list[int]]:
        """Bytes of shared memory; see `Pipeline.external_source_shm_statistics`."""
        parallel = self.parallel
        return {
            "capacities": [size for each in parallel for size in each.capacities()],
            "per_sample_capacities": [
                size for each in parallel for size in each.sample_capacities()
            ],
        }

    def close(self) -> None:
        """End worker processes, and the threads of readers."""
        if self.python_pool is not None:
            self.python_pool.close()
        for source in self.values():
            if isinstance(source, SampleReader):
                source.close()

    @property
    def may_end(self) -> bool:
        """Whether there is a source with epochs that end; readers continue for ever."""
        return bool(self._external)

    def resume(self, epoch: int, first: int) -> None:
        """Resume external sources in an epoch that began with batch `first`."""
        for source in self._external:
            source.resume(epoch, first)

    def check_has_no_state(self) -> None:
        """Fail for sources of which no checkpoint can tell where they are."""
        for name, source in self.items():
            if isinstance(source, FedSource) and source.has_state:
                raise UnsupportedError(
                    f"no checkpoint of a pipeline with external source {name!r}: nobody knows "
                    "where an iterable, a generator or a function without an argument is; give it "
                    "a function of SampleInfo, BatchInfo or the number of the batch"
                )

    def failures(self) -> dict[str, Failures]:
        """The failure logs of readers, by name."""
        found = {name: getattr(each, "failures", None) for name, each in self.items()}
        return {name: each for name, each in found.items() if isinstance(each, Failures)}

    def reset(self) -> None:
        """Begin the next epoch of every source."""
        for source in self.values():
            source.reset()
