"""Decode plans on the CPU: our own packets into FFmpeg's decoders.

Every packet carries its own number as its timestamp. A decoder hands that on to the frame it
makes of the packet, so frames are identified and not counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.contexts import make_packet, open_decoder
from videoloader.codecs.registry import codec_of
from videoloader.decoding.cpu.forward import ForwardReader, wanted_parts
from videoloader.decoding.cpu.gaps import SliceGaps
from videoloader.decoding.packets.feed import DecoderCounts, PacketFeed
from videoloader.decoding.packets.needed import Drop
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import DecodeError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import PacketFlags
from videoloader.machinery.system.faults import blamed_on
from videoloader.machinery.system.forking import keep_forever, reset_after_fork
from videoloader.sampling import DecodePlan, Run
from videoloader.sources.source import Source

if TYPE_CHECKING:
    from av import VideoCodecContext, VideoFrame

_Chunk: TypeAlias = "tuple[NDArray[np.int64], Iterable[bytes | None]]"

_INT_MAX = (1 << 31) - 1

_CHUNK = 128  # packets fetched and classified at a time

_KEY = int(PacketFlags.KEY)


@dataclass(frozen=True, slots=True)
class _Damage:
    """A packet that did not decode, or not well; with threads, one of several."""

    first: int
    last: int
    reason: str


class CpuDecoder:
    """Decodes plans of one video, and keeps its decoder in between. Not for sharing by threads.

    Args:
        index: of the video.
        source: its bytes.
        threads: of the codec; more than one pays only where many consecutive packets are decoded.
        drop: what not to decode.
        max_pixels: of a picture; packets of larger ones do not decode.
        options: of FFmpeg's decoder, besides those that the codec needs.
    """

    def __init__(
        self,
        index: VideoIndex,
        source: Source,
        *,
        threads: int = 1,
        drop: Drop = "unneeded",
        max_pixels: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._index = index
        self._flags = index.packets["flags"]
        self._reports_damage = codec_of(index.codec).reports_damage
        self._packets = PacketFeed(index, source, drop=drop)
        self._gaps = SliceGaps(index, source) if codec_of(index.codec).may_have_gaps else None
        self.threads = threads
        self.max_pixels = max_pixels
        self._options = options
        # FFmpeg counts what it allocates, which is more at the edges than what is shown.
        self._most_pixels = None if max_pixels is None else min(2 * max_pixels, _INT_MAX)
        self._decoder: VideoCodecContext | None = None
        self._setup = b""
        self._forward: ForwardReader | None = None
        self.counts = DecoderCounts()
        self._drop: Drop = drop
        self._source = source
        reset_after_fork(self, CpuDecoder._begin_anew)

    def decode(
        self, plan: Iterable[Run], *, reads_on: bool = False
    ) -> Generator[tuple[int, Surface], None, None]:
        """Frame number and surface of each distinct frame of the plan.

        Args:
            plan: the runs of a `DecodePlan`.
            reads_on: go on from the frames of the last call with this set where these follow, and
                stay behind them for the next. Where that does not work out, the frames of a run
                come once more, and only these count.

        Raises:
            DecodeError: a packet that a wanted frame needs does not decode. Where this comes out
                only after frames that depend on it were given, it is raised at the end.
            SourceError: the file cannot be read as it was indexed.
        """
        try:
            with blamed_on(self._index.name):
                runs = tuple(plan)
                for run in runs if len(runs) == 1 else self._joined(runs):
                    is_done = reads_on and (yield from self._read_on(run))
                    if not is_done:
                        yield from self._decode_run(run)
        except BaseException:
            self.close()  # what the decoder holds now is undefined
            raise

    def leads_to(self, run: Run) -> bool:
        """Whether going on to a run costs less than decoding from its keyframe."""
        return self._forward is not None and self._forward.leads_to(run)

    @property
    def stands_at(self) -> int:
        """The last frame given, if this decoder may continue from it; -1 otherwise."""
        return -1 if self._forward is None else self._forward.last_frame

    def examine(self, plan: DecodePlan) -> Iterator[tuple[int, str | None]]:
        """Decode as `decode` does, but give for each frame its damage, None if it is intact.

        Raises:
            SourceError: the file cannot be read as it was indexed.
        """
        with blamed_on(self._index.name):
            for run in self._joined(tuple(plan)):
                wanted = wanted_parts(self._index, run)
                damage: list[_Damage] = []
                given = {place for place, _ in self._feed(run, wanted, damage)}
                for place, number in wanted.items():
                    reason = self._reason(number, damage)
                    if reason is None and place not in given:
                        reason = f"the decoder gave no frame for packet {place[0]}"
                    yield number, reason
                if damage:
                    self._decoder = None

    def close(self) -> None:
        """Let go of the decoder, and of the demuxer where there is one."""
        self._decoder = None
        self._forward = None
        self._packets.close()
        if self._gaps is not None:
            self._gaps.close()

    def _begin_anew(self) -> None:
        """In a fork: a thread that is not here may have been decoding, and so may FFmpeg's own."""
        keep_forever(self._decoder)
        keep_forever(self._packets)
        keep_forever(self._forward)
        self._decoder = None
        self._forward = None
        self._packets = PacketFeed(self._index, self._source, drop=self._drop)
        if self._gaps is not None:
            self._gaps = SliceGaps(self._index, self._source)

    def _joined(self, runs: tuple[Run, ...]) -> Iterator[Run]:
        """Runs that follow on one another made one, so that no decoder is flushed in between."""
        start = 0
        for number in range(1, len(runs) + 1):
            if number < len(runs):
                last, first = int(runs[number - 1].packets[-1]), int(runs[number].packets[0])
                same = self._index.extradata_of(last) == self._index.extradata_of(first)
                if first == last + 1 and same:
                    continue
            yield Run.joined(runs[start:number])
            start = number

    def _read_on(self, run: Run) -> Generator[tuple[int, Surface], None, bool]:
        """The frames of a run, from where the decoder stands if that leads to them.

        Returns False where it does not work out; the run is decoded by itself then.
        """
        forward = self._forward
        if forward is None or not forward.leads_to(run):
            decoder = self._prepare(int(run.packets[0]))
            forward = ForwardReader(
                decoder,
                self._index,
                self._packets,
                run,
                self.counts,
                threads=self.threads,
                is_damaged=self._is_damaged,
            )
        self._forward = forward  # its decoder is not empty, whatever comes of it
        return (yield from forward.read(run))

    def _decode_run(self, run: Run) -> Iterator[tuple[int, Surface]]:
        wanted = wanted_parts(self._index, run)
        damage: list[_Damage] = []
        given: list[int] = []
        for place, frame in self._feed(run, wanted, damage):
            number = wanted.pop(place)
            if damage:
                self._check(number, damage)
            given.append(number)
            yield number, Surface(frame)
        for number in wanted.values():
            self._check(number, damage)
            packet = self._index.frame_packets[number]
            raise DecodeError(
                f"{self._index.name}: frame {number} (packet {packet}) was not "
                "given by the decoder, which named no error; the file may be damaged there"
            )
        if damage:
            for number in given:
                self._check(number, damage)

    def _feed(
        self, run: Run, wanted: Collection[tuple[int, int]], damage: list[_Damage]
    ) -> Iterator[tuple[tuple[int, int], VideoFrame]]:
        """The wanted frames of a run, each with its packet, and which of its frames it is.

        What fails goes to `damage`.
        """
        import av

        decoder = self._prepare(int(run.packets[0]))
        seen: dict[int, int] = {}
        fed: list[int] = []
        is_damaged = self._index.damaged
        end: _Chunk = run.packets[-1:], [None]
        chunks: Iterator[_Chunk] = itertools.chain(self._packets.chunks(run, _CHUNK), [end])
        is_told = self.threads == 1 and not self._reports_damage  # of damage, by each packet
        for packets, payloads in chunks:
            for number, payload in zip(packets.tolist(), payloads, strict=True):
                packet = None  # to get what the decoder still holds
                if payload is None and is_told and not wanted:
                    break
                if payload is not None:
                    if is_damaged[number]:
                        damage.append(_Damage(number, number, "bytes of it are lost or wrong"))
                    packet = make_packet(payload, number)
                    packet.is_keyframe = bool(int(self._flags[number]) & _KEY)
                    fed.append(number)
                    self.counts.packets += 1
                    self.counts.bytes += len(payload)
                try:
                    frames = decoder.decode(packet)
                except av.error.FFmpegError as error:
                    first = number - self.threads + 1
                    damage.append(_Damage(first, number, str(error.strerror or error)))
                    continue
                for frame in frames:
                    place = frame.pts
                    if place is None:
                        continue
                    if frame.is_corrupt and self._is_damaged(frame):
                        damage.append(_Damage(place, place, "its picture is damaged"))
                    part = seen.get(place, 0)
                    seen[place] = part + 1
                    self.counts.frames += 1
                    if (place, part) in wanted:
                        yield (place, part), frame
        decoder.flush_buffers()
        # Where frames are known by decoding, so is which packets give none.
        if len(seen) < len(fed) and self._reports_damage and self._index.exactness != "decode":
            damage += self._not_given(np.array(fed), seen)

    def _is_damaged(self, frame: VideoFrame) -> bool:
        """Whether the decoder marked a frame, and not for gaps between slices alone."""
        if not (self._reports_damage and frame.is_corrupt):
            return False
        return self._gaps is None or frame.pts is None or not self._gaps.explain(frame.pts)

    def _not_given(self, fed: NDArray[np.int64], seen: Collection[int]) -> Iterator[_Damage]:
        """Packets of a run, all of them fed, whose frames others may need and did not come.

        B-pictures are left out: decoders give none of those that lead the keyframe they begin with.
        """
        frames = self._index.packet_frames[fed]
        is_forward = (frames >= 0) & (frames >= np.maximum.accumulate(frames))
        for packet in fed[is_forward].tolist():
            if packet not in seen:
                yield _Damage(packet, packet, "the decoder gave no frame for it")

    def _prepare(self, packet: int) -> VideoCodecContext:
        """A decoder set up for the packets from this one on, holding nothing."""
        if self._forward is not None and self._decoder is not None:
            self._decoder.flush_buffers()
        self._forward = None
        setup = self._index.extradata_of(packet)
        # Without a keyframe in front, what comes out would depend on what was decoded before.
        is_key = int(self._flags[packet]) & _KEY
        if self._decoder is None or setup != self._setup or not is_key:
            self._decoder = open_decoder(
                self._index.codec,
                extradata=setup,
                tag=self._index.codec_tag,
                width=self._index.width,
                height=self._index.height,
                threads=self.threads,
                careful=True,
                max_pixels=self._most_pixels,
                options=self._options,
            )
            self._setup = setup
        return self._decoder

    def _check(self, number: int, damage: list[_Damage]) -> None:
        """Fail if a packet between a frame's keyframe and the frame itself is damaged."""
        reason = self._reason(number, damage)
        if reason is not None:
            raise DecodeError(f"{self._index.name}: frame {number} does not decode: {reason}")

    def _reason(self, number: int, damage: list[_Damage]) -> str | None:
        begin = int(self._index.seek_packets[number])
        end = int(self._index.end_packets[number])
        for found in damage:
            if found.first <= end and found.last >= begin:
                return f"packet {found.last}, which it needs, is damaged ({found.reason})"
        return None
