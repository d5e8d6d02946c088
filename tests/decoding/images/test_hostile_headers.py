"""Headers of images are read in the caller's process: in linear time, and without much memory."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from processor_time import MILLION, at_most_steps

import videoloader as vl
from videoloader.dali import fn
from videoloader.decoding.images.header import read_header

SIZE = 500_000


def tiff(entries, *, tags=None, kind=4):
    """A directory whose entries all claim the rest of the file as their values."""
    tags = tags or [256, 257, *range(1000, 1000 + entries - 2)]
    width = {1: 1, 3: 2, 4: 4}[kind]
    end = 8 + 2 + 12 * entries
    table = b"".join(
        struct.pack("<HHII", tag, kind, (SIZE - end) // width, end)
        for tag in [*tags, *tags[-1:] * entries][:entries]
    )
    return (b"II*\0" + struct.pack("<IH", 8, entries) + table).ljust(SIZE, b"\1")


def png(kind, content=b""):
    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0))
    return head + chunk(kind, content) * (SIZE // (12 + len(content))) + chunk(b"IEND", b"")


EXIF = b"MM\0*\0\0\0\x08\x0f\xff" + bytes(12 * 4095)
APP1 = b"\xff\xe1" + struct.pack(">H", 8 + len(EXIF)) + b"Exif\0\0" + EXIF


def webp(chunk):
    body = b"WEBPVP8X" + struct.pack("<I", 10) + bytes([8, 0, 0, 0]) + bytes(6)
    body += chunk * (SIZE // len(chunk))
    return b"RIFF" + struct.pack("<I", len(body)) + body


def box(kind, content):
    return struct.pack(">I", 8 + len(content)) + kind + content


def heif(properties, associations):
    parts = box(b"pitm", bytes(4) + b"\0\1")
    parts += box(b"iprp", box(b"ipco", properties) + box(b"ipma", associations))
    return box(b"ftyp", b"heic" + bytes(4)) + box(b"meta", bytes(4) + parts)


AUX = box(b"auxC", b"x" * 1000)
HOSTILE = {
    "TIFF, 200 entries": tiff(200),
    "TIFF, 4,000 entries": tiff(4000),
    "TIFF, entries of bytes": tiff(4000, kind=1),
    "TIFF, one tag again and again": tiff(4000, tags=[256, 257, 258]),
    "TIFF, all tags that are known": tiff(
        17,
        kind=3,
        tags=[256, 257, 258, 259, 262, 273, 274, 277, 279, 284, 317, 320, 322, 324, 325, 338, 339],
    ),
    "PNG, empty chunks": png(b"teXt"),
    "PNG, chunks of EXIF": png(b"eXIf", EXIF[:5000]),
    "JPEG, fill bytes": b"\xff\xd8" + b"\xff" * SIZE,
    "JPEG, markers without length": b"\xff\xd8" + b"\xff\xd0" * (SIZE // 2),
    "JPEG, empty segments": b"\xff\xd8" + b"\xff\xe0\0\x02" * (SIZE // 4),
    "JPEG, segments of EXIF": b"\xff\xd8" + APP1 * (SIZE // len(APP1)),
    "WebP, empty chunks": webp(b"EXIF" + bytes(4)),
    "WebP, chunks of EXIF": webp(b"EXIF" + struct.pack("<I", 5000) + EXIF[:5000]),
    "HEIC, properties": heif(box(b"free", b"") * (SIZE // 8), bytes(4) + b"\0\0\0\1\0\1\0"),
    "HEIC, alpha": heif(AUX * (SIZE // len(AUX)), bytes(4) + b"\0\0\0\1\0\1\0"),
    "HEIC, associations": heif(
        b"", bytes(4) + struct.pack(">I", 10_000) + (b"\0\2\xff" + bytes(255)) * (SIZE // 258)
    ),
    "JPEG 2000, boxes": b"\0\0\0\x0cjP  \r\n\x87\n" + box(b"free", b"") * (SIZE // 8),
    "JPEG 2000, boxes in boxes": b"\0\0\0\x0cjP  \r\n\x87\n"
    + box(b"jp2h", box(b"pclr", b"\0\1\1") * (SIZE // 11)),
    "PNM, a comment": b"P6\n#" + b"x" * SIZE,
    "PNM, a number": b"P6\n" + b"9" * SIZE,
    "PNM, blanks": b"P6" + b" " * SIZE,
    "PAM, lines": b"P7\n" + b"a b\n" * (SIZE // 4),
    "GIF, colors": b"GIF89a" + b"\xff" * SIZE,
    "BMP, colors": b"BM" + bytes(12) + struct.pack("<IiiHHI", 40, 9, 9, 1, 8, 0) + b"\xff" * SIZE,
}


def read(name):
    try:
        read_header(memoryview(HOSTILE[name]), "x")
    except vl.VideoError as error:
        assert str(error).startswith("x: ")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_header_costs_little(name):
    with at_most_steps(400 * MILLION):
        read(name)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name[:4] in ("TIFF", "HEIC")])
def test_a_hostile_table_takes_little_memory(name):
    tracemalloc.start()
    try:
        read(name)
        assert tracemalloc.get_traced_memory()[1] < 40 * SIZE
    finally:
        tracemalloc.stop()


def test_the_sizes_in_a_tiff_are_read_where_they_are():
    data = bytearray(tiff(3, kind=3))
    assert read_header(memoryview(data), "x").width == 0x0101
    data[10 + 8 : 10 + 12] = struct.pack("<I", SIZE)  # behind the end
    with pytest.raises(
        vl.errors.FormatError, match="x: its header points to bytes 500000 to 500002"
    ):
        read_header(memoryview(data), "x")


@pytest.mark.parametrize("digits", [10, 20, 4000, 5000])
@pytest.mark.parametrize(
    "form",
    [
        b"P5\n%s 7\n255\n",
        b"P6\n7 %s\n255\n",
        b"P5\n7 7\n%s\n",
        b"P4\n%s 7\n",
        b"P7\nWIDTH %s\nHEIGHT 7\nDEPTH 3\nMAXVAL 255\nENDHDR\n",
        b"P7\nWIDTH 7\nHEIGHT 7\nDEPTH %s\nMAXVAL 255\nENDHDR\n",
    ],
)
def test_numbers_of_many_digits_are_damage(form, digits):
    data = form % (b"9" * digits) + b"\0" * 20
    with pytest.raises(vl.errors.FormatError, match="damaged") as caught:
        read_header(memoryview(data), "x")
    assert len(str(caught.value)) < 200
    with pytest.raises(vl.VideoError, match="damaged"), vl.dali.eager():
        fn.peek_image_shape(np.frombuffer(data, np.uint8))
