"""Headers of box-structured formats: JPEG 2000, AVIF and HEIC."""

from __future__ import annotations

from videoloader.decoding.images.fields import Fields, ImageHeader, boxes
from videoloader.errors import FormatError, UnsupportedError

_CODESTREAM = b"\xff\x4f\xff\x51"


def read_jpeg2000(data: memoryview) -> ImageHeader:
    """A file of boxes (JP2), or a bare codestream."""
    fields = Fields(data)
    if fields.starts(0, _CODESTREAM):
        return _codestream(fields, 0)
    palette = 0
    for kind, start, stop in boxes(fields, 0, len(fields)):
        if kind == b"jp2h":
            for inner, begin, _ in boxes(fields, start, stop):
                if inner == b"pclr":
                    palette = fields.number(begin + 2, 1)
        elif kind == b"jp2c":
            header = _codestream(fields, start)
            if palette:
                return ImageHeader("jpeg2000", header.height, header.width, palette)
            return header
    raise FormatError("a JPEG 2000 file without a codestream; the file is damaged")


def _codestream(fields: Fields, at: int) -> ImageHeader:
    """The SIZ marker, which comes first."""
    if not fields.starts(at, _CODESTREAM):
        raise FormatError("a JPEG 2000 codestream that does not begin with SIZ")
    right, bottom, left, top = (fields.number(at + 8 + 4 * n, 4) for n in range(4))
    channels = fields.number(at + 40, 2)
    bits = (fields.number(at + 42, 1) & 0x7F) + 1
    return ImageHeader("jpeg2000", bottom - top, right - left, channels, bits=bits)


_ALPHA = b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"
_TURNS = {0: 1, 1: 8, 2: 3, 3: 6}  # EXIF orientation by quarter turns counter-clockwise
_MIRRORED = {1: 2, 8: 7, 3: 4, 6: 5}  # EXIF orientation -> the same, then mirrored left to right
_FLIPPED = {1: 4, 8: 5, 3: 2, 6: 7}  # EXIF orientation -> the same, then mirrored top to bottom


def read_heif(data: memoryview) -> ImageHeader:
    """AVIF and HEIC: the primary item, with its rotation and mirroring."""
    fields = Fields(data)
    is_avif = b"avi" in bytes(data[8:12])
    name = "avif" if is_avif else "heic"
    for kind, start, stop in boxes(fields, 0, len(fields)):
        if kind == b"meta":
            return _primary_item(fields, start + 4, stop, name)
    raise FormatError(f"a {name.upper()} file without a primary image; the file is damaged")


def _primary_item(fields: Fields, start: int, stop: int, name: str) -> ImageHeader:
    inside = {kind: (begin, end) for kind, begin, end in boxes(fields, start, stop)}
    if not {b"pitm", b"iprp"} <= inside.keys():
        raise FormatError(f"a {name.upper()} file without a primary image; the file is damaged")
    at = inside[b"pitm"][0]
    item = fields.number(at + 4, 4 if fields.number(at, 1) else 2)
    parts = {kind: (begin, end) for kind, begin, end in boxes(fields, *inside[b"iprp"])}
    if not {b"ipco", b"ipma"} <= parts.keys():
        raise FormatError(f"a {name.upper()} image without properties; the file is damaged")
    properties = list(boxes(fields, *parts[b"ipco"]))
    if _item_type(fields, inside, item) == b"grid":
        name += "-grid"
    size, turn, mirror, bits = None, 0, -1, 8
    for number in _associated(fields, parts[b"ipma"][0], item):
        if not 0 < number <= len(properties):
            continue
        kind, at, _ = properties[number - 1]
        if kind == b"ispe":
            size = fields.number(at + 8, 4), fields.number(at + 4, 4)
        elif kind == b"irot":
            turn = fields.number(at, 1) & 3
        elif kind == b"imir":
            mirror = fields.number(at, 1) & 1
        elif kind == b"pixi" and fields.number(at + 4, 1):
            bits = fields.number(at + 5, 1)
    if size is None:
        raise FormatError(f"a {name.upper()} image without a size; the file is damaged")
    orientation = _TURNS[turn]
    if mirror >= 0:
        orientation = (_FLIPPED, _MIRRORED)[mirror][orientation]
    alpha = any(k == b"auxC" and _ALPHA in fields.take(a, b - a) for k, a, b in properties)
    channels = 4 if alpha else 3
    return ImageHeader(name, *size, channels, orientation, bits)


def _item_type(fields: Fields, inside: dict[bytes, tuple[int, int]], item: int) -> bytes:
    if b"iinf" not in inside:
        return b""
    start, stop = inside[b"iinf"]
    head = 8 if fields.number(start, 1) else 6
    for kind, at, _ in boxes(fields, start + head, stop):
        version = fields.number(at, 1)
        if kind != b"infe" or version < 2:
            continue
        width = 2 if version == 2 else 4
        if fields.number(at + 4, width) == item:
            return fields.take(at + 6 + width, 4)
    return b""


def _associated(fields: Fields, at: int, item: int) -> list[int]:
    """Numbers of the properties of an item, from 1."""
    version, is_wide = fields.number(at, 1), bool(fields.number(at + 3, 1) & 1)
    count, at = fields.number(at + 4, 4), at + 8
    width, step = (4 if version else 2), (2 if is_wide else 1)
    if count > len(fields):
        raise FormatError("more properties than the file has bytes; the file is damaged")
    for _ in range(count):
        own, several = fields.number(at, width), fields.number(at + width, 1)
        at += width + 1
        mask = 0x7FFF if is_wide else 0x7F
        if own == item:
            return [fields.number(at + step * n, step) & mask for n in range(several)]
        at += step * several
    raise UnsupportedError("the primary image has no properties")
