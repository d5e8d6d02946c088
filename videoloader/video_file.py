"""An open video file: its bytes and index, its life, and what its codec says."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.decoding.arguments import as_frame_numbers
from videoloader.decoding.cpu.libav import CpuDecoder
from videoloader.decoding.limits import check_pixels
from videoloader.decoding.opening.videos import open_any, source_name
from videoloader.decoding.pictures.surface import Surface
from videoloader.decoding.rules import Rules
from videoloader.decoding.side_data import read_motion_vectors, read_picture_types
from videoloader.decoding.switches import quick_switches
from videoloader.errors import ArgumentError
from videoloader.indexing.index import Orientation, VideoIndex, describe_size
from videoloader.indexing.video import index_video
from videoloader.sampling import pad_frames, plan_decode
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource
from videoloader.system.forking import ForkSafeLock, cached_property, reset_after_fork
from videoloader.workers.processors import usable_processors
from videoloader.workers.use import Use

__all__ = ["VideoFile"]


class VideoFile:
    """A video that is open, with its index, until `close`.

    Args:
        source: as for `Video`; so the other arguments.
        index: of this very file, to save making one.
        rules: for its pictures.
        stream: number of the video stream.
        fps: frames a second of a raw stream.
        strict: refuse a file of which part is missing.
        threads: that decode.
    """

    def __init__(
        self,
        source: VideoSource | Source | Item,
        index: VideoIndex | None,
        rules: Rules,
        *,
        stream: int | None,
        fps: float | Fraction | None,
        strict: bool,
        threads: int | None,
    ) -> None:
        if index is not None and fps is not None:
            raise ArgumentError("give fps to index_video, or no index; an index has its times")
        self._given = source
        self._rules = rules
        self._threads = threads
        with blamed_on(source_name(source)):
            self._source = open_any(source)
        try:
            with blamed_on(self.name):
                if index is None:
                    index = index_video(self._source, stream=stream, fps=fps, strict=strict)
                else:
                    index.check(self._source)
            check_pixels(index, rules.max_pixels)
        except BaseException:
            self._source.close()
            raise
        self.index = index
        self._orientation = index.orientation if rules.rotate else Orientation()
        self._lock = ForkSafeLock()
        self._use = Use(self.name)
        reset_after_fork(self._use, Use.forget)

    @property
    def name(self) -> str:
        """File name, for messages."""
        return self._source.name

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the frames given by default, rotation applied."""
        height, width = self.index.height, self.index.width
        return (width, height) if self._orientation.transpose else (height, width)

    @property
    def height(self) -> int:
        """Rows of pixels of the frames given by default, rotation applied."""
        return self.size[0]

    @property
    def width(self) -> int:
        """Columns of pixels of the frames given by default, rotation applied."""
        return self.size[1]

    @property
    def fps(self) -> float:
        """Frames a second on average, 0 if unknown; `index.average_fps`."""
        return float(self.index.average_fps)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last; `index.duration`."""
        return float(self.index.duration)

    def __len__(self) -> int:
        return self.index.num_frames

    @quick_switches()
    def motion_vectors(self, frames: ArrayLike) -> list[NDArray[Any]]:
        """The motion vectors of frames, as their codec has them; none where a frame has none.

        Structured arrays with the fields of FFmpeg's `AVMotionVector`, in pixels of the coded
        picture: `source` (negative: an earlier frame), `w`, `h`, `src_x`, `src_y`, `dst_x`,
        `dst_y`, `motion_x`, `motion_y`, `motion_scale`, `flags`.

        Raises:
            UnsupportedError: FFmpeg gives none for this codec; it does for H.264, MPEG-1, -2, -4
                and H.263.
        """
        self._use.check()
        numbers, _ = pad_frames(as_frame_numbers(frames), len(self), "none", name=self.name)
        found = read_motion_vectors(
            self.index, self._source, numbers, max_pixels=self._rules.max_pixels
        )
        return [found[number] for number in numbers.tolist()]

    @cached_property
    def picture_types(self) -> NDArray[np.str_]:
        """Type of each frame's picture, `I`, `P` or `B`; decodes the video once."""
        self._use.check()
        threads = self._threads or usable_processors()
        with quick_switches():
            return read_picture_types(
                self.index, self._source, threads=threads, max_pixels=self._rules.max_pixels
            )

    def decode(self, frames: ArrayLike) -> Iterator[tuple[int, Surface]]:
        """Frame number and surface of each distinct frame, in the order they are decoded.

        Surfaces are as the decoder gave them: before colour conversion, scaling and rotation. The
        iterator has a decoder of its own, so the video may be used in between; it has one thread,
        unless `threads` were asked for.
        """
        self._use.check()
        numbers, _ = pad_frames(as_frame_numbers(frames), len(self), "none", name=self.name)
        decoder = CpuDecoder(
            self.index,
            self._source,
            threads=self._threads or 1,
            max_pixels=self._rules.max_pixels,
        )
        return decoder.decode(plan_decode(self.index, numbers))

    @quick_switches()
    def close(self) -> None:
        """Close the file and let go of the decoder, at any time and from any thread.

        What another thread is decoding is waited for; whoever comes later gets a `ClosedError`.
        """
        self._use.is_closed = True  # before the lock: threads that ask on and on never leave it
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        index = self.index
        size = describe_size(index.width, index.height, self._orientation)
        return f"<{type(self).__name__} {self.name}: {len(self)} frames, {index.codec} {size}>"
