"""Who is measured: each finds the frames of a video with a library of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CONTENDERS", "OURS", "PACKAGES", "REFERENCE", "Claim"]

"""FFmpeg's libraries under the names peers look for."""

PACKAGES = ("videoloader", "av", "torchcodec", "decord2", "torch", "numpy")
REFERENCE = "PyAV, demux"
OURS = "videoloader"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a contender says about the frames; a field that it does not know is None."""

    num_frames: int | None
    seconds: NDArray[np.float64] | None = None  # presentation time of each frame, ascending


# -- Contenders: each imports its library outside the measured time, and gives what is measured and
# -- what is made of its result afterwards. "Known" means that a list of all pts is at hand. --

Contender = tuple[Callable[[str], Any], Callable[[Any], Claim]]


def ours() -> Contender:
    import videoloader

    def index(path: str) -> tuple[NDArray[np.int64], Fraction]:
        index = videoloader.index_video(path)
        return index.pts, index.time_base

    return index, lambda known: Claim(len(known[0]), known[0] * float(known[1]))


def pyav_demux() -> Contender:
    import av

    def scan(path: str) -> tuple[list[int], Fraction | None]:
        with av.open(path) as container:
            stream = container.streams.video[0]
            pts = [packet.pts for packet in container.demux(stream) if packet.pts is not None]
            return sorted(pts), stream.time_base

    return scan, lambda known: Claim(len(known[0]), np.asarray(known[0]) * float(known[1]))


def pyav_index_entries() -> Contender:
    import av

    def read(path: str) -> list[int]:
        with av.open(path) as container:
            entries = container.streams.video[0].index_entries
            return [entry.timestamp for entry in entries]

    return read, lambda decoding_times: Claim(len(decoding_times))


def torchcodec(seek_mode: str) -> Callable[[], Contender]:
    def contender() -> Contender:
        from torchcodec.decoders import VideoDecoder

        def open_decoder(path: str) -> Any:
            return VideoDecoder(path, seek_mode=seek_mode)

        return open_decoder, lambda decoder: Claim(decoder.metadata.num_frames)

    return contender


def decord2() -> Contender:
    import decord

    def claim(reader: Any) -> Claim:
        times = reader.get_frame_timestamp(range(len(reader)))[:, 0]
        return Claim(len(reader), np.sort(times))

    return lambda path: decord.VideoReader(path, num_threads=1), claim


CONTENDERS: dict[str, Callable[[], Contender]] = {
    REFERENCE: pyav_demux,
    OURS: ours,
    "PyAV, index_entries": pyav_index_entries,
    "torchcodec, exact": torchcodec("exact"),
    "torchcodec, approx.": torchcodec("approximate"),
    "decord2": decord2,
}
