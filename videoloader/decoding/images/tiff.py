"""TIFF headers, and rewriting of files that OpenCV does not read correctly.

OpenCV decodes at most four channels, premultiplies alpha, lacks ZSTD, and always applies the
orientation. Such files are rewritten with a new directory (`_rewritten`): the samples of all
channels as one wide grey image, and ZSTD strips recompressed with deflate.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from videoloader.decoding.images.fields import Fields, ImageHeader
from videoloader.errors import DecodeError, FormatError, UnsupportedError

_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC = 256, 257, 258, 259, 262
_STRIPS, _ORIENTATION, _CHANNELS, _STRIP_SIZES, _PLANES = 273, 274, 277, 279, 284
_ROWS, _PREDICTOR, _PALETTE = 278, 317, 320
_TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_SIZES = 322, 323, 324, 325
_EXTRA, _FORMAT = 338, 339

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
_SIZES |= {13: 4, 16: 8, 17: 8, 18: 8}
_INTEGERS = {1: "B", 3: "H", 4: "I"}
_MOST_ENTRIES = 1 << 12
_MOST_CHANNELS = 1 << 16
_MOST_VALUES = 4  # times the file; sound files have less than one
_GREYS, _RGB, _PALETTED, _CMYK = (0, 1), 2, 3, 5
_RAW, _LZW, _DEFLATE, _OLD_DEFLATE, _PACKBITS, _ZSTD = 1, 5, 8, 32946, 32773, 50000
_MOST_COLUMNS = 1 << 20  # of OpenCV


@dataclass(frozen=True, slots=True)
class Directory:
    """The first image of a file.

    Attributes:
        fields: the whole file.
        entries: (type, count, the four bytes of the value) of every entry, by tag.
    """

    fields: Fields
    entries: Mapping[int, tuple[int, int, bytes]]

    @property
    def order(self) -> Literal["little", "big"]:
        """The order of bytes."""
        return self.fields.order

    def numbers(self, tag: int, most: int | None = None) -> Sequence[int]:
        """The whole numbers of an entry, empty where it has none.

        Args:
            tag: of the entry.
            most: how many of them. Entries may share their place, so the values of all are many
                times as large as the file.
        """
        kind, count, value = self.entries.get(tag, (0, 0, b""))
        if kind not in _INTEGERS:
            return ()
        size, count = _SIZES[kind], count if most is None else min(count, most)
        if self.entries[tag][1] * size > 4:
            value = self.fields.take(int.from_bytes(value, self.order), size * count)
        mark = "<" if self.order == "little" else ">"
        return struct.unpack(f"{mark}{count}{_INTEGERS[kind]}", value[: size * count])

    def one(self, tag: int, default: int) -> int:
        """The first value of an entry."""
        return next(iter(self.numbers(tag, 1)), default)

    @property
    def bits(self) -> Sequence[int]:
        """Bits of each sample of a pixel."""
        return self.numbers(_BITS, _MOST_CHANNELS) or (1,)

    @property
    def stored(self) -> int:
        """Stored samples per pixel."""
        return self.one(_CHANNELS, 1)

    @property
    def is_samples(self) -> bool:
        """Whether samples are interleaved whole bytes: grey or RGB, perhaps with others."""
        return (
            self.one(_PHOTOMETRIC, 1) in (1, _RGB)
            and self.one(_PLANES, 1) == 1
            and set(self.bits) <= {8, 16}
        )


def read_tiff(data: memoryview) -> tuple[ImageHeader, Directory]:
    """The header and the directory of the first image."""
    fields = Fields(data, "little" if bytes(data[:2]) == b"II" else "big")
    if fields.number(2, 2) != 42:
        raise UnsupportedError("a TIFF of over 4 GB (BigTIFF)")
    at = fields.number(4, 4)
    count = fields.number(at, 2)
    if not 0 < count <= _MOST_ENTRIES:
        raise FormatError(f"a TIFF directory of {count} entries; the file is damaged")
    entries = {}
    for number in range(count):
        entry = at + 2 + 12 * number
        tag, kind, length = (fields.number(entry + n, s) for n, s in ((0, 2), (2, 2), (4, 4)))
        entries[tag] = (kind, length, fields.take(entry + 8, 4))
    directory = Directory(fields, entries)
    _check_values(directory)
    for tag in (_WIDTH, _HEIGHT):
        if not directory.numbers(tag, 1):
            raise FormatError("a TIFF without a size; the file is damaged")
    photometric, stored = directory.one(_PHOTOMETRIC, 1), directory.stored
    if photometric in _GREYS or photometric == _RGB:
        channels = stored
    else:
        channels = 3 if photometric == _PALETTED else min(stored, 4)
    orientation = directory.one(_ORIENTATION, 1)
    header = ImageHeader(
        "tiff",
        directory.one(_HEIGHT, 0),
        directory.one(_WIDTH, 0),
        channels,
        orientation if 1 <= orientation <= 8 else 1,
        max(directory.bits),
    )
    return header, directory


def readable(data: memoryview, directory: Directory) -> memoryview:
    """The file with orientation 1, and without ZSTD."""
    if directory.one(_COMPRESSION, 1) == _ZSTD:
        return _deflated(data, directory)
    if directory.one(_ORIENTATION, 1) == 1:
        return data
    return _rewritten(data, directory, {_ORIENTATION: [1]})


def widened(data: memoryview, directory: Directory) -> memoryview | None:
    """The file as a grey image of width times channels columns.

    None if its samples are not interleaved, or use a predictor.
    """
    if not directory.is_samples:
        return None
    channels, bits = directory.stored, directory.one(_BITS, 1)
    changes: dict[int, Sequence[int]] = {
        _WIDTH: [directory.one(_WIDTH, 0) * channels],
        _CHANNELS: [1],
        _BITS: [bits],
        _PHOTOMETRIC: [1],
        _ORIENTATION: [1],
        _EXTRA: (),
        _PREDICTOR: (),
        _FORMAT: (),
    }
    if _TILE_WIDTH in directory.entries:
        if directory.one(_WIDTH, 0) % directory.one(_TILE_WIDTH, 1):
            return None
        changes[_TILE_WIDTH] = [directory.one(_TILE_WIDTH, 0) * channels]
    return _rewritten(data, directory, changes)


def predictor(directory: Directory) -> int:
    """The predictor; 2: samples are differences to the pixel on the left."""
    has_one = directory.one(_COMPRESSION, 1) in (_LZW, _DEFLATE, _OLD_DEFLATE, _ZSTD)
    return directory.one(_PREDICTOR, 1) if has_one else 1


def _deflated(data: memoryview, directory: Directory) -> memoryview:
    """The file with ZSTD strips or tiles recompressed with deflate."""
    import pyarrow as pa

    fields, codec = directory.fields, pa.Codec("zstd")
    offsets, sizes = (
        (_TILES, _TILE_SIZES) if _TILES in directory.entries else (_STRIPS, _STRIP_SIZES)
    )
    most = _strip_bytes(directory)
    pieces = []
    for at, size in zip(directory.numbers(offsets), directory.numbers(sizes), strict=False):
        with pa.CompressedInputStream(pa.BufferReader(fields.take(at, size)), codec.name) as stream:
            pieces.append(zlib.compress(stream.read(most), 1))
    begin, places = len(data), []
    for piece in pieces:
        places.append(begin)
        begin += len(piece)
    whole = memoryview(bytes(data) + b"".join(pieces))
    changes = {
        _COMPRESSION: [_DEFLATE],
        _ORIENTATION: [1],
        offsets: places,
        sizes: [len(piece) for piece in pieces],
    }
    return _rewritten(whole, directory, changes)


def check_strips(directory: Directory) -> None:
    """Refuse an image of stored samples with a strip or tile that is shorter than they are.

    OpenCV leaves the rest as it is in memory.
    """
    if directory.one(_COMPRESSION, 1) != _RAW:
        return
    for number, (_, size, wanted) in enumerate(_pieces(directory)):
        if 0 < size < wanted:  # 0: readers work it out
            raise DecodeError(
                f"strip {number} has {size} bytes of {wanted}; the file is truncated or damaged"
            )


def as_strips_of_words(data: memoryview, directory: Directory) -> Iterator[memoryview]:
    """Grey images of 16 bits from the strips or tiles of an image, one for each size.

    OpenCV tells of the end of a strip only where samples have 16 bits; of 8 bits, zeros are left.
    None of images that are stored in another way.
    """
    compressed = (_LZW, _DEFLATE, _OLD_DEFLATE, _PACKBITS)
    if directory.one(_COMPRESSION, 1) not in compressed or set(directory.bits) != {8}:
        return
    pieces = list(_pieces(directory))
    for wanted in {wanted for _, _, wanted in pieces if wanted > 1}:
        rows = math.ceil(wanted / 2 / _MOST_COLUMNS)
        alike = [(at, size) for at, size, own in pieces if own == wanted]
        changes: dict[int, Sequence[int]] = {
            _WIDTH: [wanted // 2 // rows],
            _HEIGHT: [rows * len(alike)],
            _ROWS: [rows],
            _BITS: [16],
            _STRIPS: [at for at, _ in alike],
            _STRIP_SIZES: [size for _, size in alike],
            **{tag: [1] for tag in (_CHANNELS, _PHOTOMETRIC, _ORIENTATION, _PLANES)},
            **dict.fromkeys((_PREDICTOR, _PALETTE, _EXTRA, _FORMAT), ()),
            **dict.fromkeys((_TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_SIZES), ()),
        }
        yield _rewritten(data, directory, changes)


def _pieces(directory: Directory) -> Iterator[tuple[int, int, int]]:
    """Offset and size of each strip or tile, and the bytes of its samples when decoded."""
    height, width = directory.one(_HEIGHT, 0), directory.one(_WIDTH, 0)
    if directory.one(_PHOTOMETRIC, 1) not in (*_GREYS, _RGB, _PALETTED, _CMYK):
        return
    planes = directory.stored if directory.one(_PLANES, 1) == 2 else 1
    bits = max(directory.bits) * directory.stored // planes
    is_tiled = _TILES in directory.entries
    if is_tiled:
        rows, columns = directory.one(_TILE_HEIGHT, 0), directory.one(_TILE_WIDTH, 0)
    else:
        rows, columns = min(directory.one(_ROWS, height), height), width
    if not (rows and columns):
        return
    down = math.ceil(height / rows)
    count = planes * down * math.ceil(width / columns)
    offsets, sizes = (_TILES, _TILE_SIZES) if is_tiled else (_STRIPS, _STRIP_SIZES)
    places = zip(directory.numbers(offsets, count), directory.numbers(sizes, count), strict=False)
    for number, (at, size) in enumerate(places):
        is_last = not is_tiled and number % down == down - 1
        own = height - rows * (down - 1) if is_last else rows
        yield at, size, own * ((columns * bits + 7) // 8)


def _check_values(directory: Directory) -> None:
    """Refuse entries that share their values, since libtiff reads and keeps them for each."""
    whole = len(directory.fields)
    values = 0
    for kind, count, value in directory.entries.values():
        size = _SIZES.get(kind, 0) * count
        if size > 4:
            left = whole - int.from_bytes(value, directory.order)
            values += min(size, max(left, 0))
    if values > _MOST_VALUES * whole:
        raise FormatError(
            f"a TIFF directory with {values} bytes of values in a file of {whole}; "
            "the file is damaged"
        )


def _strip_bytes(directory: Directory) -> int:
    """Maximum bytes of a strip or tile: the whole image plus a margin."""
    width, height = directory.one(_WIDTH, 0) + 4096, directory.one(_HEIGHT, 0) + 4096
    bits = max(directory.bits)
    return width * height * directory.stored * (bits + 7) // 8


def _rewritten(
    data: memoryview, directory: Directory, changes: Mapping[int, Sequence[int]]
) -> memoryview:
    """The file with a new directory at its end; entries without values are removed."""
    mark = "<" if directory.order == "little" else ">"
    start = len(data) + len(data) % 2
    tags = sorted({*directory.entries, *changes} - {t for t, v in changes.items() if not len(v)})
    values_at = start + 2 + 12 * len(tags) + 4
    table, values = [struct.pack(f"{mark}H", len(tags))], b""
    for tag in tags:
        if tag not in changes:
            kind, count, value = directory.entries[tag]
            table.append(struct.pack(f"{mark}HHI", tag, kind, count) + value)
            continue
        own = struct.pack(f"{mark}{len(changes[tag])}I", *changes[tag])
        place = own if len(own) == 4 else struct.pack(f"{mark}I", values_at + len(values))
        values += b"" if len(own) == 4 else own
        table.append(struct.pack(f"{mark}HHI", tag, 4, len(changes[tag])) + place)
    head = bytes(data[:4]) + struct.pack(f"{mark}I", start)
    body = bytes(data[8:]) + b"\0" * (len(data) % 2)
    return memoryview(head + body + b"".join(table) + bytes(4) + values)
