"""The fewest packets that reach the wanted frames: arithmetic on the tables of an index.

A decoder can begin at a keyframe only. What follows from there is a *run*: packets in decode
order up to the last one that is needed. Three facts make a run short:

- a frame that is shown before its keyframe (a leading frame of an open GOP) refers to what came
  before that keyframe, so its run begins one keyframe earlier;
- a disposable packet is referred to by no other, so unless its own frame is wanted it is left
  out before any decoder sees it;
- two runs that overlap are one: going on costs less than beginning again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import FrameRangeError

__all__ = ["DecodePlan", "Run", "plan_decode", "plan_runs"]


class FrameTable(Protocol):
    """What planning needs to know of a video; `VideoIndex` is one."""

    @property
    def frame_packets(self) -> NDArray[np.int64]:
        """Packet that carries each frame, in presentation order."""

    @property
    def seek_packets(self) -> NDArray[np.int64]:
        """Packet to begin at for each frame."""

    @property
    def end_packets(self) -> NDArray[np.int64]:
        """Last packet that each frame needs; its own, but for frames sent in several packets."""

    @property
    def disposable(self) -> NDArray[np.bool_] | None:
        """Which packets nothing refers to, or None while their headers have not been read."""


@dataclass(frozen=True, slots=True)
class Run:
    """Packets for one decoder, from a keyframe on, and the frames to keep of what comes out.

    `frames` and `frame_packets` go together: frame number and the packet that carries it, in
    decode order. `packets` ascends.
    """

    packets: NDArray[np.int64]
    frames: NDArray[np.int64]
    frame_packets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """Runs that decode every distinct wanted frame once, and the order they were asked for.

    `frames` are the distinct frame numbers, ascending. `positions` has one entry a request: where
    in `frames` it stands, or -1 for a filled frame that needs no decoding.
    """

    runs: tuple[Run, ...]
    frames: NDArray[np.int64]
    positions: NDArray[np.int64]

    @property
    def num_packets(self) -> int:
        """Packets that a decoder is fed in all."""
        return sum(len(run.packets) for run in self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)


def plan_decode(index: FrameTable, frames: ArrayLike) -> DecodePlan:
    """Plan the decoding of `frames`, in any order, repeated or none at all.

    Args:
        index: of the video.
        frames: frame numbers inside the video, as `pad_frames` gives them; -1 (a filled frame)
            takes part in the order, but nothing is decoded for it.

    Raises:
        FrameRangeError: a frame number is not in the video.
    """
    requested = np.asarray(frames, dtype=np.int64).reshape(-1)
    num_frames = len(index.frame_packets)
    outside = (requested < -1) | (requested >= num_frames)
    if outside.any():
        bad = requested[outside][0]
        raise FrameRangeError(f"frame {bad} requested, the video has {num_frames}; pad it first")
    wanted, positions = np.unique(requested, return_inverse=True)
    if len(wanted) and wanted[0] == -1:
        wanted, positions = wanted[1:], positions - 1
    return DecodePlan(tuple(plan_runs(index, wanted)), wanted, positions)


def plan_runs(index: FrameTable, frames: NDArray[np.int64]) -> Iterator[Run]:
    """The runs that decode some distinct frames, which are in the video."""
    packets = index.frame_packets[frames]
    if len(frames) == 1:
        begin, end = int(index.seek_packets[frames[0]]), int(index.end_packets[frames[0]])
        yield _run(index, begin, end, frames, packets)
        return
    order = packets.argsort(kind="stable")
    frames, packets = frames[order], packets[order]
    ends = np.maximum.accumulate(index.end_packets[frames])
    # Where decoding must have begun for this frame or any later one: a leading frame can need
    # an earlier start than the frames before it in decode order.
    begins = np.minimum.accumulate(index.seek_packets[frames][::-1])[::-1]
    cuts = (begins[1:] > ends[:-1]).nonzero()[0] + 1
    for first, stop in pairwise([0, *cuts.tolist(), len(frames)]) if len(frames) else ():
        mine = slice(first, stop)
        yield _run(index, int(begins[first]), int(ends[stop - 1]), frames[mine], packets[mine])


def _run(
    index: FrameTable,
    begin: int,
    end: int,
    frames: NDArray[np.int64],
    frame_packets: NDArray[np.int64],
) -> Run:
    """Packets from `begin` to `end`, less those that no frame needs as far as that is known."""
    packets = np.arange(begin, end + 1)
    if index.disposable is not None:
        needed = ~index.disposable[begin : end + 1]
        needed[frame_packets - begin] = True
        packets = packets[needed]
    return Run(packets, frames, frame_packets)
