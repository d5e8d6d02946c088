"""`Container`: the properties and the parser of a container; `registry` lists all containers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.registry import codec_of
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.traits import NO_AUDIO, NO_LIGHT, Audio, Light, StreamTraits
from videoloader.sources.source import Fingerprint, Source

Indexed: TypeAlias = "tuple[VideoIndex, bool] | None"
"""An index, and whether the order of its frames is known; None if FFmpeg's demuxer is needed."""


class Parser(Protocol):
    """Parses one container."""

    def __call__(self, source: Source, *, stream: int | None = None) -> Indexed:
        """Index the file; `stream` is the number of a stream in it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Container:
    """A container format. The defaults fit a format that only FFmpeg's demuxer reads.

    Attributes:
        name: `VideoIndex.container`; FFmpeg's name unless `demuxer` is given.
        demuxer: FFmpeg's name of the format, if it differs.
        endings: endings of file names, in lower case.
        begins: `Source.beginning` -> whether the file may be of this format.
        parser: indexes a file for which `begins` holds; None if only FFmpeg reads the format.
        stated_end: source -> end of the file by its headers, 0 if they do not state it. Used to
            detect a truncated file that FFmpeg's demuxer has to read.
        damaged_pieces: source and id of a stream -> offsets in the file of its damaged pieces, each
            with the beginning of a packet; None if the pieces cannot be read. The field is None
            if the container does not mark damage.
        times: times that the packets have. `none`: a raw stream. `decode`: numbers of packets,
            even if frames are reordered. `presentation`: times of frames. `both`: also decode
            times.
        has_reliable_times: timestamps are rarely damaged, so only the doubtful ones are compared
            with the pictures.
        has_display_matrix: the container may ask to rotate or flip pictures.
        counts_samples: FFmpeg's demuxer computes the time of sound from its offset in the file.
        duration_slack: seconds by which decoded sound may be shorter than the header states, since
            encoder delay and padding may be included; None if the header states no duration.
        has_sample_table: a table has the place of every packet of sound.
        media_type: by which browsers play it, as far as they have the codec; "" if they do not.
    """

    name: str
    demuxer: str | None = None
    endings: tuple[str, ...] = ()
    begins: Callable[[bytes], bool] | None = None
    parser: Parser | None = None
    stated_end: Callable[[Source], int] | None = None
    damaged_pieces: Callable[[Source, int], NDArray[np.int64] | None] | None = None
    times: Literal["none", "decode", "presentation", "both"] = "presentation"
    has_reliable_times: bool = False
    has_display_matrix: bool = False
    counts_samples: bool = False
    duration_slack: float | None = None
    has_sample_table: bool = False
    media_type: str = ""


def table_index(
    source: Source,
    picture: PictureFormat,
    packets: NDArray[Any],
    *,
    codec: str,
    audio: Audio | None = NO_AUDIO,
    aspect: Fraction | None = None,
    interlaced: bool | None = None,
    has_edits: bool = False,
    light: Light = NO_LIGHT,
    **properties: Any,
) -> VideoIndex:
    """The index of a stream whose container has been parsed.

    `picture` comes from the headers of the codec; `properties` are other fields of `VideoIndex`,
    the rest those of `StreamTraits` that the container states.
    """
    if interlaced is None:
        interlaced = picture.interlaced
    if interlaced is None:
        interlaced = codec_of(codec).has_fields
    state = source.fingerprint
    traits = StreamTraits(audio, aspect or picture.aspect, interlaced, has_edits, light)
    found: dict[str, Any] = {
        "width": picture.width,
        "height": picture.height,
        "exactness": "tables",
        "stream": 0,
        "pixel_format": picture.pixel_format,
        "bit_depth": picture.bit_depth,
        "color": picture.color,
        "sub_layers": picture.sub_layers,
        "name": source.name,
        "fingerprint": Fingerprint(state.size, state.mtime_ns, state.etag, source.head),
    }
    return VideoIndex(packets=packets, codec=codec, traits=traits, **(found | properties))


def past_the_end(source: Source, what: str, end: int) -> tuple[str, ...]:
    """A warning if `what` ends (`end`, exclusive) past the end of the file, otherwise none."""
    if end <= source.size:
        return ()
    return (
        f"{source.name}: truncated: {what} runs to byte {end}, but the file ends at "
        f"{source.size} ({end - source.size} bytes are missing)",
    )
