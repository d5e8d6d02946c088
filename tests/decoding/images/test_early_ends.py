"""JPEGs that end before their last pixel, though their end marker stands there."""

import cv2
import numpy as np
import pytest
from image_files import encoded

import videoloader as vl
from videoloader.decoding.images import decode as decoding
from videoloader.decoding.images.decode import decode_image
from videoloader.decoding.images.jpeg import has_all_scans, with_longer_scans

EARLY = r"^x: (its data ends before its last pixel|some of its scans are missing)"
KINDS = {
    "plain": (),
    "grey": (),
    "restarts": (cv2.IMWRITE_JPEG_RST_INTERVAL, 4),
    "progressive": (cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
}


def jpeg(kind):
    rough = np.random.default_rng(3).integers(0, 256, (8, 12, 1 if kind == "grey" else 3), np.uint8)
    smooth = cv2.resize(rough, (120, 80), interpolation=cv2.INTER_CUBIC).reshape(80, 120, -1)
    return encoded(smooth, "jpg", *KINDS[kind])


def decode(data, output_type="RGB"):
    return decode_image(
        memoryview(data), "x", output_type=output_type, adjust_orientation=True, max_pixels=1 << 24
    )


def ended_at(data, end):
    """The file up to a byte, and an end marker."""
    return data[:end].rstrip(b"\xff") + b"\xff\xd9"


def ends_of(data):
    """All ends within the coded data; the last bits of it may be padding."""
    return range(data.index(b"\xff\xda") + 14, len(data) - 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_jpeg_that_ends_early_with_an_end_marker_is_an_error(kind):
    data = jpeg(kind)
    for end in ends_of(data):
        with pytest.raises(vl.VideoError, match=EARLY):
            decode(ended_at(data, end), "RGB" if end % 2 else "GRAY")


@pytest.mark.parametrize("kind", ["plain", "grey", "progressive"])
def test_all_but_the_last_blocks_are_missed_without_warnings_too(kind, monkeypatch):
    monkeypatch.setattr(decoding, "decode_jpeg", lambda *_: None)
    data = jpeg(kind)
    for end in ends_of(data)[:-30:7]:
        with pytest.raises(vl.VideoError, match=EARLY):
            decode(ended_at(data, end))


def test_a_progressive_jpeg_without_its_last_scans_is_an_error():
    data = jpeg("progressive")
    scans = [at for at in range(len(data)) if data[at : at + 2] == b"\xff\xda"]
    assert len(scans) > 5
    for at in scans[1:]:
        with pytest.raises(vl.VideoError, match="some of its scans are missing"):
            decode(data[:at] + b"\xff\xd9")


def test_a_lost_interval_between_restart_markers_is_an_error():
    data = jpeg("restarts")
    first, second = data.index(b"\xff\xd2"), data.index(b"\xff\xd3")
    with pytest.raises(vl.VideoError, match=EARLY):
        decode(data[:first] + data[second:])


@pytest.mark.parametrize("kind", KINDS)
def test_more_bits_behind_complete_data_change_nothing(kind):
    data = jpeg(kind)
    longer = with_longer_scans(memoryview(data))
    assert len(longer) > len(data)
    assert has_all_scans(memoryview(data))
    assert has_all_scans(memoryview(longer))
    assert np.array_equal(
        *(cv2.imdecode(np.frombuffer(each, np.uint8), 1) for each in (data, longer))
    )
    assert decode(longer).shape == (80, 120, 3)  # extraneous bytes are no missing ones


def test_an_end_marker_behind_fill_bytes_is_the_end_of_the_image():
    data = jpeg("plain")
    assert np.array_equal(decode(data[:-2] + b"\xff" * 9 + data[-2:]), decode(data))


@pytest.mark.parametrize("piece", [b"\xff\xd0", b"\xff", b"\xff\0", b"\xff\xda\0\x02", b"\xff\x01"])
def test_a_hostile_file_is_searched_in_linear_time(piece):
    head = jpeg("progressive")
    data = memoryview(head[: head.index(b"\xff\xda")] + piece * (200_000 // len(piece)))
    has_all_scans(data)
    assert len(with_longer_scans(data)) < 3 * len(data)
