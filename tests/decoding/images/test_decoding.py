"""Pixels of images, against DALI's, and against what was encoded."""

import cv2
import numpy as np
import pyarrow as pa
import pytest
from image_files import FILES, encoded, picture, references

from videoloader.decoding.images import tiff
from videoloader.decoding.images.decode import decode_image
from videoloader.decoding.images.pixels import oriented
from videoloader.errors import DecodeError, OutOfMemoryError, VideoError


def decode(data, output_type="RGB", *, adjust_orientation=True, **options):
    return decode_image(
        memoryview(data),
        "x",
        output_type=output_type,
        adjust_orientation=adjust_orientation,
        max_pixels=1 << 20,
        **options,
    )


def scaled(pixels):
    """Pixels of any element type on the scale from 0 to 255."""
    top = 1.0 if pixels.dtype.kind == "f" else np.iinfo(pixels.dtype).max
    return pixels * (255 / top)


@pytest.mark.parametrize("name", sorted(name for name in references() if " " in name))
def test_pixels_are_those_of_dali(name):
    file, output_type = name.split(" ")
    expected = references()[name].astype(float)
    pixels = scaled(decode(FILES[file], output_type))
    assert pixels.shape == expected.shape
    difference = np.abs(pixels - expected)
    assert difference.mean() <= 1.0
    assert difference.max() <= 1.5  # what is not of 8 bits is rounded behind this


@pytest.mark.parametrize("extension", ["png", "tiff", "bmp", "ppm", "jp2", "webp"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_lossless_formats_give_back_what_was_encoded(extension, channels):
    if (extension, channels) in {("bmp", 4), ("ppm", 4), ("ppm", 1), ("webp", 1)}:
        pytest.skip("not written so")
    options = {"webp": (cv2.IMWRITE_WEBP_QUALITY, 101), "jp2": ()}.get(extension, ())
    pixels = picture(67, 83, channels)
    assert np.array_equal(decode(encoded(pixels, extension, *options), "ANY_DATA"), pixels)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_pam_is_in_the_order_of_its_file(channels):
    pixels = picture(5, 7, channels)
    name = ("GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA")[channels - 1]
    head = f"P7\nWIDTH 7\nHEIGHT 5\nDEPTH {channels}\nMAXVAL 255\nTUPLTYPE {name}\nENDHDR\n"
    assert np.array_equal(decode(head.encode() + pixels.tobytes(), "ANY_DATA"), pixels)


@pytest.mark.parametrize("extension", ["png", "tiff", "ppm", "jp2"])
def test_sixteen_bits_stay(extension):
    pixels = picture(69, 72, 3, np.uint16)
    decoded = decode(encoded(pixels, extension), "ANY_DATA")
    assert decoded.dtype == np.uint16
    assert np.array_equal(decoded, pixels)


def test_the_first_frame_of_an_animation_is_decoded():
    frames = [np.full((8, 8, 3), value, np.uint8) for value in (255, 0)]
    done, data = cv2.imencodemulti(".gif", frames)
    assert done
    assert (decode(data.tobytes()) > 250).all()  # its palette has no better white


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_that_of_opencv(orientation):
    pixels = picture(6, 9)
    jpeg = encoded(pixels, "jpg", cv2.IMWRITE_JPEG_QUALITY, 100)
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0" + bytes([orientation, 0, 0])
    exif += bytes(4)
    marked = jpeg[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + jpeg[2:]
    expected = cv2.imdecode(np.frombuffer(marked, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
    assert np.array_equal(decode(marked), expected)
    stored = decode(marked, adjust_orientation=False)
    assert np.array_equal(stored, decode(jpeg))
    assert np.array_equal(oriented(stored, orientation), expected)


def test_a_window_is_taken_of_the_turned_image():
    whole = decode(FILES["exif6.jpg"])
    part = decode(FILES["exif6.jpg"], window=(slice(2, 9), slice(4, 8)))
    assert np.array_equal(part, whole[2:9, 4:8])


def tiff_file(pixels, **options):
    """A TIFF of uncompressed samples, of any number of channels, with its compression redone."""
    grey = encoded(pixels.reshape(len(pixels), -1, 1), "tiff", cv2.IMWRITE_TIFF_COMPRESSION, 1)
    _, directory = tiff.read_tiff(memoryview(grey))
    changes = {256: [pixels.shape[1]], 277: [pixels.shape[2]], 258: [8] * pixels.shape[2]}
    return bytes(tiff._rewritten(memoryview(grey), directory, {**changes, **options}))


@pytest.mark.parametrize("channels", [2, 5, 6])
def test_a_tiff_has_any_number_of_channels(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (7, 11, channels), dtype=np.uint8)
    assert np.array_equal(decode(tiff_file(pixels), "ANY_DATA"), pixels)


@pytest.mark.parametrize("predictor", [1, 2])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_tiff_of_zstd_is_decoded(predictor, channels):
    pixels = np.random.default_rng(0).integers(0, 256, (7, 11, channels), dtype=np.uint8)
    stored = np.diff(pixels, axis=1, prepend=np.uint8(0)) if predictor == 2 else pixels
    data = tiff_file(pixels)
    strip = pa.Codec("zstd").compress(stored.tobytes(), asbytes=True)
    _, directory = tiff.read_tiff(memoryview(data))
    changes = {259: [50000], 273: [len(data)], 279: [len(strip)], 278: [7], 317: [predictor]}
    changes[262] = [2 if channels > 1 else 1]
    whole = bytes(tiff._rewritten(memoryview(data + strip), directory, changes))
    assert np.array_equal(decode(whole, "ANY_DATA"), pixels)


def test_damaged_zstd_is_an_error_that_names_the_image():
    data = tiff_file(picture(8, 8))
    _, directory = tiff.read_tiff(memoryview(data))
    with pytest.raises(VideoError, match=r"^x: "):
        decode(bytes(tiff._rewritten(memoryview(data), directory, {259: [50000]})))


@pytest.mark.parametrize("extension", ["jpg", "png", "tiff", "bmp", "ppm", "webp", "jp2", "gif"])
def test_a_truncated_file_is_an_error_and_never_half_an_image(extension):
    data = encoded(picture(200, 300), extension)
    for part in (0.2, 0.5, 0.9, 0.98):
        with pytest.raises(VideoError, match=r"^x: "):
            decode(data[: int(len(data) * part)])


@pytest.mark.parametrize(
    ("text", "kind"),
    [("a\nb", DecodeError), ("error: (-4:Insufficient memory) Failed", OutOfMemoryError)],
)
def test_an_error_of_opencv_is_one_of_ours(monkeypatch, text, kind):
    def fail(*arguments):
        cv2.error.code = cv2.Error.StsNoMem  # as an error in another thread leaves it
        raise cv2.error(text)

    monkeypatch.setattr(cv2.error, "code", None)
    monkeypatch.setattr(cv2, "imdecode", fail)
    with pytest.raises(kind, match=r"^x: "):
        decode(FILES["rgba.png"])
