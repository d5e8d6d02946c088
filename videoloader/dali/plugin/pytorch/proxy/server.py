"""`Server`: runs a pipeline in the main process for the workers of a `DataLoader`."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from torch.utils import data

from videoloader.dali.pipeline import Pipeline
from videoloader.dali.plugin.pytorch.proxy.jobs import Feeder, Job
from videoloader.dali.plugin.pytorch.proxy.structure import found, replaced
from videoloader.dali.plugin.references import BatchReference, Call, Proxy, SampleReference
from videoloader.errors import ArgumentError, ArgumentTypeError, VideoError
from videoloader.machinery.system.checks import whole_number

if TYPE_CHECKING:
    from videoloader.decoding.failures import SampleFailure

_REFERENCES = (SampleReference, BatchReference)
_AT_ONCE = 2  # batches begun for one that is taken, until as many as wanted are ahead
_IN_STAGES = 3  # batches that the stages of a pipeline work on, besides finished ones

Data = TypeVar("Data")


class Server:
    """Runs a pipeline for data that the workers of a DataLoader only describe.

    A data set calls `proxy` with the inputs of a sample and gets references. They travel to the
    main process in place of data. `proxy.DataLoader`, or `produce_data` after any other loader,
    sends the inputs of a batch through the pipeline and puts tensors where the references were.

    The external sources of the pipeline that are fed are the inputs, by their names. Batches go
    through the pipeline in the order in which the loader gives them, whatever the number of
    workers, so random draws are reproducible. A batch may have fewer samples than the pipeline's;
    where it has more, or a sample calls the proxy several times, the pipeline runs several times.

    One thread takes batches. The server belongs to the process that made it.

    Args:
        pipeline: with at least one external source that is fed. It stays open; nothing else may
            feed or run it.
        deterministic: no effect, the order is always that of the loader. DALI takes it.

    >>> with Server(pipeline) as server:  # doctest: +SKIP
    ...     dataset = ImageFolder(path, transform=server.proxy, loader=read_path)
    ...     for images, labels in DataLoader(server, dataset, batch_size=32, num_workers=4):
    ...         train(images, labels)
    """

    def __init__(self, pipeline: Pipeline, deterministic: bool = False) -> None:  # noqa: ARG002
        if not isinstance(pipeline, Pipeline):
            raise ArgumentTypeError(f"a server takes a Pipeline, got {type(pipeline).__name__}")
        inputs = pipeline.fed_inputs()
        if not inputs:
            raise ArgumentError(
                "the pipeline of a server has no inputs; give it an fn.external_source(name=...) "
                "without a source"
            )
        if pipeline.on_error in ("skip", "replace"):
            raise ArgumentError(
                f'the pipeline of a server has on_error="{pipeline.on_error}", but the sample that '
                'a worker has begun stays in its batch; use on_error="mask", and look for frame '
                "numbers of -1"
            )
        self._key = uuid.uuid4().hex
        self._pipeline = pipeline
        self._proxy = Proxy(self._key, tuple(inputs), pipeline.num_outputs)
        self._begun: deque[tuple[int, Job]] = deque()  # batches in the pipeline, by number
        self._thread: Feeder | None = None
        self._starting = threading.Lock()
        self._taking = threading.Lock()
        self._process = os.getpid()
        _servers[self._key] = self

    @property
    def proxy(self) -> Proxy:
        """The callable for data sets; it pickles into workers."""
        return self._proxy

    def produce_data(self, data: Data) -> Data:
        """The data with tensors in place of references, waiting for them.

        A `BatchReference` becomes a tensor (N, ...), or a list of tensors where their shapes
        differ; a `SampleReference` becomes the tensor of its sample. References are found in
        lists, tuples, mappings, dataclasses and attributes of objects, at any depth; those of
        other servers of this process are replaced too. Lists, mappings and objects are changed in
        place.

        Raises:
            OperatorError: the pipeline failed on a sample; names it, and the worker it is from.
            ArgumentError: an input is not what the pipeline takes.
        """
        return Begun(data).finish()

    def iterate(self, batches: Iterable[Data], *, ahead: int | None = None) -> BatchesAhead[Data]:
        """The batches of any loader with tensors in place of references, made ahead.

        Args:
            batches: a DataLoader of torch or torchdata, or anything that gives such batches.
            ahead: batches on their way while one is used; by default as many as the queues and
                stages of the pipeline hold.
        """
        if ahead is None:
            ahead = self._pipeline.prefetch_queue_depth + _IN_STAGES
        return BatchesAhead(batches, whole_number("ahead", ahead))

    @property
    def failures(self) -> list[SampleFailure]:
        """Failures in the pipeline so far, see `Pipeline.failures`."""
        return self._pipeline.failures

    def start_thread(self) -> None:
        """Start the thread that feeds the pipeline, if it does not run; taking data does it too."""
        with self._starting:
            self._start()

    def stop_thread(self) -> None:
        """End the thread that feeds the pipeline, and wait for it. It may be started again."""
        if os.getpid() != self._process:
            return  # it did not come along
        with self._starting:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._end()
                thread.join()

    def close(self) -> None:
        """End the thread and close the pipeline."""
        self.stop_thread()
        self._pipeline.close()

    def __enter__(self) -> Self:
        self.start_thread()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_thread()

    def __reduce__(self) -> Any:
        raise ArgumentTypeError(
            "a server stays in its process; give data sets and workers its proxy"
        )

    def __repr__(self) -> str:
        return f"Server({self._proxy!r}, {self._pipeline!r})"

    def begin(self, calls: list[Call]) -> Job:
        """Send samples into the pipeline without waiting for them."""
        if os.getpid() != self._process:
            raise ArgumentError(
                "references are replaced in the process that made the server, not in a worker"
            )
        job = Job(calls, self._pipeline.batch_size)
        with self._starting:
            self._start().jobs.put(job)
        return job

    def wait(self, job: Job) -> None:
        """Wait for a job, and take the earlier batches of the pipeline as well."""
        job.fed.wait()
        with self._taking:
            while len(job.outputs) < job.num_fed:
                self._take(*self._begun[0])
                self._begun.popleft()
        error, job.error = job.error, None  # kept, its traceback would keep the loader alive
        if error is not None:
            try:
                raise error
            finally:
                del error

    def _start(self) -> Feeder:
        if self._thread is None:
            self._pipeline.schedule_run()  # begins what is fed from now on at once
            self._thread = Feeder(self._pipeline, self._begun)
            self._end = weakref.finalize(self, self._thread.jobs.put, None)
            self._end.atexit = False  # the feeders see to it themselves
            self._thread.start()
        return self._thread

    def _take(self, number: int, job: Job) -> None:
        """Take the next batch of the pipeline, which is one of this job's."""
        outputs: tuple[Any, ...] = ()
        try:
            if self._pipeline.next_batch != number:
                raise ArgumentError(
                    "the batch is lost: an interrupt came while it was taken, or somebody else "
                    "runs the pipeline, or has closed it"
                )
            outputs = self._pipeline.run()
        except StopIteration:
            error = ArgumentError("another source of the pipeline has ended; reset the pipeline")
            job.fail(len(job.outputs), error)
        except VideoError as error:  # the batch is lost; others, as an interrupt, lose nothing
            job.fail(len(job.outputs), error)
        job.outputs.append(outputs)


class Begun(Generic[Data]):
    """A batch whose references are being made."""

    def __init__(self, data: Data) -> None:
        self._data = data
        by_server: dict[str, dict[int, Call]] = {}
        for reference in found(data, _REFERENCES):
            is_sample = isinstance(reference, SampleReference)
            for call in [reference.call] if is_sample else reference.calls:
                by_server.setdefault(call.server, {})[id(call)] = call
        self._jobs: list[tuple[Server, Job]] = []
        self._places: dict[int, tuple[Job, int]] = {}
        for key, calls in by_server.items():
            server = _server(key)
            job = server.begin([*calls.values()])
            self._jobs.append((server, job))
            self._places |= {id(call): (job, row) for row, call in enumerate(job.calls)}

    def finish(self) -> Data:
        """The batch with tensors; waits for them."""
        for server, job in self._jobs:
            server.wait(job)
        data: Data = replaced(self._data, _REFERENCES, self._value)
        return data

    def _value(self, reference: SampleReference | BatchReference) -> Any:
        if isinstance(reference, SampleReference):
            job, row = self._places[id(reference.call)]
            return job.sample(reference.output, row)
        places = [self._places[id(call)] for call in reference.calls]
        return places[0][0].samples(reference.output, [row for _, row in places])


class BatchesAhead(Generic[Data]):
    """An iterator over batches, some of which are made while one is used.

    What a loader raises is raised where its batch would come.
    """

    def __init__(self, batches: Iterable[Data], ahead: int) -> None:
        self._loader = batches
        self._batches: Any = iter(batches)
        self._ahead = ahead
        self._begun: deque[tuple[Begun[Data] | Exception, Any]] = deque()  # with states after them
        self._has_ended = False
        self._given = 0
        self._state = self._loader_state()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Data:
        for _ in range(_AT_ONCE):
            if self._may_begin():
                self._begin()
        if not self._begun:
            raise StopIteration
        first, self._state = self._begun.popleft()
        self._given += 1
        try:
            if isinstance(first, Exception):
                raise first
            return first.finish()
        except Exception as error:
            error.add_note(f"in batch {self._given - 1} of the loader's epoch")
            raise
        finally:
            del first  # see `_begin`

    def __len__(self) -> int:
        return len(self._batches)

    def state_dict(self) -> Any:
        """The state of a stateful loader as of the last batch that was given, not begun.

        For its `load_state_dict`.
        """
        if self._state is None:
            raise ArgumentError(f"a {type(self._loader).__name__} has no state_dict()")
        return self._state

    def _loader_state(self) -> Any:
        state_dict = getattr(self._loader, "state_dict", None)
        return None if state_dict is None else state_dict()

    def _may_begin(self) -> bool:
        if self._has_ended or len(self._begun) > self._ahead:
            return False
        return not (self._begun and isinstance(self._begun[-1][0], Exception))

    def _begin(self) -> None:
        try:
            begun = Begun(next(self._batches))
            self._begun.append((begun, self._loader_state()))
        except StopIteration:
            self._has_ended = True
        except Exception as error:  # noqa: BLE001  (it is raised in its turn)
            # Without the frame of this method, which would make a cycle. Workers of a loader that
            # only the garbage collector ends take seconds to end.
            inner = error.__traceback__ and error.__traceback__.tb_next
            self._begun.append((error.with_traceback(inner), self._state))


_servers: weakref.WeakValueDictionary[str, Server] = weakref.WeakValueDictionary()


def _server(key: str) -> Server:
    server = _servers.get(key)
    if server is None:
        raise ArgumentError(
            "a reference is of a server that this process does not have; references are replaced "
            "where the server was made, as long as it exists"
        )
    return server


class DataLoader(data.DataLoader[Any]):
    """torch's DataLoader, whose batches have tensors in place of the references of a proxy.

    Workers run the data set and collate, and send references. This process runs the pipeline, some
    batches ahead of the training loop, in the order of the loader.

    Args:
        dali_server: whose proxy the data set calls. Proxies of other servers may occur as well.
        *args: of torch's DataLoader, from `dataset` on.
        ahead: batches on their way while one is used, see `Server.iterate`.
        **kwargs: of torch's DataLoader.
    """

    def __init__(
        self, dali_server: Server, *args: Any, ahead: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.dali_server = dali_server
        self.ahead = ahead

    def __iter__(self) -> Any:
        self.dali_server.start_thread()
        return self.dali_server.iterate(super().__iter__(), ahead=self.ahead)
