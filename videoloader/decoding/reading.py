"""A whole video, frame after frame as it is consumed: in chunks, on a decoder that stays warm."""

from __future__ import annotations

import logging
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch

from videoloader.decoding.batch_decoder import BatchDecoder, BegunBatch
from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.opening.videos import OpenedVideo
from videoloader.decoding.options import DecodingRules
from videoloader.decoding.output import CHANNELS, OutputFormat
from videoloader.decoding.request import ClipRequest
from videoloader.errors import DecodeError, FormatError, UnsupportedError, VideoError
from videoloader.machinery.system.forking import keep_forever

# On the CPU frames are views of their chunk, so whoever keeps one keeps all: few, or little memory.
_FEW, _SMALL = 4, 2 << 20  # frames of a chunk, or bytes if that is more frames
_MOST = 16  # frames of a chunk
_LARGE = 25 << 20  # most bytes of a chunk, 4 frames of 1080p
# On a GPU frames are copied, which is quick there. A chunk costs the interpreter as much as 4 small
# frames, and begins a call of the decoder: many frames.
_LARGE_ON_GPU, _MOST_ON_GPU = 100 << 20, 64
_AHEAD = 2  # chunks: one that is decoded, and one that is decoded next, without a break

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
    """The frames (H, W, C) of a video. A fork may go on with them on the CPU.

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
    # Large pictures come in small chunks also where the frames are small.
    whole = max(frame_bytes, video.index.height * video.index.width * CHANNELS)
    most_on_gpu = min(max(1, _LARGE_ON_GPU // whole), _MOST_ON_GPU)

    def begin(decoder: BatchDecoder) -> Generator[ClipBatch, None, None]:
        def begun(first: int, last: int) -> BegunBatch:
            chunk = replace(request, frames=np.arange(first, last))
            return decoder.begin([chunk], [video], output, rules, together=False)

        def decode(first: int, last: int) -> ClipBatch:
            return begun(first, last).finish()

        if decoder is gpu:
            return _begun_ahead(begun, pairwise(_edges(frames, most_on_gpu)))
        chunks = pairwise(_edges(frames, most))
        if threads == 1:
            return (decode(*chunk) for chunk in chunks)
        return _one_ahead(decode, chunks)

    while frames:
        process = os.getpid()
        is_own = gpu is None
        decoder = BatchDecoder(workers=0, threads=threads) if gpu is None else gpu
        clips = begin(decoder)
        try:
            for batch in clips:
                for frame in _frames(batch):
                    frames = frames[1:]
                    yield frame.clone() if decoder is gpu else frame
                    if os.getpid() != process:
                        break
                if os.getpid() != process:
                    break  # in a fork: the thread that decodes is not here
        except VideoError as error:
            if gpu is not None and isinstance(error, UnsupportedError | FormatError | DecodeError):
                name, first = video.index.name, frames.start
                _log.warning("%s: from frame %d on decoded on the CPU (%s)", name, first, error)
                gpu = None
            else:
                raise
        finally:
            if os.getpid() != process:
                keep_forever(clips)
                gpu = None
            else:
                clips.close()
                if is_own:
                    decoder.close()


def _frames(batch: ClipBatch) -> Iterator[torch.Tensor]:
    """The frames of a chunk; where one does not decode, those in front of it, and its error."""
    (clip,), failures = batch.clips, batch.failures
    yield from clip.frames[: clip.mask.argmin() if failures else None].unbind()
    if failures:
        raise failures[0].error


def _edges(frames: range, most: int) -> Iterator[int]:
    """Where chunks begin and end; the first ones are shorter, so that frames come soon."""
    count = 1
    place = frames.start
    while place < frames.stop:
        yield place
        place += count
        count = min(2 * count, most)
    yield frames.stop


def _begun_ahead(
    begin: Callable[[int, int], BegunBatch], chunks: Iterator[tuple[int, int]]
) -> Generator[ClipBatch, None, None]:
    """Decode chunks on a GPU, which always has work: `_AHEAD` are begun before one is given."""
    begun: deque[BegunBatch] = deque()
    try:
        for chunk in chunks:
            begun.append(begin(*chunk))
            if len(begun) > _AHEAD:
                yield begun.popleft().finish()
        while begun:
            yield begun.popleft().finish()
    finally:
        for batch in begun:
            batch.close()


def _one_ahead(
    decode: Callable[[int, int], ClipBatch], chunks: Iterator[tuple[int, int]]
) -> Generator[ClipBatch, None, None]:
    """Decode chunks, each in another thread while the one in front is consumed."""
    workers: list[int] = []
    thread = ThreadPoolExecutor(1, initializer=lambda: workers.append(threading.get_ident()))
    ahead: Future[ClipBatch] | None = None
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
