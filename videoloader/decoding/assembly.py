"""The clips of a batch while they are decoded: opened, given memory, filled, handed over."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from videoloader.decoding.arguments import as_fill, as_frame_numbers
from videoloader.decoding.clip import Clip
from videoloader.decoding.limits import check_pixels, too_large
from videoloader.decoding.memory import TORCH_TYPES, as_movable
from videoloader.decoding.merge import ClipFrames, MergedRun, merge_runs
from videoloader.decoding.opening import (
    IndexCache,
    identity,
    is_remote,
    open_any,
    open_side_by_side,
    source_name,
)
from videoloader.decoding.output import OutputFormat, View, normalize_size
from videoloader.errors import ArgumentError, ArgumentTypeError, ClosedError, VideoError
from videoloader.indexing.index import Orientation, VideoIndex
from videoloader.sampling import FILLED, PadMode, frames_at_times, pad_frames
from videoloader.sources.address import public
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource

__all__ = [
    "Assembly",
    "ClipBatch",
    "ClipFailure",
    "ClipRequest",
    "OnError",
    "OpenClip",
    "as_request",
]

OnError: TypeAlias = Literal["raise", "skip", "replace", "mask"]
Allocate: TypeAlias = Callable[[tuple[int, ...]], torch.Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class ClipRequest:
    """One clip to decode.

    Args:
        source: path, URL, bytes, a seekable binary file, an item of a data set (`dataset.item`), or
            a `Source`, which stays open.
        frames: frame numbers in any order, repeated, or none; None for all frames of the video,
            unless there are `times`.
        index: of this very file, to save making one.
        pad_mode: what stands for frames outside the video, see `sampling.pad_frames`.
        fill_value: of frames filled with `constant`, and of masked ones: one number from 0 to
            255, or one for each channel.
        size: (height, width) to resize to, or one number for both; by default that of the batch,
            or else that of the crop or the video.
        crop: (top, left, height, width) in pixels of the picture as it is displayed.
        flip: mirror left and right.
        times: presentation times in seconds, in place of `frames`: see `Video.get_frames_at_times`.
        nearest: give the frame nearest to each time, not the one on screen.
        tolerance: the most seconds between a time and the presentation time of its frame.
        window: (top, left, height, width) of the resized picture, such as a crop after resizing;
            all of it by default.
        resolve: called with the index of the video once it is open; gives the request to decode in
            place of this one, of the same source.
    """

    source: VideoSource | Source | Item
    frames: ArrayLike | None = None
    index: VideoIndex | None = None
    pad_mode: PadMode | str = "none"
    fill_value: int | Sequence[int] = 0
    size: int | tuple[int, int] | None = None
    crop: tuple[int, int, int, int] | None = None
    flip: bool = False
    times: ArrayLike | None = None
    nearest: bool = False
    tolerance: float | None = None
    window: tuple[int, int, int, int] | None = None
    resolve: Callable[[VideoIndex], ClipRequest] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.index, VideoIndex | None):
            raise ArgumentTypeError(
                "index is a VideoIndex of the file (index_video), or None; got "
                f"{type(self.index).__name__} {self.index!r:.80}"
            )
        if self.times is None:
            if self.nearest or self.tolerance is not None:
                raise ArgumentError("nearest and tolerance go with times")
        elif self.frames is not None:
            raise ArgumentError("give frames or times, not both")

    @property
    def length(self) -> int:
        """Frames that are wanted; 0 where only the video tells."""
        wanted = self.frames if self.times is None else self.times
        return 0 if wanted is None else int(np.asarray(wanted).size)

    def frame_numbers(self, index: VideoIndex, name: str) -> NDArray[np.int64]:
        """Frames that are wanted of the video; numbers outside it are left to `pad_mode`."""
        if self.times is not None:
            return frames_at_times(
                self.times,
                index,
                nearest=self.nearest,
                tolerance=self.tolerance,
                pad_mode=self.pad_mode,
                name=name,
            )
        return as_frame_numbers(np.arange(len(index)) if self.frames is None else self.frames)

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if isinstance(self.source, str):
            values["source"] = public(self.source)
        return f"ClipRequest({', '.join(f'{name}={value!r}' for name, value in values.items())})"


@dataclass(frozen=True, slots=True)
class ClipFailure:
    """What went wrong with a request.

    Attributes:
        request: its number.
        frame: number of the frame, None where the video cannot be opened at all.
        error: names the file and the cause.
    """

    request: int
    frame: int | None
    error: VideoError


@dataclass(frozen=True, eq=False)
class ClipBatch:
    """Clips in the order of their requests.

    Attributes:
        frames: all clips as one tensor (N, ...), or a list of tensors where their shapes differ.
        indices: for each clip the frame that stands at each place, -1 where it was filled.
        times: for each clip the presentation times in seconds, -1 where filled.
        masks: for each clip bool[F], False where filled.
        requests: int64[N], the request that each clip comes from. Failed ones are absent with
            `on_error="skip"`, and stand for others with `"replace"`.
        failures: what went wrong, by request.
    """

    frames: torch.Tensor | list[torch.Tensor]
    indices: list[NDArray[np.int64]]
    times: list[NDArray[np.float64]]
    masks: list[NDArray[np.bool_]]
    requests: NDArray[np.int64]
    failures: list[ClipFailure]

    def __len__(self) -> int:
        return len(self.requests)

    # Not made beforehand: to let go of a tensor, torch gives up the interpreter, and a view for
    # each clip costs as many waits where another thread is busy in Python.
    @cached_property
    def clips(self) -> list[Clip]:
        """Each clip with its frame numbers, times and mask; its frames are a view of `frames`."""
        parts = zip(self.frames, self.indices, self.times, self.masks, strict=True)
        return [Clip(*part) for part in parts]


@dataclass(slots=True, eq=False)
class OpenClip:
    """A request whose video is open.

    `orientation` is the turn to apply; `memory` is its tensor, or the one of which it is a row;
    `failed` are the frames that do not decode.
    """

    request: ClipRequest
    source: Source
    wanted: ClipFrames
    mask: NDArray[np.bool_]
    view: View
    orientation: Orientation
    memory: torch.Tensor = field(init=False)
    row: int | None = field(default=None, init=False)
    failed: dict[int, VideoError] = field(default_factory=dict)

    @property
    def index(self) -> VideoIndex:
        """Index of the video."""
        return self.wanted.index

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
    """What becomes of a request; `memory` is its tensor, or the one of which it is a row."""

    memory: torch.Tensor
    row: int | None
    indices: NDArray[np.int64]
    times: NDArray[np.float64]
    mask: NDArray[np.bool_]


class Assembly:
    """The requests of one batch on their way to clips, which go by the number of their request."""

    def __init__(
        self,
        requests: Sequence[ClipRequest],
        output: OutputFormat,
        size: tuple[int, int] | None = None,
        *,
        scales: bool = False,
        strict: bool,
        max_pixels: int,
    ) -> None:
        self.output = output
        self.clips: dict[int, OpenClip] = {}
        self.failures: list[ClipFailure] = []
        self._requests = requests
        self._block: torch.Tensor | None = None
        self._allocate: Allocate
        self._limit: int | None = None
        self._size = size
        self._scales = scales
        self._strict = strict
        self.max_pixels = max_pixels

    def open(self, indexes: IndexCache, files: ExitStack, *, rotate: bool) -> None:
        """Open the videos, each one once.

        Args:
            indexes: where indexes are found.
            files: closes what is opened.
            rotate: whether to turn pictures as their containers say.
        """
        remote = {
            identity(request.source): request.index is None
            for request in self._requests
            if is_remote(request.source)
        }
        opened = open_side_by_side(remote, indexes, files)
        known: dict[Hashable, VideoIndex] = {}
        for number, request in enumerate(self._requests):
            try:
                key = identity(request.source)
                with blamed_on(source_name(request.source)):
                    source = opened.get(key) or open_any(request.source)
                    if isinstance(source, VideoError):
                        raise source
                    if key not in opened and source is not request.source:
                        files.callback(source.close)
                    opened[key] = source
                    index = request.index
                    if index is not None:
                        index.check(source)
                    elif key in known:
                        index = known[key]
                    else:
                        index = known[key] = indexes.find(key, source)
                    check_pixels(index, self.max_pixels)
                    if request.resolve is not None:
                        request = replace(request.resolve(index), source=request.source)
                    # Indexes of one file may differ in the stream, and in how its frames were
                    # counted.
                    video = (key, index.stream, index.num_frames)
                    clip = _open_clip(
                        request,
                        video,
                        source,
                        index,
                        self._size,
                        rotate=rotate,
                        scales=self._scales,
                    )
                    self.clips[number] = clip
            except VideoError as error:
                self._fail(number, error)

    def allocate(self, allocate: Allocate, *, limit: int | None) -> None:
        """Give every clip its memory: one block where all have one shape.

        A clip that there is no memory for fails, the largest ones first.

        Args:
            allocate: gives memory of a shape.
            limit: bytes that all clips together may take.
        """
        self._allocate = allocate
        self._limit = limit
        self._refuse_too_large()
        shapes = {
            number: self.output.clip_shape(len(clip.wanted.frames), clip.view.slot)
            for number, clip in self.clips.items()
        }
        if len(set(shapes.values())) == 1:
            (shape,) = set(shapes.values())
            with suppress(VideoError), blamed_on("batch"):  # then each clip for itself
                self._block = allocate((len(shapes), *shape))
        for row, (number, shape) in enumerate(shapes.items()):
            clip = self.clips[number]
            if self._block is not None:
                clip.memory, clip.row = self._block, row
                continue
            try:
                with blamed_on(clip.index.name):
                    clip.memory = allocate(shape)
            except VideoError as error:
                del self.clips[number]
                self._fail(number, error)

    def runs(self) -> list[MergedRun]:
        """What there is to decode."""
        together: dict[Hashable, dict[int, ClipFrames]] = {}
        for number, clip in self.clips.items():
            together.setdefault(clip.wanted.video, {})[number] = clip.wanted
        runs: list[MergedRun] = []
        for clips in together.values():
            name = next(iter(clips.values())).index.name
            try:
                with blamed_on(name):
                    runs += merge_runs(clips)
            except VideoError as error:
                for number, wanted in clips.items():
                    frames = wanted.frames[wanted.frames != FILLED]
                    self.clips[number].failed = dict.fromkeys(frames.tolist(), error)
        return runs

    def blame(self, run: MergedRun, reasons: Mapping[int, VideoError]) -> None:
        """Note for the clips that want a frame of a run why there is none; reasons by frame."""
        for frame, number in zip(run.wants.frames.tolist(), run.wants.clips.tolist(), strict=True):
            if frame in reasons:
                self.clips[number].failed[frame] = reasons[frame]

    @contextmanager
    def contain(self, run: MergedRun) -> Iterator[None]:
        """Blame what goes wrong on the clips that want a run, but for mistakes of a program."""
        try:
            with blamed_on(self.clips[run.clip].index.name):
                yield
        except ClosedError:
            raise
        except VideoError as error:
            self.blame(run, dict.fromkeys(run.wants.frames.tolist(), error))

    def finish(self, on_error: OnError) -> ClipBatch:
        """The batch, failed clips treated as `on_error` says."""
        for number, clip in self.clips.items():
            self.failures += [
                ClipFailure(number, frame, error) for frame, error in clip.failed.items()
            ]
        self.failures.sort(key=lambda failure: (failure.request, failure.frame or 0))
        bad = {failure.request for failure in self.failures}
        if bad and on_error == "raise":
            raise self.failures[0].error
        results = {number: self._result(clip) for number, clip in self.clips.items()}
        numbers = sorted(results.keys() - bad)
        for number in results if on_error == "mask" else numbers:
            self._fill(self.clips[number])  # memory of clips that are left out is never touched
        if on_error == "mask":
            numbers = list(range(len(self._requests)))
            for number in numbers:
                if number not in results:
                    results[number] = self._blank(number)
        elif on_error == "replace" and bad:
            if not numbers:
                raise self.failures[0].error
            nearest = np.searchsorted(numbers, np.arange(len(self._requests))) % len(numbers)
            numbers = [numbers[place] for place in nearest.tolist()]
        return self._batch([results[number] for number in numbers], numbers)

    def _fail(self, number: int, error: VideoError) -> None:
        if self._strict:
            raise error
        self.failures.append(ClipFailure(number, None, error))

    def _refuse_too_large(self) -> None:
        """Fail the largest clips until the others fit into the machine."""
        sizes = {
            number: self._bytes_of(len(clip.wanted.frames), clip.view.slot)
            for number, clip in self.clips.items()
        }
        while self._limit is not None and sum(sizes.values()) > self._limit:
            largest = max(sizes, key=sizes.__getitem__)
            clip = self.clips.pop(largest)
            count, size = len(clip.wanted.frames), clip.view.slot
            self._fail(largest, too_large(clip.index.name, count, size, sizes.pop(largest)))

    def _bytes_of(self, count: int, size: tuple[int, int]) -> int:
        """Bytes of a clip of `count` frames of (height, width)."""
        return math.prod(self.output.clip_shape(count, size)) * self.output.numpy_dtype.itemsize

    def _fill(self, clip: OpenClip) -> None:
        """Write the fill values of padded and failed frames."""
        absent = {FILLED, *clip.failed}
        missing = [frame in absent for frame in clip.wanted.frames.tolist()]
        if any(missing):
            slots = as_movable(_slots(clip.tensor, self.output))
            color = self._color(clip.request).to(slots.device)
            slots[torch.from_numpy(np.flatnonzero(missing))] = as_movable(color)

    def _batch(self, results: list[_Result], numbers: list[int]) -> ClipBatch:
        frames: torch.Tensor | list[torch.Tensor] | None = self._block
        if frames is None or [result.row for result in results] != list(range(len(frames))):
            frames = [m if row is None else m[row] for m, row, *_ in results]
            if len({clip.shape for clip in frames}) == 1:
                dtype = frames[0].dtype
                frames = torch.stack([as_movable(clip) for clip in frames]).view(dtype)
        return ClipBatch(
            frames,
            [result.indices for result in results],
            [result.times for result in results],
            [result.mask for result in results],
            np.array(numbers, dtype=np.int64),
            self.failures,
        )

    def _result(self, clip: OpenClip) -> _Result:
        frames, mask = clip.wanted.frames, clip.mask
        if clip.failed:
            mask = mask & ~np.isin(frames, list(clip.failed))
            frames = np.where(mask, frames, FILLED)
        times = np.full(len(frames), -1.0)
        times[mask] = clip.index.seconds(frames[mask])
        return _Result(clip.memory, clip.row, frames, times, mask)

    def _blank(self, number: int) -> _Result:
        """A clip in place of one whose video cannot be opened, or that there is no memory for."""
        request, others = self._requests[number], list(self.clips.values())
        size = request.window[2:] if request.window else _size_of(request, self._size)
        if size is None:
            size = others[0].view.slot if others else (0, 0)
        count = request.length
        if request.resolve is not None and others:
            count = len(others[0].wanted.frames)
        if self._limit is not None and self._bytes_of(count, size) > self._limit:
            raise next(f.error for f in self.failures if f.request == number)
        memory = self._allocate(self.output.clip_shape(count, size))
        slots = as_movable(_slots(memory, self.output))
        slots[:] = as_movable(self._color(request).to(memory.device))
        filled = (np.full(count, value) for value in (FILLED, -1.0, False))
        return _Result(memory, None, *filled)

    def _color(self, request: ClipRequest) -> torch.Tensor:
        """A fill value as it stands in a slot: one element for each channel, or one for all."""
        values = as_fill(request.fill_value, self.output)
        return torch.from_numpy(values).view(TORCH_TYPES[self.output.dtype])


def as_request(request: ClipRequest | tuple[Any, ArrayLike], place: int) -> ClipRequest:
    """A request as it may be given: itself, or (source, frames).

    Args:
        request: what was given.
        place: its number, for messages.
    """
    if isinstance(request, ClipRequest):
        return request
    if isinstance(request, tuple | list) and len(request) == 2:
        return ClipRequest(*request)
    what = type(request).__name__
    if isinstance(request, tuple | list):
        what += f" of {len(request)}"
    raise ArgumentTypeError(
        f"request {place} is a {what}: {request!r:.200}; a request is (source, frames), or "
        "ClipRequest(source, frames, ...) where more is to be said"
    )


def _open_clip(
    request: ClipRequest,
    video: Hashable,
    source: Source,
    index: VideoIndex,
    size: tuple[int, int] | None,
    *,
    rotate: bool,
    scales: bool,
) -> OpenClip:
    frames = request.frame_numbers(index, source.name)
    numbers, mask = pad_frames(frames, index.num_frames, request.pad_mode, name=source.name)
    orientation = index.orientation if rotate else Orientation()
    displayed = (index.height, index.width)
    if orientation.transpose:
        displayed = displayed[::-1]
    whole = displayed if request.crop is None else request.crop[2:]
    wanted_size = _size_of(request, size)
    scales = scales or wanted_size is not None
    view = View(wanted_size or whole, request.crop, request.flip, request.window, scales)
    view.check(source.name, displayed)
    wanted = ClipFrames(video, index, numbers)
    return OpenClip(request, source, wanted, mask, view, orientation)


def _size_of(request: ClipRequest, size: tuple[int, int] | None) -> tuple[int, int] | None:
    return size if request.size is None else normalize_size(request.size)


def _slots(memory: torch.Tensor, output: OutputFormat) -> torch.Tensor:
    """The memory of a clip as (F, H, W, C)."""
    return memory.permute([output.layout.index(axis) for axis in "FHWC"])
