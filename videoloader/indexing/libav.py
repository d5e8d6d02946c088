"""Reads streams and packets of containers with FFmpeg's demuxers (PyAV)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from videoloader.codecs.contexts import most_pixels, reason_of
from videoloader.errors import FormatError
from videoloader.indexing.packets import NO_TIME, PacketFlags
from videoloader.sources.demuxer import open_container
from videoloader.sources.source import Source

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream


class Packet(NamedTuple):
    """A packet as the demuxer describes it."""

    data: bytes
    offset: int
    pts: int
    dts: int
    duration: int
    flags: int


def is_codec(name: str) -> bool:
    """Whether FFmpeg decodes a video codec of this name (of a codec, not of a decoder).

    >>> is_codec("theora"), is_codec("libx265"), is_codec("h265")
    (True, False, False)
    """
    import av.codec.codec

    try:
        codec = av.codec.codec.Codec(name, "r")
    except av.codec.codec.UnknownCodecError:
        return False
    return codec.type == "video" and codec.canonical_name == name


def is_container(name: str) -> bool:
    """Whether FFmpeg has a demuxer of this name.

    >>> is_container("nut"), is_container("mkv")
    (True, False)
    """
    import av.format

    try:
        av.format.ContainerFormat(name, "r")
    except ValueError:
        return False
    return True


def pixel_format_names() -> set[str]:
    """Names of the pixel formats that FFmpeg has.

    >>> "yuv420p10le" in pixel_format_names()
    True
    """
    import av.video.format

    return set(av.video.format.names)  # type: ignore[attr-defined]  # not in its stubs


@contextmanager
def open_stream(source: Source, stream: int | None) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The container and the stream asked for, FFmpeg's best by default."""
    # Limits of the pictures that FFmpeg may decode while it probes the streams.
    limits = {"max_pixels": str(most_pixels(source.size))}
    with open_container(source, options=limits) as container:
        chosen = _choose(container, stream)
        if chosen.codec_context is not None:
            chosen.codec_context.options = limits
        yield container, chosen


def find_best_stream(source: Source) -> int:
    """The number of the video stream that FFmpeg selects by default."""
    with open_stream(source, None) as (_, video):
        return video.index


class StreamHeader(NamedTuple):
    """Properties of a video stream that FFmpeg reads from the header of a container.

    `duration` and `begin` are in seconds, None if unknown; `bit_rate` is in bits a second, 0 if
    unknown. `frame_rate` is FFmpeg's estimate of the rate that all times are multiples of,
    `average_rate` and `guessed_rate` its other two, None if unknown. `pixel_aspect_ratio` is that
    of the codec, 0 if unknown, `shown_aspect_ratio` that of the container or else the codec.
    `container_bit_rate` is that of all streams, 0 if unknown.
    """

    duration: float | None
    begin: float | None
    bit_rate: int
    num_frames: int | None
    frame_rate: float | None
    pixel_aspect_ratio: Fraction
    average_rate: float | None
    guessed_rate: float | None
    shown_aspect_ratio: Fraction
    container_bit_rate: int


def read_stream_header(source: Source, stream: int) -> StreamHeader:
    """Read the properties of a video stream from the container's header; reads no packets."""
    with open_stream(source, stream) as (container, video):
        seconds_per_tick = fraction_of(video.time_base)
        context = video.codec_context
        ratio = None if context is None else context.sample_aspect_ratio
        shown = video.sample_aspect_ratio
        rates = (video.base_rate, video.average_rate, video.guessed_rate)
        base, average, guessed = (float(fraction_of(rate)) if rate else None for rate in rates)
        return StreamHeader(
            float(video.duration * seconds_per_tick) if video.duration else None,
            None if video.start_time is None else float(video.start_time * seconds_per_tick),
            video.bit_rate or 0,
            video.frames or None,
            base,
            fraction_of(ratio) if ratio else Fraction(0),
            average,
            guessed,
            fraction_of(shown) if shown else Fraction(0),
            container.bit_rate or 0,
        )


def _choose(container: InputContainer, stream: int | None) -> VideoStream:
    if stream is None:
        best = container.streams.best("video")
        if best is None:
            kinds = ", ".join(sorted({s.type for s in container.streams})) or "none"
            raise FormatError(f"there is no video stream (streams: {kinds})")
        return best  # type: ignore[return-value]
    chosen = [s for s in container.streams.video if s.index == stream]
    if not chosen:
        numbers = [s.index for s in container.streams.video]
        raise FormatError(f"stream {stream} is no video stream; those are {numbers}")
    return chosen[0]


def demux_packets(source: Source, stream: int) -> Generator[bytes, None, None]:
    """The payloads of all packets of a stream, in the order of its index."""
    with open_stream(source, stream) as (container, video):
        for packet in packets_of(container, video, []):
            yield packet.data


def packets_of(
    container: InputContainer, stream: VideoStream, problems: list[str]
) -> Iterator[Packet]:
    """All packets of a stream; an error that ends them early is appended to `problems`."""
    import av

    demuxed = container.demux(stream)
    while True:
        try:
            packet = next(demuxed, None)
        except av.error.FFmpegError as error:
            # The rest is unreadable; FFmpeg's own decode ends here too.
            problems.append(f"unreadable behind the last packet ({reason_of(error)})")
            return
        if packet is None:
            return
        if packet.size == 0:
            continue
        flags = PacketFlags.KEY * packet.is_keyframe | PacketFlags.DISCARD * packet.is_discard
        flags |= PacketFlags.DAMAGED * packet.is_corrupt
        yield Packet(
            data=bytes(packet),
            offset=-1 if packet.pos is None else packet.pos,
            pts=NO_TIME if packet.pts is None else packet.pts,
            dts=NO_TIME if packet.dts is None else packet.dts,
            duration=packet.duration or 0,
            flags=int(flags),
        )


def fraction_of(value: Any) -> Fraction:
    """A rational of PyAV as a `Fraction`; its type depends on PyAV's version."""
    return Fraction(value.numerator, value.denominator) if value else Fraction(1)
