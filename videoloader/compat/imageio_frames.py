"""Frames of FFmpeg as ImageIO gives them: through filters, and as one array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.pyav import new_graph
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.indexing.packets import Orientation

if TYPE_CHECKING:
    from av import VideoFrame
    from av.filter import Graph
    from av.filter.context import FilterContext


class FormatOSError(UnsupportedError, OSError):
    """A pixel format whose samples do not fit into one array."""


class Form(NamedTuple):
    """The array of a frame: planes, if there are several, rows, columns, channels if several."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_planar: bool
    channels: int


Filter: TypeAlias = "tuple[str, str | dict[str, str]]"
FilterGraph: TypeAlias = "tuple[dict[str, Filter], Sequence[tuple[str, str, int, int]]]"


class Filters(NamedTuple):
    """Filters of FFmpeg as ImageIO takes them: a sequence, followed by a graph."""

    sequence: Sequence[Filter]
    graph: FilterGraph | None

    def __bool__(self) -> bool:
        return bool(self.sequence) or self.graph is not None

    def upright(self, turn: Orientation) -> Filters:
        """The same, preceded by filters that turn coded pictures for display."""
        steps = [("transpose", "cclock_flip")] if turn.transpose else []
        steps += [("hflip", "")] if turn.flip_x else []
        steps += [("vflip", "")] if turn.flip_y else []
        return self._replace(sequence=[*steps, *self.sequence])

    def frames(self, frames: Iterable[VideoFrame]) -> Iterator[VideoFrame]:
        """Frames after the filters."""
        if not self:
            yield from frames
            return
        graph: Graph | None = None
        for frame in frames:
            if graph is None:
                graph = self._configured(frame)
            try:
                graph.vpush(frame)
            except EOFError:  # they take no more
                break
            yield from _pulled(graph)
        if graph is not None:
            with suppress(EOFError):
                graph.vpush(None)
            yield from _pulled(graph)

    def _configured(self, frame: VideoFrame) -> Graph:
        from av.error import FFmpegError

        try:
            return self._linked(frame)
        except (FFmpegError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"FFmpeg does not take the filters {self.sequence} {self.graph or ''}: {error}"
            ) from error

    def _linked(self, frame: VideoFrame) -> Graph:
        graph = new_graph()
        last = graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base
        )
        for step in self.sequence:
            node = _add(graph, step)
            last.link_to(node)
            last = node
        nodes, edges = self.graph or ({}, [("video_in", "video_out", 0, 0)])
        known = {name: _add(graph, step) for name, step in nodes.items()}
        known |= {"video_in": last, "video_out": graph.add("buffersink")}
        for begin, end, output, entry in edges:
            known[begin].link_to(known[end], output, entry)
        graph.configure()
        return graph


def _add(graph: Graph, step: Filter) -> FilterContext:
    name, arguments = step
    if isinstance(arguments, str):
        return graph.add(name, arguments)
    return graph.add(name, **arguments)


def _pulled(graph: Graph) -> Iterator[VideoFrame]:
    """The frames that are ready; PyAV raises where there are none, or no more."""
    with suppress(BlockingIOError, EOFError):
        while True:
            yield graph.vpull()


def form_of(name: str, size: tuple[int, int]) -> Form:
    """The array of a pixel format.

    Raises:
        ArgumentError: FFmpeg has no such format.
        FormatOSError: channels differ in size, or are no whole bytes.
    """
    from av import VideoFormat

    try:
        layout = VideoFormat(name, 64, 64)
    except ValueError as error:
        raise ArgumentError(f"format is a pixel format of FFmpeg, got {name!r}") from error
    parts = layout.components
    planes = Counter(part.plane for part in parts)
    bits = parts[0].bits if parts else 0
    channels = planes[0]
    is_plain = (
        bits % 8 == 0
        and len({(part.width, part.height, part.bits) for part in parts}) == 1
        and len(set(planes.values())) == 1
        and layout.padded_bits_per_pixel == bits * len(parts)
    )
    if not is_plain or layout.has_palette:
        raise FormatOSError(
            f"{name} does not fit into one array; give format= such as rgb24, gray or yuv444p"
        )
    kind = ("f" if "f32" in name else "u") + str(bits // 8)
    dtype = np.dtype((">" if layout.is_big_endian else "<") + kind)
    shape = (*size, channels) if channels > 1 else size
    if len(planes) > 1:
        shape = (len(planes), *shape)
    return Form(shape, dtype, len(planes) > 1, channels)


def as_array(frame: VideoFrame, form: Form) -> NDArray[Any]:
    """A frame as coded, in memory of its own."""
    planes = []
    for plane in frame.planes:
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
        planes.append(rows.view(form.dtype)[:, : frame.width * form.channels])
    return np.stack(planes).reshape(form.shape)
