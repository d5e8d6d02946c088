"""Opens containers with FFmpeg's demuxers (PyAV), and reads their streams and packets."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from videoloader.errors import FormatError
from videoloader.indexing.contexts import check_allowed, most_pixels, reason_of
from videoloader.indexing.formats import CONFINED, HEAD, is_text, refuse_others, refuse_references
from videoloader.indexing.packets import NO_TIME, PacketFlags
from videoloader.sources.faults import InterruptedReadError
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
    is_whole: bool


def is_codec(name: str) -> bool:
    """Whether FFmpeg decodes a video codec of this name, which is not that of a decoder.

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
def open_container(
    source: Source, kind: str = "video file", options: Mapping[str, str] | None = None
) -> Iterator[InputContainer]:
    """Open the container in a source with FFmpeg.

    libav opens nothing by name, and does not get the name of the file: it would treat
    `%03d.jpg` as a pattern of image files and open them.

    Args:
        source: stays open; the file object that FFmpeg reads from is closed at the end.
        kind: what the file should be, for the message.
        options: options of FFmpeg, in addition to `CONFINED`.
    """
    check_allowed()
    import av

    head = source.read_up_to(0, HEAD)
    refuse_references(head)
    refuse_others(head)
    with source.file() as file:
        try:
            arguments = _arguments(CONFINED | dict(options or {}))
            container = av.open(_Nameless(file), mode="r", **arguments)
        except (av.error.FFmpegError, ValueError) as error:
            end = max(source.size - HEAD, 0)  # text in front of sound does not make a file text
            is_whole = is_text(head) and is_text(source.read_up_to(end, HEAD))
            reason = "it is text" if is_whole else reason_of(error)
            raise FormatError(f"no {kind} that FFmpeg opens ({reason})") from error
        except InterruptedReadError as error:
            raise error.interrupt from None
        with container:
            try:
                yield container
            except InterruptedReadError as error:
                raise error.interrupt from None


class _Nameless:
    """A file object for PyAV that hides the file name.

    PyAV calls `read` from within FFmpeg. When FFmpeg returns, it raises an `Exception` of `read`,
    but it drops an interrupt (`KeyboardInterrupt`) and takes it as the end of the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.seek = file.seek
        self.tell = file.tell
        self._read = file.read
        self._is_interrupted = False

    def read(self, size: int) -> bytes:
        if self._is_interrupted:
            return b""
        try:
            return self._read(size)
        except Exception:
            raise
        except BaseException as interrupt:  # noqa: BLE001  (`open_container` raises it)
            self._is_interrupted = True
            raise InterruptedReadError(interrupt) from None


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


def _arguments(options: dict[str, str]) -> dict[str, Any]:
    """The arguments of `av.open` that give these options to FFmpeg.

    PyAV before 17 frees memory that it does not own if codecs get options too and a stream begins
    in the middle of a file, as in MPEG-PS. So its options are for the container only; then the
    size of the file bounds what FFmpeg decodes while it probes streams, not `max_pixels`. Titles
    in an unknown encoding are ignored, as PyAV 19 does by itself.
    """
    import av

    version = int(av.__version__.partition(".")[0])
    arguments: dict[str, Any] = {"options" if version >= 17 else "container_options": options}
    return arguments | ({"metadata_errors": "ignore"} if version < 19 else {})


def find_best_stream(source: Source) -> int:
    """The number of the video stream that FFmpeg selects by default."""
    with open_stream(source, None) as (_, video):
        return video.index


class StreamHeader(NamedTuple):
    """Properties of a video stream that FFmpeg reads from the header of a container.

    `duration` and `begin` are in seconds, None if unknown; `bit_rate` is in bits a second, 0 if
    unknown. `frame_rate` is FFmpeg's estimate of the rate that all times are multiples of.
    `pixel_aspect_ratio` is 0 if unknown.
    """

    duration: float | None
    begin: float | None
    bit_rate: int
    num_frames: int | None
    frame_rate: float | None
    pixel_aspect_ratio: Fraction


def read_stream_header(source: Source, stream: int) -> StreamHeader:
    """Read the properties of a video stream from the container's header; reads no packets."""
    with open_stream(source, stream) as (_, video):
        seconds_per_tick = fraction_of(video.time_base)
        rate = video.base_rate
        context = video.codec_context
        ratio = None if context is None else context.sample_aspect_ratio
        return StreamHeader(
            float(video.duration * seconds_per_tick) if video.duration else None,
            None if video.start_time is None else float(video.start_time * seconds_per_tick),
            video.bit_rate or 0,
            video.frames or None,
            float(fraction_of(rate)) if rate else None,
            fraction_of(ratio) if ratio else Fraction(0),
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
        yield Packet(
            data=bytes(packet),
            offset=-1 if packet.pos is None else packet.pos,
            pts=NO_TIME if packet.pts is None else packet.pts,
            dts=NO_TIME if packet.dts is None else packet.dts,
            duration=packet.duration or 0,
            flags=int(flags),
            is_whole=not packet.is_corrupt,
        )


def fraction_of(value: Any) -> Fraction:
    """A rational of PyAV as a `Fraction`; its type depends on PyAV's version."""
    return Fraction(value.numerator, value.denominator) if value else Fraction(1)
