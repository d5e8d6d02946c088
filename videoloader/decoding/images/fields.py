"""Reads numbers in the headers of images; reading past the end is an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from videoloader.errors import FormatError

_ORIENTATION = 0x112
_MOST = 1 << 31  # pixels of a side; memory has fewer
_MOST_ENTRIES = 1 << 12  # of a directory; files have some dozens


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """Properties in the header of an image.

    Attributes:
        format: such as "jpeg".
        height: rows as stored, before `orientation` is applied.
        width: columns, likewise.
        channels: of the decoded image: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha, or any
            number for TIFF. Palette and CMYK images become RGB.
        orientation: EXIF orientation, 1 to 8.
        bits: of a sample.
    """

    format: str
    height: int
    width: int
    channels: int
    orientation: int = 1
    bits: int = 8

    def __post_init__(self) -> None:
        if not all(0 < each < _MOST for each in (self.height, self.width, self.channels)):
            claims = (f"{each!r:.20}" for each in (self.width, self.height, self.channels))
            raise FormatError(
                "its {} header claims {}x{} pixels of {} channels; the file is damaged".format(
                    self.format, *claims
                )
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickling, several times as fast as that of `dataclass`."""
        return type(self), (
            self.format,
            self.height,
            self.width,
            self.channels,
            self.orientation,
            self.bits,
        )

    def displayed(self, *, adjust_orientation: bool) -> tuple[int, int]:
        """(height, width) of the decoded image."""
        if adjust_orientation and self.orientation > 4:
            return self.width, self.height
        return self.height, self.width


class Fields:
    """The bytes of a file, of one byte order."""

    def __init__(self, data: memoryview, order: Literal["little", "big"] = "big") -> None:
        self.data = data
        self.order = order

    def __len__(self) -> int:
        return len(self.data)

    def take(self, at: int, size: int) -> bytes:
        """`size` bytes from offset `at` on.

        Raises:
            FormatError: the file ends too early.
        """
        if at < 0 or size < 0 or at + size > len(self.data):
            raise FormatError(
                f"its header points to bytes {at} to {at + size} of {len(self.data)}; "
                "the file is truncated or damaged"
            )
        return bytes(self.data[at : at + size])

    def number(self, at: int, size: int, *, signed: bool = False) -> int:
        """An integer of `size` bytes."""
        return int.from_bytes(self.take(at, size), self.order, signed=signed)

    def starts(self, at: int, expected: bytes) -> bool:
        """Whether the bytes at offset `at` are `expected`."""
        return bytes(self.data[at : at + len(expected)]) == expected


def boxes(data: Fields, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """The boxes of JPEG 2000 and HEIF between two offsets: type, begin and end of the content."""
    at = start
    while at + 8 <= stop:
        size, kind, head = data.number(at, 4), data.take(at + 4, 4), 8
        if size == 1:
            size, head = data.number(at + 8, 8), 16
        elif size == 0:
            size = stop - at
        if size < head or at + size > stop:
            raise FormatError(f"its box {kind!r} has {size} bytes; the file is damaged")
        yield kind, at + head, at + size
        at += size


def orientation_of_exif(exif: memoryview) -> int:
    """The orientation in an EXIF block, 1 if it has none or is damaged."""
    try:
        data = Fields(exif, "little" if bytes(exif[:2]) == b"II" else "big")
        if data.take(0, 2) not in (b"II", b"MM") or data.number(2, 2) != 42:
            return 1
        directory = data.number(4, 4)
        for number in range(min(data.number(directory, 2), _MOST_ENTRIES)):
            entry = directory + 2 + 12 * number
            if data.number(entry, 2) == _ORIENTATION:
                value = data.number(entry + 8, 2)
                return value if 1 <= value <= 8 else 1
    except FormatError:  # the image decodes without EXIF
        pass
    return 1
