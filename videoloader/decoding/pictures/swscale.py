"""Conversion to RGB as swscale does it: by itself on the CPU, by its arithmetic on a GPU."""

from __future__ import annotations

import ctypes
import weakref
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.pictures.matrix import equations_of
from videoloader.decoding.pictures.surface import Surface
from videoloader.decoding.pyav import new_graph, reformat
from videoloader.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from av import VideoFrame
    from av.video.reformatter import VideoReformatter

# FFmpeg's SWS_CS_* and AVCOL_RANGE_*.
_MATRICES = {"bt709": 1, "fcc": 4, "bt470bg": 5, "smpte170m": 5, "smpte240m": 7, "bt2020nc": 9}
_RANGES = {"tv": 1, "pc": 2}

_BILINEAR = 2  # SWS_BILINEAR, as PyAV asks for
# Its SIMD code converts 16 pixels at a time (FFmpeg 8 on x86) and writes whole groups: over the end
# of a row, or without the last group. With room for the registers of AVX-512 it does neither.
_GROUP = 64
_UNSCALED = {
    "yuv420p": "yuv420p",
    "yuvj420p": "yuv420p",
    "yuv422p": "yuv422p",
    "yuvj422p": "yuv422p",
}  # formats that it converts by a pass of their own, and their names without the range

_UNIT = 1 << 13  # of its factors for 8 bits
_FIRST_PLACE, _FIRST_VALUE = 326, -400  # of its table for limited range; black, 16, is at -1.8


def to_rgb(
    surface: Surface, matrix: str, range_: str, reformatter: VideoReformatter, form: str = "rgb24"
) -> Surface:
    """A surface as RGB, bit for bit equal to PyAV's `to_ndarray(format="rgb24")`.

    Args:
        surface: a decoded picture; as it is if it is RGB already.
        matrix: FFmpeg's name of the matrix coefficients.
        range_: `tv` (limited) or `pc` (full).
        reformatter: kept from one call to the next.
        form: `rgb24`, or `rgb48le` for 16 bits.

    Raises:
        UnsupportedError: swscale does not know the matrix.
    """
    if _is_rgb(surface):
        return surface
    return Surface(
        reformat(
            reformatter,
            _frame_in_range(surface, range_),
            format=form,
            src_colorspace=_code(matrix),
            src_color_range=_RANGES[range_],
        )
    )


class UnscaledRgb:
    """Converts pictures to packed RGB in memory that is given. Not for sharing by threads.

    To 8 bits bit for bit as `to_rgb`, which takes about three times as long (1080p, a Xeon: 2.9 ms
    and 0.9): each of its frames has new memory, which the system has to clear, and is copied in the
    end. For the pictures that swscale converts by a pass of their own: 8 bits, 4:2:0 or 4:2:2, even
    sides. What PyAV makes of others depends on where chroma lies, which it reads from the frame.

    To 16 bits all pictures without a palette, bit for bit as torchcodec, wherever chroma lies.
    """

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._context: int | None = None
        self._free: Callable[[], Any] | None = None
        self._source = (ctypes.c_void_p * 4)(), (ctypes.c_int * 4)()
        self._target = (ctypes.c_void_p * 4)(), (ctypes.c_int * 4)()
        self._padded: NDArray[Any] | None = None

    def convert(self, frame: VideoFrame, matrix: str, range_: str, rgb: NDArray[Any]) -> bool:
        """Write a picture into memory; False, with nothing written, if it is of another kind.

        Args:
            frame: the picture.
            matrix: FFmpeg's name of the matrix coefficients.
            range_: `tv` (limited) or `pc` (full).
            rgb: (H, W, 3) of uint8 or uint16, as large as the picture, without gaps between pixels
                of a row.

        Raises:
            UnsupportedError: swscale does not know the matrix.
        """
        library = _libswscale()
        layout = frame.format
        if rgb.dtype == np.uint16:
            name = None if layout.has_palette else layout.name.replace("yuvj", "yuv")
            range_ = "pc" if layout.name.startswith("gray") else range_  # whatever the tag
        else:
            name = None if frame.width % 2 or frame.height % 2 else _UNSCALED.get(layout.name)
        if library is None or name is None:
            return False
        key = name, frame.width, frame.height, matrix, range_, rgb.dtype
        if key != self._key:
            self._open(library, *key)
        pointers, strides = self._source
        for number, plane in enumerate(frame.planes):
            pointers[number], strides[number] = plane.buffer_ptr, plane.line_size
        target = rgb if self._padded is None else self._padded
        begin = ctypes.c_char.from_buffer(target[0])
        self._target[0][0], self._target[1][0] = ctypes.addressof(begin), target.strides[0]
        arguments = self._context, pointers, strides, 0, frame.height, *self._target
        if self._context is None or library.sws_scale(*arguments) != frame.height:
            return False
        if self._padded is not None:
            rgb[...] = self._padded[:, : frame.width]
        return True

    def _open(
        self,
        library: ctypes.CDLL,
        name: str,
        width: int,
        height: int,
        matrix: str,
        range_: str,
        dtype: np.dtype[Any],
    ) -> None:
        if self._free is not None:
            self._free()
        is_deep = dtype == np.uint16
        names = name.encode(), b"rgb48le" if is_deep else b"rgb24"
        source, target = ((width, height, library.av_get_pix_fmt(n)) for n in names)
        table = library.sws_getCoefficients(_code(matrix))
        flags = 0 if is_deep else _BILINEAR
        self._context = library.sws_getContext(*source, *target, flags, None, None, None)
        self._key = name, width, height, matrix, range_, dtype
        self._padded = None
        if width % _GROUP:
            self._padded = np.empty((height, -(-width // _GROUP) * _GROUP, 3), dtype)
        if self._context is not None:
            self._free = weakref.finalize(self, library.sws_freeContext, self._context)
            unchanged = 0, 1 << 16, 1 << 16  # brightness, contrast, saturation
            library.sws_setColorspaceDetails(
                self._context, table, range_ == "pc", table, 0, *unchanged
            )


class RgbScaler:
    """Resizes surfaces to `rgb24` in one pass, bit for bit as FFmpeg's scale filter by default.

    Its filter is bicubic. decord makes its frames this way.
    """

    def __init__(self) -> None:
        self._graph: Any = None
        self._key: tuple[Any, ...] = ()

    def scale(self, surface: Surface, matrix: str, range_: str, size: tuple[int, int]) -> Surface:
        """A surface resized to (height, width), with the other arguments of `to_rgb`."""
        options = f"{size[1]}:{size[0]}:flags=bicubic"
        frame = surface.frame
        if not _is_rgb(surface):
            frame = _frame_in_range(surface, range_)
            options += f":in_color_matrix={_filter_name(matrix)}:in_range={range_}"
        key = (frame.format.name, frame.width, frame.height, options)
        if key != self._key:
            graph = new_graph()
            source = graph.add_buffer(
                width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1)
            )
            steps = [graph.add("scale", options), graph.add("format", "rgb24")]
            graph.link_nodes(source, *steps, graph.add("buffersink")).configure()
            self._graph, self._key = graph, key
        self._graph.vpush(frame)
        return Surface(self._graph.vpull())


def _is_rgb(surface: Surface) -> bool:
    form = surface.frame.format
    return form.is_rgb or form.has_palette


def _frame_in_range(surface: Surface, range_: str) -> VideoFrame:
    """The frame of a surface, under the name of a format that swscale takes for this range."""
    import av

    frame = surface.frame
    name = frame.format.name
    if name.startswith("yuvj") and range_ == "tv":  # swscale takes the name for the range
        frame = av.VideoFrame(frame.width, frame.height, name.replace("yuvj", "yuv"))
        for target, plane in zip(Surface(frame).planes, surface.planes, strict=True):
            target[...] = plane
    return frame


def swscale_matrix(
    matrix: str, range_: str, *, bit_depth: int, storage_bits: int, subsampled: bool
) -> NDArray[np.float64]:
    """Matrix (3, 4) with which the GPU's kernel converts as swscale (FFmpeg 8) does on x86.

    Args:
        matrix: FFmpeg's name of the matrix coefficients.
        range_: `tv` (limited) or `pc` (full).
        bit_depth: bits of a sample.
        storage_bits: bits in which it is stored.
        subsampled: whether there are fewer samples of chroma than of luma.

    Returns:
        Factors of the three components and a constant, for R, G and B. Without subsampling a map
        as that of `matrix_for`. Else for the arithmetic of `like_swscale` in convert.cu: with 8
        bits factors of chroma from 128 on and luma's constant; with more, of samples of 8 bits,
        the value of a step of luma, the steps that chroma takes, and a constant.

    Raises:
        UnsupportedError: swscale does not know the matrix.
    """
    _code(matrix)
    is_full = range_ == "pc"
    luma, chroma = (1.0, 1.0) if is_full else (255 / 219, 255 / 224)
    equations = equations_of(matrix)
    equations[np.abs(equations) < 1e-9] = 0
    if not subsampled:
        unit = float(1 << (storage_bits - 8))  # bits beyond 8 are dropped: white is 255 units
        factors = equations * [luma, chroma, chroma] / unit
        black = 0.0 if is_full else 16.0
        return np.column_stack([factors, -factors @ [black * unit, 128 * unit, 128 * unit]])
    if bit_depth == 8:
        factors = np.round(equations * [luma, chroma, chroma] * _UNIT) / _UNIT
        return np.column_stack([factors, factors[:, 0] * (0 if is_full else -16)])
    steps = equations[:, 1:] * chroma / luma
    black = 0.0 if is_full else _FIRST_PLACE * luma + _FIRST_VALUE
    constant = black - luma * np.floor(128 * steps).sum(axis=1)
    return np.column_stack([np.full(3, luma), steps, constant])


def _code(matrix: str) -> int:
    if matrix not in _MATRICES:
        raise UnsupportedError(
            f'swscale has no conversion to RGB from matrix {matrix!r}; use matrix="auto"'
        )
    return _MATRICES[matrix]


def _filter_name(matrix: str) -> str:
    """The scale filter's name of a matrix."""
    _code(matrix)
    return {"bt470bg": "bt470", "bt2020nc": "bt2020"}.get(matrix, matrix)


@cache
def _libswscale() -> ctypes.CDLL | None:
    """FFmpeg's libswscale as PyAV is linked with it, for calls that PyAV does not offer.

    None where PyAV's module does not lead to its functions.
    """
    import av.video.reformatter

    number, pointer = ctypes.c_int, ctypes.c_void_p
    library = ctypes.CDLL(av.video.reformatter.__file__)
    try:
        library.av_get_pix_fmt.argtypes = [ctypes.c_char_p]
        library.sws_getContext.argtypes = [*[number] * 7, *[pointer] * 3]
        library.sws_getContext.restype = pointer
        library.sws_getCoefficients.argtypes = [number]
        library.sws_getCoefficients.restype = pointer
        library.sws_setColorspaceDetails.argtypes = [
            pointer,
            *(pointer, number),
            *(pointer, number),
            *[number] * 3,
        ]
        library.sws_scale.argtypes = [pointer, pointer, pointer, number, number, pointer, pointer]
        library.sws_freeContext.argtypes = [pointer]
        library.sws_freeContext.restype = None
    except AttributeError:
        return None
    return library
