"""JPEGs that libjpeg-turbo decodes into given memory: the pixels and the errors of OpenCV."""

import sys

import cv2
import numpy as np
import pytest
from image_files import encoded, picture

import videoloader as vl
from videoloader.decoding.images import decode as decoding
from videoloader.decoding.images.decode import decode_image
from videoloader.decoding.images.jpeg import codec, decode_jpeg

simplejpeg = pytest.importorskip("simplejpeg")

RGB = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
GREY = cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION


def jpeg(height=61, width=83, channels=3, *options):
    rough = np.random.default_rng(height).integers(0, 60, (height, width, channels), np.uint8)
    return encoded(picture(height, width, channels) // 2 + rough, "jpg", *options)


def decode(data, output_type="RGB", **memory):
    return decode_image(
        memoryview(data),
        "x",
        output_type=output_type,
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


def is_incomplete(outcome):
    """Whether it is the error of a file that does not hold all of its pixels."""
    ends = ("ends before its last pixel", "scans are missing")
    return isinstance(outcome, str) and any(each in outcome for each in ends)


def outcome_by_opencv(data, monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(decoding, "decode_jpeg", lambda *_: None)
        return outcome(data)


SIZES = [(1, 1), (1, 40), (40, 1), (8, 8), (61, 83), (300, 17)]
KINDS = {
    "plain": (),
    "rst": (cv2.IMWRITE_JPEG_RST_INTERVAL, 2),
    "progressive": (cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    "optimised": (cv2.IMWRITE_JPEG_OPTIMIZE, 1),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_pixels_are_those_of_opencv_wherever_they_lie(size, kind):
    for sampling in (0x411111, 0x221111, 0x211111, 0x121111, 0x111111):
        data = jpeg(*size, 3, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling, *KINDS[kind])
        for flags, channels in ((RGB, 3), (GREY, 1)):
            expected = cv2.imdecode(np.frombuffer(data, np.uint8), flags).reshape(*size, channels)
            room = np.zeros(expected.size, np.uint8)
            made = decode_jpeg(memoryview(data), expected.shape, room)
            assert np.shares_memory(made, room)
            assert np.array_equal(made, expected)
            made = decode_jpeg(memoryview(data), expected.shape, room[:-1])
            assert not np.shares_memory(made, room)
            assert np.array_equal(made, expected)


@pytest.mark.parametrize("output_type", ["GRAY", "RGB", "ANY_DATA"])
def test_a_grey_file_is_decoded_in_place_too(output_type):
    data = jpeg(61, 83, 1)
    expected = cv2.imdecode(np.frombuffer(data, np.uint8), GREY)[..., None]
    room = np.zeros(expected.size, np.uint8)
    made = decode(data, output_type, room=room)
    assert np.array_equal(made, np.broadcast_to(expected, made.shape))
    assert np.array_equal(room, expected.ravel())


def test_bytes_behind_the_end_of_the_image_change_nothing():
    assert outcome(jpeg() + b"junk") == outcome(jpeg())


def test_no_file_that_is_cut_off_is_half_an_image():
    for data in (jpeg(), jpeg(61, 83, 3, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)):
        for end in (*range(2, len(data) - 2, 97), len(data) - 2, len(data) - 1):
            with pytest.raises(vl.VideoError, match=r"^x: "):
                decode(data[:end])


def test_damage_in_the_tables_is_the_error_that_it_is_to_opencv(monkeypatch):
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
    for each, own in zip(damaged, outcomes, strict=True):
        assert is_incomplete(own) or own == outcome_by_opencv(each, monkeypatch)


@pytest.mark.parametrize("options", [(), KINDS["progressive"]], ids=["plain", "progressive"])
def test_damaged_pixels_are_those_of_opencv(monkeypatch, options):
    data, random = jpeg(61, 83, 3, *options), np.random.default_rng(6)
    start = data.index(b"\xff\xda") + 14
    for _ in range(100):
        changed = np.frombuffer(data, np.uint8).copy()
        at = random.integers(start, len(data) - 2, 3)
        changed[at] = random.integers(0, 256, len(at))
        own = outcome(changed.tobytes())
        assert is_incomplete(own) or own == outcome_by_opencv(changed.tobytes(), monkeypatch)


@pytest.mark.parametrize("transform", ["YCCK", "CMYK", "no marker"])
def test_inks_become_the_colors_that_they_are_to_opencv(transform, monkeypatch):
    inks = np.random.default_rng(7).integers(0, 256, (40, 40, 4), np.uint8)
    data = simplejpeg.encode_jpeg(inks, colorspace="CMYK", quality=95)
    at = data.index(b"Adobe")
    if transform == "CMYK":
        data = data[: at + 11] + b"\0" + data[at + 12 :]
    elif transform == "no marker":
        data = data[: at - 4] + data[at + 12 :]
    assert decode_jpeg(memoryview(data), (40, 40, 3)) is not None
    assert isinstance(outcome(data), bytes)
    assert outcome(data) == outcome_by_opencv(data, monkeypatch)


def test_without_the_codec_opencv_decodes(monkeypatch):
    data = jpeg()
    expected = outcome(data)
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    codec.cache_clear()
    try:
        assert decode_jpeg(memoryview(data), (61, 83, 3)) is None
        assert outcome(data) == expected
    finally:
        codec.cache_clear()


def test_the_header_may_lie_about_the_size():
    data = jpeg(16, 16)
    for size in ((16, 15), (15, 16), (17, 16)):
        room = np.zeros(size[0] * size[1] * 3, np.uint8)
        assert decode_jpeg(memoryview(data), (*size, 3), room) is None
        assert decode_jpeg(memoryview(data), (*size, 3)) is None
    assert decode_jpeg(memoryview(data), (16, 16, 3)) is not None
