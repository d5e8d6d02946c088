"""`fn.inputs.video`: whole videos are fed, and come out as consecutive sequences of frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, INT, REQUIRED, TEXT, Argument
from videoloader.dali.operators.batch_source import SourceContext
from videoloader.dali.operators.operator import declare
from videoloader.dali.readers.external.feeding import FedSource
from videoloader.dali.readers.video import media
from videoloader.dali.readers.video.decoder import frame_outputs
from videoloader.dali.readers.video.planned import Identity, PlannedClip
from videoloader.dali.readers.video.shared_arguments import DECODING, FILL, FRAME_NUM, TIMESTAMPS
from videoloader.dali.tensors import TensorList
from videoloader.decoding.failures import Failures
from videoloader.decoding.limits import worker_limit
from videoloader.decoding.opening.indexer import Indexer
from videoloader.errors import ArgumentTypeError, FormatError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import FILLED
from videoloader.sources.items import Item


class VideoInput(FedSource):
    """Videos that were fed, as batches of sequences. A batch has sequences of one video only."""

    def __init__(self, context: SourceContext, arguments: Mapping[str, Any]) -> None:
        super().__init__(context.name)
        self._batch_size = context.batch_size
        self._length: int = arguments["sequence_length"]
        self._options: tuple[bool, str, bool] = (
            arguments["last_sequence_policy"] == "pad",
            arguments["enable_frame_num"],
            arguments["enable_timestamps"],
        )
        self.is_blocking = bool(arguments["blocking"])
        self._batches: deque[list[PlannedClip]] = deque()
        self._given = 0  # sequences that were planned so far
        self.failures = Failures(context.errors)
        """Failures of decoding; bytes that are no video raise where they are fed."""

    def prepared(
        self,
        data: Any,
        layout: str | None = None,  # noqa: ARG002
        cuda_stream: Any = None,  # noqa: ARG002
    ) -> list[tuple[Item | bytes, VideoIndex]]:
        """Videos with their indexes; each is a path, URL, `Item`, or the bytes of a file."""
        with closing(Indexer(memory_limit=worker_limit("auto"))) as indexer:
            return [(source, _indexed(source, indexer)) for source in _sources(data, self._name)]

    def queue(self, prepared: list[tuple[Item | bytes, VideoIndex]]) -> None:
        """Queue the sequences of videos."""
        for source, index in prepared:
            clips = []
            for first in range(0, index.num_frames, self._length):
                selection = _Sequence(first, self._length, *self._options)
                item, identity = Item(index.name), Identity(self._given)
                self._given += 1
                clips.append(
                    PlannedClip(
                        *(source, selection, identity, index, self._length, self.failures, item)
                    )
                )
            for first in range(0, len(clips), self._batch_size):
                self._batches.append(clips[first : first + self._batch_size])
                self.num_fed += 1

    def plan(self, iteration: int) -> list[PlannedClip]:  # noqa: ARG002
        """The next sequences of the video that was fed first."""
        if not self._batches:
            raise self._nothing_fed()
        clips = self._batches.popleft()
        self.failures.ask(len(clips))
        return clips


@dataclass(frozen=True, slots=True)
class _Sequence:
    """The sequence of a fed video that begins with a frame."""

    first: int
    length: int
    pads: bool
    frame_num: str
    timestamps: bool

    def frames(self, index: VideoIndex) -> NDArray[np.int64]:
        """The frames; numbers after the end of the video are left out, or filled."""
        frames = np.arange(self.first, self.first + self.length)
        if self.pads:
            return np.where(frames < index.num_frames, frames, FILLED)
        return frames[frames < index.num_frames]

    def keyframes(self, index: VideoIndex) -> NDArray[np.int64]:
        """All keyframes."""
        return index.keyframes

    def sound(self, index: VideoIndex) -> None:
        """None: this input has no output of sound."""

    def outputs(self, index: VideoIndex | None, frames: NDArray[np.int64]) -> list[torch.Tensor]:
        """Frame numbers and times, as far as they are wanted."""
        return frame_outputs(index, frames, self.frame_num, self.timestamps)


def _indexed(source: Item | bytes, indexer: Indexer) -> VideoIndex:
    index = media.index_video(source, indexer)
    if not index.num_frames:
        raise FormatError(f"{index.name}: there is no frame in it")
    return index


def _sources(given: Any, name: str) -> Iterable[Item | bytes]:
    """The videos that were fed: one, or a batch of them."""
    if isinstance(given, str | Path | Item):
        return [(given if isinstance(given, Item) else Item(str(given))).absolute()]
    if isinstance(given, bytes | bytearray | memoryview):
        return [bytes(given)]
    if isinstance(given, TensorList | list | tuple):
        return [source for each in given for source in _sources(each, name)]
    data = given.cpu() if isinstance(given, torch.Tensor) else given
    array = np.asarray(data)
    if array.dtype == np.uint8 and array.ndim in (1, 2):
        return [row.tobytes() for row in np.atleast_2d(array)]
    raise ArgumentTypeError(
        f"{name} takes paths, URLs, items, or the bytes of files as 1-D uint8; got "
        f"{type(given).__name__} {tuple(array.shape)} of {array.dtype}"
    )


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    numbered = bool(arguments["enable_frame_num"] != "none")
    return 1 + numbered + bool(arguments["enable_timestamps"])


@declare(
    "inputs.video",
    kind="source",
    arguments=(
        Argument("sequence_length", INT, REQUIRED, "frames in a sequence", least=1),
        Argument(
            "last_sequence_policy",
            TEXT,
            "partial",
            "the last sequence of a video, where frames are missing: `partial` is shorter, `pad` "
            "is filled with `fill_value`",
            choices=("partial", "pad"),
        ),
        FILL,
        Argument(
            "blocking", BOOL, default=False, doc="let `run` wait until data was fed, by a thread"
        ),
        *DECODING,
        FRAME_NUM,
        TIMESTAMPS,
    ),
    devices=("cpu", "mixed"),
    num_outputs=_num_outputs,
    decoding=("fill_value", *(argument.name for argument in DECODING)),
    unused=("affine", "no_copy"),
)
def video_input(context: SourceContext, **arguments: Any) -> VideoInput:
    """Decode videos that are fed, sequence after sequence, one video after another.

    `Pipeline.feed_input(name, video)` takes the bytes of a file as a batch of one (or several), or
    paths, URLs and `Item`s. Each run gives the next `batch_size` sequences of `sequence_length`
    frames; the last batch of a video may be smaller, and the next video begins a batch. So a video
    of any length takes the memory of a few batches. A run without data is an error.

    Outputs: the sequence, uint8 (F, H, W, C); then, if they are asked for, frame numbers (int32, -1
    where filled) and times (float64, seconds from the first frame).
    """
    return VideoInput(context, arguments)
