"""Headers of intra-only codecs: JPEG and ProRes."""

from __future__ import annotations

import struct

from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.picture import PictureFormat

_CHROMA: dict[tuple[tuple[int, int], ...], str] = {
    ((2, 2), (1, 1), (1, 1)): "yuvj420p",
    ((2, 1), (1, 1), (1, 1)): "yuvj422p",
    ((2, 2), (1, 2), (1, 2)): "yuvj422p",
    ((1, 1), (1, 1), (1, 1)): "yuvj444p",
    ((1, 2), (1, 2), (1, 2)): "yuvj444p",
}
_FRAME_HEADERS = (0xC0, 0xC1, 0xC2)


def parse_jpeg(data: bytes) -> PictureFormat | None:
    """The format of a JPEG picture (ITU-T T.81, annex B); None if its layout is unsupported."""
    position = 2
    while data[:2] == b"\xff\xd8" and position + 4 <= len(data):
        marker, kind, size = struct.unpack_from(">BBH", data, position)
        if marker != 0xFF or size < 2:
            return None
        if kind in _FRAME_HEADERS:
            header = data[position + 4 : position + 2 + size]
            if len(header) < 15:
                return None
            depth, height, width, count = struct.unpack_from(">BHHB", header)
            sampling = tuple((header[n] >> 4, header[n] & 15) for n in (7, 10, 13))
            name = _CHROMA.get(sampling)
            if depth != 8 or count != 3 or name is None or not (width and height):
                return None
            color = Color(matrix="bt470bg", range="pc")
            return PictureFormat(width, height, name, 8, color, reorders=False)
        position += 2 + size
    return None


def parse_prores(data: bytes, *, depth: int) -> PictureFormat | None:
    """The format of a ProRes frame (SMPTE RDD 36, section 5.1); None if it is not one.

    The frame does not state its bit depth; the caller derives it from the codec's FourCC.
    """
    if len(data) < 28 or data[4:8] != b"icpf":
        return None
    width, height, flags = struct.unpack_from(">HHB", data, 16)
    if not (width and height):
        return None
    chroma = "444" if flags >> 6 == 3 else "422"
    alpha = "a" if data[25] & 15 else ""
    color = color_from_codes(*data[22:25], full_range=False)
    name = f"yuv{alpha}{chroma}p{depth}le"
    return PictureFormat(width, height, name, depth, color, reorders=False)
