"""The clips of a batch while they are decoded: opened, given memory, filled, handed over."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip_batch import ClipBatch, ClipFailure, ClipSound, first_failures
from videoloader.decoding.framing import shorter_resized
from videoloader.decoding.limits import batch_too_large, check_pixels, clip_too_large
from videoloader.decoding.memory import TORCH_TYPES, as_movable, as_slots
from videoloader.decoding.opening.videos import OpenedVideo
from videoloader.decoding.options import DecodingRules
from videoloader.decoding.output import OutputFormat, View, as_fill, normalize_size
from videoloader.decoding.pictures.planes import PlaneShapes, planes_view
from videoloader.decoding.request import Blank, ClipRequest
from videoloader.decoding.sound_spans import ClipSpans
from videoloader.errors import ClosedError, ResourceError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import Orientation
from videoloader.machinery.runtime.run_stats import NO_WORK, Work
from videoloader.machinery.system.faults import blamed_on, tried
from videoloader.sampling import FILLED, pad_frames, snap_to_keyframes
from videoloader.sampling.plan import MergedRun, merge_runs
from videoloader.sources.source import Source

_ALONE = 32  # clips of several shapes that have memory of their own each
_ALIGNMENT = 64  # bytes

Allocate: TypeAlias = Callable[[tuple[int, ...]], torch.Tensor]
Choose: TypeAlias = Callable[[Mapping[int, ClipFailure]], list[int]]


@dataclass(slots=True, eq=False)
class OpenClip:
    """A request whose video is open.

    `video` tells the video from others; `frames` are numbers inside it, or `FILLED`; `orientation`
    is the turn to apply; `plane_shapes` are the planes, with `output="yuv"`; `memory` is its
    tensor, or the one of which it is a row; `failed` are the frames that do not decode. `sounds` is
    what is to be heard, and `heard` that sound once it is decoded. `is_cached` clips have their
    frames and sound, see `ClipCache`.
    """

    request: ClipRequest
    source: Source
    index: VideoIndex
    video: Hashable
    frames: NDArray[np.int64]
    mask: NDArray[np.bool_]
    view: View
    orientation: Orientation
    plane_shapes: PlaneShapes = ()
    memory: torch.Tensor = field(init=False)
    row: int | None = field(default=None, init=False)
    failed: dict[int, VideoError] = field(default_factory=dict)
    sounds: tuple[ClipSpans, ...] = ()
    heard: ClipSound | None = None
    is_cached: bool = False

    @property
    def tensor(self) -> torch.Tensor:
        """The clip, in the layout of the batch."""
        return self.memory if self.row is None else self.memory[self.row]

    @property
    def address(self) -> int:
        """Where the clip begins in memory."""
        rows = (self.row or 0) * self.memory.stride(0)
        return self.memory.data_ptr() + rows * self.memory.element_size()

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one place to the next, in each of the four dimensions."""
        return self.memory.stride()[-4:]


class _Result(NamedTuple):
    """The clip of a request: the tensor `memory`, or row `row` of it where clips share a tensor."""

    memory: torch.Tensor
    row: int | None
    indices: NDArray[np.int64]
    times: NDArray[np.float64]
    mask: NDArray[np.bool_]
    plane_shapes: PlaneShapes = ()
    sound: ClipSound | None = None


class Assembly:
    """Makes the clips of one batch; each has the number of the request that it is made for.

    Clips share one block of memory if they are wanted `together` and all have one shape.
    """

    def __init__(
        self,
        requests: Sequence[ClipRequest | VideoError],
        videos: Sequence[OpenedVideo | VideoError],
        output: OutputFormat,
        size: tuple[int, int] | int | None,
        rules: DecodingRules,
        blanks: Sequence[Blank],
        *,
        together: bool = True,
    ) -> None:
        self.output = output
        self.rules = rules
        self.clips: dict[int, OpenClip] = {}
        self.failures: list[ClipFailure] = []
        self._requests = requests
        self.num_requests = len(requests)
        """Number of requests, failed ones included."""
        self._blanks = blanks
        self._block: torch.Tensor | None = None
        self._rows: list[int | None] = []
        self._allocate: Allocate
        self._limit: int | None = None
        self._size = size
        self._together = together
        self._work: list[Work] = []
        for number, (request, video) in enumerate(zip(requests, videos, strict=True)):
            clip: OpenClip | VideoError
            if isinstance(video, VideoError):
                clip = video
            elif isinstance(request, VideoError):
                clip = request
            else:
                clip = tried(video.source.name, self._opened, request, video)
            if isinstance(clip, VideoError):
                self.fail(number, clip)
            else:
                self.clips[number] = clip

    def _opened(self, request: ClipRequest, video: OpenedVideo) -> OpenClip:
        index, name = video.index, video.source.name
        check_pixels(index, self.rules.max_pixels)
        frames = request.frame_numbers(index, name)
        count = index.num_frames
        start, stop = request.start, count if request.stop is None else request.stop
        numbers, mask = pad_frames(
            frames, count, request.pad_mode, start=start, stop=stop, name=name
        )
        if request.snap == "keyframe":
            keyframes = index.keyframes
            if stop - start < count:
                keyframes = keyframes[(keyframes >= start) & (keyframes < stop)]
            numbers = snap_to_keyframes(numbers, keyframes, name)
            frames = np.where(mask, numbers, frames)
        # Indexes of one file may differ in the stream, and in how its frames were counted.
        wanted = (video.source, index, (video.place, index.stream, count), numbers)
        sounds = request.sounds(index, frames) if self.rules.audio else ()
        if self.output.is_planar:
            view, shapes = planes_view(request, index, self._size, self.output)
            return OpenClip(request, *wanted, mask, view, Orientation(), shapes, sounds=sounds)
        orientation = index.orientation if self.rules.rotate else Orientation()
        displayed = orientation.displayed((index.height, index.width))
        whole = displayed if request.crop is None else request.crop[2:]
        size = _size_of(request, self._size, whole)
        scales = size is not None or self.rules.resolution_change == "scale"
        view = View(size or whole, request.crop, request.flip, request.window, scales)
        if request.crop is not None:
            view.check(name, displayed)
        return OpenClip(request, *wanted, mask, view, orientation, sounds=sounds)

    def allocate(self, allocate: Allocate, *, limit: int | None) -> None:
        """Give every clip its memory: one block where all have one shape.

        A clip that there is no memory for fails.

        Args:
            allocate: gives memory of a shape.
            limit: bytes that all clips together may take.

        Raises:
            ResourceError: each clip is within the limit, but all together are not, or there is no
                room for them beside what else is in memory.
        """
        self._allocate = allocate
        self._limit = limit
        shapes = {
            number: self.output.clip_shape(len(clip.frames), clip.view.slot)
            for number, clip in self.clips.items()
        }
        itemsize = TORCH_TYPES[self.output.element].itemsize
        if limit is not None and sum(map(math.prod, shapes.values())) * itemsize > limit:
            self._refuse_too_large(shapes, limit)
        kinds = set(shapes.values())
        parts: Mapping[int, torch.Tensor] | VideoError = {}
        if self._together and len(kinds) == 1:
            block = tried("batch", allocate, (len(shapes), *kinds.pop()))
            if isinstance(block, ResourceError):
                raise block
            if not isinstance(block, VideoError):  # else each clip for itself
                self._block, self._rows = block, [*range(len(shapes))]
        elif limit is not None and len(shapes) > _ALONE:
            parts = tried("batch", self._parts, shapes)
            if isinstance(parts, ResourceError):
                raise parts
        for row, (number, shape) in enumerate(shapes.items()):
            clip = self.clips[number]
            if self._block is not None:
                clip.memory, clip.row = self._block, row
                continue
            if parts and not isinstance(parts, VideoError):
                clip.memory = parts[number]
                continue
            memory = tried(clip.index.name, allocate, shape)
            if isinstance(memory, VideoError):
                del self.clips[number]
                self.fail(number, memory)
            else:
                clip.memory = memory

    def _parts(self, shapes: dict[int, tuple[int, ...]]) -> dict[int, torch.Tensor]:
        """Memory of many clips of several shapes in one piece.

        A piece of shared memory takes a descriptor, of which a process has few.
        """
        each = _ALIGNMENT // self.output.numpy_dtype.itemsize
        sizes = {number: math.prod(shape) for number, shape in shapes.items()}
        room = {number: -(-size // each) * each for number, size in sizes.items()}
        whole, begin, parts = self._allocate((sum(room.values()),)), 0, {}
        for number, shape in shapes.items():
            parts[number] = whole[begin : begin + sizes[number]].view(shape)
            begin += room[number]
        return parts

    def runs(self) -> list[MergedRun]:
        """The merged runs of all clips that are to be decoded."""
        together: dict[Hashable, dict[int, OpenClip]] = {}
        for number, clip in self.clips.items():
            if not clip.is_cached:
                together.setdefault(clip.video, {})[number] = clip
        runs: list[MergedRun] = []
        for clips in together.values():
            index = next(iter(clips.values())).index
            wanted = {number: clip.frames for number, clip in clips.items()}
            merged = tried(index.name, merge_runs, index, wanted)
            if isinstance(merged, VideoError):
                for clip in clips.values():
                    frames = clip.frames[clip.frames != FILLED]
                    clip.failed = dict.fromkeys(frames.tolist(), merged)
            else:
                runs += merged
        return runs

    def slots(self) -> dict[int, NDArray[Any]]:
        """The memory of clips on the CPU, (F, H, W, C), by number of the clip."""
        return {
            number: as_slots(clip.memory, self.output, clip.row)
            for number, clip in self.clips.items()
        }

    def count(self, work: Work) -> None:
        """Add work that was done for the batch. Threads may share it."""
        self._work.append(work)  # at once, without a lock

    def blame(self, run: MergedRun, reasons: Mapping[int, VideoError]) -> None:
        """Note for the clips that want a frame of a run why there is none; reasons by frame."""
        for frame, number, _ in run.wants:
            if frame in reasons:
                self.clips[number].failed[frame] = reasons[frame]

    @contextmanager
    def contain(self, run: MergedRun) -> Iterator[None]:
        """Blame errors on the clips that want a run, except mistakes of a program."""
        try:
            with blamed_on(self.clips[run.clip].index.name):
                yield
        except ClosedError:
            raise
        except VideoError as error:
            self.blame(run, dict.fromkeys(run.run.frames.tolist(), error))

    def finish(self, choose: Choose | None = None) -> ClipBatch:
        """The batch, with all that failed reported and masked.

        Args:
            choose: gives the numbers of the requests whose clips make up the batch, for the first
                failure of each that failed; all of them by default. Other memory is not touched.

        Raises:
            VideoError: the first failure, if rules are strict.
            ResourceError: the machine lacked what a clip needed.
        """
        for number, clip in self.clips.items():
            for frame, error in clip.failed.items():
                self.failures.append(ClipFailure(number, frame, error))
        self.failures.sort(key=lambda failure: (failure.request, failure.frame or 0))
        for failure in self.failures:
            if isinstance(failure.error, ResourceError):  # of no clip
                raise failure.error
        if self.failures and self.rules.is_strict:
            raise self.failures[0].error
        if choose is None or not self.failures:
            return self._batch([*range(self.num_requests)])
        return self._batch(choose(first_failures(self.failures)))

    def fail(self, number: int, error: VideoError) -> None:
        """Note that a clip failed that is no matter of single frames."""
        if self.rules.is_strict or isinstance(error, ResourceError):
            raise error
        self.failures.append(ClipFailure(number, None, error))

    def _refuse_too_large(self, shapes: dict[int, tuple[int, ...]], limit: int) -> None:
        """Fail clips over the limit by themselves, and the batch if the others are together."""
        itemsize = self.output.numpy_dtype.itemsize
        sizes = {number: math.prod(shape) * itemsize for number, shape in shapes.items()}
        for number in [number for number, size in sizes.items() if size > limit]:
            clip, size = self.clips.pop(number), sizes.pop(number)
            del shapes[number]
            name, count = clip.index.name, len(clip.frames)
            self.fail(number, clip_too_large(name, count, clip.view.slot, size, limit))
        if sum(sizes.values()) > limit:
            raise batch_too_large(len(sizes), sum(sizes.values()), limit)

    def _batch(self, numbers: list[int]) -> ClipBatch:
        """The batch of some clips; the memory of the others is never touched."""
        results = [self._result(number) for number in numbers]
        columns = zip(*results, strict=True) if results else [()] * len(_Result._fields)
        memory, rows, indices, times, masks, shapes, sounds = map(list, columns)
        frames: torch.Tensor | list[torch.Tensor] | None = self._block
        if frames is None or rows != self._rows:
            frames = [m if row is None else m[row] for m, row in zip(memory, rows, strict=True)]
            if self._together and len({clip.shape for clip in frames}) == 1:
                dtype = frames[0].dtype
                frames = torch.stack([as_movable(clip) for clip in frames]).view(dtype)
        return ClipBatch(
            frames,
            indices,
            times,
            masks,
            np.array(numbers, dtype=np.int64),
            self.failures,
            reduce(operator.add, self._work) if self._work else NO_WORK,
            shapes if self.output.is_planar else (),
            [sound or self._no_sound for sound in sounds] if self.rules.audio else (),
        )

    @property
    def _no_sound(self) -> ClipSound:
        """The sound of a clip that fails."""
        return ClipSound(torch.zeros(0, self.rules.audio_channels or 1), 0)

    def _result(self, number: int) -> _Result:
        clip = self.clips.get(number)
        if clip is None:
            return self._blank(number)
        frames, mask = clip.frames, clip.mask
        if clip.failed:
            is_failed = np.isin(frames, list(clip.failed))
            mask, frames = mask & ~is_failed, np.where(is_failed, FILLED, frames)
        if FILLED in frames.tolist():
            self._fill(clip.tensor, clip.request.fill_value, frames)
        times = clip.index.seconds(frames)
        planes, sound = clip.plane_shapes, clip.heard
        return _Result(clip.memory, clip.row, frames, times, mask, planes, sound)

    def _blank(self, number: int) -> _Result:
        """A clip in place of one whose video cannot be opened, or that there is no memory for."""
        other = next(iter(self.clips.values()), None)
        count, size, fill_value = self._blanks[number] if self._blanks else self._own_blank(number)
        if self._blanks and not count and other is not None:
            count = len(other.frames)
        size = size or (other.view.slot if other is not None else (0, 0))
        shape = self.output.clip_shape(count, size)
        needed = math.prod(shape) * self.output.numpy_dtype.itemsize
        if self._limit is not None and needed > self._limit:
            raise next(f.error for f in self.failures if f.request == number)
        memory, frames = self._allocate(shape), np.full(count, FILLED)
        self._fill(memory, fill_value, frames)
        planes = other.plane_shapes if other is not None and other.view.slot == size else ()
        times, mask = np.full(count, -1.0), np.zeros(count, np.bool_)
        return _Result(memory, None, frames, times, mask, planes)

    def _own_blank(self, number: int) -> Blank:
        """The blank that a request itself describes."""
        request = self._requests[number]
        assert isinstance(request, ClipRequest)  # where there are errors, there are blanks
        size = request.window[2:] if request.window else _size_of(request, self._size, None)
        return Blank(request.length, size, request.fill_value)

    def _fill(
        self, memory: torch.Tensor, fill_value: int | Sequence[int], frames: NDArray[np.int64]
    ) -> None:
        """Write the fill value where a clip has no frame."""
        slots = as_movable(_slots(memory, self.output))
        values = torch.from_numpy(as_fill(fill_value, self.output))
        color = values.view(TORCH_TYPES[self.output.element]).to(slots.device)
        slots[torch.from_numpy(np.flatnonzero(frames == FILLED))] = as_movable(color)


def _size_of(
    request: ClipRequest, size: tuple[int, int] | int | None, whole: tuple[int, int] | None
) -> tuple[int, int] | None:
    """(height, width) that the pictures of a clip are resized to, if they are.

    Args:
        request: of the clip.
        size: of clips whose requests name none; one number is the length of the shorter side.
        whole: (height, width) of the picture or its crop, if that is known.
    """
    if request.size is not None:
        return normalize_size(request.size)
    chosen = size if request.resize_shorter is None else request.resize_shorter
    if isinstance(chosen, int):
        return None if whole is None else shorter_resized(whole, chosen)
    return chosen


def _slots(memory: torch.Tensor, output: OutputFormat) -> torch.Tensor:
    """The memory of a clip as slots, as `OutputFormat.slots` of an array."""
    return memory[:, None, :, None] if output.is_planar else memory.permute(output.slot_axes)
