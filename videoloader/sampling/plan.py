"""The fewest packets that reach the wanted frames: arithmetic on the tables of an index.

A decoder can begin only at a keyframe. A *run* is the packets from there on, in decode order, up
to the last one that is needed. Three rules determine the runs:

- a frame that is shown before its keyframe (a leading frame of an open GOP) refers to pictures
  before that keyframe, so its run begins one keyframe earlier;
- no packet refers to a disposable packet, so it is dropped before decoding unless its own frame
  is wanted;
- overlapping runs are merged: continuing costs less than starting again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.sampling.padding import FILLED, frame_range_error

Want: TypeAlias = tuple[int, int, int]
"""A place to fill: a frame number, the number of a clip, and the position in that clip."""


class FrameTable(Protocol):
    """Properties of a video that planning needs; `VideoIndex` has them."""

    @property
    def frame_packets(self) -> NDArray[np.int64]:
        """Packet number of each frame, in presentation order."""

    @property
    def seek_packets(self) -> NDArray[np.int64]:
        """Packet at which decoding begins to reach each frame."""

    @property
    def end_packets(self) -> NDArray[np.int64]:
        """Last packet that each frame needs: its own, or the last of a frame in several packets."""

    @property
    def disposable(self) -> NDArray[np.bool_] | None:
        """Mask of packets that no other packet refers to; None until headers have been read."""


@dataclass(frozen=True, slots=True)
class Run:
    """Packets for one decoder, from a keyframe on, and the output frames to keep.

    `frames` and `frame_packets` are parallel: frame number and its packet, in decode order.
    `packets` ascends.

    >>> from videoloader import index_video
    >>> (run,) = plan_decode(index_video("clip.mp4", headers=True), [3])
    >>> run.packets, run.frames, run.frame_packets
    (array([0, 1, 3, 4]), array([3]), array([4]))
    """

    packets: NDArray[np.int64]
    frames: NDArray[np.int64]
    frame_packets: NDArray[np.int64]

    @staticmethod
    def joined(runs: Sequence[Run]) -> Run:
        """Runs that follow on one another as one."""
        if len(runs) == 1:
            return runs[0]
        names = ("packets", "frames", "frame_packets")
        return Run(*(np.concatenate([getattr(run, name) for run in runs]) for name in names))


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """Runs that decode every distinct wanted frame once, and the order of the requests.

    `frames` are the distinct frame numbers, ascending. `positions` has one entry per request: its
    index in `frames`, or -1 for a filled frame, which is not decoded.

    >>> from videoloader import index_video
    >>> plan = plan_decode(index_video("clip.mp4", headers=True), [30, 5, 30])
    >>> len(plan.runs), plan.num_packets, plan.frames[plan.positions]
    (2, 7, array([30,  5, 30]))
    """

    runs: tuple[Run, ...]
    frames: NDArray[np.int64]
    positions: NDArray[np.int64]

    @property
    def num_packets(self) -> int:
        """Total number of packets to decode."""
        return sum(len(run.packets) for run in self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)


def plan_decode(index: FrameTable, frames: ArrayLike) -> DecodePlan:
    """Plan the decoding of `frames`, in any order, with repetitions, possibly empty.

    Args:
        index: of the video.
        frames: frame numbers inside the video, as `pad_frames` returns them; -1 (a filled frame)
            is not decoded.

    Raises:
        FrameRangeError: a frame number is not in the video.

    >>> from videoloader import index_video
    >>> plan = plan_decode(index_video("clip.mp4", headers=True), [30, 5, 30])
    >>> plan.num_packets, plan.frames.tolist(), plan.positions.tolist()
    (7, [5, 30], [1, 0, 1])
    >>> [run.packets.tolist() for run in plan]
    [[0, 1, 3, 5], [24, 25, 27]]
    """
    requested = np.asarray(frames, dtype=np.int64).reshape(-1)
    num_frames = len(index.frame_packets)
    outside = (requested < -1) | (requested >= num_frames)
    if outside.any():
        raise frame_range_error(
            int(requested[outside][0]), num_frames, "video", hint="pad it first"
        )
    wanted, positions = np.unique(requested, return_inverse=True)
    if len(wanted) and wanted[0] == -1:
        wanted, positions = wanted[1:], positions - 1
    return DecodePlan(tuple(plan_runs(index, wanted)), wanted, positions)


def plan_runs(index: FrameTable, frames: NDArray[np.int64]) -> Iterator[Run]:
    """The runs that decode distinct frames, all inside the video.

    >>> from videoloader import index_video
    >>> runs = plan_runs(index_video("clip.mp4", headers=True), np.array([5, 30]))
    >>> [run.frames.tolist() for run in runs]
    [[5], [30]]
    """
    packets = index.frame_packets[frames]
    if len(frames) == 1:
        begin, end = int(index.seek_packets[frames[0]]), int(index.end_packets[frames[0]])
        yield plan_run(index, begin, end, frames, packets)
        return
    order = packets.argsort(kind="stable")
    frames, packets = frames[order], packets[order]
    ends = np.maximum.accumulate(index.end_packets[frames])
    # The start that this frame or any later one needs: a leading frame can need an earlier start
    # than frames before it in decode order.
    begins = np.minimum.accumulate(index.seek_packets[frames][::-1])[::-1]
    cuts = (begins[1:] > ends[:-1]).nonzero()[0] + 1
    for first, stop in pairwise([0, *cuts.tolist(), len(frames)]) if len(frames) else ():
        mine = slice(first, stop)
        yield plan_run(index, int(begins[first]), int(ends[stop - 1]), frames[mine], packets[mine])


def plan_run(
    index: FrameTable,
    begin: int,
    end: int,
    frames: NDArray[np.int64],
    frame_packets: NDArray[np.int64],
) -> Run:
    """The run from packet `begin` to `end`, without unneeded disposable packets if known."""
    packets = np.arange(begin, end + 1)
    if index.disposable is not None:
        needed = ~index.disposable[begin : end + 1]
        needed[0] = True  # decoders begin there, whatever its header says
        needed[frame_packets - begin] = True
        packets = packets[needed]
    return Run(packets, frames, frame_packets)


@dataclass(frozen=True, slots=True, eq=False)
class MergedRun:
    """A run for several clips of one video, and the places that want its frames, by frame.

    `clip` is the number of one of these clips, by which to find the video.
    """

    clip: int
    run: Run
    wants: list[Want]


def merge_runs(index: FrameTable, clips: Mapping[int, NDArray[np.int64]]) -> list[MergedRun]:
    """Plan the decoding of clips of one video together, each distinct frame once.

    Args:
        index: of the video.
        clips: frames inside the video, or `FILLED`, by number of the clip.
    """
    places: dict[int, list[Want]] = {}
    for number, frames in clips.items():
        for position, frame in enumerate(frames.tolist()):
            if frame != FILLED:
                places.setdefault(frame, []).append((frame, number, position))
    first = next(iter(clips), 0)
    merged: list[MergedRun] = []
    for run in plan_runs(index, np.array(sorted(places), np.int64)):
        wants = [want for frame in sorted(run.frames.tolist()) for want in places[frame]]
        merged.append(MergedRun(first, run, wants))
    return merged


def needed_pictures(
    references: Sequence[Iterable[int]], wanted: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mask of the wanted pictures and all pictures that they depend on, directly or indirectly.

    Args:
        references: for each picture, in decode order, the numbers of those it refers to.
        wanted: mask of the wanted pictures.

    >>> needed_pictures([(), (0,), (1,), (0,)], np.array([False, False, False, True]))
    array([ True, False, False,  True])
    """
    needed = wanted.tolist()
    for number in range(len(needed) - 1, -1, -1):
        if needed[number]:
            for reference in references[number]:
                needed[reference] = True
    return np.array(needed, dtype=np.bool_)
