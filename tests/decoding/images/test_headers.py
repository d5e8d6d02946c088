"""Sizes from headers: of every format, and of files that are damaged or lie."""

import struct

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_files import FILES, encoded, picture

from videoloader.decoding.images.decode import decode_image
from videoloader.decoding.images.header import read_header
from videoloader.errors import FormatError, UnsupportedError, VideoError


def shape_of(data, name="x"):
    header = read_header(memoryview(data), name)
    return *header.displayed(adjust_orientation=True), header.channels


@pytest.mark.parametrize("extension", ["jpg", "png", "tiff", "bmp", "ppm", "webp", "jp2", "gif"])
@pytest.mark.parametrize("size", [(1, 1), (17, 24), (64, 7), (70, 90)])
def test_the_header_of_every_format_gives_the_size(extension, size):
    if extension == "jp2" and min(size) < 64:
        pytest.skip("OpenCV writes no smaller ones")
    assert shape_of(encoded(picture(*size), extension)) == (*size, 3)


@pytest.mark.parametrize("extension", ["jpg", "png", "tiff", "bmp", "pgm", "jp2"])
def test_grey_images_have_one_channel(extension):
    assert shape_of(encoded(picture(69, 66)[..., :1], extension)) == (69, 66, 1)


@pytest.mark.parametrize("extension", ["png", "tiff", "webp", "jp2"])
def test_alpha_is_a_channel(extension):
    assert shape_of(encoded(picture(69, 66, 4), extension)) == (69, 66, 4)


def test_an_avif_gives_its_size():
    done, data = cv2.imencode(".avif", picture(16, 24))
    if not done:
        pytest.skip("this OpenCV writes no AVIF")
    assert shape_of(data.tobytes()) == (16, 24, 3)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (b"P1 3 2 1 0 1 0 1 0", (2, 3, 1)),
        (b"P2\n#a\n3 #b 7\n2\n9 0 0 0 0 0 0", (2, 3, 1)),
        (b"P3 3 2 255 " + b"0 " * 18, (2, 3, 3)),
        (b"P4\n3\t2\n\0\0", (2, 3, 1)),
        (b"P7\nWIDTH 3\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nENDHDR\n" + bytes(24), (2, 3, 4)),
    ],
)
def test_the_header_of_a_portable_map_is_words_and_comments(text, shape):
    assert shape_of(text) == shape


def test_a_flipped_bitmap_has_a_positive_height():
    data = bytearray(encoded(picture(5, 4), "bmp"))
    struct.pack_into("<i", data, 22, -5)
    assert shape_of(bytes(data)) == (5, 4, 3)


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_beginning_of_a_file_is_taken_for_more(name):
    """What is cut off is an error of ours, or the header was whole."""
    data = FILES[name]
    whole = shape_of(data)
    for length in range(min(len(data), 700)):
        try:
            assert shape_of(data[:length]) == whole or name.startswith("exif")
        except (FormatError, UnsupportedError) as error:
            assert str(error).startswith("x: ")


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=12, deadline=None, derandomize=True)
@given(changes=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 255)), min_size=1))
def test_damaged_files_decode_or_are_errors_that_name_them(name, changes):
    data = bytearray(FILES[name])
    for place, value in changes:
        data[place % len(data)] = value
    try:
        pixels = decode_image(
            memoryview(bytes(data)),
            "one.img",
            output_type="RGB",
            adjust_orientation=True,
            max_pixels=1 << 16,
        )
    except VideoError as error:
        assert "one.img" in str(error)
    else:
        assert pixels.shape[0] * pixels.shape[1] <= 1 << 16
        assert pixels.shape[2] == 3


def test_what_is_no_image_is_said_to_be_none():
    for data in (b"", b"P", b"P5", b"hello world, not an image", bytes(100)):
        with pytest.raises(FormatError, match=r"^x: "):
            read_header(memoryview(data), "x")


def test_a_claim_of_too_many_pixels_is_refused_before_decoding(monkeypatch):
    data = bytearray(encoded(picture(8, 8), "png"))
    struct.pack_into(">II", data, 16, 60_000, 60_000)
    monkeypatch.setattr(cv2, "imdecode", None)  # not called
    with pytest.raises(UnsupportedError, match=r"bomb\.png: 60000x60000"):
        decode_image(
            memoryview(bytes(data)),
            "bomb.png",
            output_type="RGB",
            adjust_orientation=True,
            max_pixels=1 << 27,
        )


def test_a_chunk_that_is_larger_than_its_file_does_not_get_to_the_codec(monkeypatch):
    data = bytearray(encoded(picture(8, 8), "png"))
    struct.pack_into(">I", data, data.index(b"IDAT") - 4, 0x7FFF0000)
    monkeypatch.setattr(cv2, "imdecode", None)  # not called: it takes seconds
    with pytest.raises(FormatError, match="chunk of 2147418112 bytes"):
        read_header(memoryview(bytes(data)), "x")


def test_a_header_that_lies_about_the_size_is_an_error():
    """The size in front (GIF: of the screen) is what memory is made for."""
    tall = bytearray(encoded(picture(16, 16), "jpg"))
    at = tall.index(b"\xff\xc0") + 5
    struct.pack_into(">HH", tall, at, 8, 1000)
    with pytest.raises(VideoError, match="lie"):
        decode_image(
            memoryview(bytes(tall)),
            "lie",
            output_type="RGB",
            adjust_orientation=True,
            max_pixels=1000,
        )


def test_a_palette_of_greys_is_grey():
    grey = np.arange(48, dtype=np.uint8).reshape(6, 8)
    assert shape_of(encoded(grey[..., None], "bmp")) == (6, 8, 1)
