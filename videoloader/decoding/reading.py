"""A whole video, frame after frame as it is consumed: in chunks, on a decoder that stays warm."""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.opening.videos import OpenedVideo
from videoloader.decoding.options import DecodingRules
from videoloader.decoding.output import CHANNELS, OutputFormat
from videoloader.decoding.request import ClipRequest
from videoloader.errors import ClosedError, DecodeError, FormatError, UnsupportedError, VideoError
from videoloader.machinery.system import forking

if TYPE_CHECKING:
    from videoloader.decoding.nvdec.reader import BegunChunk, GpuReader

# On the CPU frames are views of their chunk, so whoever keeps one keeps all: few, or little memory.
_FEW, _SMALL = 4, 2 << 20  # frames of a chunk, or bytes if that is more frames
_MOST = 16  # frames of a chunk
_LARGE = 25 << 20  # most bytes of a chunk, 4 frames of 1080p
_GROWTH = 4  # of the first chunks, which are shorter, so that frames come soon
_AHEAD = 1  # chunks on a GPU: the next one is decoded, without a break

_Chunk = TypeVar("_Chunk")

_unbind_copy: Any = torch.unbind_copy  # by torch's stubs it gives nothing

_log = logging.getLogger(__name__)


def read_frames(
    request: ClipRequest,
    video: OpenedVideo,
    frames: range,
    size: tuple[int, int],
    output: OutputFormat,
    rules: DecodingRules,
    *,
    gpu: BatchDecoder | None,
    threads: int,
) -> Iterator[torch.Tensor]:
    """The frames (H, W, C) of a video, one after another. A fork may continue on the CPU.

    Args:
        request: for any frames.
        video: that of the request.
        frames: to give, in order.
        size: (height, width) of the frames.
        output: form of the frames, of uint8.
        rules: of the video.
        gpu: decodes them, on a GPU; a warning names the frame from which on it cannot.
        threads: of the codec on the CPU; with several, the next chunk is decoded meanwhile.

    Raises:
        DecodeError: a frame, or one that it needs, is damaged.
    """
    rules = replace(rules, in_order=True, is_strict=False)
    frame_bytes = math.prod(size) * CHANNELS
    most = min(max(_FEW, _SMALL // frame_bytes), max(1, _LARGE // frame_bytes), _MOST)
    place = frames.start

    def chunks_of(decoder: BatchDecoder) -> Generator[Iterator[torch.Tensor], None, None]:
        left = range(place, frames.stop)
        if decoder is gpu:
            return _by_gpu(gpu.reader(request, video, output, rules), left)

        def decode(first: int, last: int) -> Iterator[torch.Tensor]:
            chunk = replace(request, frames=np.arange(first, last))
            return _frames(decoder.begin([chunk], [video], output, rules, together=False).finish())

        edges = pairwise(_edges(left, lambda: most, _GROWTH))
        if threads == 1:
            return (decode(*chunk) for chunk in edges)
        return _one_ahead(decode, edges)

    while place < frames.stop:
        forks = forking.forks
        is_own = gpu is None
        decoder = BatchDecoder(workers=0, threads=threads) if gpu is None else gpu
        chunks: Generator[Iterator[torch.Tensor], None, None] | None = None
        try:
            chunks = chunks_of(decoder)
            for chunk in chunks:
                for frame in chunk:
                    place += 1
                    yield frame
                    if forking.forks != forks:
                        break
                if forking.forks != forks:
                    break  # in a fork: the thread that decodes is not here
        except ClosedError:  # a new reader goes on, with the decoders that come next
            if gpu is None:
                raise
        except VideoError as error:
            if gpu is not None and isinstance(error, UnsupportedError | FormatError | DecodeError):
                name = video.index.name
                _log.warning("%s: from frame %d on decoded on the CPU (%s)", name, place, error)
                gpu = None
            else:
                raise
        finally:
            if forking.forks != forks:
                forking.keep_forever(chunks)
                gpu = None
            else:
                if chunks is not None:
                    chunks.close()
                if is_own:
                    decoder.close()


def _frames(batch: ClipBatch) -> Iterator[torch.Tensor]:
    """The frames of a chunk; if one does not decode, the frames before it, and its error."""
    (clip,), failures = batch.clips, batch.failures
    yield from clip.frames[: clip.mask.argmin() if failures else None].unbind()
    if failures:
        raise failures[0].error


def _edges(
    frames: range, most: Callable[[], int], growth: int, cuts: Sequence[int] = ()
) -> Iterator[int]:
    """Where chunks begin and end; each is as long as the one before, or a multiple.

    Args:
        frames: of all chunks.
        most: gives the largest number of frames of a chunk.
        growth: largest multiple of the one before.
        cuts: frames with which a chunk has to begin.
    """
    count, place = 1, frames.start
    while place < frames.stop:
        yield place
        place = min([place + count, *(cut for cut in cuts if cut > place)])
        count = max(count, min(growth * count, most()))
    yield frames.stop


def _by_gpu(reader: GpuReader, frames: range) -> Generator[Iterator[torch.Tensor], None, None]:
    """Decode chunks on a GPU, which always has work: `_AHEAD` are begun before one is given."""
    from videoloader.decoding.nvdec.reader import GROWTH

    begun: deque[BegunChunk] = deque()
    try:
        for chunk in pairwise(_edges(frames, lambda: reader.most, GROWTH, reader.cuts)):
            try:
                begun.append(reader.begin(*chunk))
            except VideoError:
                while begun:  # these frames are no part of it
                    yield _apart(begun.popleft())
                raise
            if len(begun) > _AHEAD:
                yield _apart(begun.popleft())
        while begun:
            yield _apart(begun.popleft())
    finally:
        reader.close()
        for one in begun:
            one.close()


def _apart(chunk: BegunChunk) -> Iterator[torch.Tensor]:
    """The frames of a chunk, each with memory of its own, so that who keeps one keeps no other."""
    # One call for all: each call into torch lets go of the interpreter, and waits for it again.
    return iter(_unbind_copy(chunk.finish()))


def _one_ahead(
    decode: Callable[[int, int], _Chunk], chunks: Iterator[tuple[int, int]]
) -> Generator[_Chunk, None, None]:
    """Decode chunks, each in another thread while the one in front is consumed."""
    workers: list[int] = []
    thread = ThreadPoolExecutor(1, initializer=lambda: workers.append(threading.get_ident()))
    ahead: Future[_Chunk] | None = None
    is_dropped = False
    try:
        for chunk in chunks:
            made, ahead = ahead, thread.submit(decode, *chunk)
            if made is not None:
                yield made.result()
        if ahead is not None:
            yield ahead.result()
    except GeneratorExit:
        # The garbage collector may be what ends this: in the very thread that decodes, or where
        # some lock is held that the end of a thread takes. So only its work is waited for.
        is_dropped = True
        if ahead is not None and threading.get_ident() not in workers:
            wait([ahead])
        raise
    finally:
        thread.shutdown(wait=not is_dropped, cancel_futures=True)
