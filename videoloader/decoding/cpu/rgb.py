"""Surfaces into slots on the CPU.

How, and what else was measured (1080p, one thread of a Zen 5, into a slot of uint8): the matrix is
applied by OpenCV, which rounds once and takes any matrix, in 0.8 ms a frame. swscale's own
conversion takes 0.6 ms, but rounds each product down, for an error of up to 3 of 255, and repeats
chroma; told to be exact (ACCURATE_RND, FULL_CHR_H_INT) it takes 6.7 ms, or 2.8 ms to planes, and
with ACCURATE_RND alone 3.2 ms for an error of 3.4. Shrinking is swscale's, which is told where
chroma lies: 0.6 ms from 1080p to 224x224, samples of 16 bits, where scaling to RGB takes 1.1 ms.

On a Zen 4 (1 MB of second-level cache) a frame of 1080p takes 1.4 ms: the matrix 0.8, interleaving
the planes 0.2, repeating chroma 0.15, the rest waiting for memory; swscale's own conversion takes
0.64. By planes, without interleaving first, it takes no less: adding, clipping, shifting and
narrowing 16 bits in NumPy takes 0.4 ms a channel; of two of the three terms, `cv2.addWeighted`
takes 0.3 and a sum of quantized tensors in torch 0.5. The new code of swscale (FFmpeg 8.1,
`flags=unstable`), which rounds once, takes 1.9 ms from 4:4:4 on a Xeon where the matrix and
interleaving take 1.6, and has none for 4:2:0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import Color
from videoloader.decoding.cpu.samples import (
    Box,
    Planar,
    Resampler,
    coded_box,
    interpolate_chroma,
    planar,
)
from videoloader.decoding.cpu.tone_mapping import TRANSFERS, tone_map
from videoloader.decoding.output import CHANNELS, OutputFormat, View, round_to_bfloat16
from videoloader.decoding.pictures.color import Siting, matrix_and_range, rgb_matrix
from videoloader.decoding.pictures.surface import Surface
from videoloader.decoding.pictures.swscale import RgbScaler, UnscaledRgb, to_rgb
from videoloader.errors import UnsupportedError
from videoloader.indexing.packets import Orientation

if TYPE_CHECKING:
    from av import VideoFrame
    from av.video.reformatter import VideoReformatter

_WHITE_16 = 65535.0
# Pixels converted at a time. Half of them, whose samples fit the second-level cache (1 MB of a
# Zen 4), take a tenth longer for a frame of 1080p: a band costs 0.02 ms of calls.
_BAND = 1 << 18
_CACHE_LINE = 64  # bytes


class _Placed(NamedTuple):
    """A view of a picture: its (matrix, range), (height, width) as coded, the view within it.

    `size` is what the part of the coded picture in `box` is resized to, before it is turned.
    """

    meaning: tuple[str, str]
    coded: tuple[int, int]
    view: View
    size: tuple[int, int]
    box: Box


class RgbConverter:
    """Converts the surfaces of one video into slots of a batch. Not for sharing by threads.

    Within 2/255 of the formula of ITU-T H.273 (section 8.3) in float64 on smooth content. Chroma
    is interpolated at its place, except with `chroma="nearest"` where 8 bits become uint8 at the
    picture's own size: there it is repeated for the pixels that share it, as players do. With
    `matrix="swscale"` swscale makes RGB of 8 bits, for uint16 of 16 bits, of the whole picture, and
    the rest is done to that; `bicubic` without a crop resizes to 8 bits in the same pass, and is
    the filter of chroma where nothing is resized to uint8 or floats.
    """

    def __init__(
        self,
        color: Color,
        orientation: Orientation,
        *,
        siting: Siting = "left",
        output: OutputFormat | None = None,
    ) -> None:
        self._color = color
        self._orientation = orientation
        self._is_turned = orientation != Orientation()
        self._siting = siting
        self._output = output or OutputFormat()
        self._is_mapped = self._output.tone_map != "none" and color.transfer in TRANSFERS
        if self._is_mapped and self._output.matrix == "swscale":
            raise UnsupportedError(
                f'tone_map={self._output.tone_map!r} with matrix="swscale" is not done on the CPU; '
                'use matrix="auto", or device="cuda"'
            )
        self._top = 255.0 if self._output.dtype == "uint8" else _WHITE_16  # of what is rounded
        mirrored = orientation.flip_y, orientation.flip_x
        self._resampler = Resampler(siting, mirrored[::-1] if orientation.transpose else mirrored)
        self._scratch: dict[tuple[str, np.dtype[Any]], NDArray[np.uint8]] = {}
        self._reformatter: VideoReformatter | None = None
        self._scaler = RgbScaler()
        self._unscaled = UnscaledRgb()
        self._kind: tuple[Any, ...] = ()
        self._place: _Placed
        self._band_shapes: tuple[Any, ...] = ()  # of the memory below, in `_convert`
        self._pixels: NDArray[Any]
        self._repeated: list[NDArray[np.uint8]]

    def write(self, surface: Surface, slot: NDArray[Any], view: View | None = None) -> None:
        """Fill a slot (H, W, 3), which may be any view of its memory.

        Args:
            surface: a decoded picture.
            slot: of the element type of the output; uint16 holds the bits of bfloat16.
            view: which part of the picture; by default all of it at the size of the slot.
        """
        meaning, coded, view, size, box = self._placed(surface.frame, view or View(slot.shape[:2]))
        turn = self._orientation
        if self._output.matrix == "swscale":
            if self._write_unscaled(surface.frame, meaning, box, size, slot, view):
                return
            is_bicubic, is_own = self._output.interpolation == "bicubic", box[2:] == size
            if is_bicubic and not is_own and view.crop is None:
                surface, box = self._scaler.scale(surface, *meaning, size), Box(0, 0, *size)
            elif is_bicubic and is_own and self._output.dtype != "uint16":
                surface = self._scaler.scale(surface, *meaning, coded)
            else:
                surface = self._by_swscale(surface, meaning)
        is_done = (surface.pixel_format, self._output.dtype) in (
            ("rgb24", "uint8"),
            ("rgb48le", "uint16"),
        )
        if self._output.matrix == "swscale" and is_done and box[2:] == size:
            rgb = box.of(surface.planes[0])
            window = Box(0, 0, *size)
            if view.window is not None:
                window = coded_box(turn, view.window, size)
            self._deliver(window.of(rgb), slot, view)
            return
        picture = planar(surface)
        is_narrow = picture.depth == 8 and self._output.dtype == "uint8" and not self._is_mapped
        if box[2:] == size and is_narrow:
            direct = slot if self._is_direct(slot, view) else None
            rgb = self._convert(picture, box, self._matrix(picture, meaning), direct)
        else:
            planes, shift = self._resampler.resample(picture, box, size, self._output.interpolation)
            if view.window is not None:
                window = coded_box(turn, view.window, size)
                planes = [window.of(plane) for plane in planes]
            rgb = self._memory("mixed", (*planes[0].shape, CHANNELS), np.uint16)
            self._mix(planes, self._matrix(picture, meaning, shift), rgb)
            if self._is_mapped:
                tone_map(rgb, str(self._color.transfer), self._output.tone_map, top=self._top)
        if rgb is not slot:
            self._deliver(self._finish(rgb), slot, view)

    def _placed(self, frame: VideoFrame, view: View) -> _Placed:
        """How a view of a picture is converted; worked out once for pictures of one kind."""
        coded = frame.height, frame.width
        kind = frame.colorspace, frame.color_range, frame.format.name, coded, view
        if kind != self._kind:
            turn = self._orientation
            meaning = matrix_and_range(frame, self._color, self._output)
            view = view.within(turn.displayed(coded))
            size = turn.displayed(view.size)  # as coded; a turn swaps both ways
            box = Box(0, 0, *coded) if view.crop is None else coded_box(turn, view.crop, coded)
            self._kind, self._place = kind, _Placed(meaning, coded, view, size, box)
        return self._place

    def _write_unscaled(
        self,
        frame: VideoFrame,
        meaning: tuple[str, str],
        box: Box,
        size: tuple[int, int],
        slot: NDArray[Any],
        view: View,
    ) -> bool:
        """Fill a slot with a part of swscale's picture; False if more is needed than cropping."""
        if self._output.dtype not in ("uint8", "uint16") or box[2:] != size:
            return False
        coded = frame.height, frame.width
        rgb = slot
        if size != coded or not self._is_direct(slot, view):
            rgb = self._memory("rgb", (*coded, CHANNELS), slot.dtype)
        if not self._unscaled.convert(frame, *meaning, rgb):
            return False
        if rgb is not slot:
            self._deliver(box.of(rgb), slot, view)
        return True

    def _by_swscale(self, surface: Surface, meaning: tuple[str, str]) -> Surface:
        from av import VideoFrame
        from av.video.reformatter import VideoReformatter

        form = "rgb24"
        if self._output.dtype == "uint16":
            form = "rgb48le"
            rgb = self._memory("rgb", (surface.height, surface.width, CHANNELS), np.uint16)
            if self._unscaled.convert(surface.frame, *meaning, rgb):
                return Surface(VideoFrame.from_ndarray(rgb, form))
        if self._reformatter is None:
            self._reformatter = VideoReformatter()
        return to_rgb(surface, *meaning, self._reformatter, form)

    def _is_direct(self, slot: NDArray[Any], view: View) -> bool:
        """Whether a slot is packed RGB and nothing is turned."""
        is_packed = slot.strides[1:] == (CHANNELS * slot.itemsize, slot.itemsize)
        return is_packed and not self._is_turned and not view.flip

    def _matrix(
        self, picture: Planar, meaning: tuple[str, str], shift: int = 0
    ) -> NDArray[np.float64]:
        matrix, color_range = meaning
        return rgb_matrix(
            matrix if picture.kind == "yuv" else picture.kind,
            "pc" if picture.kind == "rgb" else color_range,
            depth=picture.depth,
            shift=shift,
            top=_WHITE_16 if self._is_mapped else self._top,
        )

    def _convert(
        self, picture: Planar, box: Box, matrix: NDArray[np.float64], slot: NDArray[Any] | None
    ) -> NDArray[Any]:
        """A part of a picture of 8 bits at its own size; in the slot if it fits there as it is."""
        import cv2

        down, across = picture.down, picture.across
        planes = picture.planes
        if self._output.chroma != "nearest" and (down, across) != (1, 1):
            chroma = interpolate_chroma(picture, box, self._siting, self._memory)
            planes = [box.of(planes[0]), *chroma]
            down = across = 1
            box = Box(0, 0, *box[2:])
        # The part is widened to whole samples of chroma, and what is too much cut off at the end.
        above, before = box.top % down, box.left % across
        rows = slice(box.top - above, box.top + box.height)
        columns = slice(box.left - before, box.left + box.width)
        if slot is not None and not above and not before:
            rgb = slot
        else:
            shape = (rows.stop - rows.start, columns.stop - columns.start, CHANNELS)
            rgb = self._memory("whole", shape, np.uint8)
        luma = planes[0][rows, columns]
        chroma = [
            plane[rows.start // down :, columns.start // across : -(-columns.stop // across)]
            for plane in planes[1:]
        ]
        width = luma.shape[1]
        count = -(-len(luma) // down)  # rows of chroma
        band = min(count, max(_BAND // (width * down), 8))
        shapes = band, down, across, width, *map(np.shape, chroma)
        if shapes != self._band_shapes:
            self._pixels = self._memory("pixels", (band * down, width, CHANNELS), np.uint8)
            self._repeated = [
                self._memory(f"repeated {name}", (band, down, plane.shape[1], across), np.uint8)
                for name, plane in enumerate(chroma)
            ]
            self._band_shapes = shapes
        for begin in range(0, count, band):
            lines = slice(begin * down, (begin + band) * down)
            planes = [luma[lines]]
            mixed = self._pixels[: len(planes[0])]
            for plane, memory in zip(chroma, self._repeated, strict=True):
                shared = _repeat(plane[begin : begin + band], memory)
                planes.append(shared[: len(mixed), :width])
            cv2.merge(planes if chroma else planes * CHANNELS, mixed)
            cv2.transform(mixed, matrix, rgb[lines])
        return rgb[above:, before:] if above or before else rgb

    def _mix(
        self, planes: list[NDArray[Any]], matrix: NDArray[np.float64], rgb: NDArray[Any]
    ) -> None:
        """Apply a matrix to three planes, or to one taken three times."""
        import cv2

        pixels = self._memory("pixels", (*planes[0].shape, CHANNELS), planes[0].dtype)
        cv2.merge(planes if len(planes) == CHANNELS else planes * CHANNELS, pixels)
        if pixels.dtype != rgb.dtype:
            wide = self._memory("wide", pixels.shape, rgb.dtype)
            np.copyto(wide, pixels)
            pixels = wide
        cv2.transform(pixels, matrix, rgb)

    def _finish(self, rgb: NDArray[Any]) -> NDArray[Any]:
        """Rounded colours as the elements of the output."""
        import cv2

        dtype = self._output.element
        if rgb.dtype == np.uint8 or dtype == "uint16":
            return rgb
        if dtype == "uint8":
            narrow = self._memory("narrow", rgb.shape, np.uint8)
            cv2.convertScaleAbs(rgb, narrow)
            return narrow
        scale, shift = self._output.scale_and_shift
        matrix = np.column_stack([np.diag(scale.astype(np.float64) * 255 / _WHITE_16), shift])
        values = self._memory("values", rgb.shape, np.float32)
        np.copyto(values, rgb)
        normal = self._memory("normal", rgb.shape, np.float32)
        cv2.transform(values, matrix, normal)
        if dtype == "bfloat16":
            return round_to_bfloat16(normal)
        if dtype == "float16":
            half = self._memory("half", rgb.shape, np.float16)
            if cv2.__version__ < "5":  # which cannot; numpy takes ten times as long
                np.copyto(half, normal)
            else:
                cv2.add(normal, np.zeros(1), half, dtype=cv2.CV_16F)
            return half
        return normal

    def _deliver(self, rgb: NDArray[Any], slot: NDArray[Any], view: View) -> None:
        """Turn a picture and lay its channels out as the slot's are."""
        import cv2

        kind = slot.dtype
        if rgb.dtype == np.float16:  # as bits, which are only moved
            rgb, slot = rgb.view(np.uint16), slot.view(np.uint16)
        turn = self._orientation
        if turn.transpose:
            rgb = cv2.transpose(rgb)
        across = turn.flip_x != view.flip
        if across or turn.flip_y:
            rgb = cv2.flip(rgb, -1 if across and turn.flip_y else 1 if across else 0)
        assert rgb.dtype.itemsize == kind.itemsize, "the slot is of the output's type"
        if slot.strides[1] == slot.itemsize:
            cv2.split(rgb, [slot[..., channel] for channel in range(CHANNELS)])
        else:
            slot[...] = rgb

    def _memory(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Memory for something, the same as the last time if that was as large.

        It begins one element behind a cache line: where `cv2.merge` can write whole registers, it
        writes past the caches, and what reads the result at once takes twice as long.
        """
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        kept = self._scratch.get((name, kind))
        if kept is None or len(kept) < size:
            whole = np.empty(size + 2 * _CACHE_LINE, np.uint8)
            begin = -whole.ctypes.data % _CACHE_LINE + kind.itemsize
            kept = self._scratch[name, kind] = whole[begin : begin + size]
        found: NDArray[Any] = kept[:size].view(kind).reshape(shape)
        return found


def _repeat(plane: NDArray[Any], memory: NDArray[np.uint8]) -> NDArray[Any]:
    """Every sample of a plane of 8 bits for the pixels that share it, in memory that is given.

    Whole rows twice, in place of the rows of luma in two groups: OpenCV takes planes without gaps
    as one row, and needs a fifth longer where each row is by itself.

    Args:
        plane: (rows, columns).
        memory: (rows, how often each comes, columns, how often each comes), or more rows.
    """
    import cv2

    _, down, columns, across = memory.shape
    if down == across == 1:
        return plane
    repeated = memory[: len(plane)]
    for row in range(down):
        if across == 2:
            cv2.merge([plane, plane], repeated[:, row])
        else:
            repeated[:, row, :, 0] = plane
    return repeated.reshape(-1, columns * across)
