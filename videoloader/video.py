"""`Video`: one video as a sequence of frames."""

from __future__ import annotations

import itertools
import logging
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from videoloader.decoding.arguments import as_channels, as_device, as_fill, as_frame_numbers
from videoloader.decoding.beside import starmap_beside
from videoloader.decoding.clip import Clip
from videoloader.decoding.color import chroma_siting
from videoloader.decoding.cpu.libav import CpuDecoder
from videoloader.decoding.cpu.rgb import RgbConverter
from videoloader.decoding.limits import (
    MAX_PIXELS,
    check_max_pixels,
    check_pixels,
    machine_memory,
    too_large,
)
from videoloader.decoding.memory import TORCH_TYPES, Recycler, as_slots
from videoloader.decoding.opening import open_any, source_name
from videoloader.decoding.output import (
    ColorRange,
    ElementType,
    Interpolation,
    Layout,
    Matrix,
    OutputFormat,
    ResolutionChange,
    View,
    check_resolution_change,
    normalize_size,
)
from videoloader.decoding.surface import Surface
from videoloader.decoding.switches import quick_switches
from videoloader.errors import (
    ArgumentError,
    ArgumentTypeError,
    DecodeError,
    FormatError,
    FrameRangeError,
    UnsupportedError,
)
from videoloader.forking import ForkSafeLock, reset_after_fork
from videoloader.indexing.index import Orientation, VideoIndex, describe_size
from videoloader.indexing.video import index_video
from videoloader.sampling import (
    PadMode,
    frames_at_times,
    pad_frames,
    plan_decode,
    select_frames,
)
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource
from videoloader.workers.use import Use

__all__ = ["Video"]

_FREE_BLOCKS = 2  # of memory, kept for the next frames

_log = logging.getLogger(__name__)


class Video:
    """The frames of a video, exact and in presentation order.

    Frame i is frame i of a full decode, whatever was decoded before. The file stays open until
    `close`. Threads may share a video; they decode one after the other. It pickles, with its index,
    and is opened again where it is unpickled; one of an open file object does not.

    Args:
        source: path, URL, bytes, a seekable binary file, an item of a data set (`dataset.item`), or
            a `Source`, which is then closed with it.
        device: where frames are given, and decoded if they can be: `cpu`, `cuda` or `cuda:N`.
        index: of this very file, to save making one.
        stream: number of the video stream; FFmpeg's best by default.
        strict: refuse a file of which part is missing, see `index_video`.
        fps: frames a second of a raw stream, which has no times; not together with `index`.
        rotate: turn pictures as the container says, as players do. False gives them as coded.
        resolution_change: what to do with frames of another size than the first where the stream
            changes it: `error`, or `scale` them to the first size.
        threads: of the decoder; more than one pays for long consecutive stretches only. With more,
            iterating converts each frame in another one still, while the next is decoded.
        matrix: from Y'CbCr to RGB: `auto` by the tags of the stream; `bt601`, `bt709` or `bt2020`
            whatever the tags; `swscale` as PyAV, decord2, torchcodec and OpenCV convert. See
            `OutputFormat`.
        color_range: of the samples: `auto` by the tags of the stream, `limited` or `full` whatever
            the tags.
        max_pixels: of a picture; a file that claims more is refused. Far above 8K by default.

    Raises:
        SourceError, FormatError, UnsupportedError: as `index_video`.
        UnsupportedError: the pictures have more than `max_pixels`.
        StaleIndexError: the index was made from another state of the file.

    >>> video = Video("clip.mp4")  # doctest: +SKIP
    >>> video[5].shape, video[10:100:4].shape  # doctest: +SKIP
    (torch.Size([360, 640, 3]), torch.Size([23, 360, 640, 3]))
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
        rotate: bool = True,
        resolution_change: ResolutionChange = "error",
        threads: int = 1,
        matrix: Matrix = "auto",
        color_range: ColorRange = "auto",
        max_pixels: int = MAX_PIXELS,
    ) -> None:
        self._output = OutputFormat(matrix=matrix, color_range=color_range)
        check_resolution_change(resolution_change)
        check_max_pixels(max_pixels)
        if index is not None and fps is not None:
            raise ArgumentError("give fps to index_video, or no index; an index has its times")
        self.device = as_device(device)
        self._given = source
        with blamed_on(source_name(source)):
            self._source = open_any(source)
        try:
            with blamed_on(self.name):
                if index is None:
                    index = index_video(self._source, stream=stream, fps=fps, strict=strict)
                else:
                    index.check(self._source)
            check_pixels(index, max_pixels)
            self.index = index
            self._threads = threads
            self._max_pixels = max_pixels
            self._decoder = self._make_decoder()
        except BaseException:
            self._source.close()
            raise
        self._rotate = rotate
        self._orientation = index.orientation if rotate else Orientation()
        self._scales = resolution_change == "scale"
        self._converters: dict[OutputFormat, RgbConverter] = {}
        self._memory = Recycler(keep=_FREE_BLOCKS)
        self._lock = ForkSafeLock()
        self._use = Use(self.name)
        reset_after_fork(self, Video._begin_anew)

    @property
    def name(self) -> str:
        """File name, for messages."""
        return self._source.name

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the frames given by default, rotation applied."""
        height, width = self.index.height, self.index.width
        return (width, height) if self._orientation.transpose else (height, width)

    def __len__(self) -> int:
        return self.index.num_frames

    def __iter__(self) -> Iterator[torch.Tensor]:
        """All frames (H, W, C), decoded as they are consumed."""
        done = 0
        if self.device.type == "cuda" and not self._scales:
            from videoloader.decoding.batch import shared_decoder

            try:
                stream = shared_decoder(self.device).read(
                    self.index, self._source, self._orientation, self._output
                )
                for frames in stream:
                    yield from frames.unbind()
                    done += len(frames)
            except (UnsupportedError, FormatError, DecodeError) as error:
                _log.warning("%s: from frame %d on decoded on the CPU (%s)", self.name, done, error)
            else:
                return
        output, view = self._output, View(self.size, scales=self._scales)
        converter = self._make_converter(output)

        def convert(number: int, surface: Surface) -> torch.Tensor:
            self._check_size(number, surface, view)
            tensor, slots = self._allocate(1, view.size, output)
            with blamed_on(self.name):
                converter.write(surface, slots[0], view)
            return tensor[0]

        surfaces = self.decode(range(done, len(self)))
        give = itertools.starmap if self._threads == 1 else starmap_beside
        with quick_switches():
            for frame in give(convert, surfaces):
                yield frame.to(self.device)

    @overload
    def __getitem__(self, key: int) -> torch.Tensor: ...
    @overload
    def __getitem__(self, key: slice) -> torch.Tensor: ...
    @quick_switches()
    def __getitem__(self, key: int | slice) -> torch.Tensor:
        """One frame (H, W, C), or the frames of a slice (F, H, W, C); Python's meaning of both."""
        if isinstance(key, slice):
            return self.get_frames(frames=range(len(self))[key]).frames
        try:
            number = operator.index(key)
        except TypeError as error:
            raise ArgumentTypeError(
                f"{self.name}: video[...] takes a frame number or a slice, got "
                f"{type(key).__name__} {key!r:.80}; video.get_frames([1, 2]) takes several numbers"
            ) from error
        if not -len(self) <= number < len(self):
            raise FrameRangeError(
                f"{self.name}: frame {number} requested, the video has {len(self)} frames"
            )
        return self.get_frames(frames=[number % len(self)]).frames[0]

    @quick_switches()
    def get_frames(
        self,
        frames: ArrayLike | None = None,
        *,
        start: int = 0,
        stop: int | None = None,
        stride: int = 1,
        count: int | None = None,
        pad_mode: PadMode | str = "none",
        fill_value: int | Sequence[int] = 0,
        size: int | tuple[int, int] | None = None,
        layout: Layout = "FHWC",
        dtype: ElementType = "uint8",
        mean: Sequence[float] | float | None = None,
        std: Sequence[float] | float | None = None,
        interpolation: Interpolation = "triangular",
        crop: tuple[int, int, int, int] | None = None,
        flip: bool = False,
    ) -> Clip:
        """Decode a set of frames, each distinct one once.

        Args:
            frames: frame numbers in any order, repeated, or none; in place of the next four.
            start: first frame.
            stop: end, exclusive; the end of the video by default.
            stride: step between frames; negative plays backwards.
            count: number of frames, in place of `stop`.
            pad_mode: what stands for frames outside the video, see `sampling.pad_frames`.
            fill_value: of frames filled with `constant`: one number, or one for each channel.
            size: (height, width) of the result, or one number for both; as the video, or the crop,
                by default.
            layout: order of the dimensions: F frames, H rows, W columns, C channels.
            dtype: `uint8` (0-255), `uint16` (0-65535), or `float16`, `bfloat16`, `float32`, whose
                values are from 0 to 255 and keep what a video has in more than 8 bits.
            mean: subtracted, on the scale from 0 to 255: a number, or one for each channel; float
                types only.
            std: what is divided by afterwards.
            interpolation: filter of resizing: `nearest`, `bilinear` (two by two pixels whatever the
                scale) or `triangular` (averages over the source where it shrinks).
            crop: (top, left, height, width) in pixels of the picture as it is displayed, taken
                before resizing.
            flip: mirror left and right.

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
        numbers = as_frame_numbers(frames)
        indices, mask = pad_frames(numbers, len(self), pad_mode, name=self.name)
        output = replace(
            self._output,
            dtype=dtype,
            layout=layout,
            mean=as_channels(mean),
            std=as_channels(std),
            interpolation=interpolation,
        )
        whole = self.size if crop is None else (crop[2], crop[3])
        scales = self._scales or size is not None
        view = View(whole if size is None else normalize_size(size), crop, flip, scales=scales)
        view.check(self.name, self.size)
        if self.device.type == "cuda":
            return self._clip_on_gpu(indices, mask, output, view, fill_value)
        tensor, slots = self._allocate(len(indices), view.size, output)
        self._decode_into(indices, slots, output, view)
        if not mask.all():
            slots[~mask] = as_fill(fill_value, output)
        times = np.full(len(indices), -1.0)
        times[mask] = self.index.seconds(indices[mask])
        return Clip(tensor.to(self.device), indices, times, mask)

    def get_frames_at_times(
        self,
        times: ArrayLike,
        *,
        nearest: bool = False,
        tolerance: float | None = None,
        pad_mode: PadMode | str = "none",
        fill_value: int | Sequence[int] = 0,
        size: int | tuple[int, int] | None = None,
        layout: Layout = "FHWC",
        dtype: ElementType = "uint8",
        mean: Sequence[float] | float | None = None,
        std: Sequence[float] | float | None = None,
        interpolation: Interpolation = "triangular",
        crop: tuple[int, int, int, int] | None = None,
        flip: bool = False,
    ) -> Clip:
        """The frame on screen at each time: the last that begins at or before it.

        A time a rounding error before a frame gives that frame, so times in float32 or rounded to
        4 digits are fine; `sampling.frames_at_times` has the rule.

        Args:
            times: presentation times in seconds, on the same clock as `Clip.times`.
            nearest: give the frame whose presentation time is nearest instead; in the middle
                between two, the later one.
            tolerance: the most seconds between a time and the presentation time of its frame, for
                times inside the video.
            pad_mode: what stands for times before the first frame or past the end of the last.
            fill_value: as for `get_frames`.
            size: as for `get_frames`.
            layout: as for `get_frames`.
            dtype: as for `get_frames`.
            mean: as for `get_frames`.
            std: as for `get_frames`.
            interpolation: as for `get_frames`.
            crop: as for `get_frames`.
            flip: as for `get_frames`.

        Raises:
            FrameRangeError: a time lies outside the video and `pad_mode` is `none`, or no frame is
                within the tolerance.
            DecodeError, ArgumentError: as `get_frames`.
        """
        numbers = frames_at_times(
            times,
            self.index,
            nearest=nearest,
            tolerance=tolerance,
            pad_mode=pad_mode,
            name=self.name,
        )
        return self.get_frames(
            numbers,
            pad_mode=pad_mode,
            fill_value=fill_value,
            size=size,
            layout=layout,
            dtype=dtype,
            mean=mean,
            std=std,
            interpolation=interpolation,
            crop=crop,
            flip=flip,
        )

    def decode(self, frames: ArrayLike) -> Iterator[tuple[int, Surface]]:
        """Frame number and surface of each distinct frame, in the order they are decoded.

        Surfaces are as the decoder gave them: before colour conversion, scaling and rotation. The
        iterator has a decoder of its own, so the video may be used in between.
        """
        self._use.check()
        numbers, _ = pad_frames(as_frame_numbers(frames), len(self), "none", name=self.name)
        return self._make_decoder().decode(plan_decode(self.index, numbers))

    @quick_switches()
    def close(self) -> None:
        """Close the file and let go of the decoder, at any time and from any thread.

        What another thread is decoding is waited for; whoever comes later gets a `ClosedError`.
        """
        self._use.is_closed = True  # before the lock: threads that ask on and on never leave it
        with self._lock:
            self._decoder.close()
            self._source.close()
            self._memory = Recycler(keep=_FREE_BLOCKS)

    def __enter__(self) -> Video:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        index = self.index
        size = describe_size(index.width, index.height, self._orientation)
        return f"<Video {self.name}: {len(self)} frames, {index.codec} {size}>"

    def __reduce__(self) -> tuple[Any, ...]:
        options: dict[str, Any] = {
            "rotate": self._rotate,
            "resolution_change": "scale" if self._scales else "error",
            "threads": self._threads,
            "matrix": self._output.matrix,
            "color_range": self._output.color_range,
            "max_pixels": self._max_pixels,
        }
        return partial(type(self), **options), (self._lasting(), str(self.device), self.index)

    def _lasting(self) -> str | bytes | Item:
        """What the source can be opened by in another process."""
        given = self._given
        if isinstance(given, bytes | bytearray | memoryview):
            return bytes(given)
        if isinstance(given, Item):
            return given
        if self._source.path is not None:
            return self._source.path
        if isinstance(given, str):
            return given
        raise ArgumentTypeError(
            f"{self.name}: a video of an open {type(given).__name__} does not pickle; open it by "
            "its path, URL, bytes or item of a data set"
        )

    def _begin_anew(self) -> None:
        """In a fork: a thread that is not here may have been converting."""
        self._converters = {}
        self._use.forget()

    def _clip_on_gpu(
        self,
        indices: NDArray[np.int64],
        mask: NDArray[np.bool_],
        output: OutputFormat,
        view: View,
        fill_value: int | Sequence[int],
    ) -> Clip:
        """Decode on NVDEC, through the pool that batches use."""
        from videoloader.decoding.batch import ClipRequest, shared_decoder

        request = ClipRequest(
            self._source,
            np.where(mask, indices, -1),
            self.index,
            pad_mode="constant",
            fill_value=fill_value,
            size=view.size if view.scales else None,
            crop=view.crop,
            flip=view.flip,
        )
        batch = shared_decoder(self.device).decode(
            [request],
            dtype=output.dtype,
            layout=output.layout,
            mean=output.mean,
            std=output.std,
            interpolation=output.interpolation,
            matrix=output.matrix,
            color_range=output.color_range,
            rotate=self._orientation == self.index.orientation,
            resolution_change="scale" if view.scales else "error",
            max_pixels=self._max_pixels,
        )
        return batch.clips[0]

    def _decode_into(
        self,
        indices: NDArray[np.int64],
        slots: NDArray[Any],
        output: OutputFormat,
        view: View,
    ) -> None:
        """Write each frame into the first slot that wants it, and copy it to the others."""
        first: dict[int, int] = {}
        repeated: list[tuple[int, int]] = []
        for place, number in enumerate(indices.tolist()):
            if number >= 0 and first.setdefault(number, place) != place:
                repeated.append((place, first[number]))
        self._use.check()
        with self._lock, self._use.hold(), blamed_on(self.name):
            plan = plan_decode(self.index, np.array(list(first), dtype=np.int64))
            converter = self._converters.get(output)
            if converter is None:
                self._converters = {output: self._make_converter(output)}  # one is all that is used
                converter = self._converters[output]
            for number, surface in self._decoder.decode(plan):
                self._check_size(number, surface, view)
                converter.write(surface, slots[first[number]], view)
        for place, source in repeated:
            slots[place] = slots[source]

    def _allocate(
        self, count: int, size: tuple[int, int], output: OutputFormat
    ) -> tuple[torch.Tensor, NDArray[Any]]:
        """A tensor, and the same memory as numpy slots (F, H, W, C)."""
        shape, dtype = output.clip_shape(count, size), TORCH_TYPES[output.dtype]
        needed = math.prod(shape) * dtype.itemsize
        if needed > machine_memory():
            raise too_large(self.name, count, size, needed)
        with blamed_on(self.name):
            tensor = self._memory.empty(shape, dtype=dtype, device="cpu")
        return tensor, as_slots(tensor, output)

    def _check_size(self, number: int, surface: Surface, view: View) -> None:
        first = (self.index.width, self.index.height)
        view.check_surface(self.name, number, (surface.width, surface.height), first)

    def _make_decoder(self) -> CpuDecoder:
        with blamed_on(self.name):
            return CpuDecoder(
                self.index, self._source, threads=self._threads, max_pixels=self._max_pixels
            )

    def _make_converter(self, output: OutputFormat) -> RgbConverter:
        siting = chroma_siting(self.index.codec)
        return RgbConverter(self.index.color, self._orientation, siting=siting, output=output)
