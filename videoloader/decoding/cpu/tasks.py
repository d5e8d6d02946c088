"""Frames of one video into slots on the CPU: the task, and the decoders that do it.

A worker process gets the task itself: its slots by their place in shared memory, its index by
number, see `workers.protocol`.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from mmap import mmap
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.cpu.converters import SurfaceConverter, converter_for
from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import ClosedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import Orientation
from videoloader.machinery.runtime.run_stats import Work
from videoloader.machinery.system.faults import blamed_on
from videoloader.machinery.workers.protocol import Worker
from videoloader.sampling import Run, plan_decode
from videoloader.sampling.plan import Want
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Fingerprint, Source

TaskSource: TypeAlias = "str | bytes | memoryview | mmap | Item"
"""A path or URL, a video in memory (mapped in a worker), or one in an archive."""

_KEPT = 8  # videos that stay open


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The slots of a clip, (F, H, W, C) of any memory, and the part of a picture that fills one."""

    slots: NDArray[Any]
    view: View


@dataclass(frozen=True, slots=True, eq=False)
class CpuTask:
    """The work of one worker at a time: frames of one video, for one clip or several.

    Attributes:
        source: where the video is; what it is opened by in the worker.
        index: of the video.
        targets: the clips, by number.
        wants: what is filled: (frame, number of the clip, position in it).
        output: form of what slots hold.
        rotate: turn pictures as the container says.
        threads: of the codec.
        max_pixels: of a picture; packets of larger ones do not decode.
        runs: that decode `frames`, where they are planned already.
        reads_on: see `CpuDecoder.decode`.
        whole: of the source that was opened here, see `Source.whole`.
        tries: workers that it may cost.
    """

    source: TaskSource
    index: VideoIndex
    targets: Mapping[int, Target]
    wants: Sequence[Want]
    output: OutputFormat = field(default_factory=OutputFormat)
    rotate: bool = True
    threads: int = 1
    max_pixels: int | None = None
    runs: tuple[Run, ...] | None = None
    reads_on: bool = False
    whole: Fingerprint | None = None
    tries: int = 2

    @property
    def frames(self) -> NDArray[np.int64]:
        """Distinct frames, ascending."""
        return np.array(sorted({frame for frame, _, _ in self.wants}), np.int64)

    def perform(self, worker: Worker) -> Work:
        """Decode in a worker process; returns its counters."""
        where = id(self.source) if isinstance(self.source, bytes | mmap) else self.source
        # What is open keeps the index and the mapped file, so no others get their ids.
        key = (id(self.index), where, self.whole)
        return worker.kept(Decoders).run(self, key=key, open_video=self._open)

    def _open(self) -> Source:
        source = self.source
        if isinstance(source, Item):
            return source.open() if self.whole is None else source.open(known=self.whole)
        if isinstance(source, str):
            return open_source(source, known=self.whole)
        return open_source(memoryview(source))

    def __str__(self) -> str:
        """The video and the frames, for messages."""
        frames = self.frames
        span = f"{frames[0]} to {frames[-1]}" if len(frames) > 1 else "".join(map(str, frames))
        return f"{self.index.name}: frame{'s' * (len(frames) > 1)} {span}"


@dataclass(slots=True)
class _Opened:
    source: Source
    index: VideoIndex
    is_lent: bool
    decoders: dict[tuple[int, int | None], CpuDecoder] = field(default_factory=dict)
    form: tuple[OutputFormat, bool] | None = None
    convert: SurfaceConverter = field(init=False)

    def close(self) -> None:
        for decoder in self.decoders.values():
            decoder.close()
        if not self.is_lent:
            with suppress(BufferError):  # arrays over the file may still be about
                self.source.close()

    def decoder(self, threads: int, max_pixels: int | None) -> CpuDecoder:
        decoder = self.decoders.get((threads, max_pixels))
        if decoder is None:
            decoder = CpuDecoder(self.index, self.source, threads=threads, max_pixels=max_pixels)
            self.decoders[threads, max_pixels] = decoder
        return decoder

    def converter(self, output: OutputFormat, *, rotate: bool) -> SurfaceConverter:
        if (output, rotate) != self.form:
            orientation = self.index.orientation if rotate else Orientation()
            self.convert = converter_for(self.index, orientation, output)
            self.form = output, rotate
        return self.convert


class Decoders:
    """Does tasks, and keeps the videos of the last few open. Not for sharing by threads."""

    def __init__(self) -> None:
        self._opened: OrderedDict[Any, _Opened] = OrderedDict()
        self._is_abandoned = False
        weakref.finalize(self, _close_all, self._opened).atexit = False

    def run(
        self, task: CpuTask, *, key: Any, open_video: Callable[[], Source], is_lent: bool = False
    ) -> Work:
        """Fill the slots of a task.

        Args:
            task: what to do.
            key: of the video among those that are open; must change with its index.
            open_video: called if it is not.
            is_lent: whoever gave the open video closes it.

        Returns:
            What it took.

        Raises:
            VideoError: any, about the file or its frames.
            ClosedError: `abandon` was called before or meanwhile.
        """
        begin = time.perf_counter()
        try:
            with blamed_on(task):
                if self._is_abandoned:
                    self._check()
                opened = self._open(task, key, open_video, is_lent)
                runs = task.runs
                if runs is None:
                    runs = plan_decode(task.index, task.frames).runs
                converter = opened.converter(task.output, rotate=task.rotate)
                decoder = opened.decoder(task.threads, task.max_pixels)
                before = decoder.counts.read()
                frames = decoder.decode(runs, reads_on=task.reads_on)
                try:
                    converting = self._fill(frames, task, converter)
                finally:
                    frames.close()
                return Work(
                    *decoder.counts.since(before),
                    sum([len(run.frames) for run in runs]),
                    time.perf_counter() - begin - converting,
                    converting,
                )
        except BaseException:
            self.forget(key)
            raise

    def decoders(self, key: Any) -> list[CpuDecoder]:
        """The decoders of a video that are kept; see `run`."""
        opened = self._opened.get(key)
        return [] if opened is None else [*opened.decoders.values()]

    def forget(self, key: Any) -> None:
        """Close a video."""
        opened = self._opened.pop(key, None)
        if opened is not None:
            opened.close()

    def abandon(self) -> None:
        """Have a task that another thread is at end with its next frame, and all others at once."""
        self._is_abandoned = True

    def close(self) -> None:
        """Close all videos."""
        _close_all(self._opened)

    def _fill(
        self, frames: Iterator[tuple[int, Surface]], task: CpuTask, converter: SurfaceConverter
    ) -> float:
        """Write each frame into the first slot that wants it, and copy it to others of its view.

        Returns:
            The seconds that writing took.
        """
        seconds = 0.0
        index = task.index
        places: dict[int, list[tuple[Target, int]]] = {}
        for number, owner, place in task.wants:
            places.setdefault(number, []).append((task.targets[owner], place))
        first = (index.width, index.height)
        for number, surface in frames:
            if self._is_abandoned:
                self._check()
            begin = time.perf_counter()
            size = (surface.frame.width, surface.frame.height)
            written: list[tuple[View, NDArray[Any]]] = []
            for target, place in places[number]:
                slot, view = target.slots[place], target.view
                for other, done in written:
                    if other == view:
                        slot[...] = done
                        break
                else:
                    view.check_surface(index.name, number, size, first)
                    converter.write(surface, slot, view)
                    written.append((view, slot))
            seconds += time.perf_counter() - begin
        return seconds

    def _check(self) -> None:
        if self._is_abandoned:
            raise ClosedError("abandoned by an interrupt")

    def _open(
        self, task: CpuTask, key: Any, open_video: Callable[[], Source], is_lent: bool
    ) -> _Opened:
        opened = self._opened.get(key)
        if opened is None:
            while len(self._opened) >= _KEPT:
                self.forget(next(iter(self._opened)))
            source = open_video()
            opened = self._opened[key] = _Opened(source, task.index, is_lent)
            if not is_lent:
                task.index.check(source)
        self._opened.move_to_end(key)
        return opened


def _close_all(opened: OrderedDict[Any, _Opened]) -> None:
    while opened:
        opened.popitem()[1].close()


def load_libraries() -> None:
    """Load the libraries for the tasks of a worker process, and limit their threads."""
    import av.filter
    import av.video.reformatter  # noqa: F401
    import cv2

    from videoloader.audio.request import SoundRequest  # noqa: F401
    from videoloader.decoding.images.jpeg import codec

    cv2.setNumThreads(1)
    codec()
