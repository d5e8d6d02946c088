"""Descriptors of surfaces for the conversion kernel: address, geometry, colours, slot."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import HLG, PQ
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.matrix import matrix_for
from videoloader.decoding.pictures.swscale import swscale_matrix
from videoloader.errors import ArgumentError
from videoloader.indexing.packets import Orientation
from videoloader.machinery.system.checks import one_of

MemoryFormat: TypeAlias = Literal["nv12", "p016", "nv16", "p216", "yuv444", "yuv444p16"]

# Position (x, y) of the first chroma sample in luma pixels, by FFmpeg's name of the siting.
SITINGS = {
    "left": (0.0, 0.5),
    "center": (0.5, 0.5),
    "topleft": (0.0, 0.0),
    "top": (0.5, 0.0),
    "bottomleft": (0.0, 1.0),
    "bottom": (0.5, 1.0),
}

# The struct of convert.cu, field by field. `describe` fills all of it except `luma` and
# `destination`, the addresses of the surface and of its slot.
SURFACE_DTYPE = np.dtype(
    [
        ("luma", np.uint64),
        ("destination", np.uint64),
        ("chroma_offset", np.int64),
        ("second_chroma_offset", np.int64),
        ("destination_offset", np.int64),
        ("row_stride", np.int64),
        ("column_stride", np.int64),
        ("channel_stride", np.int64),
        ("pitch", np.int32),
        ("format", np.int32),
        ("left", np.int32),
        ("top", np.int32),
        ("width", np.int32),
        ("height", np.int32),
        ("crop_left", np.int32),
        ("crop_top", np.int32),
        ("crop_width", np.int32),
        ("crop_height", np.int32),
        ("whole_rows", np.int32),
        ("whole_columns", np.int32),
        ("window_top", np.int32),
        ("window_left", np.int32),
        ("rows", np.int32),
        ("columns", np.int32),
        ("tile_rows", np.int32),
        ("tile_columns", np.int32),
        ("tiles", np.int32),
        ("filter", np.int32),
        ("ties", np.int32),
        ("transfer", np.int32),
        ("siting", np.float32, 2),
        ("matrix", np.float32, 12),
        ("scale", np.float32, 3),
        ("shift", np.float32, 3),
    ]
)

_WIDE, _PLANAR, _HALF_WIDTH, _HALF_HEIGHT = 1, 2, 4, 8
_REPEAT_X, _REPEAT_Y, _PRODUCTS, _TABLES = 32, 64, 128, 256
_FORMATS = {
    "nv12": _HALF_WIDTH | _HALF_HEIGHT,
    "p016": _HALF_WIDTH | _HALF_HEIGHT | _WIDE,
    "nv16": _HALF_WIDTH,
    "p216": _HALF_WIDTH | _WIDE,
    "yuv444": _PLANAR,
    "yuv444p16": _PLANAR | _WIDE,
}
_FILTERS = {"nearest": 0, "bilinear": 1, "triangular": 2}
_TRANSFERS = {PQ: 1, HLG: 2}
_TIE_X, _TIE_Y = 1, 2
_TILE_ROWS, _TILE_COLUMNS, _BAND = 8, 64, 512  # limits in convert.cu


@dataclass(frozen=True, slots=True)
class Picture:
    """Memory layout and sample format of the surfaces of a stream.

    Attributes:
        format: `nv12`, `nv16`: 8 bits, chroma interleaved, 4:2:0 and 4:2:2; `p016`, `p216`: the
            same with 16 bits, samples in the high bits; `yuv444`, `yuv444p16`: three full planes.
        pitch: bytes from one row to the next, equal in all planes.
        rows: rows from the start of the luma plane to the chroma plane.
        width, height: size of the displayed picture in pixels, before rotation.
        left, top: position of the displayed picture in the surface.
        bit_depth: bits of a sample.
        matrix: FFmpeg's name of the matrix coefficients.
        range: `tv` (limited) or `pc` (full).
        transfer: FFmpeg's name of the transfer; `smpte2084` and `arib-std-b67` can be tone mapped.
        siting: one of `SITINGS`.
        orientation: rotation and flips for display.
    """

    format: MemoryFormat
    pitch: int
    rows: int
    width: int
    height: int
    left: int = 0
    top: int = 0
    bit_depth: int = 8
    matrix: str = "bt709"
    range: str = "tv"
    transfer: str | None = None
    siting: str = "left"
    orientation: Orientation = field(default_factory=Orientation)

    def __post_init__(self) -> None:
        one_of("format", self.format, get_args(MemoryFormat))
        one_of("siting", self.siting, SITINGS)
        if not 8 <= self.bit_depth <= self.storage_bits:
            raise ArgumentError(f"{self.format} holds no samples of {self.bit_depth} bits")
        inside = (
            min(self.left, self.top) >= 0
            and min(self.width, self.height) >= 1
            and (self.left + self.width) * self.storage_bits // 8 <= self.pitch
            and self.top + self.height <= self.rows
        )
        if not inside:
            raise ArgumentError(f"the displayed picture lies outside its surface: {self}")

    @property
    def storage_bits(self) -> int:
        """Bits of a sample in memory."""
        return 16 if _FORMATS[self.format] & _WIDE else 8

    @property
    def displayed(self) -> tuple[int, int]:
        """(height, width) after rotation."""
        sides = (self.height, self.width)
        return sides[::-1] if self.orientation.transpose else sides


def describe(
    picture: Picture, view: View, output: OutputFormat, *, strides: tuple[int, int, int], name: str
) -> NDArray[Any]:
    """The descriptor of all surfaces that fill slots of one clip, without addresses.

    Args:
        picture: format of the surfaces.
        view: part of the picture that fills a slot.
        output: format of the batch.
        strides: of a slot, in elements: from row to row, column to column, channel to channel.
        name: of the video, for errors.

    Returns:
        One read-only `SURFACE_DTYPE`, shape (). For each surface, copy it into a table, set `luma`
        to the surface's address and `destination` to that of the slot's first element.
    """
    view.check(name, picture.displayed)
    return _describe(picture, view, output, tuple(strides))


@lru_cache(maxsize=1024)  # clips of a batch share few descriptors
def _describe(
    picture: Picture, view: View, output: OutputFormat, strides: tuple[int, ...]
) -> NDArray[Any]:
    turn = picture.orientation
    view = view.within(picture.displayed)
    top, left, height, width = view.crop or (0, 0, *picture.displayed)
    window = view.window or (0, 0, *view.size)
    row_stride, column_stride, channel_stride = strides
    down = _axis(
        top,
        height,
        picture.displayed[0],
        resized=view.size[0],
        window=(window[0], window[2]),
        stride=row_stride,
        turned=turn.flip_y,
    )
    across = _axis(
        left,
        width,
        picture.displayed[1],
        resized=view.size[1],
        window=(window[1], window[3]),
        stride=column_stride,
        turned=turn.flip_x,
        mirrored=view.flip,
    )
    if turn.transpose:
        down, across = across, down
    record = np.zeros((), dtype=SURFACE_DTYPE)
    code = _FORMATS[picture.format]
    plane = picture.pitch * picture.rows
    record["chroma_offset"], record["second_chroma_offset"] = plane, 2 * plane
    own_size = (down.length, across.length) == (down.resized, across.resized)
    record["format"] = code
    is_gray = output.output == "gray"
    is_swscale = output.matrix == "swscale" and not is_gray
    if own_size and output.tone_map == "none":
        repeats = output.chroma == "nearest" and output.dtype == "uint8"
        if picture.bit_depth == 8 and (repeats or is_swscale):
            record["format"] |= _REPEAT_X | _REPEAT_Y
        elif is_swscale:
            record["format"] |= _REPEAT_X
    record["pitch"] = picture.pitch
    for name_ in ("left", "top", "width", "height"):
        record[name_] = getattr(picture, name_)
    record["crop_top"], record["crop_height"] = picture.top + down.start, down.length
    record["crop_left"], record["crop_width"] = picture.left + across.start, across.length
    record["filter"] = _FILTERS[output.interpolation]
    record["ties"] = _TIE_X * across.tie | _TIE_Y * down.tie
    if output.tone_map != "none":
        record["transfer"] = _TRANSFERS.get(picture.transfer or "", 0)
    x, y = SITINGS[picture.siting]
    record["siting"] = (x if code & _HALF_WIDTH else 0, y if code & _HALF_HEIGHT else 0)
    bits = {"bit_depth": picture.bit_depth, "storage_bits": picture.storage_bits}
    if is_swscale:
        is_subsampled = bool(code & (_HALF_WIDTH | _HALF_HEIGHT))
        matrix = swscale_matrix(picture.matrix, picture.range, subsampled=is_subsampled, **bits)
        if is_subsampled:
            record["format"] |= _PRODUCTS if picture.bit_depth == 8 else _TABLES
    elif is_gray:  # as G of GBR, which is the first component
        matrix = matrix_for("gbr", picture.range, **bits)[[1, 1, 1]]
    else:
        matrix = matrix_for(picture.matrix, picture.range, **bits)
    record["matrix"] = matrix.ravel()
    _place(record, output, down, across, channel_stride)
    record.flags.writeable = False
    return record


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of the coded picture: the wanted part, and its destination."""

    start: int
    length: int
    resized: int  # size of `length` after resizing; the slot has `size` of them from `offset`
    offset: int
    size: int
    stride: int
    origin: int  # offset of the first pixel, in elements
    tie: bool  # of two equally near pixels use the lower, since the axis is mirrored


def _axis(
    start: int,
    length: int,
    whole: int,
    *,
    resized: int,
    window: tuple[int, int],
    stride: int,
    turned: bool = False,
    mirrored: bool = False,
) -> _Axis:
    """The axis of `whole` displayed pixels, of which `length` are resized to `resized` pixels.

    `window` is (first, number) of the resized pixels that fill the slot.
    """
    backwards = turned != mirrored
    offset, size = window
    return _Axis(
        start=whole - start - length if turned else start,
        length=length,
        resized=resized,
        offset=resized - offset - size if turned else offset,
        size=size,
        stride=-stride if backwards else stride,
        origin=(size - 1) * stride if backwards else 0,
        tie=turned,
    )


def _place(
    record: NDArray[Any], output: OutputFormat, down: _Axis, across: _Axis, channel_stride: int
) -> None:
    """Destination and tiles."""
    record["destination_offset"] = (down.origin + across.origin) * output.numpy_dtype.itemsize
    record["row_stride"], record["column_stride"] = down.stride, across.stride
    record["channel_stride"] = channel_stride
    record["scale"], record["shift"] = output.scale_and_shift
    record["rows"], record["columns"] = down.size, across.size
    record["whole_rows"], record["whole_columns"] = down.resized, across.resized
    record["window_top"], record["window_left"] = down.offset, across.offset
    if (down.length, across.length) == (down.resized, across.resized):
        # Each thread computes four pixels of a row; consecutive threads write consecutive ones.
        tile = (8, 128) if abs(across.stride) <= abs(down.stride) else (32, 32)
    else:
        # The part of a source row that a tile reads should fit into the shared-memory band.
        columns = _BAND * across.resized // across.length
        rows = 256 * down.resized // down.length
        tile = (min(max(rows, 1), _TILE_ROWS), _power_of_two(columns))
    record["tile_rows"], record["tile_columns"] = tile
    record["tiles"] = -(-down.size // tile[0]) * -(-across.size // tile[1])


def _power_of_two(columns: int) -> int:
    """The largest power of two up to `columns` and the limit of a tile."""
    return 1 << (min(max(columns, 1), _TILE_COLUMNS).bit_length() - 1)
