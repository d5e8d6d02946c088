"""Reading on from where a decoder stands, in place of beginning at a keyframe again.

A run is decoded by itself: its packets, an end, and the decoder is empty. Callers that go through a
video call by call, in frames or chunks, would have each GOP decoded again for every call. For them
the decoder is not emptied: where it holds a frame back, the packets behind it are fed as well.
Behind the last packet of the video it is emptied, and the frames are kept for the calls to come.

`LocalEngine` chooses the calls that are decoded so, by the `Place` where an earlier one ended.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.contexts import make_packet
from videoloader.codecs.registry import codec_of
from videoloader.decoding.packets.feed import DecoderCounts, PacketFeed
from videoloader.decoding.packets.needed import Drop
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import SourceError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import PacketFlags
from videoloader.sampling.plan import Run, plan_run

if TYPE_CHECKING:
    from av import VideoCodecContext, VideoFrame

_CHUNK = 16  # packets of the first run that are fetched at a time
_LEAST_BYTES, _MOST_FETCHED = 1 << 17, 512  # bytes and packets of other runs
_BEHIND = 48  # packets to feed behind a run; decoders hold back no more than 16 frames

_Part: TypeAlias = "tuple[int, int]"  # a packet, and which of its frames


class Place(NamedTuple):
    """Position up to which a video was decoded: the last frame given, and the last packet fed."""

    frame: int
    packet: int

    def leads_to(self, run: Run, most: int | None = None) -> bool:
        """Whether going on from here to a run costs less than beginning at its keyframe.

        From a keyframe, about half of the packets before the first frame are left out, or more.

        Args:
            run: to decode.
            most: frames to skip on the way.
        """
        spared = self.packet + 1 - int(run.packets[0])  # packets that are not decoded again
        if spared < 0:
            return False
        skipped = min(run.frames.tolist()) - self.frame - 1
        return 0 <= 2 * skipped <= spared and (most is None or skipped <= most)


def wanted_parts(index: VideoIndex, run: Run) -> dict[_Part, int]:
    """The numbers of the frames of a run, by packet and which of its frames they are."""
    parts = index.frame_parts[run.frames].tolist()
    places = zip(run.frame_packets.tolist(), parts, strict=True)
    return dict(zip(places, run.frames.tolist(), strict=True))


class ForwardReader:
    """A decoder that has read up to a packet of a video, and the frames it gave too early.

    Args:
        decoder: set up for the packets of the run, holding nothing.
        index: of the video.
        packets: reads them.
        run: the first to read.
        counts: to add to.
        threads: of the decoder, which holds back a frame for each.
        is_damaged: whether a frame that the decoder gives is damaged.
    """

    def __init__(
        self,
        decoder: VideoCodecContext,
        index: VideoIndex,
        packets: PacketFeed,
        run: Run,
        counts: DecoderCounts,
        *,
        threads: int = 1,
        is_damaged: Callable[[VideoFrame], bool],
    ) -> None:
        self.decoder = decoder
        self._is_damaged = is_damaged
        self._counts = counts
        self.last_frame = -1
        """The last frame that was asked for."""
        self._index = index
        self._packets = packets
        self._behind = _BEHIND + threads
        self._start = int(run.packets[0])
        self._last = self._start - 1
        self._skipped: set[int] = set()
        self._setup = index.extradata_of(self._start)
        self._fetched: dict[int, bytes] = {}
        self._budget = _LEAST_BYTES
        self._early: dict[_Part, VideoFrame] = {}
        self._seen: dict[int, int] = {}
        self._flags = index.packets["flags"]
        self._is_split = bool(index.frame_parts.any())
        self._reports_damage = codec_of(index.codec).reports_damage
        # Whether frames come one after the other, but for skipped ones.
        self._follows = self._reports_damage and index.exactness != "decode" and not self._is_split
        self._newest = -1  # the frame that came last

    def leads_to(self, run: Run) -> bool:
        """Whether the decoder already holds the start of a run, and continuing is worth it."""
        return (
            self._start <= int(run.packets[0])
            and Place(self.last_frame, self._last).leads_to(run)
            # They are disposable: no other packet needs them.
            and (not self._skipped or self._skipped.isdisjoint(run.frame_packets.tolist()))
            and self._index.extradata_of(int(run.packets[-1])) == self._setup
        )

    def read(self, run: Run) -> Generator[tuple[int, Surface], None, bool]:
        """The frames of a run, with their numbers, as they come.

        Returns False where one does not come or anything is damaged: those that came are not to
        be relied on then, and the decoder is of no use.
        """
        import av

        before, self.last_frame = self.last_frame, int(run.frames.max())
        is_damaged = self._index.damaged
        wanted = wanted_parts(self._index, run)
        owed = self._shown_later(run)
        owed.difference_update(packet for packet, _ in self._early)
        early, self._early = self._early, {}
        for part, frame in early.items():
            number = wanted.pop(part, None)
            if number is not None:
                yield number, Surface(frame)
            elif not wanted:
                self._early[part] = frame
        try:
            for number, payload in self._payloads(run, before) if wanted or owed else ():
                if is_damaged[number]:
                    return False
                packet = make_packet(payload, number)
                packet.is_keyframe = bool(self._flags[number] & PacketFlags.KEY)
                frames = self.decoder.decode(packet)
                self._counts.packets += 1
                self._counts.bytes += len(payload)
                self._counts.frames += len(frames)
                if number > self._last + 1:
                    self._skipped.update(range(self._last + 1, number))
                    owed -= self._skipped
                self._last = number
                if frames:
                    if not self._are_whole(frames):
                        return False
                    owed.difference_update(frame.pts for frame in frames)
                    yield from self._sorted(frames, wanted)
                    if not wanted and not owed:
                        return True
            if (wanted or owed) and self._last == len(self._index.packets) - 1:
                frames = self.decoder.decode(None)
                self._counts.frames += len(frames)
                if not self._are_whole(frames):
                    return False
                owed.difference_update(frame.pts for frame in frames)
                yield from self._sorted(frames, wanted)
        except (av.error.FFmpegError, SourceError):
            return False  # perhaps of a packet that this run does not need
        return not wanted and not owed

    def _shown_later(self, run: Run) -> set[int]:
        """Packets of a run whose frames are shown after the run's wanted frames.

        Frames of the run may refer to them, and a decoder reports their damage only when they are
        shown. Empty for codecs that do not report damage.
        """
        if not self._reports_damage:
            return set()
        begin = self.last_frame + 1
        packets = self._index.frame_packets[begin : begin + _BEHIND]
        inside = packets[(packets >= run.packets[0]) & (packets <= run.packets[-1])]
        return {*inside.tolist()} - self._skipped

    def _are_whole(self, frames: list[VideoFrame]) -> bool:
        return not any(
            frame.pts is None or self._is_damaged(frame) or not self._is_next(frame.pts)
            for frame in frames
        )

    def _is_next(self, packet: int) -> bool:
        """Whether no frame is missing before the frame of a packet."""
        if not self._follows:
            return True
        newest, self._newest = self._newest, int(self._index.packet_frames[packet])
        missing = self._newest - newest - 1
        if newest < 0 or missing <= 0:
            return True
        return self._skipped.issuperset(self._index.frame_packets[newest + 1 :][:missing].tolist())

    def _sorted(
        self, frames: list[VideoFrame], wanted: dict[_Part, int]
    ) -> Iterator[tuple[int, Surface]]:
        """The wanted ones of these frames; others are kept if nobody may have had them yet."""
        for frame in frames:
            packet, part = frame.pts or 0, 0
            if self._is_split:
                part = self._seen.get(packet, 0)
                self._seen[packet] = part + 1
            number = wanted.pop((packet, part), None)
            if number is not None:
                yield number, Surface(frame)
            elif not wanted:
                self._early[packet, part] = frame

    def _payloads(self, run: Run, before: int) -> Iterator[tuple[int, bytes]]:
        """Packets after the fed ones: of the run, and as many as the decoder may hold back.

        Args:
            run: to read.
            before: the last frame that was asked for.
        """
        begin, last = self._last + 1, int(run.packets[-1])
        begins, is_dense = begin == self._start, self.last_frame - before == len(run.frames)
        if begin <= last and (begins or not is_dense):
            drop: Drop = "nothing" if self._index.exactness == "decode" else "disposable"
            for packets, payloads in self._packets.chunks(
                self._rest(run), _CHUNK, drop, begins=begins
            ):
                yield from zip(packets.tolist(), payloads, strict=True)
            begin = last + 1
        numbers = np.arange(begin, min(last + 1 + self._behind, len(self._index.packets)))
        for place, number in enumerate(numbers.tolist()):
            if number > last and self._index.extradata_of(number) != self._setup:
                return
            if number not in self._fetched:
                self._fetch(numbers[place:])
            yield number, self._fetched.pop(number)

    def _fetch(self, numbers: NDArray[np.int64]) -> None:
        """Read the first ones of these packets: more each time, since reading goes on."""
        sizes = self._index.packets["size"][numbers[:_MOST_FETCHED]]
        count = max(1, int(np.cumsum(sizes).searchsorted(self._budget, side="right")))
        some = numbers[:count]
        self._fetched = dict(zip(some.tolist(), self._packets.read(some), strict=True))
        self._budget = min(2 * self._budget, self._packets.most_bytes)

    def _rest(self, run: Run) -> Run:
        """The packets of a run that were not fed, with later frames wanted as well."""
        index, begin, end = self._index, max(self._last + 1, int(run.packets[0])), run.packets[-1]
        later = np.arange(self.last_frame + 1, self.last_frame + 1 + _BEHIND)
        frames = np.concatenate([run.frames, later[later < index.num_frames]])
        packets = index.frame_packets[frames]
        inside = (packets >= begin) & (packets <= end)
        return plan_run(index, begin, int(end), frames[inside], packets[inside])
