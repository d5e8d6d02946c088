"""A whole video, frame after frame as it is consumed."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch

from videoloader.decoding.cpu.converters import converter_for
from videoloader.decoding.cpu.libav import CpuDecoder
from videoloader.decoding.cpu.run_tasks import SPARE_THREADS
from videoloader.decoding.memory import TORCH_TYPES, Recycler, as_slots
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.surface import Surface
from videoloader.decoding.pipelined import pipelined_map
from videoloader.errors import DecodeError, FormatError, UnsupportedError
from videoloader.indexing.index import Orientation, VideoIndex
from videoloader.sampling import plan_decode
from videoloader.sources.faults import blamed_on
from videoloader.sources.source import Source
from videoloader.system.forking import keep_forever

if TYPE_CHECKING:
    from videoloader.decoding.batch import BatchDecoder

__all__ = ["read_frames"]

_FREE_FRAMES = 2  # whose memory is kept for the next ones

_log = logging.getLogger(__name__)


def read_frames(
    index: VideoIndex,
    source: Source,
    view: View,
    output: OutputFormat,
    orientation: Orientation,
    *,
    threads: int,
    max_pixels: int | None,
    gpu: BatchDecoder | None = None,
    start: int = 0,
) -> Iterator[torch.Tensor]:
    """The frames (H, W, C) of a video. A fork may go on with it, with decoders of its own.

    Args:
        index: of the video.
        source: its bytes.
        view: which part of a picture is given.
        output: form of the frames.
        orientation: the turn to apply.
        threads: of the codec on the CPU; with several, frames are converted in another one still.
        max_pixels: of a picture; larger ones do not decode.
        gpu: decodes as far as it can; a warning tells from which frame on the CPU does.
        start: first frame.

    Raises:
        DecodeError: a frame, or one that it needs, is damaged.
    """
    if gpu is not None:
        try:
            for frames in gpu.read(index, source, orientation, output, view=view, start=start):
                yield from frames.unbind()
                start += len(frames)
        except (UnsupportedError, FormatError, DecodeError) as error:
            _log.warning("%s: from frame %d on decoded on the CPU (%s)", index.name, start, error)
        else:
            return
    memory = Recycler(keep=_FREE_FRAMES)
    first = (index.width, index.height)

    def begin() -> Iterator[torch.Tensor]:
        many = threads if threads == 1 else threads + SPARE_THREADS
        decoder = CpuDecoder(index, source, threads=many, max_pixels=max_pixels)
        converter = converter_for(index, orientation, output)

        def convert(number: int, surface: Surface) -> torch.Tensor:
            view.check_surface(index.name, number, (surface.width, surface.height), first)
            with blamed_on(index.name):
                shape, dtype = output.clip_shape(1, view.slot), TORCH_TYPES[output.element]
                frame = memory.empty(shape, dtype=dtype, device="cpu")
                converter.write(surface, as_slots(frame, output)[0], view)
            return frame[0]

        surfaces = decoder.decode(plan_decode(index, np.arange(start, index.num_frames)))
        give = itertools.starmap if threads == 1 else pipelined_map
        return give(convert, surfaces)

    while start < index.num_frames:
        process = os.getpid()
        decoded = begin()
        try:
            for frame in decoded:
                start += 1
                yield frame
                if os.getpid() != process:
                    break  # in a fork: the threads of the decoder are not here
        except DecodeError:
            if threads == 1:
                raise
            threads = 1  # a codec with threads does not tell which of its packets is damaged
        finally:
            if os.getpid() != process:
                keep_forever(decoded)
