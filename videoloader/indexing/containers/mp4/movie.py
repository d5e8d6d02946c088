"""`index_mp4`: selects a track of a `moov` box and builds its `VideoIndex`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.containers.mp4.boxes import Box
from videoloader.indexing.containers.mp4.edits import (
    Edit,
    RepetitionError,
    Timeline,
    add_fragments,
    edit_timeline,
    initial_delay,
    plain_timeline,
    read_edits,
)
from videoloader.indexing.containers.mp4.entry import VIDEO_KINDS, VisualEntry, read_entries
from videoloader.indexing.containers.mp4.fragments import (
    Defaults,
    read_defaults,
    read_fragments,
    read_segment_times,
)
from videoloader.indexing.containers.mp4.layout import (
    Layout,
    begins_with_box,
    read_layout,
    referenced_end,
)
from videoloader.indexing.containers.mp4.pictures import (
    hide_before_keyframe,
    keys_of_pictures,
    settle_order,
)
from videoloader.indexing.containers.mp4.runs import Added
from videoloader.indexing.containers.mp4.samples import (
    Samples,
    check_sizes,
    concatenate,
    read_samples,
)
from videoloader.indexing.containers.mp4.traits import read_audio
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import PACKET_DTYPE, Orientation, PacketFlags, believe_pictures
from videoloader.indexing.traits import NO_AUDIO, Audio
from videoloader.sources.source import Source

_MAX_TRACKS = 64  # video tracks
_SAMPLE = 1 << 20  # bytes of a sample to search for its headers
_PICTURE_HEAD = 8  # bytes of a sample that `Codec.is_intra` needs
_SPARE = 1 << 20  # total bytes by which samples may overlap
_MAX_TIMESCALE = 1 << 31
_KEY, _DISCARD = np.uint16(PacketFlags.KEY), np.uint16(PacketFlags.DISCARD)
_IDENTITY = (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)


@dataclass(frozen=True, slots=True)
class _Track:
    box: Box
    table: Box
    number: int
    is_default: bool
    matrix: tuple[int, ...]
    timescale: int
    duration: int
    samples: Samples
    added: Added
    simple_edits: bool

    @property
    def num_samples(self) -> int:
        return len(self.samples) + len(self.added.samples)

    @property
    def bit_rate(self) -> int:
        """Bits a second as FFmpeg computes them to select the best stream."""
        size = int(self.samples.sizes.sum()) + int(self.added.samples.sizes.sum())
        duration = self.duration
        if len(self.added.samples):
            duration = int(self.samples.durations.sum()) + int(self.added.samples.durations.sum())
        return size * 8 * self.timescale // max(duration, 1)


def index_mp4(source: Source, *, stream: int | None = None) -> Indexed:
    """Index an MP4 or MOV file, progressive or in fragments.

    Returns:
        The index, and whether timestamps determine the order of the frames; None if the file is
        of another format or has unsupported features (rare codecs), which need FFmpeg's demuxer.

    Raises:
        FormatError: the file is damaged or truncated, or has no video.
    """
    layout = read_layout(source)
    header = layout.movie.need(b"mvhd")
    version = header.unpack("B")[0]
    (movie_timescale,) = header.unpack("I", 20 if version == 1 else 12)
    matrix = header.unpack("9i", 48 if version == 1 else 36)
    room = layout.room
    found = _video_tracks(layout, source.size, room)
    if found is None:
        return None
    tracks, audio = found
    if stream is not None:
        tracks = [track for track in tracks if track.number == stream]
    if not tracks:
        return None  # FFmpeg's demuxer may find video, or explains what the file is
    track = tracks[0] if len(tracks) == 1 else max(tracks, key=_preference)
    if not track.num_samples:
        return None
    samples = concatenate(track.samples, track.added.samples)
    check_sizes(samples.sizes, room=room)
    if samples.sizes.sum() > 2 * source.size + _SPARE:
        raise FormatError("its samples lie over one another")
    entries = read_entries(
        track.table,
        lambda: source.read_up_to(int(samples.offsets[0]), min(int(samples.sizes[0]), _SAMPLE)),
    )
    try:
        edits = read_edits(
            track.box, timescale=track.timescale, movie_timescale=max(movie_timescale, 1)
        )
        timeline = _timeline(track, edits, room)
    except FormatError as error:
        if entries is None and not isinstance(error, RepetitionError):
            return None  # FFmpeg may be able to read it
        raise FormatError(str(error)) from error  # `RepetitionError` is not public
    if entries is None:
        return None
    if any(entry.is_reparsed for entry in entries) and timeline.discard.any():
        return None  # FFmpeg's demuxer hides other frames than the tables
    _check_places(samples, timeline, source)
    end = max([layout.end, *map(referenced_end, layout.segments)])
    warnings = past_the_end(source, "what its boxes announce", end)
    index = _build(
        source,
        track,
        samples,
        matrix,
        entries,
        timeline,
        warnings=warnings,
        audio=audio,
        has_edits=bool(edits),
    )
    if (is_intra := codec_of(index.codec).is_intra) is not None:
        places = index.packets["offset"].tolist()
        starts = [source.read_up_to(offset, _PICTURE_HEAD) for offset in places]
        believe_pictures(index.packets, [is_intra(start) for start in starts])
    elif (keys := keys_of_pictures(index, source)) is not None:
        believe_pictures(index.packets, keys)
    if not len(index.packets) or index.packets["flags"][0] & _KEY:
        return settle_order(index, samples, entries, source)
    cut = hide_before_keyframe(index, source)
    return None if cut is None else settle_order(cut, samples, entries, source)


def _timeline(track: _Track, edits: list[Edit], room: int) -> Timeline:
    delay = initial_delay(edits)
    if not edits or track.simple_edits:
        timeline = plain_timeline(track.samples, delay=delay)
    else:
        timeline = edit_timeline(track.samples, edits, room=room)
    if len(track.added.samples):
        timeline = add_fragments(timeline, track.samples, track.added, delay=delay)
    return timeline


def _video_tracks(layout: Layout, file_size: int, room: int) -> tuple[list[_Track], Audio] | None:
    """All video tracks, and the first audio track; None if there are too many."""
    tracks: list[_Track] = []
    audio = NO_AUDIO
    claimed = 0
    room = min(room, file_size)
    simple_edits = False
    defaults = read_defaults(layout.movie) if layout.fragments else {}
    boxes = [box for box in layout.movie.children() if box.kind == b"trak"]
    for number, box in enumerate(boxes):
        # FFmpeg treats a track without samples as a sign of fragments, and no longer applies full
        # edit lists to the tracks after it.
        media = box.find(b"mdia")
        table = media and media.find(b"minf", b"stbl")
        times = table and table.find(b"stts")
        simple_edits |= times is None or times.unpack("I", 4) == (0,)
        kind = _handler(media)
        if kind == b"soun" and not audio.is_there:
            audio = read_audio(table)
        if not _is_video(kind, table):
            continue
        if len(tracks) == _MAX_TRACKS:
            return None
        head = box.need(b"tkhd")
        wide = head.unpack("B")[0] == 1
        clock = box.need(b"mdia", b"mdhd")
        long = clock.unpack("B")[0] == 1
        timescale, duration = clock.unpack("IQ" if long else "II", 20 if long else 12)
        if not 0 < timescale < _MAX_TIMESCALE:
            timescale = 1  # as FFmpeg does
        table = table or box.need(b"mdia", b"minf", b"stbl")  # raises the error
        samples = read_samples(table, file_size=file_size, room=room - claimed)
        claimed += len(samples)
        (identifier,) = head.unpack("I", 20 if wide else 12)
        added = read_fragments(
            layout.fragments,
            track=identifier,
            defaults=defaults.get(identifier, Defaults()),
            num_entries=table.need(b"stsd").unpack("I", 4)[0],
            segment_times=read_segment_times(
                layout.segments, track=identifier, timescale=timescale
            ),
            clock=int(samples.dts[-1] + samples.durations[-1]) if len(samples) else 0,
            file_size=file_size,
            room=room - claimed,
        )
        claimed += len(added.samples)
        tracks.append(
            _Track(
                box=box,
                table=table,
                number=number,
                is_default=bool(head.unpack("I")[0] & 1),
                matrix=head.unpack("9i", 52 if wide else 40),
                timescale=timescale,
                duration=duration,
                samples=samples,
                added=added,
                simple_edits=simple_edits,
            )
        )
    return tracks, audio


def _handler(media: Box | None) -> bytes:
    """The kind of media of a track by its `mdia` box, empty if unknown."""
    handler = media and media.find(b"hdlr")
    return b"" if handler is None else handler.data[handler.start + 8 : handler.start + 12]


def _is_video(kind: bytes, table: Box | None) -> bool:
    """Whether the handler is video, or is not sound and the codec is a video codec."""
    if kind in (b"vide", b"soun") or table is None:
        return kind == b"vide"
    descriptions = table.find(b"stsd")
    if descriptions is None:
        return False
    return any(entry.kind in VIDEO_KINDS for entry in islice(descriptions.children(skip=8), 1))


def _preference(track: _Track) -> tuple[bool, int, int]:
    """FFmpeg's criteria for the best stream: default, more than one picture, bit rate."""
    return track.is_default, min(track.num_samples, 5), track.bit_rate


def _check_places(samples: Samples, timeline: Timeline, source: Source) -> None:
    # Offsets may be close to the int64 limit; compare without sums, which would overflow.
    outside = (samples.offsets > source.size - samples.sizes)[timeline.samples]
    if outside.any():
        packet = int(np.argmax(outside))
        end = int(samples.offsets[timeline.samples][packet])
        end += int(samples.sizes[timeline.samples][packet])
        raise FormatError(
            f"truncated: packet {packet} of {len(outside)} ends at byte {end}, but the file ends "
            f"at {source.size}"
        )


def _build(
    source: Source,
    track: _Track,
    samples: Samples,
    movie_matrix: tuple[int, ...],
    entries: list[VisualEntry],
    timeline: Timeline,
    **properties: Any,
) -> VideoIndex:
    chosen = timeline.samples
    packets = np.empty(len(timeline.pts), dtype=PACKET_DTYPE)
    packets["offset"] = samples.offsets[chosen]
    packets["size"] = samples.sizes[chosen]
    packets["pts"] = timeline.pts
    packets["dts"] = timeline.dts
    packets["duration"] = samples.durations[chosen]
    flags = samples.keys[chosen] * _KEY
    flags += timeline.discard * _DISCARD
    packets["flags"] = flags
    setups = _setups(samples.entries[chosen], entries)
    entry = entries[setups[0][1]] if setups else entries[0]
    return table_index(
        source,
        entry.picture,
        packets,
        time_base=Fraction(1, track.timescale),
        codec=entry.codec,
        stream=track.number,
        container=MP4.name,
        color=entry.picture.color.or_else(entry.color),
        orientation=_orientation(track.matrix, movie_matrix),
        codec_tag=entry.tag,
        extradata=tuple((at, entries[number].extradata) for at, number in setups),
        length_size=entry.length_size,
        aspect=entry.aspect,
        light=entry.light,
        **properties,
    )


def _setups(numbers: NDArray[np.int64], entries: list[VisualEntry]) -> list[tuple[int, int]]:
    """(packet, description) for each packet at which the sample description changes."""
    if not len(numbers):
        return []
    if numbers.strides == (0,):  # all equal
        changes = [0]
    else:
        changes = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    setups = [(at, int(numbers[at])) for at in changes]
    wrong = [number for _, number in setups if not 0 <= number < len(entries)]
    if wrong:
        raise FormatError(f"a sample has description {wrong[0] + 1} of {len(entries)}")
    return setups


def _orientation(track: tuple[int, ...], movie: tuple[int, ...]) -> Orientation:
    """Orientation of the product of the track and movie matrices."""
    if movie == _IDENTITY:
        return Orientation.from_matrix(track[0], track[1], track[3], track[4])
    return Orientation.from_matrix(
        track[0] * movie[0] + track[1] * movie[3],
        track[0] * movie[1] + track[1] * movie[4],
        track[3] * movie[0] + track[4] * movie[3],
        track[3] * movie[1] + track[4] * movie[4],
    )


MP4 = Container(
    name="mp4",
    demuxer="mov",
    endings=(".3g2", ".3gp", ".f4v", ".ismv", ".m4v", ".mov", ".mp4"),
    begins=begins_with_box,
    parser=index_mp4,
    times="both",
    has_reliable_times=True,
    has_display_matrix=True,
    duration_slack=0.25,
    has_sample_table=True,
    media_type="video/mp4",
)
