"""Decodes the runs of a batch into its clips in this process."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.audio.request import Made, SoundWork
from videoloader.decoding.assembly import Assembly, OpenClip
from videoloader.decoding.cpu.forward import Place
from videoloader.decoding.cpu.images import Decoded
from videoloader.decoding.cpu.parts import SPARE_THREADS, UNBALANCED, Part, narrowed, task_of
from videoloader.decoding.cpu.tasks import Decoders
from videoloader.decoding.images.request import ImageForm, ImageRequest
from videoloader.decoding.memory import TORCH_TYPES, Recycler
from videoloader.decoding.output import OutputFormat
from videoloader.errors import VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.forking import ForkSafeLock, Use, reset_after_fork
from videoloader.sampling.plan import MergedRun
from videoloader.sources.source import Source

_FREE_BLOCKS = 2  # of memory, kept for the next batches
_FEW_PACKETS = 32  # of a run, for which frame threads do not pay
_PLACES = 2  # where decoders of a video stand, for readers that take turns
_NEAR = 8  # frames that may be left out between calls, and packets between runs of a call
_SPARED = 8  # read on, in place of dividing a range, where that spares one packet of so many
LITTLE_WORK = 600_000  # pixels of all packets, for which a second thread does not pay


class LocalEngine:
    """Decodes runs in this process, without protection from crashes of a codec.

    It keeps the decoders of sources that callers gave open, so that they are warm in the next
    batch; files that a batch opens are let go of with it. Threads may share it; they take turns. A
    fork has decoders of its own. An interrupt (`KeyboardInterrupt`) ends a call at once, whatever
    other threads are decoding: they end at their next frame, and what they used is not used again.

    Args:
        threads: that decode, by spreading the runs of a video over them, or as threads of the
            codec where one run is most of the work.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._lanes: list[Decoders] = []
        self._memory = Recycler(keep=_FREE_BLOCKS)
        self._lock = ForkSafeLock()
        self._use = Use("the decoder")
        self._stats = {"tasks": 0, "failures": 0}
        self._calls: deque[tuple[tuple[int, int], Place]] = deque(
            maxlen=_PLACES
        )  # the last: video and end
        reset_after_fork(self, LocalEngine._begin_anew)

    def allocate(self, shape: tuple[int, ...], output: OutputFormat) -> torch.Tensor:
        """Memory of clips; it is used again when nothing views it."""
        return self._memory.empty(shape, dtype=TORCH_TYPES[output.element], device="cpu")

    def decode(
        self, runs: Sequence[MergedRun], assembly: Assembly, slots: dict[int, NDArray[Any]]
    ) -> None:
        """Decode runs into slots (F, H, W, C), by number of the clip; failures go to the clips.

        The memory of the slots is from `allocate`.

        The decoders come back only where no thread uses them any more: an interrupt may come at
        any line, also where another one is treated, so they are gone until then. The next call
        begins with others; abandoned ones go with the last thread that has them.
        """
        videos: dict[Any, list[MergedRun]] = {}
        for run in runs:
            videos.setdefault(assembly.clips[run.clip].video, []).append(run)
        with self._lock, self._use:
            lanes, is_interrupted = self._lanes or [Decoders() for _ in range(self._threads)], True
            self._lanes = []
            try:
                for of_video in videos.values():
                    self._use.check()
                    self._decode_video(lanes, of_video, assembly, slots)
                is_interrupted = False
            except Exception:
                is_interrupted = False
                raise
            finally:
                if is_interrupted:
                    for lane in lanes:
                        lane.abandon()
                else:
                    self._lanes = lanes
                self._forget(runs, assembly)
                if self._use.is_closed:
                    self._close()

    def decode_images(self, requests: Sequence[ImageRequest], form: ImageForm) -> list[Decoded]:
        """Decode images: the pixels of each, or why there are none."""
        return [_made(request.decode, form) for request in requests]

    def decode_sounds(self, requests: Sequence[SoundWork[Made]]) -> list[Made | Exception]:
        """Decode sounds; gives for each its result or its error."""
        return [_made(request.decode) for request in requests]

    def sound_source(self, given: object, source: Source) -> Source:  # noqa: ARG002
        """The source for a `ClipSoundRequest` of an open video; see `CpuEngine`."""
        return source

    def stats(self) -> dict[str, int]:
        """Counts of tasks and of failed tasks."""
        return dict(self._stats)

    def close(self) -> None:
        """Close the decoders, for good; waits for a decode in another thread."""
        self._use.is_closed = True
        if self._use.wait():
            self._close()

    def _decode_video(
        self,
        lanes: list[Decoders],
        runs: list[MergedRun],
        assembly: Assembly,
        slots: dict[int, NDArray[Any]],
    ) -> None:
        clip = assembly.clips[runs[0].clip]
        if assembly.rules.in_order:
            many = 1 if self._threads == 1 else self._threads + SPARE_THREADS
            self._decode_part(lanes[0], Part(runs, many), assembly, slots, reads_on=True)
            return
        # Where the file stays open, a caller may go through it one call after the other.
        if clip.source is clip.request.source:
            lane, threads = self._reads_on(lanes, runs, clip, assembly.rules.max_pixels)
            if threads:
                self._decode_part(lane, Part(runs, threads), assembly, slots, reads_on=True)
                return
        parts = self._share(runs, clip.index)
        if len(parts) == 1:
            self._decode_part(lanes[0], parts[0], assembly, slots)
            return
        _side_by_side(
            [
                partial(self._decode_part, lane, part, assembly, slots)
                for lane, part in zip(lanes, parts, strict=False)
            ]
        )

    def _reads_on(
        self, lanes: list[Decoders], runs: list[MergedRun], clip: OpenClip, max_pixels: int
    ) -> tuple[Decoders, int]:
        """The lane and the threads of the decoder that reads on to runs of one video.

        No threads where beginning at keyframes costs less.
        """
        first, last, lane = runs[0].run, runs[-1].run, lanes[0]
        key = id(clip.source), id(clip.index)  # of what stands open: another index, other decoders
        calls = [*self._calls]
        self._calls.append((key, Place(runs[-1].wants[-1][0], int(last.packets[-1]))))
        for one, other in pairwise(runs):
            if other.run.packets[0] - one.run.packets[-1] > _NEAR:
                return lane, 0
        for standing in lanes[:_PLACES]:
            for decoder in standing.decoders(key):
                if decoder.max_pixels == max_pixels and decoder.leads_to(first):
                    return standing, decoder.threads
        near = max(_NEAR, len(runs[0].wants))
        spared = -1  # packets that need not be decoded again
        for video, end in calls:
            if video == key and end.leads_to(first, near):
                spared = max(spared, end.packet + 1 - int(first.packets[0]))
        packets = sum([len(run.run.packets) for run in runs])
        if spared < 0:
            # A first call may be the first chunk of a loop. A decoder that is to read on takes
            # one more packet for each thread and reordered frame, little beside a long chunk.
            count, stop = len(first.frames), int(first.frames.max()) + 1
            is_head = len(runs) == 1 and count == stop < clip.index.num_frames
            if not is_head or packets < _FEW_PACKETS or any(video == key for video, _ in calls):
                return lane, 0
        if len(runs) > 1 and self._threads > 1 and spared * _SPARED <= packets:
            return lane, 0
        ends = [end.frame for video, end in calls if video == key]
        is_used = any(decoder.stands_at in ends for decoder in lane.decoders(key))
        # A second demuxer would begin at the beginning.
        if is_used and not clip.index.packing.is_demuxed:
            if len(lanes) == 1:
                lanes.append(Decoders())
            lane = lanes[1]
        is_much = packets * clip.index.width * clip.index.height >= LITTLE_WORK
        is_long = len(runs[0].wants) > 1 or packets >= _FEW_PACKETS
        many = self._threads + SPARE_THREADS
        return lane, many if self._threads > 1 and is_much and is_long else 1

    def _share(self, runs: list[MergedRun], index: VideoIndex) -> list[Part]:
        """Runs of one video as parts to be decoded at once, each with the threads of its codec."""
        count = self._threads
        if count == 1:
            return [Part(runs)]
        lengths = [len(run.run.packets) for run in runs]
        if sum(lengths) * index.width * index.height < LITTLE_WORK:
            return [Part(runs)]
        packets = np.array(lengths)
        longest = int(packets.argmax())
        many = count + SPARE_THREADS if packets[longest] >= _FEW_PACKETS else 1
        if index.packing.is_demuxed:  # a second demuxer would begin at the beginning
            return [Part(runs, many)]
        if packets[longest] > packets.sum() / count * UNBALANCED:
            others = runs[:longest] + runs[longest + 1 :]
            return [Part([runs[longest]], many), *([Part(others)] if others else [])]
        lanes = (packets.cumsum() - packets / 2) * count // packets.sum()
        parts = [
            [run for run, of in zip(runs, lanes.tolist(), strict=True) if of == lane]
            for lane in range(count)
        ]
        return [Part(part) for part in parts if part]

    def _decode_part(
        self,
        lane: Decoders,
        part: Part,
        assembly: Assembly,
        slots: dict[int, NDArray[Any]],
        *,
        reads_on: bool = False,
    ) -> None:
        """Decode runs of one video; find out which frames fail, if some do."""
        clip = assembly.clips[part.runs[0].clip]
        self._stats["tasks"] += 1
        try:
            work = lane.run(
                task_of(part, assembly, slots, "", reads_on=reads_on),
                key=(id(clip.source), id(clip.index)),
                open_video=lambda: clip.source,
                is_lent=True,
            )
            assembly.count(work)
        except VideoError as error:
            self._stats["failures"] += 1
            for each in narrowed(part, error, assembly):
                self._decode_part(lane, each, assembly, slots)

    def _forget(self, runs: Sequence[MergedRun], assembly: Assembly) -> None:
        """Let go of the sources that end with the batch."""
        for run in runs:
            clip = assembly.clips[run.clip]
            if clip.source is not clip.request.source:
                for lane in self._lanes:
                    lane.forget((id(clip.source), id(clip.index)))

    def _close(self) -> None:
        for lane in self._lanes:
            lane.close()
        self._memory = Recycler(keep=_FREE_BLOCKS)

    def _begin_anew(self) -> None:
        """In a fork: decoders may have been in use by threads that are not here."""
        self._lanes = []
        self._use.forget()


def _made(make: Callable[..., Made], *given: Any) -> Made | VideoError:
    """The result of a function, or its `VideoError`."""
    try:
        return make(*given)
    except VideoError as error:
        return error


def _side_by_side(work: Sequence[Callable[[], None]]) -> None:
    """Call functions, each in a thread, the first in this one.

    Returns, or raises what one of them raised, when all are done. Only an interrupt of this thread
    (`KeyboardInterrupt`) is raised at once; the others may be at work then.
    """
    errors: list[BaseException] = []

    def attempt(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  (raised below)
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(call,)) for call in work[1:]]
    for thread in threads:
        thread.start()
    try:
        work[0]()
    except Exception as error:  # noqa: BLE001  (raised below)
        errors.append(error)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
