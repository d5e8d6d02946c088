"""The samples for every pixel of a slot: crop, size, and chroma brought to the size of luma."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.options import Interpolation
from videoloader.decoding.pictures.color import Siting
from videoloader.decoding.pictures.surface import Surface
from videoloader.decoding.pyav import new_graph, reformat
from videoloader.indexing.packets import Orientation

if TYPE_CHECKING:
    from av import VideoFrame


Memory: TypeAlias = "Callable[[str, tuple[int, ...], Any], NDArray[Any]]"
"""Memory by name, shape and type, the same each time."""


class Box(NamedTuple):
    """A part of a coded picture."""

    top: int
    left: int
    height: int
    width: int

    def of(self, plane: NDArray[Any]) -> NDArray[Any]:
        """This part of a plane."""
        rows = plane[self.top : self.top + self.height]
        return rows[:, self.left : self.left + self.width]


def coded_box(turn: Orientation, part: tuple[int, int, int, int], coded: tuple[int, int]) -> Box:
    """Where a part of the displayed picture lies in the coded one, of (height, width)."""
    top, left, height, width = part
    displayed = turn.displayed(coded)
    if turn.flip_y:
        top = displayed[0] - top - height
    if turn.flip_x:
        left = displayed[1] - left - width
    return Box(left, top, width, height) if turn.transpose else Box(top, left, height, width)


@dataclass(frozen=True, slots=True)
class Planar:
    """A surface whose samples lie in planes of 8 or 16 bits.

    Attributes:
        frame: FFmpeg's, owner of the memory.
        numbers: of the planes Y, Cb, Cr, or R, G, B; one where there is luma only.
        kind: `yuv`, `rgb` or `gray`.
        depth: bits of a sample.
        down, across: rows and columns of luma for one of chroma.
    """

    frame: VideoFrame
    numbers: tuple[int, ...]
    kind: str
    depth: int
    down: int
    across: int

    @property
    def box(self) -> Box:
        """All of the picture."""
        return Box(0, 0, self.frame.height, self.frame.width)

    @property
    def planes(self) -> list[NDArray[Any]]:
        """The planes as arrays in the memory of the frame.

        They are made at each access: swscale, which most pictures go through, takes the frame.
        """
        planes = Surface(self.frame).planes
        return [planes[number] for number in self.numbers]


_EXACTLY = 2 | 1 << 18  # SWS_BILINEAR and SWS_ACCURATE_RND, which older PyAV has no name for


def planar(surface: Surface) -> Planar:
    """The planes of a surface; of formats that have none, or odd ones, after a conversion."""
    frame = surface.frame
    name = frame.format.name
    if name.startswith(("yuv", "gbr", "gray")) and not name.endswith("be"):
        found = _directly(frame)
        if found is not None:
            return found
    from av.video.reformatter import VideoReformatter

    is_deep = max(part.bits for part in frame.format.components) > 8
    target = "gbrp" if frame.format.is_rgb or frame.format.has_palette else "yuv444p"
    number, color_range = 1, 2  # the same on both sides: nothing but the arrangement changes
    converted = reformat(
        VideoReformatter(),
        frame,
        format=target + "16le" * is_deep,
        src_colorspace=number,
        dst_colorspace=number,
        src_color_range=color_range,
        dst_color_range=color_range,
        interpolation=_EXACTLY,
    )
    result = _directly(converted)
    assert result is not None, f"{target} is planar"
    return result


def _directly(frame: VideoFrame) -> Planar | None:
    layout = _layout(frame.format.name)
    return None if layout is None else Planar(frame, *layout)


@cache
def _layout(name: str) -> tuple[tuple[int, ...], str, int, int, int] | None:
    """The fields of `Planar` behind the frame, for a format; None where it has no such planes."""
    from av import VideoFormat

    layout = VideoFormat(name)
    parts = layout.components[:3] if len(layout.components) >= 3 else layout.components[:1]
    is_shared = len({part.plane for part in layout.components}) < len(layout.components)
    if is_shared or "f32" in name or "msb" in name:
        return None
    kind = "gray" if len(parts) == 1 else "rgb" if layout.is_rgb else "yuv"
    down, across = 1, 1
    if kind == "yuv":
        # How an odd side was halved does not tell 1 from 2 where it is 1.
        down = 64 // layout.chroma_height(64)
        across = 64 // layout.chroma_width(64)
        if max(down, across) > 2:
            return None
    return tuple(part.plane for part in parts), kind, parts[0].bits, down, across


def interpolate_chroma(
    picture: Planar, box: Box, siting: Siting, memory: Memory
) -> list[NDArray[Any]]:
    """Chroma of 8 bits for each pixel of a part of a picture, linear in both directions.

    Rounded once, halves up, by exact arithmetic: equal on all processors. The sample at the border
    of the picture stands for those outside; a part equals that part of the whole picture.

    Args:
        picture: with subsampled chroma.
        box: the part, in pixels.
        siting: where chroma lies.
        memory: what is returned lies in it.
    """
    # One sample more on each side than lies inside, since pixels are between two of them.
    cuts, wanted = [], []
    for begin, length, step in zip(box[:2], box[2:], (picture.down, picture.across), strict=True):
        first = max((begin - 1) // 2, 0) if step == 2 else begin
        cuts.append(slice(first, (begin + length) // 2 + 1 if step == 2 else begin + length))
        wanted.append(slice(begin - first * step, begin - first * step + length))
    is_left = picture.across == 2 and siting == "left"
    found = []
    for number, plane in enumerate(picture.planes[1:]):
        samples = plane[cuts[0], cuts[1]]
        rows, columns = samples.shape[0] * picture.down, samples.shape[1] * picture.across
        whole = memory(f"chroma {number}", (rows, columns), np.uint8)
        if is_left:
            _interpolate_from_left(samples, whole, memory)
        else:
            _enlarge(samples, whole)
        found.append(whole[wanted[0], wanted[1]])
    return found


def _enlarge(samples: NDArray[np.uint8], whole: NDArray[np.uint8]) -> None:
    """Interpolate once or twice the rows and columns, with samples in the middle of theirs."""
    import cv2

    cv2.resize(samples, whole.shape[::-1], whole, interpolation=cv2.INTER_LINEAR_EXACT)


def _interpolate_from_left(
    samples: NDArray[np.uint8], whole: NDArray[np.uint8], memory: Memory
) -> None:
    """Interpolate twice the columns, with samples on the left of two, and rows as `_enlarge`."""
    import cv2

    half = len(whole), samples.shape[1]
    on_sample = memory("on a sample", half, np.uint8)
    _enlarge(samples, on_sample)
    # Eight times the mean of two neighbours, so that the quarters of rows are whole numbers.
    sums = memory("sums", samples.shape, np.uint16)
    np.add(samples[:, :-1], samples[:, 1:], out=sums[:, :-1], dtype=np.uint16)
    np.multiply(samples[:, -1:], np.uint16(2), out=sums[:, -1:], dtype=np.uint16)
    sums *= 4
    tall = memory("tall", half, np.uint16)
    # In floats, which hold these numbers; INTER_LINEAR_EXACT takes seven times as long.
    cv2.resize(sums, half[::-1], tall, interpolation=cv2.INTER_LINEAR)
    tall += 4
    tall >>= 3
    between = memory("between", half, np.uint8)
    np.copyto(between, tall, casting="unsafe")
    cv2.merge([on_sample, between], whole.reshape(*half, 2))


class Resampler:
    """Brings crops of surfaces to the size of their slots. Not for sharing by threads.

    `triangular` and `bicubic` are done by swscale, which knows where chroma lies, others by OpenCV.

    Args:
        siting: where chroma lies.
        mirrored: whether pictures are displayed upside down, and with left and right exchanged: of
            two pixels that are equally near, the lower and right one as displayed counts.
    """

    def __init__(self, siting: Siting, mirrored: tuple[bool, bool] = (False, False)) -> None:
        self._siting = siting
        self._mirrored = mirrored
        self._graphs: dict[Any, _Graph] = {}
        self._maps: dict[Any, list[tuple[NDArray[np.float32], NDArray[np.float32]]]] = {}

    def resample(
        self, picture: Planar, box: Box, size: tuple[int, int], how: Interpolation
    ) -> tuple[list[NDArray[Any]], int]:
        """Planes (height, width), and by how many bits the samples in them were moved up."""
        if box[2:] == size and picture.down == picture.across == 1:
            rows, columns = (
                slice(box.top, box.top + box.height),
                slice(box.left, box.left + box.width),
            )
            return [plane[rows, columns] for plane in picture.planes], 0
        key = (picture.frame.format.name, picture.box, box, size, how)
        if how in _BY_SWSCALE or box[2:] == size:
            graph = self._graphs.get(key)
            if graph is None:
                _make_room(self._graphs)
                graph = self._graphs[key] = _Graph(
                    picture, box, size, self._siting, _BY_SWSCALE.get(how, "bilinear")
                )
            return graph.scale(picture.frame), 16 - picture.depth
        maps = self._maps.get(key)
        if maps is None:
            _make_room(self._maps)
            luma = _luma_places(box, size, how, self._mirrored)
            maps = [luma, *[_chroma_places(luma, picture, self._siting)] * 2]
            self._maps[key] = maps
        return list(_pick(picture, maps, how)), 8 if picture.depth <= 8 else 0


_BY_SWSCALE = {"triangular": "bilinear", "bicubic": "bicubic"}  # its name of the filter
_KEPT = 16  # geometries
_TAPS = 4  # samples that bicubic interpolation takes, at most


def _make_room(kept: dict[Any, Any]) -> None:
    if len(kept) >= _KEPT:
        kept.pop(next(iter(kept)))


class _Graph:
    """FFmpeg's crop and scale filters for one geometry; samples are moved up to 16 bits."""

    def __init__(
        self, picture: Planar, box: Box, size: tuple[int, int], siting: Siting, flags: str
    ) -> None:
        # Without resizing, pixels at the border of a crop lie between samples inside and outside.
        beside = _TAPS // 2 if box[2:] == size else 0
        top, height = _in_samples(box.top, box.height, picture.box.height, picture.down, beside)
        left, width = _in_samples(box.left, box.width, picture.box.width, picture.across, beside)
        whole = Box(top, left, height, width)
        is_shrunk = size[0] * 2 <= box.height and size[1] * 2 <= box.width
        target = {"yuv": "yuv444p16le", "rgb": "gbrp16le", "gray": "gray16le"}[picture.kind]
        steps = []
        if whole != box and (picture.depth > 8 or not is_shrunk):
            # Cutting between samples of chroma, FFmpeg loses the last of a row or column or takes
            # one for half, which shows where nothing shrinks; with more than 8 bits it cuts
            # between bytes, too. So chroma is brought to the size of luma first.
            steps += [
                _crop(whole),
                _scale(picture, whole, whole[2:], siting, flags),
                ("format", target),
            ]
            steps += [
                _crop(Box(box.top - top, box.left - left, *box[2:])),
                _scale(None, box, size, siting, flags),
            ]
        else:
            steps += [_crop(box), _scale(picture, box, size, siting, flags)]
        self._graph = new_graph()
        frame = picture.frame
        nodes = [
            self._graph.add_buffer(
                width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1)
            ),
            *(self._graph.add(name, options) for name, options in steps),
            self._graph.add("format", target),
            self._graph.add("buffersink"),
        ]
        self._graph.link_nodes(*nodes)
        self._graph.configure()

    def scale(self, frame: VideoFrame) -> list[NDArray[Any]]:
        self._graph.vpush(frame)
        scaled = _directly(self._graph.vpull())
        assert scaled is not None, "the formats asked for are planar"
        return scaled.planes


def _in_samples(begin: int, length: int, end: int, step: int, beside: int) -> tuple[int, int]:
    """Start and length of whole samples of chroma, in pixels.

    Args:
        begin: first pixel.
        length: of the part, in pixels.
        end: of the picture.
        step: pixels that share a sample.
        beside: samples on each side of the part, if samples are shared.
    """
    more = beside * step if step > 1 else 0
    first, last = begin - begin % step - more, begin + length
    last += -last % step + more
    return max(first, 0), min(last, end) - max(first, 0)


def _crop(box: Box) -> tuple[str, str]:
    return "crop", f"{box.width}:{box.height}:{box.left}:{box.top}:exact=1"


def _scale(
    picture: Planar | None, box: Box, size: tuple[int, int], siting: Siting, flags: str
) -> tuple[str, str]:
    """The scale filter for a part of a picture, or of one whose chroma is as large as luma."""
    options = {"w": size[1], "h": size[0], "flags": f"{flags}+accurate_rnd"}
    # Both sides alike: the samples are scaled and not converted.
    options |= {"in_range": "full", "out_range": "full"}
    if picture is None or picture.kind != "rgb":
        options |= {"in_color_matrix": "bt601", "out_color_matrix": "bt601"}
    # Where the first sample of chroma lies, in 256ths of a pixel, from the corner of the part.
    if picture is not None and picture.across == 2:
        options["in_h_chr_pos"] = (128 if siting == "center" else 0) - 256 * (box.left % 2)
    if picture is not None and picture.down == 2:
        options["in_v_chr_pos"] = 128 - 256 * (box.top % 2)
    return "scale", ":".join(f"{key}={value}" for key, value in options.items())


def _luma_places(
    box: Box, size: tuple[int, int], how: Interpolation, mirrored: tuple[bool, bool]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The places in luma, (rows, columns), that the pixels of a slot are taken from."""
    places = []
    for begin, length, count, back in zip(box[:2], box[2:], size, mirrored, strict=True):
        place: NDArray[np.floating[Any]] = (np.arange(count) + 0.5) * (length / count)
        if how == "nearest":
            place = length - 1 - np.floor(place)[::-1] if back else np.floor(place)
        else:
            place -= 0.5
        places.append((begin + place.clip(0, length - 1)).astype(np.float32))
    return places[0], places[1]


def _chroma_places(
    luma: tuple[NDArray[np.float32], NDArray[np.float32]], picture: Planar, siting: Siting
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The same places in the planes of chroma."""
    rows, columns = luma
    if picture.down == 2:
        rows = (rows - np.float32(0.5)) / np.float32(2)
    if picture.across == 2:
        columns = (columns - np.float32(0.5 if siting == "center" else 0)) / np.float32(2)
    return rows, columns


def _pick(
    picture: Planar, maps: list[tuple[NDArray[np.float32], NDArray[np.float32]]], how: Interpolation
) -> Iterator[NDArray[Any]]:
    import cv2

    for plane, (rows, columns) in zip(picture.planes, maps, strict=False):
        is_whole = how == "nearest" and not (rows % 1).any() and not (columns % 1).any()
        # 16 bits, so that interpolating loses nothing.
        wide = plane if plane.dtype == np.uint16 else plane.astype(np.uint16) * np.uint16(256)
        yield cv2.remap(
            wide,
            np.broadcast_to(columns, (len(rows), len(columns))).copy(),
            np.broadcast_to(rows[:, None], (len(rows), len(columns))).copy(),
            cv2.INTER_NEAREST if is_whole else cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
