"""From a `moov` box to a `VideoIndex`: tracks, the one to take, and its packet table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.bitstream.nal import has_b_slices
from videoloader.indexing.index import PACKET_DTYPE, Orientation, PacketFlags, VideoIndex
from videoloader.indexing.mp4.boxes import Box, read_movie
from videoloader.indexing.mp4.edits import Timeline, edit_timeline, plain_timeline, read_edits
from videoloader.indexing.mp4.entry import VisualEntry, read_entries
from videoloader.indexing.mp4.samples import Samples, read_samples, read_sizes
from videoloader.indexing.payloads import packet_windows
from videoloader.indexing.source import Source

__all__ = ["index_mp4"]

_IDENTITY = (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)


@dataclass(frozen=True, slots=True)
class _Track:
    box: Box
    number: int
    is_default: bool
    matrix: tuple[int, ...]
    timescale: int
    duration: int
    num_samples: int
    num_bytes: int

    @property
    def bit_rate(self) -> int:
        return self.num_bytes * 8 * self.timescale // max(self.duration, 1)


def index_mp4(source: Source, *, stream: int | None = None) -> tuple[VideoIndex, bool] | None:
    """Index a progressive MP4 or MOV file.

    Returns:
        The index, and whether its timestamps tell the order of the frames; None if the file is
        of another format or has what is not read here (fragments, rare codecs), which needs a
        demuxer.

    Raises:
        FormatError: the file is damaged or truncated, or has no video.
    """
    found = read_movie(source)
    if found is None or found[1]:
        return None
    movie = found[0]
    header = movie.need(b"mvhd")
    version = header.unpack("B")[0]
    (movie_timescale,) = header.unpack("I", 20 if version == 1 else 12)
    matrix = header.unpack("9i", 48 if version == 1 else 36)
    tracks = _video_tracks(movie, source.size)
    if stream is not None:
        tracks = [track for track in tracks if track.number == stream]
    if not tracks:
        return None  # a demuxer may find pictures elsewhere, or says what is there instead
    track = max(tracks, key=_preference)
    if not track.num_samples:
        return None
    samples = read_samples(_table(track.box), file_size=source.size)
    entries = read_entries(
        _table(track.box),
        lambda: source.read_up_to(int(samples.offsets[0]), int(samples.sizes[0])),
    )
    if entries is None:
        return None
    edits = read_edits(
        track.box, timescale=track.timescale, movie_timescale=max(movie_timescale, 1)
    )
    if any(edit.duration == 0 or edit.start < -1 for edit in edits):
        return None  # what players make of these differs; FFmpeg's demuxer decides
    timeline = edit_timeline(samples, edits) if edits else plain_timeline(samples)
    _check_places(samples, timeline, source)
    index = _build(source, track, samples, matrix, entries, timeline)
    return index, _order_is_told(samples, entries, source)


def _video_tracks(movie: Box, file_size: int) -> list[_Track]:
    tracks = []
    boxes = [box for box in movie.children() if box.kind == b"trak"]
    for number, box in enumerate(boxes):
        handler = box.find(b"mdia", b"hdlr")
        if handler is None or handler.data[handler.start + 8 : handler.start + 12] != b"vide":
            continue
        head = box.need(b"tkhd")
        wide = head.unpack("B")[0] == 1
        media = box.need(b"mdia", b"mdhd")
        long = media.unpack("B")[0] == 1
        timescale, duration = media.unpack("IQ" if long else "II", 20 if long else 12)
        if timescale == 0:
            raise FormatError(f"track {number} has a timescale of 0")
        sizes = read_sizes(_table(box), file_size=file_size)
        tracks.append(
            _Track(
                box=box,
                number=number,
                is_default=bool(head.unpack("I")[0] & 1),
                matrix=head.unpack("9i", 52 if wide else 40),
                timescale=timescale,
                duration=duration,
                num_samples=len(sizes),
                num_bytes=int(sizes.sum()),
            )
        )
    return tracks


def _table(track: Box) -> Box:
    return track.need(b"mdia", b"minf", b"stbl")


def _preference(track: _Track) -> tuple[bool, int, int]:
    """What FFmpeg goes by for the best stream: default, more than a picture, bit rate."""
    return track.is_default, min(track.num_samples, 5), track.bit_rate


def _check_places(samples: Samples, timeline: Timeline, source: Source) -> None:
    # An offset may be as large as it gets: compared so that no sum overflows.
    outside = (samples.offsets > source.size - samples.sizes)[timeline.samples]
    if outside.any():
        packet = int(np.argmax(outside))
        offset = samples.offsets[timeline.samples][packet]
        size = samples.sizes[timeline.samples][packet]
        raise FormatError(
            f"truncated: packet {packet} of {len(outside)}, {size} bytes at {offset}, ends behind "
            f"the end of the file at {source.size}"
        )


def _order_is_told(samples: Samples, entries: list[VisualEntry], source: Source) -> bool:
    """Whether presentation order follows from the timestamps.

    Without `ctts`, every sample claims to be shown when it is decoded. Some writers leave the
    box out although the stream has B-frames, so the stream itself is asked.
    """
    if samples.composition is not None or all(e.picture.reorders is False for e in entries):
        return True
    entry = entries[0]
    if entry.codec != "h264":
        return False
    return not any(
        has_b_slices(data, starts, samples.sizes[some], length_size=entry.length_size)
        for some, data, starts in packet_windows(source, samples.offsets, samples.sizes)
    )


def _build(
    source: Source,
    track: _Track,
    samples: Samples,
    movie_matrix: tuple[int, ...],
    entries: list[VisualEntry],
    timeline: Timeline,
) -> VideoIndex:
    chosen = timeline.samples
    packets = np.empty(len(timeline.pts), dtype=PACKET_DTYPE)
    packets["offset"] = samples.offsets[chosen]
    packets["size"] = samples.sizes[chosen]
    packets["pts"] = timeline.pts
    packets["dts"] = timeline.dts
    packets["duration"] = samples.durations[chosen]
    flags = samples.keys[chosen] * np.uint16(PacketFlags.KEY)
    flags += timeline.discard * np.uint16(PacketFlags.DISCARD)
    packets["flags"] = flags
    setups = _setups(samples.entries[chosen], entries)
    entry = entries[setups[0][1]] if setups else entries[0]
    picture = entry.picture
    return VideoIndex(
        packets=packets,
        time_base=Fraction(1, track.timescale),
        codec=entry.codec,
        width=picture.width,
        height=picture.height,
        exactness="tables",
        stream=track.number,
        container="mp4",
        pixel_format=picture.pixel_format,
        bit_depth=picture.bit_depth,
        color=picture.color.or_else(entry.color),
        orientation=_orientation(track.matrix, movie_matrix),
        codec_tag=entry.tag,
        extradata=tuple((at, entries[number].extradata) for at, number in setups),
        length_size=entry.length_size,
        sub_layers=picture.sub_layers,
        name=source.name,
        fingerprint=source.fingerprint,
    )


def _setups(numbers: NDArray[np.int64], entries: list[VisualEntry]) -> list[tuple[int, int]]:
    """(packet, description) wherever another description begins to apply."""
    if not len(numbers):
        return []
    if numbers.strides == (0,):  # one for all
        changes = [0]
    else:
        changes = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    setups = [(at, int(numbers[at])) for at in changes]
    wrong = [number for _, number in setups if not 0 <= number < len(entries)]
    if wrong:
        raise FormatError(f"a sample has description {wrong[0] + 1} of {len(entries)}")
    return setups


def _orientation(track: tuple[int, ...], movie: tuple[int, ...]) -> Orientation:
    """The turn that the matrices of track and movie make together."""
    if movie == _IDENTITY:
        return Orientation.from_matrix(track[0], track[1], track[3], track[4])
    return Orientation.from_matrix(
        track[0] * movie[0] + track[1] * movie[3],
        track[0] * movie[1] + track[1] * movie[4],
        track[3] * movie[0] + track[4] * movie[3],
        track[3] * movie[1] + track[4] * movie[4],
    )
