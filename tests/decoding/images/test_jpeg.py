"""JPEGs that are decoded into memory of others: the pixels and the errors of `cv2.imdecode`."""

import os

import cv2
import numpy as np
import pytest
from image_files import encoded, picture

import videoloader as vl
from videoloader.decoding.images.decode import decode_image
from videoloader.decoding.images.header import read_header
from videoloader.decoding.images.jpeg import JpegDecoder

RGB = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
GREY = cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION


def jpeg(height=61, width=83, channels=3, *options):
    rough = np.random.default_rng(height).integers(0, 60, (height, width, channels), np.uint8)
    return encoded(picture(height, width, channels) // 2 + rough, "jpg", *options)


def header(data):
    return read_header(memoryview(data), "x")


def decode(data, **memory):
    return decode_image(
        memoryview(data),
        "x",
        output_type="RGB",
        adjust_orientation=True,
        max_pixels=1 << 20,
        **memory,
    )


def outcome(data):
    """The pixels, or the words of the error."""
    try:
        return decode(data).tobytes()
    except vl.VideoError as error:
        return str(error)


SIZES = [(1, 1), (1, 40), (40, 1), (8, 8), (61, 83), (300, 17)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("options", [(), (cv2.IMWRITE_JPEG_RST_INTERVAL, 2)], ids=["plain", "rst"])
def test_pixels_are_those_of_imdecode_wherever_they_lie(size, options):
    decoder = JpegDecoder()
    for sampling in (0x411111, 0x221111, 0x111111):
        data = jpeg(*size, 3, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling, *options)
        assert header(data).is_simple
        for flags, channels in ((RGB, 3), (GREY, 1)):
            expected = cv2.imdecode(np.frombuffer(data, np.uint8), flags).reshape(*size, channels)
            room = np.zeros(expected.size, np.uint8)
            made = decoder.decode(memoryview(data), expected.shape, flags, room)
            assert np.shares_memory(made, room)
            assert np.array_equal(made, expected)
            made = decoder.decode(memoryview(data), expected.shape, flags, room[:-1])
            assert not np.shares_memory(made, room)
            assert np.array_equal(made, expected)


def test_a_large_image_is_followed_by_a_small_one():
    decoder = JpegDecoder()
    for height in (2500, 9, 700, 30):  # the first is too large to keep its memory
        data = jpeg(height, 2500)
        made = decoder.decode(memoryview(data), (height, 2500, 3), RGB)
        assert np.array_equal(made, cv2.imdecode(np.frombuffer(data, np.uint8), RGB))


def test_only_one_scan_that_ends_with_the_file_is_simple():
    data = jpeg()
    start = data.index(b"\xff\xda")
    luma_only = data[: start + 4] + b"\1" + data[start + 5 :]
    assert header(data).is_simple
    assert header(jpeg(61, 83, 1)).is_simple
    for other in (
        jpeg(61, 83, 3, cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
        luma_only,
        data + b"\0",
        data[:-1],
        data[:-2],
        data[: len(data) // 2],
    ):
        assert not header(other).is_simple


def test_no_file_that_is_cut_off_is_half_an_image():
    data = jpeg()
    for end in (*range(2, len(data) - 2, 97), len(data) - 2, len(data) - 1):
        with pytest.raises(vl.VideoError, match=r"^x: "):
            decode(data[:end])


def test_damage_in_the_tables_is_the_error_that_it_is_without_memory(monkeypatch):
    data, random = jpeg(), np.random.default_rng(5)
    start = data.index(b"\xff\xda") + 14
    damaged = []
    for number in range(300):
        changed = np.frombuffer(data, np.uint8).copy()
        at = random.integers(2, start, 1 + number % 3)
        changed[at] = random.integers(0, 256, len(at))
        damaged.append(changed.tobytes())
    outcomes = [outcome(each) for each in damaged]
    assert sum(isinstance(each, str) for each in outcomes) > 30
    assert sum(isinstance(each, bytes) for each in outcomes) > 30
    monkeypatch.setattr(JpegDecoder, "decode", lambda *_: None)
    assert outcomes == [outcome(each) for each in damaged]


def test_damaged_pixels_are_those_of_imdecode():
    data, random = jpeg(), np.random.default_rng(6)
    start = data.index(b"\xff\xda") + 14
    for _ in range(60):
        changed = np.frombuffer(data, np.uint8).copy()
        at = random.integers(start, len(data) - 2, 3)
        changed[at] = random.integers(0, 256, len(at))
        expected = cv2.imdecode(changed, RGB)
        if expected is not None and header(changed.tobytes()).is_simple:
            assert np.array_equal(decode(changed.tobytes()), expected)


def test_a_codec_that_writes_nothing_is_noticed(monkeypatch):
    data = jpeg()
    expected = decode(data)
    monkeypatch.setattr(cv2, "imread", lambda _path, pixels, _flags: pixels)
    room = np.zeros(expected.size, np.uint8)
    assert np.array_equal(decode(data, room=room), expected)


@pytest.mark.parametrize("error", [TypeError, OSError, cv2.error])
def test_where_there_is_no_file_or_no_way_to_give_memory_another_way_is_taken(monkeypatch, error):
    data = jpeg()
    expected = decode(data)

    def fail(*_):
        raise error

    monkeypatch.setattr(*((os, "memfd_create") if error is OSError else (cv2, "imread")), fail)
    assert np.array_equal(decode(data), expected)


def test_the_header_may_lie_about_the_size():
    data = jpeg(16, 16)
    decoder = JpegDecoder()
    assert decoder.decode(memoryview(data), (16, 15, 3), RGB) is None
    assert decoder.decode(memoryview(data), (15, 16, 3), RGB) is None
    assert decoder.decode(memoryview(data), (16, 16, 3), RGB) is not None
