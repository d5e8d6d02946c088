"""The planes of a picture as they are coded, one after another: `output="yuv"`."""

from __future__ import annotations

from typing import TypeAlias

from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.request import ClipRequest
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.indexing.index import VideoIndex

PlaneShapes: TypeAlias = tuple[tuple[int, int], ...]  # (rows, columns) of each plane


def plane_shapes(index: VideoIndex) -> PlaneShapes:
    """The planes of the pictures of a video.

    Raises:
        UnsupportedError: the components of its pictures do not lie in planes of their own, or only
            decoding would tell how they lie.
    """
    import av

    advice = "; Video.decode gives any surface"
    if index.pixel_format is None:
        raise UnsupportedError(
            f"{index.name}: only decoding tells the format of its planes{advice}"
        )
    form = av.VideoFormat(index.pixel_format, index.width, index.height)
    components = form.components
    if len({part.plane for part in components}) < len(components) or form.has_palette:
        raise UnsupportedError(
            f"{index.name}: {index.pixel_format} does not keep its components in planes{advice}"
        )
    parts = sorted(components, key=lambda part: part.plane)
    return tuple((part.height, part.width) for part in parts)


def planes_view(
    request: ClipRequest, index: VideoIndex, size: object, output: OutputFormat
) -> tuple[View, PlaneShapes]:
    """The view of a clip of planes, whose frames are one row of samples each; and the planes.

    Args:
        request: of the clip.
        index: of its video.
        size: of clips whose requests name none.
        output: form of the batch.

    Raises:
        ArgumentError: the request asks for a part or another size, or the samples have more bits
            than the element type.
    """
    resized = request.size or request.resize_shorter or size
    changes = (resized, request.crop, request.flip or None, request.window)
    if any(change is not None for change in changes):
        raise ArgumentError(
            f'{index.name}: output="yuv" gives planes as they are coded; leave size, crop, flip '
            "and window out"
        )
    shapes = plane_shapes(index)
    if (index.bit_depth or 8) > 8 and output.dtype == "uint8":
        raise ArgumentError(
            f'{index.name}: its samples have {index.bit_depth} bits; pass dtype="uint16"'
        )
    return View((1, sum(rows * columns for rows, columns in shapes))), shapes
