"""`VideoIndex`: location and time of every frame of a video."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import Color
from videoloader.errors import StaleIndexError
from videoloader.indexing.packets import (
    UNSEEN,
    Exactness,
    Learned,
    Orientation,
    PacketFlags,
    describe_size,
)
from videoloader.indexing.packing import PLAIN, PacketLayout
from videoloader.indexing.rates import even_rate
from videoloader.indexing.storage import decode_fields, encode_fields, load_fields, save_fields
from videoloader.indexing.traits import UNKNOWN, StreamTraits
from videoloader.machinery.system.forking import cached_property
from videoloader.machinery.views import facts_table, timeline_svg
from videoloader.sources.source import Check, Fingerprint, Source, difference


@dataclass(frozen=True, eq=False)
class VideoIndex:
    """The packets of one video stream, their location, and the frames that they decode to.

    Made by `index_video`; holds no file open. Frames are numbered in presentation order. Times
    are in ticks of `time_base` seconds, with the edit list applied.

    Attributes:
        packets: structured array in decode order: `offset` (-1 if `packing.is_demuxed`) and
            `size` in bytes, `pts`, `dts`, `duration` in ticks, `flags`.
        time_base: seconds in a tick.
        codec: FFmpeg's name of the codec.
        width, height: of the displayed picture in pixels, before rotation.
        exactness: how frames were found: `tables` from the container's tables, `demux` by a
            demuxer's pass over all packets, `decode` by decoding everything.
        stream: number of the stream within its container.
        container: name of the format.
        pixel_format: FFmpeg's name of the decoded format, None if unknown before decoding.
        bit_depth: bits of a sample.
        color: colour description of the stream.
        orientation: how the coded picture is rotated and flipped for display.
        codec_tag: FourCC in the container, which some decoders need.
        extradata: codec parameters for decoders: (first packet it applies to, bytes).
        length_size: bytes of the length before each NAL unit, 0 for start codes.
        sub_layers: number of temporal sub-layers of an HEVC stream.
        packing: how packets are stored in the file.
        has_headers: whether `DISPOSABLE` flags are known.
        order: packets of the frames in presentation order, if timestamps do not determine it.
        name: of the file, for messages.
        fingerprint: state of the file when it was indexed.
        warnings: known missing or damaged parts of the file, one line each.
        checks: what `check` compares; not stored with the index.
        stated_rate: frames a second that the container states, where it does so beside the
            timestamps (Matroska's default duration) and most frames agree.
        traits: what else the file says; not stored with the index, nor compared.

    >>> from videoloader import index_video
    >>> index = index_video("clip.mp4")
    >>> index.num_frames, index.codec, index.width, index.height, index.exactness
    (90, 'h264', 96, 64, 'tables')
    >>> index.keyframes[:3].tolist(), (index.pts[:3] * index.time_base).tolist()
    ([0, 12, 24], [Fraction(0, 1), Fraction(1, 30), Fraction(1, 15)])
    """

    packets: NDArray[Any]
    time_base: Fraction
    codec: str
    width: int
    height: int
    exactness: Exactness
    stream: int
    container: str
    pixel_format: str | None = None
    bit_depth: int | None = None
    color: Color = field(default_factory=Color)
    orientation: Orientation = field(default_factory=Orientation)
    codec_tag: str = ""
    extradata: tuple[tuple[int, bytes], ...] = ()
    length_size: int = 0
    sub_layers: int = 1
    packing: PacketLayout = PLAIN
    has_headers: bool = False
    order: NDArray[np.int64] | None = None
    name: str = "video"
    fingerprint: Fingerprint = field(default_factory=lambda: Fingerprint(0))
    warnings: tuple[str, ...] = ()
    checks: Check = "size"
    stated_rate: Fraction | None = None
    traits: StreamTraits = UNKNOWN

    @property
    def num_frames(self) -> int:
        """Frames that are shown."""
        return len(self._frames[0])

    def __len__(self) -> int:
        return self.num_frames

    @property
    def frame_packets(self) -> NDArray[np.int64]:
        """Packet number of each frame, in presentation order."""
        return self._frames[0]

    @property
    def pts(self) -> NDArray[np.int64]:
        """Presentation time of each frame in ticks."""
        return self._frames[1]

    @cached_property
    def _frames(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Packet and presentation time of each frame."""
        pts = self.packets["pts"]
        if self.order is not None:
            return self.order, pts[self.order]
        unseen = self._has(UNSEEN)
        shown = np.flatnonzero(~unseen) if unseen.any() else None
        pts = pts.copy() if shown is None else pts[shown]
        if (pts[1:] >= pts[:-1]).all():
            order = np.arange(len(pts))
        else:
            order = np.argsort(pts, kind="stable")
            pts = pts[order]
        return order if shown is None else shown[order], pts

    @cached_property
    def frame_parts(self) -> NDArray[np.int64]:
        """Position of each frame within its packet; 0 unless packets hold several frames."""
        parts = np.zeros(self.num_frames, dtype=np.int64)
        if self.order is not None:
            by_packet = np.argsort(self.order, kind="stable")
            packets = self.order[by_packet]
            parts[by_packet] = np.arange(len(packets)) - np.searchsorted(packets, packets)
        return parts

    @cached_property
    def packet_frames(self) -> NDArray[np.int64]:
        """Number of the frame that each packet shows, -1 if it shows none; of several, the last."""
        frames = np.full(len(self.packets), -1)
        frames[self.frame_packets] = np.arange(self.num_frames)
        return frames

    @cached_property
    def keyframes(self) -> NDArray[np.int64]:
        """Frame numbers of the random-access points, ascending."""
        return self._has(PacketFlags.KEY)[self.frame_packets].nonzero()[0]

    @cached_property
    def leading(self) -> NDArray[np.bool_]:
        """Mask of leading frames: shown before the keyframe that they follow in decode order."""
        keys, place = self._key_packets, np.maximum(self._key_places, 0)
        if not len(keys):
            return np.zeros(self.num_frames, dtype=np.bool_)
        numbers = np.arange(self.num_frames)
        of_keys, times = self.packet_frames[keys], self.packets["pts"][keys]
        # A hidden keyframe has no frame number, so its time is compared instead.
        shown = of_keys[place] >= 0
        earlier = np.where(shown, numbers < of_keys[place], self.pts < times[place])
        return earlier & (self._key_places >= 0)

    @cached_property
    def seek_packets(self) -> NDArray[np.int64]:
        """Packet at which decoding begins to reach each frame."""
        keys = self._key_packets
        if not len(keys):
            return np.zeros(self.num_frames, dtype=np.int64)
        place = self._key_places - self.leading
        return np.where(place >= 0, keys[place], 0)

    @cached_property
    def end_packets(self) -> NDArray[np.int64]:
        """Last packet that each frame needs, further parts of the frame included."""
        if self.exactness != "decode":
            return self.frame_packets
        hidden = self._has(PacketFlags.HIDDEN)
        # For each packet, the last of the hidden packets directly after it, or itself.
        visible = np.append(np.flatnonzero(~hidden), len(hidden))
        following = visible[np.searchsorted(visible, self.frame_packets, side="right")]
        return following - 1

    @cached_property
    def disposable(self) -> NDArray[np.bool_] | None:
        """Mask of packets that no other packet refers to; None until headers have been read."""
        return self._has(PacketFlags.DISPOSABLE) if self.has_headers else None

    @cached_property
    def damaged(self) -> NDArray[np.bool_]:
        """Mask of packets of which bytes are missing or wrong, as far as the container tells."""
        return self._has(PacketFlags.DAMAGED)

    @cached_property
    def learned(self) -> Learned:
        """Facts learned about the packets since the index is in memory; threads may share them."""
        return Learned(np.full(len(self.packets), -1, dtype=np.int8))

    @property
    def rotation(self) -> int:
        """Rotation for display in degrees counter-clockwise, as ffprobe prints it."""
        return self.orientation.rotation

    @cached_property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last."""
        if not self.num_frames:
            return 0.0
        last = self.frame_packets[-1]
        ticks = int(self.pts[-1]) - int(self.pts[0]) + max(int(self.packets["duration"][last]), 0)
        return ticks * self.time_base.numerator / self.time_base.denominator

    @cached_property
    def average_fps(self) -> float:
        """Frames a second over the whole video, 0.0 if nothing tells.

        Frames that are evenly spaced but for the rounding of timestamps have the rate that was
        rounded: 30 and not 30.001 in Matroska, whose ticks are milliseconds.
        """
        if self.even_rate is not None:
            return float(self.even_rate)
        return self.num_frames / self.duration if self.duration > 0 else 0.0

    @cached_property
    def even_rate(self) -> Fraction | None:
        """The usual rate that evenly spaced frames have but for rounding, such as 30000/1001."""
        if self.num_frames < 2 or (self.pts[1:] < self.pts[:-1]).any():
            return None
        last = self.frame_packets[-1]
        end = int(self.pts[-1]) + max(int(self.packets["duration"][last]), 0)
        return even_rate(self.pts, end, self.time_base)

    def seconds(self, frames: NDArray[np.int64]) -> NDArray[np.float64]:
        """Presentation times of frames in seconds; -1 for a filled frame (-1)."""
        if not self.num_frames:
            return np.full(frames.shape, -1.0)
        times = self._seconds[frames]
        times[frames < 0] = -1.0
        return times

    @cached_property
    def _seconds(self) -> NDArray[np.float64]:
        """Presentation time of each frame in seconds."""
        base = self.time_base
        return self.pts.astype(np.float64) * base.numerator / base.denominator

    @cached_property
    def boundaries(self) -> NDArray[np.float64]:
        """When each frame begins, in seconds, and when the last one ends: (num_frames + 1,).

        Ascending; damaged timestamps are sorted.
        """
        if not self.num_frames:
            return np.zeros(1)
        pts = self.pts
        last = len(pts) - 1 - int(pts[::-1].argmax())
        ticks = np.empty(len(pts) + 1)
        ticks[:-1] = pts if (pts[1:] >= pts[:-1]).all() else np.sort(pts)
        duration = max(int(self.packets["duration"][self.frame_packets[last]]), 0)
        ticks[-1] = int(pts[last]) + duration
        ticks *= self.time_base.numerator
        ticks /= self.time_base.denominator
        ticks.flags.writeable = False  # user-defined samplers get a view of it
        return ticks

    @cached_property
    def order_in_time(self) -> NDArray[np.int64] | None:
        """Frames sorted by presentation time; None if timestamps ascend already."""
        pts = self.pts
        return np.argsort(pts, kind="stable") if (pts[1:] < pts[:-1]).any() else None

    def extradata_of(self, packet: int) -> bytes:
        """The extradata for a decoder that begins at `packet`."""
        found = b""
        for first, data in self.extradata:
            if first <= packet:
                found = data
        return found

    def setup_packet(self, packet: int) -> int:
        """First packet to which the extradata of `packet` applies."""
        return max((first for first, _ in self.extradata if first <= packet), default=0)

    def check(self, source: Source) -> None:
        """Check that `source` is the file that was indexed; its path may differ.

        Size and etag must be equal. If only the modification time differs, the first bytes must
        be equal. `checks` makes this stricter or more lenient.

        Raises:
            StaleIndexError: it is another file, or has changed; the message says what differs.
        """
        found = difference(self.fingerprint, source, self.checks)
        if found is not None:
            raise StaleIndexError(
                f"{source.name}: the file has changed since it was indexed: {found}; index it again"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file for `load`; it takes a few bytes per frame."""
        save_fields(vars(self), path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> VideoIndex:
        """Read a file that `save` wrote.

        Raises:
            FormatError: it is not an index, or is damaged.
        """
        return VideoIndex(**load_fields(path))

    def with_flags(
        self, flag: PacketFlags, packets: NDArray[np.bool_], **changes: Any
    ) -> VideoIndex:
        """The same index with a flag set on some packets."""
        table = self.packets.copy()
        table["flags"] |= np.where(packets, np.uint16(flag), np.uint16(0))
        return replace(self, packets=table, **changes)

    @cached_property
    def _key_packets(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._has(PacketFlags.KEY))

    @cached_property
    def _key_places(self) -> NDArray[np.int64]:
        """For each frame, the place in `_key_packets` of the last one up to its packet, or -1."""
        places: NDArray[np.int64] = self._has(PacketFlags.KEY).cumsum()[self.frame_packets] - 1
        return places

    def _has(self, flags: int | np.uint16) -> NDArray[np.bool_]:
        present: NDArray[np.bool_] = (self.packets["flags"] & np.uint16(flags)) != 0
        return present

    def _repr_html_(self) -> str:
        """HTML for notebooks: facts, and the sizes of the frames over time."""
        sizes = self.packets["size"][self.frame_packets]
        return facts_table(self._facts()) + timeline_svg(sizes, self.keyframes)

    def _facts(self) -> list[tuple[str, object]]:
        size = describe_size(self.width, self.height, self.orientation)
        return [
            ("video", self.name),
            ("frames", f"{self.num_frames:,}"),
            ("codec", f"{self.codec}, {self.container}"),
            ("size", size),
            ("seconds", f"{self.duration:.2f}"),
            ("frames a second", f"{self.average_fps:.3f}"),
            ("keyframes", f"{len(self.keyframes):,}"),
            ("found by", self.exactness),
            ("warnings", "; ".join(self.warnings)),
        ]

    def __repr__(self) -> str:
        size = describe_size(self.width, self.height, self.orientation)
        return (
            f"<VideoIndex {self.name}: {self.num_frames} frames, {self.codec} {size}, "
            f"{len(self.keyframes)} keyframes, {self.exactness}>"
        )

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, VideoIndex):
            return self is other
        mine, theirs = (dict(index.__getstate__()) for index in (self, other))
        del mine["traits"], theirs["traits"]
        tables = [(mine.pop(name), theirs.pop(name)) for name in ("packets", "order")]
        return mine == theirs and all(_same_table(*pair) for pair in tables)

    def __hash__(self) -> int:
        # With the name: links to one file have the same state, and comparing indexes takes long.
        return hash((self.name, self.fingerprint, self.codec, self.stream, len(self.packets)))

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without cached properties."""
        return {field.name: self.__dict__[field.name] for field in fields(self)}


def _same_table(here: NDArray[Any] | None, there: NDArray[Any] | None) -> bool:
    if here is None or there is None:
        return here is there
    return bool(here.dtype == there.dtype) and np.array_equal(here, there)


@dataclass(frozen=True, slots=True)
class VideoMetadata:
    """A few facts about a video: `Video.metadata`.

    Attributes:
        num_frames: frames of the video.
        height, width: of the frames given by default, rotation applied.
        fps: frames a second on average, 0 if unknown.
        duration: seconds from the first frame to the end of the last.
        codec: by FFmpeg's name, such as `h264`.
        pixel_format: of the coded pictures, by FFmpeg's name; None if unknown.
        bit_depth: bits of a sample of theirs; None if unknown.
        color: what the stream says of its colours.
        rotation: degrees by which players turn the coded pictures.
        container: such as `mp4`.

    >>> from videoloader import Video
    >>> video = Video("clip.mp4")
    >>> video.metadata.fps, video.metadata.codec, video.metadata.rotation
    (30.0, 'h264', 0)
    """

    num_frames: int
    height: int
    width: int
    fps: float
    duration: float
    codec: str
    pixel_format: str | None
    bit_depth: int | None
    color: Color
    rotation: int
    container: str


def encode_index(index: VideoIndex, *, name: str | None = None) -> bytes:
    """The index as bytes, with another name if one is given.

    Raises:
        UnsupportedError: the index holds values that cannot be stored.
    """
    return encode_fields(vars(index) if name is None else {**vars(index), "name": name})


def decode_index(data: bytes) -> VideoIndex:
    """Decode the bytes of `encode_index`.

    Raises:
        FormatError: they are not an index, or are damaged.
    """
    return VideoIndex(**decode_fields(data))
