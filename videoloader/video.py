"""`Video`: one video as a sequence of frames."""

from __future__ import annotations

import operator
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, Unpack, cast, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from videoloader.decoding import batch_decoder as batches
from videoloader.decoding.clip_batch import Clip
from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.decoding.framing import shorter_resized
from videoloader.decoding.limits import check_pixels
from videoloader.decoding.opening.videos import (
    OpenedVideo,
    identity,
    lasting,
    open_any,
    source_name,
)
from videoloader.decoding.options import (
    DecodingRules,
    FrameOptions,
    ResizeOptions,
    StreamOptions,
    as_device,
)
from videoloader.decoding.output import CHANNELS, OutputFormat, normalize_size
from videoloader.decoding.pictures.surface import Surface
from videoloader.decoding.reading import read_frames
from videoloader.decoding.request import ClipRequest, as_frame_numbers
from videoloader.decoding.side_data import read_motion_vectors, read_picture_types
from videoloader.decoding.switches import quick_switches
from videoloader.errors import ArgumentError, ArgumentTypeError, VideoError
from videoloader.indexing.index import VideoIndex, VideoMetadata
from videoloader.indexing.packets import Orientation, describe_size
from videoloader.indexing.video import index_video
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.faults import blamed_on
from videoloader.machinery.system.forking import (
    ForkSafeLock,
    Use,
    cached_property,
    reset_after_fork,
)
from videoloader.machinery.system.options import from_options, takes_options
from videoloader.machinery.system.spelling import suggests_attributes
from videoloader.machinery.views import facts_table, frames_view
from videoloader.machinery.workers.processors import usable_processors
from videoloader.sampling import pad_frames, plan_decode, select_frames
from videoloader.sampling.padding import frame_range_error
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource

__all__ = ["Video"]


FrameNumbers: TypeAlias = "ArrayLike | Iterator[int]"
"""Frame numbers in an array, a list or an iterator."""


@suggests_attributes
@takes_options(StreamOptions, OutputFormat, DecodingRules)
class Video(Closing):
    """The frames of a video, exact and in presentation order.

    Frame i is frame i of a full decode, whatever was decoded before. The file stays open until
    `close`. Threads may share a video; they decode one after the other. An iterator over it is for
    one thread. It pickles, with its index, and is opened again where it is unpickled; one of an
    open file object does not. The pickle has the whole URL, its secrets (user, password, query)
    included: it is opened by it.

    Args:
        source: path, URL, bytes, a seekable binary file, an item of a data set (`dataset.item`), or
            a `Source`, which is then closed with it.
        device: where frames are given, and decoded if they can be: `cpu`, `cuda` or `cuda:N`.
        index: of this very file, to save making one.
        stream: number of the video stream; FFmpeg's best by default.
        strict: refuse a file of which part is missing, see `index_video`.
        fps: frames a second of a raw stream, which has no times; not together with `index`.
        threads: that decode: as many as this process may use processors by default, fewer where
            that is not faster. They end with each call.
        **options: how the pictures of the stream are understood, in all calls.

    Raises:
        SourceError, FormatError, UnsupportedError: as `index_video`.
        UnsupportedError: the pictures have more than `max_pixels`.
        StaleIndexError: the index was made from another state of the file.

    >>> video = Video("clip.mp4")
    >>> len(video), video[5].shape, video[10:50:4].shape
    (90, torch.Size([64, 96, 3]), torch.Size([10, 64, 96, 3]))
    >>> video[[3, 1, -1]].shape, video.shape
    (torch.Size([3, 64, 96, 3]), (90, 64, 96, 3))
    >>> clip = video.get_frames(start=80, count=4, stride=4, pad_mode="edge")
    >>> clip.indices.tolist(), clip.mask.tolist()
    ([80, 84, 88, 89], [True, True, True, False])
    """

    @quick_switches()
    def __init__(
        self,
        source: VideoSource | Source | Item,
        device: str | torch.device = "cpu",
        index: VideoIndex | None = None,
        *,
        stream: int | None = None,
        fps: float | Fraction | None = None,
        strict: bool = False,
        threads: int | None = None,
        **options: Unpack[StreamOptions],
    ) -> None:
        self._options = options
        self._output = from_options(OutputFormat, options)
        self.device = as_device(device)
        self._is_on_gpu = self.device.type == "cuda"
        self._batches = batches.BatchDecoder(
            workers=0, threads=usable_processors() if threads is None else threads
        )
        self._rules = from_options(DecodingRules, options, is_strict=True)
        if index is not None and fps is not None:
            raise ArgumentError("give fps to index_video, or no index; an index has its times")
        self._given = source.absolute() if isinstance(source, Item) else source
        self._threads = threads
        with blamed_on(source_name(source)):
            self._source = open_any(source)
        try:
            with blamed_on(self.name):
                if index is None:
                    index = index_video(self._source, stream=stream, fps=fps, strict=strict)
                else:
                    index.check(self._source)
            check_pixels(index, self._rules.max_pixels)
        except BaseException:
            self._source.close()
            raise
        self.index = index
        self._opened = OpenedVideo(identity(self._source), self._source, index)
        self._orientation = index.orientation if self._rules.rotate else Orientation()
        self._lock = ForkSafeLock()
        self._use = Use(self.name)
        reset_after_fork(self._use, Use.forget)

    @property
    def name(self) -> str:
        """File name, for messages."""
        return self._source.name

    @property
    def source(self) -> Source:
        """The bytes of the file, open until `close`."""
        return self._source

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the frames given by default, rotation applied."""
        height, width = self.index.height, self.index.width
        return (width, height) if self._orientation.transpose else (height, width)

    @property
    def height(self) -> int:
        """Rows of pixels of the frames given by default, rotation applied."""
        return self.size[0]

    @property
    def width(self) -> int:
        """Columns of pixels of the frames given by default, rotation applied."""
        return self.size[1]

    @property
    def fps(self) -> float:
        """Frames a second on average, 0 if unknown; `index.average_fps`."""
        return float(self.index.average_fps)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last; `index.duration`."""
        return float(self.index.duration)

    @property
    def num_frames(self) -> int:
        """Frames of the video; its length."""
        return len(self)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape (F, H, W, C) of a tensor of all frames, rotated as they are displayed."""
        return (len(self), *self.size, CHANNELS)

    @property
    def metadata(self) -> VideoMetadata:
        """A few facts about the video; its `index` has them all."""
        index = self.index
        return VideoMetadata(
            num_frames=len(self),
            height=self.height,
            width=self.width,
            fps=self.fps,
            duration=self.duration,
            codec=index.codec,
            pixel_format=index.pixel_format,
            bit_depth=index.bit_depth,
            color=index.color,
            rotation=index.rotation,
            container=index.container,
        )

    def __len__(self) -> int:
        return self.index.num_frames

    def __iter__(self) -> Iterator[torch.Tensor]:
        """All frames (H, W, C), decoded as they are consumed."""
        return self.iterate()

    @takes_options(ResizeOptions, ClipRequest, OutputFormat)
    def iterate(
        self, start: int = 0, **options: Unpack[ResizeOptions]
    ) -> Generator[torch.Tensor, None, None]:
        """The frames (H, W, C) from `start` on, decoded as they are consumed.

        Args:
            start: first frame.
            **options: of the frames.
        """
        self._use.check()
        if not 0 <= start <= len(self):
            raise frame_range_error(start, len(self), self.name)
        size, resize_shorter = options["size"], options["resize_shorter"]
        whole = None if size is None else normalize_size(size)
        request = ClipRequest(
            self._source, None, self.index, size=whole, resize_shorter=resize_shorter
        )
        if resize_shorter is not None:
            size = shorter_resized(self.size, resize_shorter)
        with quick_switches():
            for frame in read_frames(
                request,
                self._opened,
                range(start, len(self)),
                normalize_size(size or self.size),
                from_options(OutputFormat, {**self._options, **options}),
                self._rules,
                gpu=batches.shared_decoder(self.device) if self._is_on_gpu else None,
                threads=self._threads or usable_processors(),
            ):
                yield frame if frame.is_cuda == self._is_on_gpu else frame.to(self.device)

    @overload
    def __getitem__(self, key: int) -> torch.Tensor: ...
    @overload
    def __getitem__(self, key: slice | FrameNumbers) -> torch.Tensor: ...
    def __getitem__(self, key: int | slice | FrameNumbers) -> torch.Tensor:
        """One frame (H, W, C), or the frames (F, H, W, C) of a slice, a list of numbers or a mask.

        As of a NumPy array: numbers below 0 count from the end, and a mask has a truth value for
        each frame. Each distinct frame is decoded once.

        Raises:
            FrameRangeError: there is no such frame.
            ArgumentError: a mask has another length than the video.
            ArgumentTypeError: it is none of these.
        """
        if isinstance(key, slice):
            return self.get_frames(frames=range(len(self))[key]).frames
        if isinstance(key, Iterable) and getattr(key, "ndim", 1) != 0:
            return self.get_frames(frames=self._listed(key)).frames
        try:
            number = operator.index(cast(int, key))
        except TypeError as error:
            raise self._no_key(key) from error
        if not -len(self) <= number < len(self):
            raise frame_range_error(number, len(self), self.name)
        return self.get_frames(frames=[number % len(self)]).frames[0]

    @quick_switches()
    @takes_options(FrameOptions, ClipRequest, OutputFormat, DecodingRules)
    def get_frames(
        self,
        frames: FrameNumbers | None = None,
        *,
        start: int = 0,
        stop: int | None = None,
        stride: int = 1,
        count: int | None = None,
        within: tuple[int, int] | None = None,
        window: tuple[int, int, int, int] | None = None,
        **options: Unpack[FrameOptions],
    ) -> Clip:
        """Decode a set of frames, each distinct one once.

        Args:
            frames: frame numbers in any order, repeated, or none: an array, a list or an iterator;
                in place of the next four.
            start: first frame.
            stop: end, exclusive; the end of the video by default.
            stride: step between frames; negative plays backwards.
            count: number of frames, in place of `stop`.
            within: first frame and end (exclusive) of a part of the video. Frames outside it are
                not shown: `pad_mode` is for them as it is for those outside the video.
            window: (top, left, height, width) of the resized picture, a crop after resizing; all
                of it by default.
            **options: of the clip.

        Raises:
            FrameRangeError: a frame lies outside the video and `pad_mode` is `none`.
            DecodeError: a frame, or one that it needs, is damaged.
            ArgumentError: arguments that contradict each other.
        """
        if frames is None:
            frames = select_frames(
                num_frames=len(self), start=start, stop=stop, stride=stride, count=count
            )
        elif (start, stop, stride, count) != (0, None, 1, None):
            raise ArgumentError("give frames, or start, stop, stride and count, not both")
        try:
            first, end = (0, None) if within is None else within
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(
                f"within is (first frame, end) of a part of the video, got {within!r:.80}"
            ) from error
        return self._decode(options, frames=frames, window=window, start=first, stop=end)

    @quick_switches()
    @takes_options(FrameOptions, ClipRequest, OutputFormat, DecodingRules)
    def get_frames_at_times(
        self,
        times: ArrayLike | Iterator[float],
        *,
        nearest: bool = False,
        tolerance: float | None = None,
        **options: Unpack[FrameOptions],
    ) -> Clip:
        """The frame on screen at each time: the last that begins at or before it.

        A time a rounding error before a frame gives that frame, so times in float32 or rounded to
        4 digits are fine; `sampling.frames_at_times` has the rule.

        Args:
            times: presentation times in seconds, on the same clock as `Clip.times`.
            nearest: give the frame whose presentation time is nearest instead; in the middle
                between two, the later one.
            tolerance: the most seconds between a time and the presentation time of its frame, for
                times inside the video; of the frame before `snap`.
            **options: of the clip.

        Raises:
            FrameRangeError: a time lies outside the video and `pad_mode` is `none`, or no frame is
                within the tolerance.
            DecodeError, ArgumentError: as `get_frames`.
        """
        return self._decode(options, times=times, nearest=nearest, tolerance=tolerance)

    @quick_switches()
    def motion_vectors(self, frames: ArrayLike) -> list[NDArray[Any]]:
        """The motion vectors of frames, as their codec has them; none where a frame has none.

        Structured arrays with the fields of FFmpeg's `AVMotionVector`, in pixels of the coded
        picture: `source` (negative: an earlier frame), `w`, `h`, `src_x`, `src_y`, `dst_x`,
        `dst_y`, `motion_x`, `motion_y`, `motion_scale`, `flags`.

        Raises:
            UnsupportedError: FFmpeg gives none for this codec; it does for H.264, MPEG-1, -2, -4
                and H.263.
        """
        self._use.check()
        numbers, _ = pad_frames(as_frame_numbers(frames), len(self), "none", name=self.name)
        found = read_motion_vectors(
            self.index, self._source, numbers, max_pixels=self._rules.max_pixels
        )
        return [found[number] for number in numbers.tolist()]

    @cached_property
    def picture_types(self) -> NDArray[np.str_]:
        """Type of each frame's picture, `I`, `P` or `B`; decodes the video once."""
        self._use.check()
        threads = self._threads or usable_processors()
        with quick_switches():
            return read_picture_types(
                self.index, self._source, threads=threads, max_pixels=self._rules.max_pixels
            )

    def decode(self, frames: ArrayLike) -> Iterator[tuple[int, Surface]]:
        """Frame number and surface of each distinct frame, in the order they are decoded.

        Surfaces are as the decoder gave them: before colour conversion, scaling and rotation. The
        iterator has a decoder of its own, so the video may be used in between; it has one thread,
        unless `threads` were asked for.
        """
        self._use.check()
        numbers, _ = pad_frames(as_frame_numbers(frames), len(self), "none", name=self.name)
        decoder = CpuDecoder(
            self.index, self._source, threads=self._threads or 1, max_pixels=self._rules.max_pixels
        )
        return decoder.decode(plan_decode(self.index, numbers))

    def _listed(self, key: Iterable[Any]) -> NDArray[np.int64]:
        """The frames of a list of numbers, or of a mask, in `video[...]`."""
        numbers: NDArray[Any] = np.empty((), object)
        with suppress(ValueError):  # lists of several lengths
            numbers = np.asarray([*key] if isinstance(key, Iterator) else key)
        if isinstance(key, tuple) or numbers.ndim != 1:
            raise self._no_key(key)
        if numbers.dtype == bool:
            if len(numbers) != len(self):
                raise ArgumentError(
                    f"{self.name}: a mask has a truth value for each of the {len(self)} frames, "
                    f"got {len(numbers)}"
                )
            return np.flatnonzero(numbers)
        if numbers.size and numbers.dtype.kind not in "iu":
            raise self._no_key(key)
        numbers = as_frame_numbers(numbers)
        outside = numbers[(numbers < -len(self)) | (numbers >= len(self))]
        if outside.size:
            raise frame_range_error(int(outside[0]), len(self), self.name)
        return np.where(numbers < 0, numbers + len(self), numbers)

    def _no_key(self, key: Any) -> ArgumentTypeError:
        return ArgumentTypeError(
            f"{self.name}: video[...] takes a frame number, a slice, a list of numbers or a mask, "
            f"such as video[[1, 2]]; got {type(key).__name__} {key!r:.80}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), threads=self._threads, **self._options), (
            lasting(self._given, self._source),
            str(self.device),
            self.index,
        )

    def _decode(self, options: FrameOptions, **wanted: Any) -> Clip:
        """The clip of a request, as a batch of one; `wanted` are other fields of `ClipRequest`."""
        request = from_options(
            ClipRequest, options, source=self._source, index=self.index, **wanted
        )
        output = from_options(OutputFormat, {**self._options, **options})
        rules = self._rules
        sound = options["audio"], options["audio_sample_rate"], options["audio_channels"]
        if sound != (False, None, None):
            audio, rate, channels = sound
            rules = replace(rules, audio=audio, audio_sample_rate=rate, audio_channels=channels)
        if self._is_on_gpu:
            self._use.check()
            decoder = batches.shared_decoder(self.device)
            begun = decoder.begin([request], [self._opened], output, rules, together=False)
            return begun.finish().clips[0]
        with self._lock, self._use:
            begun = self._batches.begin([request], [self._opened], output, rules, together=False)
            return begun.finish().clips[0]

    @quick_switches()
    def close(self) -> None:
        """Close the file and let go of the decoder, at any time and from any thread.

        What another thread is decoding is waited for; whoever comes later gets a `ClosedError`.
        """
        self._use.is_closed = True  # before the lock: threads that ask on and on never leave it
        with self._lock:
            self._batches.close()
            self._source.close()

    def _repr_html_(self) -> str:
        """HTML for notebooks: facts, the sizes of the frames over time, and some keyframes."""
        spread = np.linspace(0, len(self.index.keyframes) - 1, 8).round().astype(int)
        numbers = np.unique(self.index.keyframes[spread])
        try:
            frames = frames_view([self.get_frames(numbers).frames.cpu().numpy()])
        except VideoError as error:
            frames = facts_table([("failed", error)])
        return self.index._repr_html_() + frames

    def __repr__(self) -> str:
        index = self.index
        size = describe_size(index.width, index.height, self._orientation)
        return f"<{type(self).__name__} {self.name}: {len(self)} frames, {index.codec} {size}>"
