"""Converters from surfaces to slots on the CPU, one for each form of output."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import Color
from videoloader.decoding.cpu.rgb import RgbConverter
from videoloader.decoding.cpu.samples import Box, Planar, Resampler, coded_box, planar
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.color import chroma_siting, matrix_and_range
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import DecodeError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import Orientation


class SurfaceConverter(Protocol):
    """Fills slots with the surfaces of one video. Not for sharing by threads."""

    def write(self, surface: Surface, slot: NDArray[Any], view: View | None = None) -> None:
        """Fill a slot (H, W, C), any view of its memory, with the part that `view` names."""


def converter_for(
    index: VideoIndex, orientation: Orientation, output: OutputFormat
) -> SurfaceConverter:
    """The converter for the surfaces of a video."""
    if output.is_planar:
        return _PlaneWriter(index.name)
    if output.output == "gray":
        return _LumaConverter(index.color, orientation, output, index.name)
    siting = chroma_siting(index.codec, output)
    return RgbConverter(index.color, orientation, siting=siting, output=output)


class _PlaneWriter:
    """Writes the planes of a surface one after another into the one row of a slot."""

    def __init__(self, name: str) -> None:
        self._name = name

    def write(self, surface: Surface, slot: NDArray[Any], view: View | None = None) -> None:  # noqa: ARG002
        """Fill the row of a slot (1, samples, 1)."""
        planes = surface.planes
        row = slot[0, :, 0]
        fits = sum(plane.size for plane in planes) == len(row)
        if not fits or any(plane.itemsize > row.itemsize for plane in planes):
            raise DecodeError(
                f"{self._name}: a picture came as {surface.pixel_format}, unlike the index says"
            )
        at = 0
        for plane in planes:
            row[at : at + plane.size] = plane.reshape(-1)
            at += plane.size


class _LumaConverter:
    """Converts the luma of the surfaces of one video. Not for sharing by threads.

    Formats of grey have full range unless they are tagged otherwise, as swscale takes them; luma of
    the others has the range of its tag, limited by default.
    """

    def __init__(
        self, color: Color, orientation: Orientation, output: OutputFormat, name: str
    ) -> None:
        self._name = name
        self._color = color
        self._orientation = orientation
        self._output = output
        mirrored = orientation.flip_y, orientation.flip_x
        self._resampler = Resampler("left", mirrored[::-1] if orientation.transpose else mirrored)

    def write(self, surface: Surface, slot: NDArray[Any], view: View | None = None) -> None:
        """Fill a slot (H, W, 1), which may be any view of its memory; see `RgbConverter.write`."""
        luma = self._luma(surface)
        coded = surface.height, surface.width
        turn = self._orientation
        view = (view or View(slot.shape[:2])).within(turn.displayed(coded))
        size = turn.displayed(view.size)  # as coded; a turn swaps both ways
        box = Box(0, 0, *coded) if view.crop is None else coded_box(turn, view.crop, coded)
        planes, shift = self._resampler.resample(luma, box, size, self._output.interpolation)
        plane = planes[0]
        if view.window is not None:
            plane = coded_box(turn, view.window, size).of(plane)
        table = _table(self._output, self._range(surface), luma.depth, shift, plane.dtype.itemsize)
        plane = plane.T if turn.transpose else plane
        rows = slice(None, None, -1 if turn.flip_y else 1)
        columns = slice(None, None, -1 if turn.flip_x != view.flip else 1)
        slot[..., 0] = table[plane[rows, columns]]

    def _luma(self, surface: Surface) -> Planar:
        picture = planar(surface)
        if picture.kind == "rgb":
            raise UnsupportedError(
                f'{self._name}: pictures of {surface.pixel_format} have no luma; use output="rgb"'
            )
        bits = surface.frame.format.components[0].bits
        if self._output.dtype == "uint16" and picture.depth != bits:
            raise UnsupportedError(
                f"{self._name}: samples of {surface.pixel_format} have no coded form here; "
                "use a float dtype, or Video.decode"
            )
        return Planar(picture.frame, picture.numbers[:1], "gray", picture.depth, 1, 1)

    def _range(self, surface: Surface) -> str:
        tagged = int(surface.frame.color_range) or self._color.range
        if surface.pixel_format.startswith("gray") and not tagged:
            return "tv" if self._output.color_range == "limited" else "pc"
        return matrix_and_range(surface.frame, self._color, self._output)[1]


@lru_cache(maxsize=8)
def _table(
    output: OutputFormat, color_range: str, depth: int, shift: int, width: int
) -> NDArray[Any]:
    """The output value of each stored sample; samples were moved up by `shift` bits."""
    samples = np.arange(1 << 8 * width) / (1 << shift)
    if output.dtype == "uint16":
        return output.encode(np.rint(samples).clip(0, (1 << depth) - 1))
    unit = 1 << (depth - 8)
    black, extent = (0, (1 << depth) - 1) if color_range == "pc" else (16 * unit, 219 * unit)
    values = ((samples - black) * (255 / extent)).clip(0, 255)
    return output.encode(np.rint(values) if output.dtype == "uint8" else values)
