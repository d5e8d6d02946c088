"""Pictures for encoders, from RGB arrays and from decoded surfaces."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import Color, color_codes
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.pictures.color import Siting, matrix_and_range, resolve
from videoloader.decoding.pictures.matrix import matrix_for
from videoloader.decoding.pictures.surface import Surface
from videoloader.decoding.pyav import reformat
from videoloader.errors import UnsupportedError
from videoloader.indexing.packets import Orientation

if TYPE_CHECKING:
    from av import VideoFrame

_RANGES = {"tv": 1, "pc": 2}
_SCALED, _BT601 = (1, 4, 5, 6, 7, 9), 6  # code points of the matrices that swscale knows
_WITH_MATRIX = {  # primaries and transfer that are tagged with a matrix chosen here
    "smpte170m": ("smpte170m", "smpte170m"),
    "bt709": ("bt709", "bt709"),
    "bt2020nc": ("bt2020", "bt2020-10"),
}


class Form(NamedTuple):
    """The input of an encoder: size in pixels, FFmpeg's pixel format, and colour tags."""

    width: int
    height: int
    pixel_format: str
    color: Color

    @property
    def is_rgb(self) -> bool:
        """Whether its samples are R, G and B."""
        return is_rgb_name(self.pixel_format)

    def tag(self, context: Any) -> None:
        """Set size, format and colour tags of an encoder."""
        context.width, context.height = self.width, self.height
        context.pix_fmt = self.pixel_format
        codes = color_codes(self.color)
        context.color_primaries, context.color_trc, context.colorspace = codes
        context.color_range = _RANGES.get(self.color.range or "", 0)


def is_rgb_name(pixel_format: str) -> bool:
    """Whether the samples of a pixel format are R, G and B."""
    return pixel_format.startswith(("gbr", "rgb", "bgr", "0rgb", "0bgr", "argb", "abgr"))


def form_for_rgb(width: int, height: int, pixel_format: str, output: OutputFormat) -> Form:
    """The form of RGB pictures that are to be coded in a pixel format.

    Args:
        width: in pixels.
        height: in pixels.
        pixel_format: FFmpeg's name.
        output: its `matrix` and `color_range`; `auto` is what the reader takes untagged video for.
    """
    if Form(width, height, pixel_format, Color()).is_rgb:
        return Form(width, height, pixel_format, Color("gbr", None, None, "pc"))
    matrix, color_range = resolve(
        None, None, pixel_format=pixel_format, height=height, output=output
    )
    return Form(width, height, pixel_format, Color(matrix, *_WITH_MATRIX[matrix], color_range))


def form_of(surface: Surface, color: Color, formats: list[str], size: tuple[int, int]) -> Form:
    """The form in which a decoded picture is given to an encoder.

    Args:
        surface: the first picture.
        color: description of its stream.
        formats: pixel formats that the encoder takes.
        size: (height, width) to scale to, as displayed.
    """
    height, width = size
    layout = surface.frame.format
    name = surface.pixel_format.replace("yuvj", "yuv")  # another name for full range
    form = Form(width, height, name if name in formats else _nearest(layout, formats), color)
    if layout.is_rgb or layout.has_palette:
        meaning = ("gbr", "pc") if form.is_rgb else ("smpte170m", "tv")
    else:  # always tagged: what untagged video is taken for depends on its size
        meaning = matrix_and_range(surface.frame, color)
    return form._replace(color=replace(color, matrix=meaning[0], range=meaning[1]))


def _nearest(layout: Any, formats: list[str]) -> str:
    """The format of an encoder that keeps most of a picture's format."""
    depth = max(part.bits for part in layout.components)
    if layout.is_rgb or layout.has_palette:
        wanted = ["gbrp" if depth <= 8 else "gbrp16le", "bgr0", "rgb24", "yuv444p"]
    else:
        chroma = {(1, 1): "444", (2, 1): "422"}
        halved = 64 // layout.chroma_width(64), 64 // layout.chroma_height(64)
        sampling = chroma.get(halved, "420") if len(layout.components) >= 3 else "420"
        deep = [f"yuv{sampling}p{bits}le" for bits in (10, 12, 16) if depth > 8 and bits >= depth]
        wanted = [*deep, "yuv420p10le"] if depth > 8 else []
        wanted += [f"yuv{sampling}p"]
    return next((name for name in [*wanted, "yuv420p"] if name in formats), formats[0])


class RgbPictures:
    """RGB arrays as pictures of one form. Not for sharing by threads.

    The equations are those of ITU-T H.273, section 8.3, that the reader inverts, in float32;
    samples are rounded once. Halved chroma is filtered to where the codec has it: 1-2-1 around the
    left pixel of two, or their mean in the middle; vertically the mean of two rows.
    """

    def __init__(self, form: Form, siting: Siting) -> None:
        import av

        self._form, self._siting = form, siting
        layout = av.VideoFormat(form.pixel_format, form.width, form.height)
        self._depth = layout.components[0].bits
        self._halved = 64 // layout.chroma_height(64), 64 // layout.chroma_width(64)
        planes = {part.plane for part in layout.components}
        if (len(planes) < 3 and not form.is_rgb) or max(self._halved) > 2:
            raise UnsupportedError(f"RGB cannot be written as {form.pixel_format}")

    def frame(self, rgb: NDArray[Any]) -> VideoFrame:
        """The picture of an array (H, W, 3), uint8 or uint16 of full range."""
        import av

        form = self._form
        if form.is_rgb:
            if 8 * rgb.dtype.itemsize != self._depth:
                raise UnsupportedError(
                    f"{rgb.dtype} RGB is not written as {form.pixel_format}, which has "
                    f"{self._depth} bits"
                )
            return self._rgb_frame(rgb)
        import cv2

        matrix = _to_samples(form.color.matrix, form.color.range, self._depth, rgb.dtype.itemsize)
        samples = cv2.transform(rgb.astype(np.float32), matrix)
        frame = av.VideoFrame(form.width, form.height, form.pixel_format)
        top = (1 << self._depth) - 1
        planes = [samples[..., 0], *(self._chroma(samples[..., n]) for n in (1, 2))]
        for target, values in zip(Surface(frame).planes, planes, strict=True):
            np.copyto(target, np.rint(values).clip(0, top), casting="unsafe")
        return frame

    def _rgb_frame(self, rgb: NDArray[Any]) -> VideoFrame:
        import av

        form = self._form
        if rgb.dtype == np.uint8 and not form.pixel_format.startswith("gbrp"):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), "rgb24")
            return (
                frame if form.pixel_format == "rgb24" else frame.reformat(format=form.pixel_format)
            )
        frame = av.VideoFrame(form.width, form.height, form.pixel_format)
        for target, channel in zip(Surface(frame).planes, (1, 2, 0), strict=True):
            target[...] = rgb[..., channel]
        return frame

    def _chroma(self, plane: NDArray[Any]) -> NDArray[Any]:
        """A plane of chroma with as few rows and columns as the format has."""
        down, across = self._halved
        odd = [(0, plane.shape[0] % down), (0, plane.shape[1] % across)]
        if odd != [(0, 0), (0, 0)]:
            plane = np.pad(plane, odd, mode="edge")
        if down == 2:
            plane = (plane[::2] + plane[1::2]) / 2
        if across == 2:
            if self._siting == "left":
                before = np.concatenate([plane[:, :1], plane[:, 1:-1:2]], axis=1)
                plane = (before + 2 * plane[:, ::2] + plane[:, 1::2]) / 4
            else:
                plane = (plane[:, ::2] + plane[:, 1::2]) / 2
        return plane


@cache
def _to_samples(matrix: str, color_range: str, depth: int, item_size: int) -> NDArray[np.float32]:
    """(3, 4): from R, G, B to samples of Y', Cb, Cr; the inverse of the reader's map."""
    to_rgb = matrix_for(matrix, color_range, bit_depth=depth, storage_bits=depth)
    inverse = np.linalg.inv(to_rgb[:, :3])
    unit = 1 if item_size == 1 else 257  # uint16: white is 255 * 257
    return np.column_stack([inverse / unit, -inverse @ to_rgb[:, 3]]).astype(np.float32)


class SurfacePictures:
    """Decoded surfaces as pictures of one form: turned upright and scaled. Not for sharing.

    Samples stay as they are where size, format and orientation need no change.
    """

    def __init__(self, form: Form, orientation: Orientation) -> None:
        from av.video.reformatter import VideoReformatter

        self._form, self._orientation = form, orientation
        self._reformatter = VideoReformatter()

    def frame(self, surface: Surface) -> VideoFrame:
        """The picture of a surface.

        Raises:
            UnsupportedError: it is turned, and its chroma is halved in one direction only.
        """
        form, frame = self._form, surface.frame
        size = self._orientation.displayed((form.height, form.width))  # as coded
        if frame.format.name.startswith("yuvj"):  # another name for full range
            frame = _copied(surface, frame.format.name.replace("yuvj", "yuv"))
        if (frame.height, frame.width) != size or frame.format.name != form.pixel_format:
            # Equal on both sides, so that nothing but size and arrangement changes.
            *_, matrix = color_codes(form.color)
            matrix = matrix if matrix in _SCALED else _BT601
            to_range = _RANGES.get(form.color.range or "", 1)
            from_range = _RANGES["pc"] if frame.format.is_rgb else to_range
            frame = reformat(
                self._reformatter,
                frame,
                width=size[1],
                height=size[0],
                format=form.pixel_format,
                src_colorspace=matrix,
                dst_colorspace=matrix,
                src_color_range=from_range,
                dst_color_range=to_range,
                interpolation="BICUBIC",
            )
        if self._orientation != Orientation():
            frame = self._turned(Surface(frame))
        return frame

    def _turned(self, surface: Surface) -> VideoFrame:
        import av

        turn, form = self._orientation, self._form
        layout = surface.frame.format
        if turn.transpose and layout.chroma_width(64) != layout.chroma_height(64):
            raise UnsupportedError(
                f"{surface.pixel_format} cannot be turned by 90 degrees: its chroma is halved in "
                "one direction only"
            )
        frame = av.VideoFrame(form.width, form.height, form.pixel_format)
        for target, plane in zip(Surface(frame).planes, surface.planes, strict=True):
            upright = plane.swapaxes(0, 1) if turn.transpose else plane
            across, down = -1 if turn.flip_x else 1, -1 if turn.flip_y else 1
            target[...] = upright[::down, ::across]
        return frame


def _copied(surface: Surface, name: str) -> VideoFrame:
    """A surface in memory of its own, under the name of a format with the same planes."""
    import av

    frame = av.VideoFrame(surface.width, surface.height, name)
    for target, plane in zip(Surface(frame).planes, surface.planes, strict=True):
        target[...] = plane
    return frame
