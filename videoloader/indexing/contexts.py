"""FFmpeg's decoders (PyAV) for packets of our own, and code that must do without FFmpeg."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from videoloader.codecs.registry import codec_of
from videoloader.errors import UnsupportedError

if TYPE_CHECKING:
    import av

__all__ = [
    "LibavNeededError",
    "check_allowed",
    "make_packet",
    "most_pixels",
    "open_decoder",
    "pixel_format_of",
    "reason_of",
    "without_libav",
]

_is_kept_out: ContextVar[bool] = ContextVar("_is_kept_out", default=False)

_MOST_PIXELS = (1 << 31) - 1  # FFmpeg's option of that name takes no more
_PIXELS, _PIXELS_A_BYTE = 48_000_000, 16  # more than 8K, and more of larger files


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
    """A decoder that takes packets directly, no container behind it.

    Args:
        codec: FFmpeg's name.
        extradata: extradata.
        tag: the container's four characters.
        width: of the picture as the container has it, 0 if unknown; `height` likewise.
        height: see `width`.
        threads: frame threads.
        careful: refuse packets that break the rules of the codec, where FFmpeg would otherwise
            conceal the damage and go on.
        max_pixels: refuse pictures of more.
        options: of FFmpeg's decoder, besides those that the codec needs.

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
    """A packet for `open_decoder`'s decoders that names its frame by `number`.

    The payload is copied: `av.Packet(payload)` would point at Python's memory, without the zeros
    behind the end that decoders read into, and their output would depend on what lies there.
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
    """A file that takes FFmpeg to look at it, where that is not to be."""


@contextmanager
def without_libav() -> Iterator[None]:
    """Have whatever is called in it raise `LibavNeededError` where it would run FFmpeg's code."""
    token = _is_kept_out.set(True)
    try:
        yield
    finally:
        _is_kept_out.reset(token)


def check_allowed() -> None:
    """Fail within `without_libav`.

    Raises:
        LibavNeededError: FFmpeg's code is not to run here.
    """
    if _is_kept_out.get():
        raise LibavNeededError


def most_pixels(file_size: int) -> int:
    """Pixels of the largest picture that is decoded to find out what is in a file."""
    return min(_PIXELS + _PIXELS_A_BYTE * file_size, _MOST_PIXELS)


def reason_of(error: Exception) -> str:
    """FFmpeg's words, without number and path."""
    return str(getattr(error, "strerror", None) or error)
