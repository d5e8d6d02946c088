"""Opens FFmpeg's decoders (PyAV) for single packets, and forbids FFmpeg in some code paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from videoloader.codecs.registry import codec_of
from videoloader.errors import UnsupportedError

if TYPE_CHECKING:
    import av

_is_kept_out: ContextVar[bool] = ContextVar("_is_kept_out", default=False)

_MOST_PIXELS = (1 << 31) - 1  # upper limit of FFmpeg's option max_pixels
_PIXELS, _PIXELS_A_BYTE = 48_000_000, 16  # more than 8K; larger files may have larger pictures


def open_decoder(
    codec: str,
    *,
    extradata: bytes = b"",
    tag: str = "",
    width: int = 0,
    height: int = 0,
    threads: int = 1,
    careful: bool = False,
    max_pixels: int | None = None,
    options: Mapping[str, str] | None = None,
) -> av.VideoCodecContext:
    """Open a decoder that takes packets directly, without a container.

    Args:
        codec: FFmpeg's name.
        extradata: codec parameters from the container, or empty.
        tag: FourCC of the container.
        width: picture width stated by the container, 0 if unknown.
        height: picture height stated by the container, 0 if unknown.
        threads: number of frame threads.
        careful: reject packets that violate the codec's syntax; else FFmpeg conceals the damage.
        max_pixels: reject pictures with more pixels.
        options: options of FFmpeg's decoder, in addition to those that the codec needs.

    Raises:
        UnsupportedError: FFmpeg has no such decoder, or it refuses the extradata.
    """
    check_allowed()
    import av

    known = codec_of(codec)
    try:
        context = av.CodecContext.create(known.ffmpeg or codec, "r")
        if not isinstance(context, av.VideoCodecContext):
            raise UnsupportedError(
                f"{codec!r} is no codec of video; an index that says so is damaged"
            )
        if extradata:
            context.extradata = extradata
        if len(tag) == 4:
            context.codec_tag = tag
        context.width, context.height = width, height
        context.thread_count = threads
        context.thread_type = "FRAME" if threads > 1 else "NONE"
        chosen = {**known.options, **(options or {})}
        if max_pixels is not None:
            chosen["max_pixels"] = str(min(max_pixels, _MOST_PIXELS))
        if careful and known.refuses_damage:
            chosen["err_detect"] = "explode"
        context.options = chosen
        context.open()
    except (av.error.FFmpegError, ValueError) as error:
        raise UnsupportedError(
            f"no decoder for {codec!r} starts here ({reason_of(error)})"
        ) from error
    return context


def make_packet(payload: bytes, number: int) -> av.Packet[Any]:
    """A packet for the decoders of `open_decoder`, with `number` as its pts.

    Say of keyframes that they are (`is_keyframe`): FFmpeg's decoder of PNG takes the pictures of
    other packets for differences from the picture before.

    The payload is copied: `av.Packet(payload)` would refer to Python's memory, which lacks the
    zero padding that decoders read past the end, so their output would be undefined.
    """
    import av

    packet: av.Packet[Any] = av.Packet(len(payload))
    packet.update(payload)
    packet.pts = number
    return packet


def pixel_format_of(context: av.VideoCodecContext) -> str | None:
    """FFmpeg's name of the format of pictures; None if it is not known.

    Not `context.pix_fmt`, which crashes PyAV 17 where there is none.
    """
    return context.format.name if context.format is not None else None


class LibavNeededError(Exception):
    """A file needs FFmpeg, but FFmpeg is forbidden here."""


@contextmanager
def without_libav() -> Iterator[None]:
    """Within this context, raise `LibavNeededError` instead of running FFmpeg's code."""
    token = _is_kept_out.set(True)
    try:
        yield
    finally:
        _is_kept_out.reset(token)


def check_allowed() -> None:
    """Raise within `without_libav`; call this before running FFmpeg's code.

    Raises:
        LibavNeededError: FFmpeg is forbidden here.
    """
    if _is_kept_out.get():
        raise LibavNeededError


def most_pixels(file_size: int) -> int:
    """Maximum pixels of a picture that is decoded while a file of `file_size` bytes is probed."""
    return min(_PIXELS + _PIXELS_A_BYTE * file_size, _MOST_PIXELS)


def reason_of(error: Exception) -> str:
    """FFmpeg's error text, without error number and path."""
    return str(getattr(error, "strerror", None) or error)
