"""What a compiled loop over packets would give on NVDEC: a contender of gpu.py and training.py.

`compiled_loop.cpp` is built where it is used, with `g++` and the headers of FFmpeg's
nv-codec-headers (NV_CODEC_HEADERS names another folder than /usr/include). It takes the place of
PyNvVideoCodec, and of all Python between the packets of a run and the launches of its conversions:
one call does a whole run, without the interpreter. It is no part of the package, and checks nothing
of a stream: it shows what such a module would be worth (results/compiled-loop-*.json).
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CODECS = {"h264": 4, "hevc": 8, "vp9": 10, "av1": 11}  # of `cudaVideoCodec`
READ = 128  # packets to read from a file at a time where it is read on


class Run(ctypes.Structure):
    """The same in compiled_loop.cpp."""

    _fields_ = [
        *[(name, ctypes.c_void_p) for name in ("addresses", "sizes", "numbers")],
        ("count", ctypes.c_int64),
        ("head", ctypes.c_char_p),
        ("head_size", ctypes.c_int64),
        *[(name, ctypes.c_void_p) for name in ("wanted", "first_rows", "rows")],
        ("wanted_count", ctypes.c_int64),
        ("records", ctypes.c_void_p),
        ("record_bytes", ctypes.c_int64),
        ("kernel", ctypes.c_uint64),
        *[
            (name, ctypes.c_int64)
            for name in ("tiles", "length_size", "reads_on", "flush", "fed", "missing")
        ],
    ]


@cache
def library() -> Any:
    """The loop, built where it is older than its source."""
    built = Path(os.environ.get("TMPDIR", "/tmp")) / "videoloader_compiled_loop.so"
    source = HERE / "compiled_loop.cpp"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        include = os.environ.get("NV_CODEC_HEADERS", "/usr/include")
        command = ["g++", "-O2", "-std=c++17", "-shared", "-fPIC", "-I", include, str(source)]
        subprocess.run([*command, "-o", str(built), "-ldl"], check=True)
    found = ctypes.CDLL(str(built))  # lets go of the interpreter
    handle, number = ctypes.c_void_p, ctypes.c_int64
    found.loop_create.restype = handle
    unsigned = ctypes.c_uint
    found.loop_create.argtypes = [ctypes.c_int, unsigned, unsigned, handle, handle, number]
    found.loop_run.argtypes = [handle, ctypes.POINTER(Run)]
    found.loop_end.argtypes = found.loop_destroy.argtypes = found.loop_error.argtypes = [handle]
    found.loop_error.restype = ctypes.c_char_p
    return found


@cache
def use_it() -> None:
    """Let the pool of this process decode with the compiled loop from now on."""
    from videoloader.decoding.nvdec import pool, session
    from videoloader.decoding.nvdec.elementary import ElementaryStream
    from videoloader.decoding.nvdec.hardware import DecoderRoom
    from videoloader.decoding.packets.feed import PacketFeed
    from videoloader.errors import DecodeError

    class Loop:
        """Stands in for `HardwareDecoder`."""

        def __init__(self, kind: Any, needs: Any, gpu: int, stream: int) -> None:  # noqa: ARG002
            self.kind, self.room, self.memory = kind, DecoderRoom(needs), kind.memory(needs)
            self._stream = stream

        def open(self, table: Any) -> None:
            kind = self.kind
            codec = CODECS[kind.codec]
            own = self._stream, table.ctypes.data, len(table)
            self.handle = library().loop_create(codec, kind.width, kind.height, *own)
            if not self.handle:
                raise RuntimeError("the loop cannot be made")

        def run(self, run: Run) -> None:
            if library().loop_run(self.handle, run):
                raise DecodeError(library().loop_error(self.handle).decode())

    vars(session).update(HardwareDecoder=Loop)

    class Session(session.Session):
        """Gives whole runs to the loop."""

        decoder: Any

        def __init__(self, *own: Any) -> None:
            super().__init__(*own)
            self._cuda.Device(self._gpu).use()
            self.decoder.open(self._table)
            self._at: Any = None  # where a video that is read on stands

        def close(self) -> None:
            super().close()
            library().loop_destroy(self.decoder.handle)

        def decode(self, job: Any) -> Any:
            self._cuda.Device(self._gpu).use()
            self.is_sound = False
            reading, self.reading = self.reading, None
            goes_on = job.reading is not None and reading is job.reading
            if self._at is not None and not (goes_on and self._at.next >= job.run.packets[0]):
                library().loop_end(self.decoder.handle)
                self._at = None
            if job.reading is None:
                self._do(job)
            else:
                self._go_on(job)
            self.reading = job.reading
            self.is_sound = True
            self._stats.add(surfaces=len(job.places))
            self._filled.record(self._stream)
            return self._filled

        def _do(self, job: Any) -> None:
            index = job.index
            is_small = index.width * index.height <= 640 * 480
            feed = PacketFeed(index, job.source, drop="disposable" if is_small else "unneeded")
            parts = list(feed.chunks(job.run, 256))
            feed.close()
            self._run(job, parts, head=ElementaryStream(index).head(int(parts[0][0][0])), flush=1)

        def _go_on(self, job: Any) -> None:
            head, end = b"", len(job.index.packets)
            if self._at is None:
                first, feed = int(job.run.packets[0]), PacketFeed(job.index, job.source)
                self._at = SimpleNamespace(next=first, feed=feed)
                head = ElementaryStream(job.index).head(first)
            at, missing = self._at, None
            while missing is None or missing:
                numbers = np.arange(at.next, min(at.next + READ, end))
                part = [(numbers, at.feed.read(numbers))] if len(numbers) else []
                flush = at.next + len(numbers) == end
                fed, missing = self._run(job, part, head=head, reads_on=1, flush=flush)
                at.next += fed
                head = b""
                if missing and flush:
                    raise DecodeError(f"{missing} frames are missing")

        def _run(
            self, job: Any, parts: list[Any], *, head: bytes, reads_on: int = 0, flush: int = 0
        ) -> tuple[int, int]:
            addresses = [
                packets.starts + ctypes.cast(packets.memory, ctypes.c_void_p).value
                for _, packets in parts
            ]
            # NVIDIA's parser alters timestamps that do not ascend as the pictures are shown.
            ranks = np.empty(len(job.index.packets), np.int64)
            ranks[job.index.packets["pts"].argsort(kind="stable")] = np.arange(len(ranks))
            arrays = [
                np.concatenate([*addresses, np.empty(0, np.int64)]).astype(np.uint64),
                np.concatenate([*[packets.sizes for _, packets in parts], np.empty(0, np.int64)]),
                np.concatenate([*[ranks[numbers] for numbers, _ in parts], np.empty(0, np.int64)]),
            ]
            arrays = [np.ascontiguousarray(array) for array in arrays]
            places = sorted((int(ranks[packet]), mine) for packet, mine in job.places.items())
            wanted = np.array([rank for rank, _ in places], np.int64)
            rows = np.array([row for _, mine in places for row in mine], np.int64)
            counts = [0, *[len(mine) for _, mine in places]]
            first_rows = np.cumsum(counts)
            targets = np.ascontiguousarray(job.targets)
            run = Run(
                *[array.ctypes.data for array in arrays],
                len(arrays[0]),
                head,
                len(head),
                wanted.ctypes.data,
                first_rows.ctypes.data,
                rows.ctypes.data,
                len(wanted),
                targets.ctypes.data,
                targets.itemsize,
                job.converter._kernel.kernel.ptr,
                int(targets["tiles"].max()),
                job.index.length_size or 0,
                reads_on,
                flush,
            )
            self.decoder.run(run)
            if run.missing and flush:
                raise DecodeError(f"{job.index.name}: {run.missing} frames are missing")
            return run.fed, run.missing

    vars(pool).update(Session=Session)
