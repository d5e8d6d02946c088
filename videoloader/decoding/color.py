"""Surfaces to RGB on the CPU: matrix, range, size and orientation, by swscale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from videoloader.decoding.surface import Surface
from videoloader.indexing.bitstream.color import Color
from videoloader.indexing.index import Orientation

if TYPE_CHECKING:
    from av import VideoFrame

__all__ = ["RgbConverter", "matrix_and_range"]

# swscale's numbers are H.273's for the matrices it knows.
_MATRIX_NUMBERS = {
    "bt709": 1,
    "fcc": 4,
    "bt470bg": 5,
    "smpte170m": 5,
    "smpte240m": 7,
    "bt2020nc": 9,
    "bt2020c": 9,
}
_MATRIX_NAMES = {1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m"}
_MATRIX_NAMES |= {9: "bt2020nc", 10: "bt2020c"}
_HD_LINES = 720
_LIMITED, _FULL = 1, 2


def matrix_and_range(frame: VideoFrame, color: Color) -> tuple[str, str]:
    """The matrix and range to convert a frame by.

    The frame's own description comes first, then the stream's. Without a matrix it is BT.709 from
    720 lines up and BT.601 below; without a range it is limited.
    """
    matrix = _MATRIX_NAMES.get(int(frame.colorspace)) or color.matrix
    if matrix not in _MATRIX_NUMBERS:
        matrix = "bt709" if frame.height >= _HD_LINES else "smpte170m"
    spread = {_LIMITED: "tv", _FULL: "pc"}.get(int(frame.color_range)) or color.range or "tv"
    return matrix, "pc" if frame.format.name.startswith("yuvj") else spread


class RgbConverter:
    """Converts the surfaces of one video into slots of a batch. Not for sharing by threads.

    Chroma is interpolated and rounding is exact: within 2/255 of the formula in float64 on smooth
    content (ITU-T H.273, section 8.3, for the formula). Sizes other than the picture's are
    reached by swscale's bilinear filter, which averages over the source when it shrinks.

    Args:
        color: description of the stream.
        orientation: turn to apply.
    """

    def __init__(self, color: Color, orientation: Orientation) -> None:
        from av.video.reformatter import Interpolation, VideoReformatter

        self._color = color
        self._orientation = orientation
        self._reformatter = VideoReformatter()
        self._flags = (
            Interpolation.BILINEAR
            | Interpolation.ACCURATE_RND
            | Interpolation.FULL_CHR_H_INT
            | Interpolation.FULL_CHR_H_INP
        )

    def write(self, surface: Surface, slot: NDArray[Any]) -> None:
        """Fill a slot (H, W, 3), uint8 RGB of full range, its size being the wanted one."""
        height, width = slot.shape[:2]
        if self._orientation.transpose:
            height, width = width, height
        frame = surface.frame
        matrix, spread = matrix_and_range(frame, self._color)
        number = _MATRIX_NUMBERS[matrix]
        picture = self._reformatter.reformat(
            frame,
            width=width,
            height=height,
            format="rgb24",
            src_colorspace=number,
            dst_colorspace=number,
            src_color_range=_FULL if spread == "pc" else _LIMITED,
            dst_color_range=_FULL,
            interpolation=self._flags,
            threads=1,
        )
        slot[...] = self._turn(Surface(picture).planes[0])

    def _turn(self, picture: NDArray[Any]) -> NDArray[Any]:
        turn = self._orientation
        if turn.transpose:
            picture = picture.transpose(1, 0, 2)
        return picture[:: -1 if turn.flip_y else 1, :: -1 if turn.flip_x else 1]
