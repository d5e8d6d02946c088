"""TIFFs whose strips end before their last pixel, and directories that are larger than the file."""

import struct

import cv2
import numpy as np
import pytest

import videoloader as vl
from videoloader.decoding.images.decode import decode_image

RAW, LZW, DEFLATE, PACKBITS = 1, 5, 8, 32773
KINDS = [
    (compression, dtype, channels)
    for compression in (RAW, LZW, DEFLATE, PACKBITS)
    for dtype in ("uint8", "uint16")
    for channels in (1, 3, 4)
]
SIZES = [(61, 63), (7, 1), (1, 1), (40, 64)]


def encoded(height, width, compression, dtype, channels, *, rows=7, predictor=1):
    rough = np.random.default_rng(0).integers(1, 200, (height, width, channels)).astype(dtype)
    options = {
        cv2.IMWRITE_TIFF_COMPRESSION: compression,
        cv2.IMWRITE_TIFF_ROWSPERSTRIP: rows,
        cv2.IMWRITE_TIFF_PREDICTOR: predictor,
    }
    return bytearray(cv2.imencode(".tiff", rough, [n for o in options.items() for n in o])[1])


def shortened(data, strip):
    """The file with a strip of half its bytes."""
    at = struct.unpack_from("<I", data, 4)[0]
    for entry in range(at + 2, at + 2 + 12 * struct.unpack_from("<H", data, at)[0], 12):
        tag, kind, _, place = struct.unpack_from("<HHII", data, entry)
        if tag == 279:
            form = {3: "<H", 4: "<I"}[kind]
            size = place + strip * struct.calcsize(form)
            struct.pack_into(form, data, size, struct.unpack_from(form, data, size)[0] // 2)
            return data
    raise AssertionError


def decode(data):
    return decode_image(
        memoryview(data), "x", output_type="ANY_DATA", adjust_orientation=True, max_pixels=1 << 24
    )


@pytest.mark.parametrize(("compression", "dtype", "channels"), KINDS)
@pytest.mark.parametrize("strip", [0, 3, 8])
def test_a_strip_that_ends_early_is_an_error(compression, dtype, channels, strip):
    data = shortened(encoded(61, 63, compression, dtype, channels), strip)
    with pytest.raises(vl.errors.DecodeError, match=r"^x: .* truncated or damaged"):
        decode(data)


@pytest.mark.parametrize(("compression", "dtype", "channels"), KINDS)
@pytest.mark.parametrize("predictor", [1, 2])
def test_sound_strips_are_decoded(compression, dtype, channels, predictor):
    for size in SIZES:
        data = encoded(*size, compression, dtype, channels, predictor=predictor)
        theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        own = decode(data)
        if channels != 4:  # OpenCV premultiplies alpha
            order = [2, 1, 0] if channels == 3 else [0]
            np.testing.assert_array_equal(own, theirs.reshape(*size, channels)[..., order])


def test_entries_that_share_their_values_are_an_error():
    data = encoded(8, 8, RAW, "uint8", 1)
    at = struct.unpack_from("<I", data, 4)[0]
    count = struct.unpack_from("<H", data, at)[0]
    entries = bytes(data[at + 2 : at + 2 + 12 * count])
    start = len(data)
    entries += b"".join(struct.pack("<HHII", 40000 + n, 1, start, 0) for n in range(20))
    struct.pack_into("<I", data, 4, start)
    data += struct.pack("<H", count + 20) + entries + bytes(4)
    with pytest.raises(
        vl.errors.FormatError, match=r"^x: a TIFF directory with \d+ bytes of values"
    ):
        decode(data)
