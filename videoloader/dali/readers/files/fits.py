"""`fn.experimental.readers.fits`: images of FITS files.

A file is a row of HDUs, header and data unit; the first, the primary one, is often empty. Headers
are cards of 80 characters, and all units are filled up to blocks of 2,880 bytes. Elements are
big-endian, and stand for `BZERO + BSCALE * element`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import DTYPES, INTS, TEXT, Argument
from videoloader.dali.operators.context import Sample
from videoloader.dali.readers.files.listing import StoredFiles
from videoloader.dali.readers.files.reader import (
    FILE_LIST,
    FILE_ROOT,
    FILES,
    check_places,
    stored_places,
)
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.errors import ArgumentError, FormatError, SourceError, UnsupportedError
from videoloader.sources.items import Item
from videoloader.sources.source import Source

_BLOCK, _CARD = 2880, 80
_MOST_BLOCKS = 1 << 12  # of a header
_TYPES = {8: "u1", 16: "i2", 32: "i4", 64: "i8", -32: "f4", -64: "f8"}
_VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^/]*))")


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return len(arguments["hdu_indices"])


def _check(arguments: Mapping[str, Any]) -> None:
    check_places(arguments, "experimental.readers.fits")
    indices, dtypes = arguments["hdu_indices"], arguments["dtypes"]
    if not indices:
        raise ArgumentError("fn.experimental.readers.fits: hdu_indices is empty")
    if dtypes is not None and len(dtypes) != len(indices):
        raise ArgumentError(
            f"fn.experimental.readers.fits: {len(dtypes)} dtypes for {len(indices)} hdu_indices"
        )


class _Images(StoredFiles):
    def __init__(self, names: Sequence[str | Item], root: str, indices: Sequence[int]) -> None:
        super().__init__(names, root)
        self._indices = indices

    def read(self, number: int) -> tuple[Sample, ...]:
        with self.item(number).open() as source:
            arrays = [read_image(source, index) for index in self._indices]
        info = self.name(number)
        return tuple(Sample(torch.from_numpy(array), source_info=info) for array in arrays)


@declare_reader(
    "experimental.readers.fits",
    num_outputs=_num_outputs,
    arguments=(
        FILE_ROOT,
        FILE_LIST,
        FILES,
        Argument("file_filter", TEXT, "*.fits", "pattern for names of files"),
        Argument("hdu_indices", INTS, (2,), "HDUs, counted from 1, an output for each", least=1),
        Argument(
            "dtypes",
            DTYPES,
            None,
            "one for each output; DALI counts them too, and takes the types of the file",
        ),
    ),
    check=_check,
)
def read_fits(**arguments: Any) -> _Images:
    """Read images of FITS files.

    Which files are read, and in which order, is as in `readers.numpy`. The shape is NAXISn, ...,
    NAXIS1: rows, then columns. Elements have the type of BITPIX, or by BSCALE and BZERO the one
    that CFITSIO chooses: int16 with BZERO=32768 is uint16, other integer scales give the smallest
    type that holds them, and others float32 (float64 of 32 and 64 bits). BLANK is not looked at.
    Images that are compressed in tiles need astropy (the extra `fits`).

    Outputs: the array of each HDU of `hdu_indices`. The primary HDU is 1, and often empty.
    """
    names, root = stored_places(arguments, "experimental.readers.fits")
    return _Images(names, root, arguments["hdu_indices"])


@dataclass(frozen=True, slots=True)
class Hdu:
    """The header of an HDU.

    Attributes:
        file: its name, for errors.
        number: from 1 on.
        cards: values by keyword, as they are written.
        offset: of its data.
    """

    file: str
    number: int
    cards: dict[str, str]
    offset: int

    def integer(self, keyword: str, default: int | None = None) -> int:
        """The value of a keyword; FormatError if it has none."""
        value = self.cards.get(keyword, default)
        if value is None:
            raise self.error(f"{keyword} is missing")
        try:
            return int(value)
        except ValueError:
            raise self.error(f"{keyword} is {value!r}") from None

    def real(self, keyword: str, default: float) -> float:
        """The value of a keyword as a number that need not be an integer."""
        text = self.cards.get(keyword, default)
        try:
            return float(text.upper().replace("D", "E") if isinstance(text, str) else text)
        except ValueError:
            raise self.error(f"{keyword} is {text!r}") from None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of its array, the last axis lying together: NAXISn, ..., NAXIS1."""
        axes = self.integer("NAXIS")
        if not 0 <= axes <= 999:
            raise self.error(f"NAXIS is {axes}")
        shape = tuple(self.integer(f"NAXIS{axis}") for axis in range(axes, 0, -1))
        if any(extent < 0 for extent in shape):
            raise self.error(f"an array of shape {shape}")
        return shape

    @property
    def size(self) -> int:
        """Bytes of its data, without the padding of the last block."""
        shape = self.shape
        if shape and shape[-1] == 0 and self.cards.get("GROUPS") == "T":
            shape = shape[:-1]  # random groups, whose first axis says that they are
        count = math.prod(shape) if shape else 0
        groups, parameters = self.integer("GCOUNT", 1), self.integer("PCOUNT", 0)
        size = abs(self.integer("BITPIX")) // 8 * groups * (parameters + count)
        if size < 0:
            raise self.error(f"data of {size} bytes")
        return size if shape else 0

    def error(self, problem: str) -> FormatError:
        """The error of a damaged HDU."""
        return FormatError(f"{self.file}: HDU {self.number}: {problem}")


def _hdus(source: Source) -> Iterator[Hdu]:
    """The HDUs of a file, one after another; nothing of their data is read.

    Raises:
        FormatError: what lies there is no HDU.
    """
    number, begin = 1, 0
    while begin < source.size:
        hdu = _header(source, number, begin)
        yield hdu
        number, begin = number + 1, hdu.offset + -(-hdu.size // _BLOCK) * _BLOCK


def read_image(source: Source, number: int) -> NDArray[Any]:
    """The array of an HDU, in memory of its own; see `_stored_type` for the type of its elements.

    Args:
        source: the file.
        number: of the HDU, from 1 on.

    Raises:
        FormatError: the file is damaged, or the HDU has no image.
        SourceError: there is no such HDU.
        UnsupportedError: the image is compressed, and astropy is not there.
    """
    hdu = None
    for hdu in _hdus(source):
        if hdu.number == number:
            break
    if hdu is None or hdu.number != number:
        count = 0 if hdu is None else hdu.number
        raise SourceError(f"{source.name}: HDU {number} is wanted, the file has {count}")
    is_compressed = hdu.cards.get("ZIMAGE") == "T"
    kind = hdu.cards.get("XTENSION", "IMAGE")
    if kind != "IMAGE" and not is_compressed:
        raise hdu.error(f"a {kind}, not an image")
    bits = hdu.integer("ZBITPIX" if is_compressed else "BITPIX")
    if bits not in _TYPES:
        raise hdu.error(f"BITPIX is {bits}")
    if not hdu.shape:
        raise hdu.error("no data (NAXIS is 0)")
    if is_compressed:
        array = _decompressed(source, hdu)
    else:
        array = _stored(source, hdu, np.dtype(f">{_TYPES[bits]}"))
    scale, zero = hdu.real("BSCALE", 1.0), hdu.real("BZERO", 0.0)
    dtype = _stored_type(bits, scale, zero)
    if bits == 64 and dtype.kind != "f" and array.size:
        ends = [int(end) * int(scale) + int(zero) for end in (array.min(), array.max())]
        if not all(np.iinfo(dtype).min <= end <= np.iinfo(dtype).max for end in ends):
            raise hdu.error(f"values from {min(ends)} to {max(ends)} do not fit {dtype}")
    return _scaled(array, scale, zero, dtype)


def _stored_type(bits: int, scale: float, zero: float) -> np.dtype[Any]:
    """The type of the values of an image, as CFITSIO and so DALI choose it.

    Integers that are scaled by integers get the smallest type that holds them, float64 beyond 32
    bits. Other scales make float32 of 8 and 16 bits, float64 of more.

    >>> _stored_type(16, 1.0, 32768.0), _stored_type(16, 0.5, 0.0), _stored_type(-32, 2.0, 0.0)
    (dtype('uint16'), dtype('float32'), dtype('float32'))

    Args:
        bits: BITPIX: 8, 16, 32, 64 of integers, -32 and -64 of floats.
        scale: BSCALE.
        zero: BZERO.
    """
    own = np.dtype(_TYPES[bits])
    if bits < 0 or (scale, zero) == (1.0, 0.0):
        return own
    if not (scale.is_integer() and zero.is_integer()):
        return np.dtype("f4" if bits < 32 else "f8")
    limits = np.iinfo(own)
    ends = sorted(int(zero) + int(scale) * int(limit) for limit in (limits.min, limits.max))
    if bits == 64:
        return np.dtype("u8" if ends == [0, (1 << 64) - 1] else "i8")
    if ends == [-128, 127]:
        return np.dtype("i1")
    for kind in map(np.dtype, ("i2", "u2", "i4", "u4")):
        if np.iinfo(kind).min <= ends[0] and ends[1] <= np.iinfo(kind).max:
            return kind
    return np.dtype("f8")


def _header(source: Source, number: int, begin: int) -> Hdu:
    cards: dict[str, str] = {}
    for block in range(_MOST_BLOCKS):
        text = source.read_up_to(begin + block * _BLOCK, _BLOCK).decode("latin-1")
        if not block and not text.startswith(("SIMPLE  =", "XTENSION=")):
            raise FormatError(f"{source.name}: no HDU at byte {begin}, which is to be HDU {number}")
        for at in range(0, len(text), _CARD):
            keyword = text[at : at + 8].rstrip()
            if keyword == "END":
                offset = begin + (block + 1) * _BLOCK
                return Hdu(source.name, number, cards, offset)
            if text[at + 8 : at + 10] == "= ":
                cards.setdefault(keyword, _value(text[at + 10 : at + _CARD]))
        if len(text) < _BLOCK:
            break
    raise FormatError(f"{source.name}: the header of HDU {number} has no end")


def _value(text: str) -> str:
    """The value on a card, without its comment."""
    found = _VALUE.match(text)
    quoted, plain = found.groups() if found else (None, "")
    return (plain if quoted is None else quoted.replace("''", "'")).strip()


def _stored(source: Source, hdu: Hdu, dtype: np.dtype[Any]) -> NDArray[Any]:
    size = math.prod(hdu.shape) * dtype.itemsize
    if hdu.offset + size > source.size:
        raise hdu.error(
            f"an array of shape {hdu.shape} and type {dtype.newbyteorder('=')} does not fit the "
            f"{source.size} bytes of the file; it is truncated"
        )
    data = source.array(hdu.offset, size) if size else np.empty(0, np.uint8)
    return data.view(dtype).reshape(hdu.shape)


def _decompressed(source: Source, hdu: Hdu) -> NDArray[Any]:
    """The elements of an image that is compressed in tiles, before they are scaled."""
    try:
        from astropy.io import fits
    except ImportError as error:
        raise UnsupportedError(
            f"{source.name}: HDU {hdu.number} is compressed (ZIMAGE), which needs astropy: "
            'pip install "videoloader[fits]"'
        ) from error
    with source.file() as file:
        try:
            with fits.open(file, memmap=False, do_not_scale_image_data=True) as opened:
                return np.asarray(opened[hdu.number - 1].data)
        except Exception as error:
            raise hdu.error(f"its compressed image is damaged ({error})") from error


def _scaled(array: NDArray[Any], scale: float, zero: float, dtype: np.dtype[Any]) -> NDArray[Any]:
    if (scale, zero) == (1.0, 0.0):
        return np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
    if dtype.kind == "f":
        return (array.astype(np.float64) * scale + zero).astype(dtype)
    # Unsigned arithmetic wraps, so that 64 bits come out right whatever the sign is.
    factor, shift = (np.uint64(int(value) % (1 << 64)) for value in (scale, zero))
    return (array.astype(np.int64).view(np.uint64) * factor + shift).astype(dtype)
