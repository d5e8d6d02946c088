"""How many packets batches take: planned together, and each clip by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from videoloader.decoding.assembly import Assembly
from videoloader.decoding.attempts import requests_for
from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.sampling import Draw, plan_decode
from videoloader.training.decoding import SampleDecoder


class PlannedPackets(NamedTuple):
    """Packets that some batches take.

    Attributes:
        clips: of these batches; a sample of several clips counts once.
        packets: to decode them, what several clips of a batch need counted once.
        apart: to decode each clip by itself.

    >>> print(PlannedPackets(clips=8, packets=500, apart=1200))
    500 packets for 8 clips, 1200 if each is decoded by itself (2.40 times as many)
    """

    clips: int
    packets: int
    apart: int

    def __str__(self) -> str:
        times = self.apart / max(self.packets, 1)
        return (
            f"{self.packets} packets for {self.clips} clips, {self.apart} if each is decoded by "
            f"itself ({times:.2f} times as many)"
        )


def plan_packets(
    samples: SampleDecoder, decoder: BatchDecoder, batches: Iterable[Sequence[Draw]]
) -> PlannedPackets:
    """Plan some batches, without decoding them."""
    clips = packets = apart = 0
    for keys in batches:
        assembly = _assembly(samples, decoder, keys)
        clips += len(assembly.clips)
        packets += sum(len(merged.run.packets) for merged in assembly.runs())
        for clip in assembly.clips.values():
            apart += plan_decode(clip.index, clip.frames).num_packets
    return PlannedPackets(clips, packets, apart)


def _assembly(samples: SampleDecoder, decoder: BatchDecoder, keys: Sequence[Draw]) -> Assembly:
    """The clips of a batch, without memory."""
    requests, videos = samples.requests, samples.requests.videos
    numbers = [requests.video(key.sample) for key in keys]
    items, indexes = map(videos.item, numbers), map(videos.index, numbers)
    with decoder.open([*items], [*indexes]) as opened:
        wanted = requests_for(opened, lambda at, index: requests.request(keys[at], index)[0])
        return Assembly(wanted, opened, samples.output, None, samples.rules, ())
