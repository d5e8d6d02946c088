"""From surfaces to slots on the CPU: the converter for each form of output."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from videoloader.decoding.cpu.luma import LumaConverter
from videoloader.decoding.cpu.rgb import RgbConverter
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.color import chroma_siting
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import DecodeError
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
        return LumaConverter(index.color, orientation, output, index.name)
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
