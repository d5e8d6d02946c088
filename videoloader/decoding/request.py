"""`ClipRequest`: one clip that is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.audio.request import SoundSpan
from videoloader.decoding.framing import check_resizing
from videoloader.decoding.options import FrameOptions
from videoloader.decoding.output import as_rectangle
from videoloader.decoding.sound_spans import ClipSpans, sound_spans
from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.dataset.listing import is_table
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.address import public
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.options import documented
from videoloader.sampling import PadMode, Snap, check_snap, frames_at_times
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource

_OF_INDEX = "; that of an index is ClipRequest(path, frames, index=index)"


@documented(FrameOptions)
@dataclass(frozen=True, slots=True, eq=False)
class ClipRequest:
    """One clip to decode.

    Its size is by default that of the batch.

    Args:
        source: path, URL, bytes, a seekable binary file, an item of a data set (`dataset.item`), or
            a `Source`, which stays open.
        frames: frame numbers in any order, repeated, or none, in an array, a list or an iterator;
            None for all frames of the video, or of its range, unless there are `times`.
        index: of this very file, to save making one.
        times: presentation times in seconds, in place of `frames`: see `Video.get_frames_at_times`.
        nearest: give the frame nearest to each time, not the one on screen.
        tolerance: the most seconds between a time and the presentation time of its frame.
        window: (top, left, height, width) of the resized picture, such as a crop after resizing;
            all of it by default.
        sound: with `audio=True`, the spans that are heard one after another; by default those of
            the frames, see `sound_spans`.
        clips: how many clips the frames are of, all of one length, one after another; with
            `audio=True` each has the sound of its own frames.
        start: first frame of a range of the video; frames outside the range are not shown:
            `pad_mode` is for them as it is for those outside the video.
        stop: end of the range, exclusive; by default that of the video.

    >>> from videoloader import decode_batch
    >>> request = ClipRequest("clip.mp4", range(80, 96, 4), pad_mode="edge", flip=True)
    >>> decode_batch([request], size=(32, 48)).clips[0].indices.tolist()
    [80, 84, 88, 89]
    """

    source: VideoSource | Source | Item
    frames: ArrayLike | Iterator[int] | None = None
    index: VideoIndex | None = None
    pad_mode: PadMode | str = "none"
    fill_value: int | Sequence[int] = 0
    size: int | tuple[int, int] | None = None
    crop: tuple[int, int, int, int] | None = None
    flip: bool = False
    times: ArrayLike | Iterator[float] | None = None
    nearest: bool = False
    tolerance: float | None = None
    window: tuple[int, int, int, int] | None = None
    snap: Snap = "none"
    resize_shorter: int | None = None
    sound: Sequence[SoundSpan] | None = None
    clips: int = 1
    start: int = 0
    stop: int | None = None

    def __post_init__(self) -> None:
        for name in ("frames", "times"):  # that are asked for more than once
            if isinstance(getattr(self, name), Iterator):
                object.__setattr__(self, name, [*getattr(self, name)])
        if self.index is not None and not isinstance(self.index, VideoIndex):
            raise ArgumentTypeError(
                "index is a VideoIndex of the file (index_video), or None; got "
                f"{type(self.index).__name__} {self.index!r:.80}"
            )
        if self.crop is not None:
            object.__setattr__(self, "crop", as_rectangle("crop", self.crop))
        if self.snap != "none":
            check_snap(self.snap)
        if self.resize_shorter is not None:
            check_resizing(self.size, self.resize_shorter)
        if self.clips != 1:
            whole_number("clips", self.clips)
        if self.start != 0:
            whole_number("start", self.start)
        if self.stop is not None:
            whole_number("stop", self.stop, least=self.start)
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
                cast(ArrayLike, self.times),
                index,
                nearest=self.nearest,
                tolerance=self.tolerance,
                pad_mode=self.pad_mode,
                name=name,
            )
        if self.frames is None:
            return np.arange(self.start, len(index) if self.stop is None else self.stop)
        return as_frame_numbers(self.frames)

    def sounds(self, index: VideoIndex, frames: NDArray[np.int64]) -> tuple[ClipSpans, ...]:
        """The spans that are heard with each of its clips.

        Args:
            index: of the video.
            frames: of all clips, before padding.

        Raises:
            ArgumentError: the frames do not divide into clips of one length.
        """
        if self.sound is not None:
            return (tuple(self.sound),)
        if len(frames) % self.clips if self.clips else len(frames):
            raise ArgumentError(f"{len(frames)} frames do not make {self.clips} clips")
        parts = frames.reshape(self.clips, -1) if self.clips else ()
        return tuple(
            sound_spans(index, part, self.pad_mode, start=self.start, stop=self.stop)
            for part in parts
        )

    def __repr__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if isinstance(self.source, str):
            values["source"] = public(self.source)
        texts = {name: repr(value) for name, value in values.items()}
        if isinstance(self.source, bytes | bytearray | memoryview):
            texts["source"] = f"<{memoryview(self.source).nbytes} bytes>"
        return f"ClipRequest({', '.join(f'{name}={text}' for name, text in texts.items())})"


class Blank(NamedTuple):
    """Form of a masked clip that has none: its video does not open, or there is no memory for it.

    A length or size that is unknown is taken from another clip of the batch.
    """

    length: int = 0
    size: tuple[int, int] | None = None
    fill_value: int | Sequence[int] = 0


def as_requests(requests: Iterable[ClipRequest | tuple[Any, ArrayLike]]) -> list[ClipRequest]:
    """Requests as they may be given: themselves, or (source, frames) each.

    Raises:
        ArgumentTypeError: they are something else, such as a table or a mapping.
    """
    is_alone = isinstance(requests, str | bytes | os.PathLike | ClipRequest | Closing)
    advice = ""
    if isinstance(requests, Mapping):
        advice = "; list(mapping.items()) is one, of frames by path"
    elif is_table(requests):
        advice = '; [*zip(table["path"], table["frames"])] is one, of two columns'
    elif isinstance(requests, VideoIndex):
        advice = _OF_INDEX
    if is_alone or advice or not isinstance(requests, Iterable):
        raise ArgumentTypeError(
            "requests are a list of clips, such as [(path, frames)] or [ClipRequest(...)]"
            f"{advice}; got {requests!r:.200}"
        )
    return [_as_request(request, place) for place, request in enumerate(requests)]


def _as_request(request: ClipRequest | tuple[Any, ArrayLike], place: int) -> ClipRequest:
    if isinstance(request, ClipRequest):
        return request
    if isinstance(request, tuple | list) and len(request) == 2:
        return ClipRequest(*request)
    what = type(request).__name__
    if isinstance(request, tuple | list):
        what += f" of {len(request)}"
    advice = _OF_INDEX if isinstance(request, VideoIndex) else ""
    raise ArgumentTypeError(
        f"request {place} is a {what}: {request!r:.200}; a request is (source, frames), or "
        f"ClipRequest(source, frames, ...) where more is to be said{advice}"
    )


def as_frame_numbers(frames: ArrayLike | Iterator[int]) -> NDArray[np.int64]:
    """Frame numbers in one row."""
    if isinstance(frames, Iterator):
        frames = [*frames]
    try:
        numbers = np.asarray(frames).reshape(-1)
    except ValueError as error:  # lists of several lengths
        raise ArgumentError(f"frame numbers are integers, got {frames!r:.80}") from error
    kind = numbers.dtype.kind
    if kind not in "iu" and numbers.size:
        hint = "; pass seconds as times=, or to get_frames_at_times" if kind == "f" else ""
        got = "a slice; give range(start, stop)" if isinstance(frames, slice) else numbers.dtype
        raise ArgumentError(f"frame numbers are integers, got {got}{hint}")
    if kind == "u" and numbers.size and numbers.max() > np.iinfo(np.int64).max:
        raise ArgumentError(f"frame number {numbers.max()} is over 63 bits")
    return numbers.astype(np.int64)
