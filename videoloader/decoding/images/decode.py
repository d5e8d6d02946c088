"""Decodes images to pixels on the CPU.

libjpeg-turbo decodes JPEG, OpenCV other formats, and FFmpeg those that OpenCV does not read.

Our own code reads the header first, so that files that are not images, or claim too many pixels,
never reach a codec.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.av1.units import parse_sequence
from videoloader.decoding.images.fields import ImageHeader
from videoloader.decoding.images.header import named, read_header
from videoloader.decoding.images.jpeg import (
    decode_jpeg,
    ended_early,
    has_all_scans,
    with_longer_scans,
)
from videoloader.decoding.images.pixels import convert, oriented
from videoloader.decoding.images.tiff import (
    as_strips_of_words,
    check_strips,
    predictor,
    read_tiff,
    readable,
    widened,
)
from videoloader.errors import DecodeError, UnsupportedError

Pixels = NDArray[Any]

_INT_MAX = (1 << 31) - 1
_EDGES = 1 << 18  # pixels; decoders round small pictures up to whole blocks

_BY_FFMPEG = ("heic", "heic-grid")


def decode_image(
    data: memoryview,
    name: str,
    *,
    output_type: str,
    adjust_orientation: bool,
    max_pixels: int,
    window: tuple[slice, slice] | None = None,
    header: ImageHeader | None = None,
    room: NDArray[np.uint8] | None = None,
) -> Pixels:
    """The pixels of an image (H, W, C), in the element type of the file.

    Args:
        data: the whole file.
        name: of the image, for errors.
        output_type: name of an `ImageType`.
        adjust_orientation: apply its EXIF orientation.
        max_pixels: maximum number of pixels.
        window: rows and columns to keep, of the oriented image.
        header: of the image, if it has been read already.
        room: memory for the pixels; used only if it has the right size and the codec can use it.

    Raises:
        VideoError: it cannot be decoded; the error names it.
    """
    with named(name):
        header = header or read_header(data, name)
        check_size(header, name, max_pixels)
        if header.format == "jpeg" and header.bits == 8 and header.channels in (1, 3):
            pixels = _jpeg(data, header, name, output_type, room)
        else:
            pixels = _stored_pixels(data, header, name)
        if pixels.shape[:2] != (header.height, header.width):
            height, width = pixels.shape[:2]
            raise DecodeError(
                f"{name}: decodes to {width}x{height} where its header says "
                f"{header.width}x{header.height}; the file is damaged"
            )
        if adjust_orientation and header.orientation != 1:
            pixels = oriented(pixels, header.orientation)
        if window is not None:
            pixels = pixels[window]
        return convert(pixels, output_type)


def check_size(header: ImageHeader, name: str, max_pixels: int) -> None:
    """Refuse an image that claims too many pixels."""
    if header.height * header.width * max(header.channels, 3) > 3 * max_pixels:
        raise UnsupportedError(
            f"{name}: {header.width}x{header.height} pixels of {header.channels} channels are over "
            f"the limit of max_pixels={max_pixels}; the file may be damaged, or pass a larger "
            "max_pixels"
        )


def _jpeg(
    data: memoryview,
    header: ImageHeader,
    name: str,
    output_type: str,
    room: NDArray[np.uint8] | None,
) -> Pixels:
    """Grey is the luma, as it is stored; RGB comes in that order from the codec."""
    if not has_all_scans(data):
        raise DecodeError("some of its scans are missing; the file is truncated")
    is_grey = output_type == "GRAY" or header.channels == 1
    pixels = decode_jpeg(data, (header.height, header.width, 1 if is_grey else 3), room)
    if pixels is not None:
        return pixels
    want: Literal["grey", "rgb"] = "grey" if is_grey else "rgb"
    pixels = _by_opencv(data, name, want)
    # OpenCV tells no warnings: "premature end of data segment" among them.
    if not np.array_equal(pixels, _by_opencv(memoryview(with_longer_scans(data)), name, want)):
        raise ended_early()
    return pixels


def _stored_pixels(data: memoryview, header: ImageHeader, name: str) -> Pixels:
    """The pixels as stored, with the channels of the header."""
    if header.format in _BY_FFMPEG:
        return _by_ffmpeg(data, header, name)
    if header.format == "tiff":
        return _tiff(data, header, name)
    if header.format.startswith("avif"):
        _check_avif(data, header, name)
    if header.format == "jpeg2000" and header.channels == 2:
        return _by_ffmpeg(data, header, name)
    pixels = _by_opencv(data, name)
    if bytes(data[:2]) == b"P7" and header.channels >= 3:
        pixels = pixels[..., [2, 1, 0, 3][: header.channels]]  # OpenCV decodes PAM to RGB, not BGR
    return _with_channels(pixels, header.channels)


def _tiff(data: memoryview, header: ImageHeader, name: str) -> Pixels:
    data = readable(data, read_tiff(data)[1])
    directory = read_tiff(data)[1]
    check_strips(directory)
    for words in as_strips_of_words(data, directory):
        _by_opencv(words, name)
    own = directory.stored
    # OpenCV reads RGB and grey; it premultiplies alpha and drops other channels.
    wide = widened(data, directory) if header.channels == own and own not in (1, 3) else None
    if wide is None:
        return _with_channels(_by_opencv(data, name), header.channels)
    pixels = _by_opencv(wide, name).reshape(header.height, -1, own)
    if predictor(directory) == 2:
        pixels = np.cumsum(pixels, axis=1, dtype=pixels.dtype)
    return pixels


def _by_opencv(
    data: memoryview, name: str, want: Literal["stored", "grey", "rgb"] = "stored"
) -> Pixels:
    """Decode with OpenCV to (H, W, C), RGB; ignores the EXIF orientation."""
    import cv2

    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), _flags(want))
    except cv2.error as error:
        # `error.code` is that of the last error in any thread.
        if f"({cv2.Error.StsNoMem}:" in str(error):
            raise MemoryError(_reason(error)) from error
        raise DecodeError(f"{name}: cannot be decoded ({_reason(error)})") from error
    if pixels is None:
        raise DecodeError(f"{name}: cannot be decoded; the file is truncated or damaged")
    if pixels.ndim == 2:
        return pixels[..., None]
    if want == "stored" and pixels.shape[-1] in (3, 4):
        code = cv2.COLOR_BGR2RGB if pixels.shape[-1] == 3 else cv2.COLOR_BGRA2RGBA
        if pixels.dtype in (np.uint8, np.uint16, np.float32):
            return cv2.cvtColor(pixels, code, dst=pixels)
        return pixels[..., [2, 1, 0, 3][: pixels.shape[-1]]]
    return pixels


def _flags(want: Literal["stored", "grey", "rgb"]) -> int:
    import cv2

    return {
        "stored": cv2.IMREAD_UNCHANGED,  # this also ignores the orientation
        "grey": cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION,
        "rgb": cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION,
    }[want]


def _by_ffmpeg(data: memoryview, header: ImageHeader, name: str) -> Pixels:
    """Decode the first picture with FFmpeg."""
    import io

    import av

    if header.format == "heic-grid":
        raise UnsupportedError(
            f"{name}: a HEIC image that is put together of tiles; convert it to another format"
        )
    form = {1: "gray", 2: "ya8", 3: "rgb24", 4: "rgba"}.get(header.channels, "rgb24")
    if header.bits > 8:
        form = {1: "gray16le", 2: "ya16le", 3: "rgb48le", 4: "rgba64le"}[header.channels]
    try:
        options = {"max_pixels": str(_most_pixels(header))}
        with av.open(io.BytesIO(data), "r", options=options) as container:
            container.streams.video[0].codec_context.options = options
            frame = next(container.decode(video=0))
            if (frame.height, frame.width) != (header.height, header.width):
                return np.empty((frame.height, frame.width, 1), np.uint8)
            frame = frame.reformat(format=form)
            plane = frame.planes[0]
            kind = np.uint16 if header.bits > 8 else np.uint8
            rows = np.frombuffer(memoryview(plane), kind).reshape(plane.height, -1)
            pixels = rows[:, : plane.width * header.channels]
            return pixels.reshape(header.height, header.width, header.channels).copy()
    except (av.FFmpegError, StopIteration, IndexError, ValueError) as error:
        raise DecodeError(f"{name}: cannot be decoded ({error})") from error


def _check_avif(data: memoryview, header: ImageHeader, name: str) -> None:
    """Refuse pictures that are larger than the header says: OpenCV decodes and then shrinks them.

    A file that FFmpeg does not open is left to OpenCV, bounded by the limits of a worker.
    """
    import io

    import av

    options = {"max_pixels": str(_most_pixels(header))}
    with suppress(av.FFmpegError), av.open(io.BytesIO(data), "r", options=options) as container:
        for packet in container.demux():
            sequence = parse_sequence(bytes(packet)) if packet.size else None
            if sequence is None:
                continue
            width, height = sequence.picture.width, sequence.picture.height
            if width * height > _most_pixels(header):
                raise DecodeError(
                    f"{name}: holds a picture of {width}x{height} where its header says "
                    f"{header.width}x{header.height}; the file is damaged"
                )


def _most_pixels(header: ImageHeader) -> int:
    """The pixels that decoders may allocate; at the edges more than are shown."""
    return min(2 * header.height * header.width + _EDGES, _INT_MAX)


def _with_channels(pixels: Pixels, channels: int) -> Pixels:
    """Convert OpenCV's pixels to the number of channels of the file."""
    own = pixels.shape[-1]
    if own == channels:
        return pixels
    if own == 1:
        return np.repeat(pixels, channels, axis=-1)
    if channels == 2:
        return pixels[..., [0, own - 1]]
    if channels <= 3:
        return pixels[..., :channels]
    opaque = 1 if pixels.dtype.kind == "f" else np.iinfo(pixels.dtype).max
    alpha = np.full((*pixels.shape[:2], channels - own), opaque, pixels.dtype)
    return np.concatenate([pixels, alpha], axis=-1)


def _reason(error: Exception) -> str:
    """The last part of OpenCV's message, which is about the file."""
    lines = str(error).strip().splitlines()
    return lines[0].rpartition("error: ")[2][:200] if lines else type(error).__name__
