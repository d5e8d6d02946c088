"""Sound JPEGs by libjpeg-turbo, into memory that is there already; and whether a file is whole.

`cv2.imdecode` gives new memory for each image, and takes longer for the same pixels. Where data
ends before the last pixel, codecs go on as if zeros followed, and the rest of the image is grey.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import DecodeError

_SOS, _EOI, _DHT, _JPG, _DAC = 0xDA, 0xD9, 0xC4, 0xC8, 0xCC
_PROGRESSIVE = (0xC2, 0xCA)
_COEFFICIENTS = 64  # of a block
_MARKER = re.compile(rb"\xff[^\0\xff]")
_MORE = bytes(range(1, 251)) * 4  # no 0xFF
_MOST_ADDED = 1 << 16  # bytes, beside those of the file
_MISSING = ("premature end of data segment", "instead of RST")  # warnings of libjpeg


def decode_jpeg(
    data: memoryview, shape: tuple[int, int, int], room: NDArray[np.uint8] | None = None
) -> NDArray[np.uint8] | None:
    """The pixels of a JPEG, equal to OpenCV's; None if OpenCV has to decode it.

    That is the case for any damage but missing data, and for another size than that of `shape`.

    Args:
        data: the whole file.
        shape: (H, W, C) of the pixels; C is 3 for RGB, 1 for grey, which is the luma as stored.
        room: memory for them, used if it is of their size.

    Raises:
        DecodeError: the data ends before the last pixel.
    """
    decode = codec()
    if decode is None:
        return None
    buffer = room if room is not None and room.size == math.prod(shape) else None
    try:
        pixels = decode(data, "RGB" if shape[-1] == 3 else "GRAY", buffer=buffer)
    except ValueError as error:
        if any(warning in str(error) for warning in _MISSING):
            raise ended_early() from error
        return None
    return pixels if pixels.shape == shape else None


@cache
def codec() -> Callable[..., NDArray[np.uint8]] | None:
    """`simplejpeg.decode_jpeg`; None on platforms that have no wheels of it."""
    try:
        import simplejpeg
    except ImportError:
        return None
    decode: Callable[..., NDArray[np.uint8]] = simplejpeg.decode_jpeg
    return decode


def ended_early() -> DecodeError:
    """The message for a file whose data ends too soon."""
    return DecodeError("its data ends before its last pixel; the file is truncated or damaged")


def has_all_scans(data: memoryview) -> bool:
    """Whether the scans of a JPEG hold all coefficients of all components, to their last bit.

    A progressive file that is cut off between two scans decodes without a warning.

    Args:
        data: the whole file, with a header that `read_jpeg` takes.
    """
    missing: dict[int, NDArray[np.uint8]] = {}  # by component: bits not known of each coefficient
    is_progressive = False
    for marker, at, end in _segments(data):
        if marker == _SOS:
            count = data[at + 2]
            components = bytes(data[at + 3 : at + 3 + 2 * count : 2])
            if not is_progressive and len(components) >= len(missing):
                return True  # one scan of everything: nothing else is searched
            first, last, bits = data[end - 3 : end] if is_progressive else (0, 63, 0)
            for component in components:
                if component in missing:
                    missing[component][first : last + 1] = bits & 15
        elif 0xC0 <= marker <= 0xCF and marker not in (_DHT, _JPG, _DAC) and not missing:
            is_progressive = marker in _PROGRESSIVE
            ids = bytes(data[at + 8 : end : 3])
            missing = {each: np.full(_COEFFICIENTS, 15, np.uint8) for each in ids}
    return not any(bits.any() for bits in missing.values())


def with_longer_scans(data: memoryview) -> bytes:
    """A JPEG with more bits after each run of coded blocks.

    A decoder ignores them where the blocks are complete. Where they are not, it decodes these bits
    to other pixels than the zeros that it takes otherwise.

    Args:
        data: as for `has_all_scans`.
    """
    places = []
    for marker, _, end in _segments(data):
        if marker != _SOS:
            continue
        while (found := _MARKER.search(data, end)) is not None:
            start, end = found.span()
            while data[start - 1] == 0xFF:  # fill bytes belong to the marker
                start -= 1
            places.append(start)
            if not 0xD0 <= data[end - 1] <= 0xD7:
                break
    more = _MORE[: (_MOST_ADDED + len(data)) // max(len(places), 1)]
    pieces = [bytes(data[a:b]) for a, b in pairwise((0, *places, len(data)))]
    return more.join(pieces)


def _segments(data: memoryview) -> Iterator[tuple[int, int, int]]:
    """Marker, begin of the length field, and end of each segment up to the end of the image."""
    at = 2
    while (found := _MARKER.search(data, at)) is not None:
        marker, at = data[found.end() - 1], found.end()
        if marker == _EOI:
            return
        if marker == 0x01 or 0xD0 <= marker <= 0xD7:  # no length
            continue
        end = at + int.from_bytes(data[at : at + 2], "big")
        if end < at + 2 or end + 2 > len(data):
            return
        yield marker, at, end
        at = end
