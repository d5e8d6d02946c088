"""The size of an image from its header, without a codec."""

from __future__ import annotations

from collections.abc import Callable

from videoloader.decoding.images.boxed import read_heif, read_jpeg2000
from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.raster import (
    read_bmp,
    read_gif,
    read_jpeg,
    read_png,
    read_pnm,
    read_webp,
)
from videoloader.decoding.images.tiff import read_tiff
from videoloader.errors import DecodeError, FormatError, UnsupportedError
from videoloader.machinery.system.faults import blamed_on

_BRANDS = (b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")


def read_header(data: memoryview, name: str) -> ImageHeader:
    """Read the header of an encoded image.

    Raises:
        FormatError: the bytes are not an image, or the header is damaged.
        UnsupportedError: the image format is not supported.
    """
    with named(name):
        return _reader(data)(data)


class named(blamed_on):  # noqa: N801  (reads as a clause of `with`)
    """Convert exceptions in the block to a `VideoError` that names the image."""

    __slots__ = ()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        super().__exit__(kind, error, trace)
        is_ours = isinstance(error, DecodeError | FormatError | UnsupportedError)
        if is_ours and not str(error).startswith(f"{self.name}: "):
            raise type(error)(f"{self.name}: {error}") from error


def _reader(data: memoryview) -> Callable[[memoryview], ImageHeader]:
    start = bytes(data[:16])
    if start[:3] == b"\xff\xd8\xff":
        return read_jpeg
    if start[:8] == b"\x89PNG\r\n\x1a\n":
        return read_png
    if start[:2] == b"BM":
        return read_bmp
    if start[:6] in (b"GIF87a", b"GIF89a"):
        return read_gif
    if start[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return lambda data: read_tiff(data)[0]
    if start[:1] == b"P" and start[1:2] in b"1234567" and start[2:3] in b"\t\n\v\f\r #":
        return read_pnm
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return read_webp
    if start[:12] == b"\0\0\0\x0cjP  \r\n\x87\n" or start[:4] == b"\xff\x4f\xff\x51":
        return read_jpeg2000
    if start[4:8] == b"ftyp" and start[8:12] in _BRANDS:
        return read_heif
    raise FormatError(
        f"no image of a known format ({len(data)} bytes, begins with {start[:8].hex(' ') or '-'})"
    )
