"""A video read on a GPU chunk by chunk, without a request for each."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from weakref import WeakSet

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.assembly import OpenClip
from videoloader.decoding.cpu.forward import Place
from videoloader.decoding.nvdec.convert import Converter
from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE, describe
from videoloader.decoding.nvdec.hardware import MAX_READ_BYTES, unfit_reason
from videoloader.decoding.nvdec.session import NvdecJob, Reading
from videoloader.decoding.nvdec.targets import picture_of
from videoloader.decoding.output import CHANNELS, OutputFormat
from videoloader.errors import DecodeError, FormatError, UnsupportedError
from videoloader.indexing.packets import PacketFlags
from videoloader.machinery.system.faults import blamed_on
from videoloader.sampling.plan import Run, plan_runs

Submit = Callable[[list[NvdecJob]], list[Future[Any]]]
Settle = Callable[[list[Future[Any]], object, "torch.cuda.Stream | None"], None]

# A chunk costs the interpreter as much as some small frames, so it has many.
MOST, LARGE = 64, 100 << 20  # frames and bytes of a chunk
GROWTH = 16  # of the second chunk over the first, which has one frame


class GpuReader:
    """Decodes chunks of consecutive frames of a video, in one session from chunk to chunk.

    What all chunks share is worked out once: a chunk costs the interpreter little more than the
    calls of the decoder that it takes. For one thread.

    Args:
        clip: any frames of the video, in the form that is wanted.
        output: that form.
        converter: for it.
        allocate: gives memory of a shape.
        submit: takes jobs, and gives their futures.
        settle: waits for jobs, or cancels them, see `GpuEngine`.
        readers: those of the GPU, which this one becomes one of.
        room: bytes for a chunk of each reader. A reader has up to three: one that is decoded, one
            that waits, and the frames of the one that is consumed.
    """

    def __init__(
        self,
        clip: OpenClip,
        output: OutputFormat,
        converter: Converter,
        allocate: Callable[[tuple[int, ...]], torch.Tensor],
        submit: Submit,
        settle: Settle,
        readers: WeakSet[GpuReader],
        room: int,
    ) -> None:
        self._clip, self._output, self._converter = clip, output, converter
        self._allocate, self._submit, self._settle = allocate, submit, settle
        place = Place(-1, -1)
        self._reading = Reading(weakref.ref(clip.source), clip.index, place, is_begun=True)
        index = clip.index
        self._numbers = np.arange(len(index.packets))
        self._rows = np.empty(0, SURFACE_DTYPE)
        self._is_whole = not index.damaged.any() and np.array_equal(
            index.end_packets, index.frame_packets
        )
        # Large pictures come in small chunks also where the frames are small.
        given = math.prod(output.clip_shape(1, clip.view.slot)) * output.numpy_dtype.itemsize
        self._frame_bytes = max(given, CHANNELS * clip.index.height * clip.index.width)
        self._readers, self._room = readers, room
        readers.add(self)
        self._reading.step = min(GROWTH, self.most)

    @property
    def most(self) -> int:
        """Frames that a chunk may have now: a power of two, as the feeder expects, see `Feeder`."""
        large = min(LARGE, self._room // max(1, len(self._readers)))
        most = max(1, min(large // self._frame_bytes, MOST))
        return 1 << most.bit_length() - 1

    @property
    def cuts(self) -> list[int]:
        """The frames at which the extradata change. Each of them begins a chunk."""
        index = self._clip.index
        changes = [packet for packet, _ in index.extradata[1:]]
        cuts = (np.flatnonzero(index.seek_packets >= packet)[:1].tolist() for packet in changes)
        return [frame for found in cuts for frame in found]

    def begin(self, first: int, last: int) -> BegunChunk:
        """Begin to decode the frames from `first` up to `last` (exclusive).

        Raises:
            UnsupportedError: a GPU does not decode them.
        """
        clip, index, count = self._clip, self._clip.index, last - first
        # Few calls of NumPy: one in a thread that was just woken takes 10 to 20 us.
        packets = index.frame_packets[first:last]
        order = packets.argsort(kind="stable")
        begin, end = index.seek_packets[first:last].min(), index.end_packets[first:last].max()
        run = Run(self._numbers[begin : end + 1], order + first, packets[order])
        is_fit = self._is_whole and index.packets["flags"][begin] & np.uint16(PacketFlags.KEY)
        if not is_fit and (reason := unfit_reason(run, index)):
            raise UnsupportedError(f"{index.name}: {reason}")
        with blamed_on(index.name):
            memory = self._allocate(self._output.clip_shape(count, clip.view.slot))
        rows = self._described(memory)[:count].copy()
        rows["destination"] += np.uint64(memory.data_ptr())
        places = {packet: (row,) for row, packet in enumerate(packets.tolist())}
        own = index, clip.source, run, rows, places, self._converter
        job = NvdecJob(*own, piece=MAX_READ_BYTES, reading=self._reading, memory=memory)
        return BegunChunk(job, memory, self._submit, self._settle)

    def _described(self, memory: torch.Tensor) -> NDArray[Any]:
        """Descriptors of the frames of a chunk, with destinations from its beginning on."""
        if len(self._rows) < len(memory):
            clip, output = self._clip, self._output
            frame, row, column, channel = (memory.stride(axis) for axis in output.slot_axes)
            picture = picture_of(clip.index, clip.orientation, output)
            name = clip.index.name
            record = describe(picture, clip.view, output, strides=(row, column, channel), name=name)
            self._rows = np.full(len(memory), record, SURFACE_DTYPE)
            step = frame * memory.element_size()
            self._rows["destination"] = np.arange(len(memory)) * step
        return self._rows

    def close(self) -> None:
        """No chunk follows: the session is free for others."""
        self._reading.is_over = True
        self._readers.discard(self)


class BegunChunk:
    """Frames that a GPU decodes; to be finished or closed."""

    def __init__(self, job: NvdecJob, memory: torch.Tensor, submit: Submit, settle: Settle) -> None:
        self._job, self._memory, self._submit, self._settle = job, memory, submit, settle
        self._stream = torch.cuda.current_stream(memory.device)
        self._futures = submit([job])

    def finish(self) -> torch.Tensor:
        """The frames, in the layout of a clip; the current stream waits for them.

        Where going on to them fails, they are decoded from their keyframes.

        Raises:
            VideoError: they do not decode.
        """
        try:
            try:
                self._results()
            except (UnsupportedError, FormatError, DecodeError):
                self._futures = self._submit(self._from_keyframes())
                self._results()
            self._settle(self._futures, self._memory, None)
        except BaseException:
            self.close()
            raise
        now = torch.cuda.current_stream(self._memory.device)
        if now != self._stream:  # the allocator has to know who uses the memory
            self._memory.record_stream(now)
        return self._memory

    def _from_keyframes(self) -> list[NvdecJob]:
        """Jobs for the same frames that go on from nothing."""
        job = self._job
        own = job.targets, job.places, job.converter
        runs = plan_runs(job.index, np.sort(job.run.frames))
        return [NvdecJob(job.index, job.source, run, *own) for run in runs]

    def _results(self) -> None:
        for future in self._futures:
            with blamed_on(self._job.index.name):
                future.result()

    def close(self) -> None:
        """Give them up; nothing is written into their memory afterwards."""
        self._settle(self._futures, self._memory, self._stream)
