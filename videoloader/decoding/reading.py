"""A whole video, frame after frame as it is consumed: in chunks, on a decoder that stays warm."""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch

from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.decoding.opening.videos import OpenedVideo
from videoloader.decoding.output import CHANNELS, OutputFormat, View
from videoloader.decoding.request import ClipRequest
from videoloader.decoding.rules import DecodingRules
from videoloader.errors import DecodeError, FormatError, UnsupportedError, VideoError
from videoloader.indexing.index import Orientation, VideoIndex
from videoloader.sources.source import Source
from videoloader.system.forking import keep_forever

__all__ = ["read_frames", "read_frames_on_gpu"]

# Frames are views of their chunk, so whoever keeps one of them keeps all: few, or little memory.
_FEW, _SMALL = 4, 2 << 20  # frames of a chunk, or bytes if that is more frames
_MOST = 16  # frames of a chunk
_LARGE = 25 << 20  # most bytes of a chunk, 4 frames of 1080p

_log = logging.getLogger(__name__)


def read_frames(
    request: ClipRequest,
    video: OpenedVideo,
    frames: range,
    size: tuple[int, int],
    output: OutputFormat,
    rules: DecodingRules,
    *,
    threads: int,
) -> Iterator[torch.Tensor]:
    """The frames (H, W, C) of a video, decoded on the CPU. A fork may go on with it.

    Args:
        request: for any frames.
        video: that of the request.
        frames: to give, in order.
        size: (height, width) of the frames.
        output: form of the frames, of uint8.
        rules: of the video.
        threads: of the codec; with several, the next chunk is decoded while one is consumed.

    Raises:
        DecodeError: a frame, or one that it needs, is damaged.
    """
    rules = replace(rules, in_order=True)
    frame_bytes = math.prod(size) * CHANNELS
    most = min(max(_FEW, _SMALL // frame_bytes), max(1, _LARGE // frame_bytes), _MOST)

    def begin(decoder: BatchDecoder) -> Generator[torch.Tensor, None, None]:
        def decode(first: int, last: int) -> torch.Tensor:
            chunk = replace(request, frames=np.arange(first, last))
            return decoder.run([chunk], [video], output, rules).clips[0].frames

        chunks = pairwise(_edges(frames, most))
        if threads == 1:
            return (decode(*chunk) for chunk in chunks)
        return _one_ahead(decode, chunks)

    while frames:
        process = os.getpid()
        decoder = BatchDecoder(workers=0, threads=threads)
        clips = begin(decoder)
        try:
            for clip in clips:
                for frame in clip.unbind():
                    frames = frames[1:]
                    yield frame
                    if os.getpid() != process:
                        break
                if os.getpid() != process:
                    break  # in a fork: the thread that decodes is not here
        except VideoError:
            if threads == most == 1:
                raise
            # Frames in front of the damage are given. Threads do not tell which packet it is.
            threads = most = 1
        finally:
            if os.getpid() == process:
                clips.close()
                decoder.close()
            else:
                keep_forever(clips)


def _edges(frames: range, most: int) -> Iterator[int]:
    """Where chunks begin and end; the first ones are shorter, so that frames come soon."""
    count = 1
    place = frames.start
    while place < frames.stop:
        yield place
        place += count
        count = min(2 * count, most)
    yield frames.stop


def _one_ahead(
    decode: Callable[[int, int], torch.Tensor], chunks: Iterator[tuple[int, int]]
) -> Generator[torch.Tensor, None, None]:
    """Decode chunks, each in another thread while the one in front is consumed."""
    workers: list[int] = []
    thread = ThreadPoolExecutor(1, initializer=lambda: workers.append(threading.get_ident()))
    ahead: Future[torch.Tensor] | None = None
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


def read_frames_on_gpu(
    decoder: BatchDecoder,
    index: VideoIndex,
    source: Source,
    view: View,
    output: OutputFormat,
    orientation: Orientation,
    *,
    start: int,
) -> Iterator[torch.Tensor]:
    """The frames of a video from one on, as far as the GPU decodes it.

    A warning names the frame from which on it does not.
    """
    try:
        for frames in decoder.read(index, source, orientation, output, view=view, start=start):
            yield from frames.unbind()
            start += len(frames)
    except (UnsupportedError, FormatError, DecodeError) as error:
        _log.warning("%s: from frame %d on decoded on the CPU (%s)", index.name, start, error)
