"""Indexes of files that FFmpeg has to look at, made in a worker process: it may crash or hang."""

from __future__ import annotations

from dataclasses import dataclass, replace

from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.video import index_natively, index_video
from videoloader.machinery.system.faults import blamed_on
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.machinery.workers.process import Parcel
from videoloader.machinery.workers.protocol import Worker
from videoloader.machinery.workers.supervisor import Supervisor
from videoloader.sources.items import Item
from videoloader.sources.source import Source


@dataclass(frozen=True, slots=True)
class IndexCommand:
    """The index of a video.

    Attributes:
        name: for messages.
        place: where the video is opened again, or its bytes.
    """

    name: str
    place: str | Item | bytes

    def perform(self, worker: Worker) -> VideoIndex:  # noqa: ARG002
        """Make it."""
        with blamed_on(self.name, FormatError):
            return self._make()

    def _make(self) -> VideoIndex:
        if not isinstance(self.place, Item):
            return index_video(self.place)
        with self.place.open() as source:
            return index_video(source)

    def __str__(self) -> str:
        return f"{self.name}: FFmpeg had to look at it for its index"


class Indexer:
    """Indexes files here if that needs no code of FFmpeg, and others in a worker process.

    The process starts when it is needed, and stays. Threads may share an indexer; they take turns
    at the process.

    Args:
        time_limit: seconds that the process may take for a file.
        memory_limit: bytes that it may allocate, None for no limit.
    """

    def __init__(self, *, time_limit: float = 60.0, memory_limit: int | None = None) -> None:
        self._time_limit = time_limit
        self._memory_limit = memory_limit
        self._workers: Supervisor[IndexCommand] | None = None
        self._lock = ForkSafeLock()

    def index(self, source: Source, place: str | Item | None = None) -> VideoIndex:
        """The index of a source, as `index_video` makes it.

        Args:
            source: the video.
            place: where it can be opened again, if that is not a local file; else its bytes travel.

        Raises:
            VideoError: as `index_video`; a `DecodeError` where the process dies or takes too long.
        """
        index = index_natively(source)
        if index is not None:
            return index
        again = place.absolute() if isinstance(place, Item) else source.path or place
        index = self._ask(IndexCommand(source.name, again or source.read(0, source.size)))
        index.check(source)
        warnings = tuple(text.replace(index.name, source.name, 1) for text in index.warnings)
        return replace(index, name=source.name, warnings=warnings)

    def close(self) -> None:
        """End the process, whatever it is doing; a later file starts another. From any thread."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def _ask(self, order: IndexCommand) -> VideoIndex:
        with self._lock:
            workers = self._workers
            if workers is None:
                workers = self._workers = Supervisor(
                    Parcel,
                    workers=1,
                    time_limit=self._time_limit,
                    memory_limit=self._memory_limit,
                    prepare="videoloader.decoding.opening.indexer:load_libraries",
                )
            (result,) = workers.run([order])
        if result.failure is not None:
            raise result.failure
        index: VideoIndex = result.value
        return index


def load_libraries() -> None:
    """Load the libraries for indexing by FFmpeg."""
    import av  # noqa: F401
