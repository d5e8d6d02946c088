"""A decoded picture as it left the decoder, and the numpy arrays over its planes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av import VideoFrame
    from av.video.format import VideoFormat
    from av.video.plane import VideoPlane


@dataclass(frozen=True, slots=True)
class Surface:
    """One picture in the stream's own format: before colour conversion, rotation and scaling.

    `frame` is PyAV's object and owns the memory; `planes` are views of it.
    """

    frame: VideoFrame

    @property
    def pixel_format(self) -> str:
        """FFmpeg's name, such as `yuv420p10le`."""
        return self.frame.format.name

    @property
    def width(self) -> int:
        """Displayed pixels in a row."""
        return self.frame.width

    @property
    def height(self) -> int:
        """Displayed rows."""
        return self.frame.height

    @property
    def planes(self) -> list[NDArray[Any]]:
        """The planes, cropped to the displayed size.

        (rows, columns), or (rows, columns, components) where components are interleaved, as uint8
        or little-endian uint16; formats of packed bits as rows of bytes. Their bytes one after
        another are FFmpeg's `rawvideo`.
        """
        layout = self.frame.format
        found = []
        for number, plane in enumerate(self.frame.planes):
            found.append(_plane(plane, number, layout))
        return found


def _plane(plane: VideoPlane, number: int, layout: VideoFormat) -> NDArray[Any]:
    memory: NDArray[Any] = np.frombuffer(memoryview(plane), dtype=np.uint8)
    if layout.has_palette and number == 1:
        return memory[:1024].reshape(256, 4)
    bits, wide = _pixel(layout.name, number)
    size = (plane.width * bits + 7) // 8
    rows = memory[: plane.line_size * plane.height].reshape(plane.height, plane.line_size)
    rows = rows[:, :size]
    if wide:
        rows = rows.view("<u2")
    components, rest = divmod(rows.shape[1], plane.width)
    if components > 1 and not rest:
        return rows.reshape(plane.height, plane.width, components)
    return rows


@cache
def _pixel(name: str, number: int) -> tuple[int, bool]:
    """Bits of a pixel in a plane of a format, and whether its samples have two bytes."""
    from av import VideoFormat

    layout = VideoFormat(name)
    parts = [component for component in layout.components if component.plane == number]
    wide = max((component.bits for component in parts), default=8) > 8
    if len(layout.components) > 1 and all(c.plane == 0 for c in layout.components):
        return layout.padded_bits_per_pixel, wide  # packed, such as rgb24 or yuyv422
    bits = layout.bits_per_pixel if layout.is_bit_stream else 8 * len(parts)
    return bits * 2 if wide else bits, wide
