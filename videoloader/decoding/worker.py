"""The program of a worker process: it carries out orders, one after another."""

from __future__ import annotations

import os
import pickle
import select
import socket
import threading
import traceback
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from mmap import mmap
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.cpu import CpuTask, Decoders, Target
from videoloader.decoding.memory import MappedSegments, Place
from videoloader.decoding.output import OutputFormat, View
from videoloader.indexing.dataset.sources import Item
from videoloader.indexing.faults import as_video_error, is_mistake
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.processes import limit_memory
from videoloader.indexing.source import Source, open_source

__all__ = ["KNOWN_VIDEOS", "DecodeOrder", "Order", "Worker", "remember", "work"]

KNOWN_VIDEOS = 64
"""Videos whose index a worker keeps."""


class Order(Protocol):
    """What a worker is told to do. It pickles."""

    def accept(self, worker: Worker, files: list[int]) -> None:
        """Take over the open files that came along; an error here ends the worker."""

    def perform(self, worker: Worker) -> Any:
        """Do it; what it gives, or raises, travels back."""


@dataclass(slots=True)
class _Video:
    index: VideoIndex
    source: str | Item | mmap

    def open(self) -> Source:
        source = self.source
        if isinstance(source, Item):
            return source.open()
        return open_source(source if isinstance(source, str) else memoryview(source))


@dataclass(slots=True)
class Worker:
    """What a worker keeps from order to order: videos by number, shared memory, open decoders."""

    videos: OrderedDict[int, _Video] = field(default_factory=OrderedDict)
    segments: MappedSegments = field(default_factory=MappedSegments)
    decoders: Decoders = field(default_factory=Decoders)


@dataclass(frozen=True, slots=True, eq=False)
class DecodeOrder:
    """Frames of one video into slots of shared memory.

    Attributes:
        video: its number.
        facts: of its index, if it is new to the worker.
        source: what it is opened by; None for one in memory, whose open file comes along.
        segments: new ones, whose open files come along first.
        gone: segments that will not be used again.
        targets: frames, and the place and view of their slots.
        output: form of what slots hold; `rotate` as of `CpuTask`.
        threads: of the codec.
        max_pixels: as of `CpuTask`.
    """

    video: int
    facts: dict[str, Any] | None
    source: str | Item | None
    segments: tuple[int, ...]
    gone: tuple[int, ...]
    targets: tuple[tuple[NDArray[np.int64], Place, View], ...]
    output: OutputFormat
    rotate: bool
    threads: int
    max_pixels: int | None

    def accept(self, worker: Worker, files: list[int]) -> None:
        """Map what is new, and forget what is gone."""
        worker.segments.drop(self.gone)
        for segment, descriptor in zip(self.segments, files, strict=False):
            worker.segments.add(segment, descriptor)
        video = worker.videos.get(self.video)
        if self.facts is not None:
            source: str | Item | mmap | None = self.source
            if source is None:
                source = mmap(files[-1], 0)
                os.close(files[-1])
            video = _Video(VideoIndex(**self.facts), source)
        assert video is not None, "both ends forget the same videos"
        remember(worker.videos, self.video, video)

    def perform(self, worker: Worker) -> None:
        """Decode."""
        video = worker.videos[self.video]
        targets = tuple(
            Target(frames, worker.segments.array(place), view)
            for frames, place, view in self.targets
        )
        task = CpuTask(
            "",
            video.index,
            targets,
            self.output,
            self.rotate,
            max_pixels=self.max_pixels,
        )
        worker.decoders.run(task, key=self.video, open_video=video.open, threads=self.threads)


def remember(known: OrderedDict[int, Any], video: int, what: Any) -> None:
    """Note what was used last. Both ends forget the same videos, since they see the same orders."""
    known[video] = what
    known.move_to_end(video)
    if len(known) > KNOWN_VIDEOS:
        known.popitem(last=False)


def work(descriptor: int, *, files: int, memory_limit: int | None) -> None:
    """Carry out orders as they come, until nobody is there to send them.

    Args:
        descriptor: a connection; orders come, results go.
        files: a socket by which open files come.
        memory_limit: bytes that may be allocated from here on. It bounds the data segment
            (RLIMIT_DATA), not the address space: mapped files and shared memory are not counted.
    """
    import cv2

    cv2.setNumThreads(1)
    _load_libraries()
    if memory_limit is not None:
        limit_memory(memory_limit)
    connection: Connection[Any, Any] = Connection(descriptor)
    threading.Thread(target=_end_with, args=(descriptor,), daemon=True).start()
    worker = Worker()
    with socket.socket(fileno=files) as channel:
        _send(connection, None)
        while True:
            order, received = _receive(connection, channel)
            order.accept(worker, received)
            _send(connection, _attempt(order, worker))


def _attempt(order: Order, worker: Worker) -> tuple[Any, Exception | None]:
    """What an order gives, or why it fails: an error of ours, or a mistake of a program."""
    try:
        return order.perform(worker), None
    except Exception as error:  # noqa: BLE001  (it is raised where the order came from)
        if not is_mistake(error):
            return None, as_video_error(error, "a worker process")
        text = f"in a worker process: {traceback.format_exc()}"
        try:
            error.add_note(text)
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001  (an error of somebody's own that does not travel)
            return None, AssertionError(text)
        return None, error


def _send(connection: Connection[Any, Any], message: Any) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # `_end_with` ends this process
        connection.send(message)


def _receive(connection: Connection[Any, Any], channel: socket.socket) -> tuple[Order, list[int]]:
    """An order and its open files."""
    try:
        data = connection.recv_bytes()
        if not data:
            with open(_receive_file(channel), "rb") as file:
                data = file.read()
        order, count = pickle.loads(data)
        return order, [_receive_file(channel) for _ in range(count)]
    except (EOFError, ConnectionResetError):
        os._exit(0)


def _receive_file(channel: socket.socket) -> int:
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        raise EOFError
    return descriptors[0]


def _end_with(descriptor: int) -> None:
    """End this process when the other end of a connection is closed, even amid a task."""
    poller = select.poll()
    poller.register(descriptor, 0)
    poller.poll()
    os._exit(0)


def _load_libraries() -> None:
    """What tasks need, so that a limit counts from here on."""
    import av.filter
    import av.video.reformatter  # noqa: F401
