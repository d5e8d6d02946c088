"""What is decoded of an AVIF is bounded by the header that was read before."""

import struct

import cv2
import numpy as np
import pytest

from videoloader.decoding.images.decode import decode_image
from videoloader.errors import DecodeError


def avif(height, width):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    done, data = cv2.imencode(".avif", pixels, [cv2.IMWRITE_AVIF_SPEED, 10])
    if not done:
        pytest.skip("this OpenCV writes no AVIF")
    return data.tobytes()


def decode(data):
    return decode_image(
        memoryview(data),
        "a.avif",
        output_type="RGB",
        adjust_orientation=True,
        max_pixels=10_000_000,
    )


@pytest.mark.parametrize("size", [(16, 24), (130, 200), (600, 640)])
def test_images_of_every_size_decode(size):
    assert decode(avif(*size)).shape == (*size, 3)


def test_a_stream_that_is_larger_than_its_header_is_not_decoded():
    data = bytearray(avif(1200, 1400))
    at = data.index(b"ispe") + 8
    data[at : at + 8] = struct.pack(">II", 24, 16)
    with pytest.raises(DecodeError, match=r"a\.avif: holds a picture of 1400x1200 .* 24x16"):
        decode(bytes(data))
