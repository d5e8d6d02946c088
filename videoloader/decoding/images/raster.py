"""Headers of JPEG, PNG, GIF, BMP, PNM and WebP."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from videoloader.decoding.images.fields import Fields, ImageHeader, orientation_of_exif
from videoloader.errors import FormatError, UnsupportedError

_NO_LENGTH = {0x01, *range(0xD0, 0xD9)}
_NO_FRAME = {0xC4, 0xC8, 0xCC}
_EOI, _SOS, _APP1 = 0xD9, 0xDA, 0xE1
_CMYK = 4
_SHORT, _FRAME = struct.Struct(">H"), struct.Struct(">BHHB")


def read_jpeg(data: memoryview) -> ImageHeader:
    """The first frame header before the first scan, and the orientation."""
    at, orientation = 2, 1
    frame: tuple[int, int, int, int, int] | None = None
    try:
        while True:
            if data[at] != 0xFF:
                raise FormatError(f"no JPEG marker at byte {at}; the file is damaged")
            marker = data[at + 1]
            if marker == 0xFF:  # fill byte
                at += 1
                continue
            at += 2
            if marker in _NO_LENGTH:
                continue
            if marker in (_SOS, _EOI):
                break
            length = _SHORT.unpack_from(data, at)[0]
            if length < 2:
                raise FormatError(f"a JPEG segment of {length} bytes; the file is damaged")
            if marker == _APP1 and bytes(data[at + 2 : at + 8]) == b"Exif\0\0":
                orientation = orientation_of_exif(data[at + 8 : at + length])
            elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME and frame is None:
                frame = (marker, *_FRAME.unpack_from(data, at + 2))
            at += length
    except (IndexError, struct.error) as error:
        raise FormatError(
            f"its header ends at byte {at} or behind, of {len(data)}; the file is truncated or "
            "damaged"
        ) from error
    if frame is None:
        raise FormatError("no JPEG frame header before the first scan; the file is damaged")
    _, bits, height, width, components = frame
    if height == 0:
        raise UnsupportedError("the JPEG gives its height behind its pixels (DNL marker)")
    channels = 3 if components == _CMYK else components
    return ImageHeader("jpeg", height, width, channels, orientation, bits)


_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}  # by colour type; a palette is RGB


def read_png(data: memoryview) -> ImageHeader:
    """IHDR, and the orientation of an eXIf chunk; all chunks must be within the file.

    OpenCV allocates the stated size of a chunk, which can take seconds for a tiny file.
    """
    fields = Fields(data)
    if not fields.starts(12, b"IHDR"):
        raise FormatError("a PNG that does not begin with IHDR; the file is damaged")
    bits, kind = fields.number(24, 1), fields.number(25, 1)
    if kind not in _PNG_CHANNELS:
        raise FormatError(f"PNG colour type {kind}; the file is damaged")
    orientation, at = 1, 8
    while not fields.starts(at + 4, b"IEND"):
        length = fields.number(at, 4)
        if at + 12 + length > len(fields):
            raise FormatError(
                f"a PNG chunk of {length} bytes where {len(fields) - at} are left; the file is "
                "truncated or damaged"
            )
        if fields.starts(at + 4, b"eXIf"):
            orientation = orientation_of_exif(data[at + 8 : at + 8 + length])
        at += 12 + length
    size = fields.number(20, 4), fields.number(16, 4)
    return ImageHeader("png", *size, _PNG_CHANNELS[kind], orientation, 16 if bits == 16 else 8)


def read_gif(data: memoryview) -> ImageHeader:
    """The logical screen, which contains the first frame."""
    fields = Fields(data, "little")
    return ImageHeader("gif", fields.number(8, 2), fields.number(6, 2), 3)


def read_bmp(data: memoryview) -> ImageHeader:
    """The size, and whether the palette is grey."""
    fields = Fields(data, "little")
    header = fields.number(14, 4)
    is_core = header == 12
    if not is_core and header < 40:
        raise FormatError(f"a BMP header of {header} bytes; the file is damaged")
    width, height, bits, entry = (
        (fields.number(18, 2), fields.number(20, 2), fields.number(24, 2), 3)
        if is_core
        else (fields.number(18, 4), abs(fields.number(22, 4, signed=True)), fields.number(28, 2), 4)
    )
    channels = 3
    if bits <= 8:
        used = 0 if is_core else fields.number(46, 4)
        used = min(used, 1 << bits) or 1 << bits
        table = fields.take(14 + header, used * entry)
        colors = [table[at : at + 3] for at in range(0, len(table), entry)]
        channels = 1 if all(len(set(color)) == 1 for color in colors) else 3
    return ImageHeader("bmp", height, width, channels)


_PNM_CHANNELS = {b"1": 1, b"2": 1, b"3": 3, b"4": 1, b"5": 1, b"6": 3}
_HEADER = 1 << 16  # maximum bytes of a header, comments included
_SPACE = b" \t\n\v\f\r"


def read_pnm(data: memoryview) -> ImageHeader:
    """PBM, PGM and PPM, ASCII or binary, and PAM."""
    kind = bytes(data[1:2])
    if kind == b"7":
        return _read_pam(data)
    words = _words(bytes(data[2:_HEADER]))
    has_maximum = kind not in b"14"
    try:
        width, height, *maximum = (int(next(words)) for _ in range(2 + has_maximum))
    except (StopIteration, RuntimeError, ValueError) as error:
        raise FormatError("a PNM header without its numbers; the file is damaged") from error
    return _pnm(height, width, _PNM_CHANNELS[kind], maximum[0] if maximum else 255)


def _words(head: bytes) -> Iterator[bytes]:
    """Tokens of a header between whitespace and comments; the last must be terminated."""
    at = 0
    while at < len(head):
        if head[at] in _SPACE:
            at += 1
        elif head[at] == ord("#"):
            at = head.find(b"\n", at)
            if at < 0:
                return
        else:
            end = at
            while end < len(head) and head[end] not in _SPACE and head[end] != ord("#"):
                end += 1
            if end == len(head):  # possibly truncated
                return
            yield head[at:end]
            at = end


def _read_pam(data: memoryview) -> ImageHeader:
    values: dict[bytes, bytes] = {}
    for line in bytes(data[3:_HEADER]).split(b"\n"):
        if line.startswith(b"ENDHDR"):
            break
        key, _, value = line.strip().partition(b" ")
        values[key] = value
    try:
        numbers = [int(values[key]) for key in (b"HEIGHT", b"WIDTH", b"DEPTH", b"MAXVAL")]
    except (KeyError, ValueError) as error:
        raise FormatError("a PAM header without its numbers; the file is damaged") from error
    return _pnm(*numbers)


def _pnm(height: int, width: int, channels: int, maximum: int) -> ImageHeader:
    if not 0 < maximum < 1 << 16:
        raise FormatError(f"a PNM of the largest value {maximum!r:.20}; the file is damaged")
    return ImageHeader("pnm", height, width, channels, bits=16 if maximum > 255 else 8)


_ALPHA, _EXIF = 0x10, 0x08


def read_webp(data: memoryview) -> ImageHeader:
    """A simple file (VP8 or VP8L), or an extended one with its canvas and EXIF."""
    fields = Fields(data, "little")
    kind = fields.take(12, 4)
    if kind == b"VP8 ":
        if not fields.starts(23, b"\x9d\x01\x2a"):
            raise FormatError("a WebP whose frame does not begin with a keyframe")
        height, width = (fields.number(at, 2) & 0x3FFF for at in (28, 26))
        return ImageHeader("webp", height, width, 3)
    if kind == b"VP8L":
        if fields.number(20, 1) != 0x2F:
            raise FormatError("a lossless WebP without its signature; the file is damaged")
        packed = fields.number(21, 4)
        channels = 4 if packed >> 28 & 1 else 3
        return ImageHeader("webp", (packed >> 14 & 0x3FFF) + 1, (packed & 0x3FFF) + 1, channels)
    if kind != b"VP8X":
        raise FormatError(f"a WebP that begins with a chunk {kind!r}; the file is damaged")
    flags, orientation, at = fields.number(20, 1), 1, 12
    while flags & _EXIF and at + 8 <= len(fields):
        length = fields.number(at + 4, 4)
        if fields.starts(at, b"EXIF"):
            exif = data[at + 8 : at + 8 + length]
            orientation = orientation_of_exif(exif[6:] if bytes(exif[:6]) == b"Exif\0\0" else exif)
            break
        at += 8 + length + length % 2
    size = fields.number(27, 3) + 1, fields.number(24, 3) + 1
    return ImageHeader("webp", *size, 4 if flags & _ALPHA else 3, orientation)
