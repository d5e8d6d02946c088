"""`videoloader browse`: the page of a report, with pictures of any video made when it is picked.

The server listens on the loopback address alone. Other users of the machine cannot read from it:
each request needs the token that only the printed address holds, by it or by the cookie that the
page's answer sets. A page elsewhere that a browser has open cannot either: the cookie is not sent
for it, and names that resolve to this machine are refused.

A connection is closed if no request has arrived on it for some seconds, and so are connections
beyond a number. Pictures are decoded in a worker process, within the limits of a loader's.
"""

from __future__ import annotations

import functools
import http.server
import io
import json
import re
import secrets
import socket
import sys
import tempfile
import threading
import time
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import NDArray

from videoloader.datasets.report.page import render_page, video_pictures, video_strip, video_wave
from videoloader.datasets.report.segments import Timelines
from videoloader.decoding.limits import TIME_LIMIT, worker_limit
from videoloader.errors import UnsupportedError, VideoError
from videoloader.indexing.containers.registry import container_of
from videoloader.indexing.dataset import DatasetIndex, write_part
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.task_workers import Job, TaskWorkers
from videoloader.sources.source import Source
from videoloader.training.segments.segments import Segments

if TYPE_CHECKING:
    import pyarrow as pa

CONNECTIONS = 32
"""Connections at a time, each with a thread."""

REQUEST_SECONDS = 10.0
"""In which a request has to arrive, from its connection or the last answer on."""

JOBS = {
    "pictures": f"{video_pictures.__module__}:{video_pictures.__name__}",
    "strip": f"{video_strip.__module__}:{video_strip.__name__}",
    "wave": f"{video_wave.__module__}:{video_wave.__name__}",
}
"""Functions that draw pictures of a video in the worker process, by their part of an address."""

_ANSWER_SECONDS = 60.0
_COOKIE = "videoloader"
_KEPT = 128  # pictures of videos
_CHUNK = 1 << 20  # bytes of a video that are read at a time
_RANGE = re.compile("bytes=([0-9]{0,18})-([0-9]{0,18})", re.IGNORECASE)
_ROW = re.compile("[0-9]{1,9}")


class BrowseServer(http.server.ThreadingHTTPServer):
    """Serves the page of a data set until `shutdown`.

    Args:
        dataset: whose videos are shown; it stays open.
        port: to listen on; 0 for a free one.
        damage: as for `write_report`.
        segments: as for `write_report`.
        before: as for `write_report`.

    Raises:
        OSError: the port is taken.
        ArgumentError: the segments are of no data set index.
    """

    daemon_threads = True
    request_queue_size = CONNECTIONS  # that wait to be accepted

    def __init__(
        self,
        dataset: DatasetIndex,
        *,
        port: int = 0,
        damage: pa.Table | None = None,
        segments: Segments | None = None,
        before: DatasetIndex | None = None,
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self._timelines = None if segments is None else Timelines(segments)
        self.page = render_page(
            dataset,
            pictures={},
            damage=damage,
            timelines=self._timelines,
            before=before,
            is_live=True,
        ).encode()
        self._dataset = dataset
        self._workers: TaskWorkers | None = None
        self._lock = threading.Lock()  # one decode at a time
        self._free = threading.Semaphore(CONNECTIONS)
        self._encoded = functools.lru_cache(_KEPT)(self._make)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """The address to open, with its token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def pictures(self, kind: str, row: int) -> bytes:
        """The pictures of a video as JSON, of one of the kinds of `JOBS`."""
        with self._lock:
            try:
                return self._encoded(kind, row)
            except VideoError as error:  # of this machine, or a stored path
                return json.dumps({"failure": str(error)}).encode()

    def _make(self, kind: str, row: int) -> bytes:
        item = self._dataset.item(row)
        if self._workers is None:
            arguments = {"dataset": self._dataset.without_sign(), "threads": 1}
            limits = TIME_LIMIT, worker_limit("auto")
            self._jobs = {each: Job(name, arguments, *limits) for each, name in JOBS.items()}
            self._workers = TaskWorkers(self._jobs[kind], workers=1, ahead=1)
        ((_, made),) = self._workers.run(self._jobs[kind], [(row, item)])
        if isinstance(made, TaskFailure):
            made = {"failure": f"{item.name}: {made.reason}"}
        if self._timelines is not None and kind == "pictures":
            made["segments"] = self._timelines.of(self._dataset, row)
        return json.dumps(made).encode()

    def video(self, row: int) -> tuple[Source, str]:
        """The bytes of a video that browsers may play, and their media type.

        Raises:
            VideoError: the row is no such video, or the file is gone or another one than was
                indexed.
        """
        index, source = self._dataset[row], self._dataset.source(row)
        try:
            kind = container_of(index.container).media_type
            if not kind:
                raise UnsupportedError(f"{source.name}: browsers do not play {index.container}")
            index.check(source)
        except BaseException:
            source.close()
            raise
        return source, kind

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer on a connection in a thread, or close it if there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread can be started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer on a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        """Close the port, and end the worker process."""
        super().server_close()
        if self._workers is not None:
            self._workers.close()

    @property
    def num_rows(self) -> int:
        """Rows of the data set."""
        return len(self._dataset)

    def exported(self, kind: str, rows: NDArray[np.int64]) -> BinaryIO:
        """Some rows as a text list of paths for `index_dataset`, or as a data set index.

        Args:
            kind: `paths`, in the order of the rows, or `parquet`, ascending.
            rows: of the data set.
        """
        if kind == "paths":
            keys = (self._dataset.item(row).key for row in rows.tolist())
            return io.BytesIO("".join(f"{_as_line(key)}\n" for key in keys).encode())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "part.parquet")
            write_part(self._dataset, np.unique(rows), path)
            return path.open("rb")  # stays readable without its folder


def _as_line(path: str) -> str:
    """A path in a text list, whose lines are stripped."""
    is_line = path == path.strip() and not {*"\r\n"} & {*path}
    return path if is_line else Path(path).as_uri()


def wanted_range(header: str, size: int) -> range | None:
    """The bytes that a header `Range` asks for of `size` bytes.

    Returns:
        None for all, as where the header is missing, has several ranges or is wrong; an empty range
        where it asks for none that are there.

    >>> wanted_range("bytes=2-", 10), wanted_range("bytes=-3", 10), wanted_range("bytes=10-", 10)
    (range(2, 10), range(7, 10), range(0, 0))
    """
    found = _RANGE.fullmatch(header)
    first, last = found.groups() if found else ("", "")
    if first:
        start, stop = int(first), int(last or size) + (last != "")
        if last and int(last) < start:
            return None
    elif last:
        start, stop = max(size - int(last), 0), size
    else:
        return None
    return range(start, min(stop, size)) if start < min(stop, size) else range(0)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: BrowseServer
    connection: socket.socket
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Read requests with a limit of time."""
        super().setup()
        self._request = _Request(self.connection)
        self.rfile = io.BufferedReader(self._request)

    def handle_one_request(self) -> None:
        """Read a request and answer it."""
        self._request.end = time.monotonic() + REQUEST_SECONDS
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answer with the page, or something about a video."""
        place = self._place()
        if place is None:
            return
        folder, _, row = place.partition("/")
        is_row = _ROW.fullmatch(row) and int(row) < self.server.num_rows
        if not folder:
            self._answer(200, self.server.page, "text/html; charset=utf-8")
        elif folder in JOBS and is_row:
            self._answer(200, self.server.pictures(folder, int(row)), "application/json")
        elif folder == "video" and is_row:
            self._send_video(int(row))
        else:
            self._refuse(404, "no such page")

    def _send_video(self, row: int) -> None:
        try:
            source, kind = self.server.video(row)
        except VideoError as error:
            self._refuse(404, str(error))
            return
        with source:
            wanted = wanted_range(self.headers.get("Range", ""), source.size)
            if wanted is None or "If-Range" in self.headers:  # there is no state to compare
                self._begin(200, kind, source.size, {"Accept-Ranges": "bytes"})
                wanted = range(source.size)
            elif not wanted:
                self._begin(416, kind, 0, {"Content-Range": f"bytes */{source.size}"})
            else:
                place = f"bytes {wanted[0]}-{wanted[-1]}/{source.size}"
                self._begin(206, kind, len(wanted), {"Content-Range": place})
            for at in wanted[::_CHUNK]:
                try:
                    data = source.read(at, min(wanted.stop - at, _CHUNK))
                except VideoError:  # of the answer less comes than it says, so it is known to fail
                    self.close_connection = True
                    return
                self.wfile.write(data)

    def do_POST(self) -> None:
        """Answer with a file about some rows, whose numbers are the body: 4 bytes each."""
        place = self._place()
        if place is None:
            return
        length = self.headers.get("Content-Length", "")
        if place not in ("export/paths", "export/parquet"):
            self._refuse(404, "no such page")
        elif not _ROW.fullmatch(length):
            self._refuse(411, "the length of the body is missing")
        elif int(length) % 4 or int(length) > 4 * self.server.num_rows:
            self._refuse(413, "no rows, or more than the data set has")
        else:
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                self.close_connection = True  # the client went away
                return
            rows = np.frombuffer(body, "<u4").astype(np.int64)
            if rows.max(initial=-1) >= self.server.num_rows:
                self._refuse(400, "no rows of the data set")
                return
            try:
                file = self.server.exported(place.removeprefix("export/"), rows)
            except VideoError as error:
                self._refuse(500, str(error))
                return
            with file:
                self._answer(200, file.read(), "application/octet-stream")

    def _place(self) -> str | None:
        """The path that is asked for, without slashes at its ends; None if it was refused."""
        try:
            asked = urlsplit(self.path)
        except ValueError:
            self._refuse(400, "no address of a page")
            return None
        if not self._is_ours() or not self._is_allowed(parse_qs(asked.query).get("token", [""])[0]):
            self._refuse(403, "open the address that `videoloader browse` printed")
            return None
        return asked.path.strip("/")

    def _is_ours(self) -> bool:
        """Whether the address has the name of this machine, not one that resolves to it."""
        port = self.server.server_port
        return self.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}")

    def _is_allowed(self, token: str) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(self.headers.get("Cookie", ""))
        except CookieError:
            return False
        name = f"{_COOKIE}-{self.server.server_port}"
        known = token or (cookies[name].value if name in cookies else "")
        return secrets.compare_digest(known.encode(), self.server.token.encode())

    def _refuse(self, status: int, reason: str) -> None:
        self.close_connection = True  # a body may be unread
        self._answer(status, reason.encode(), "text/plain; charset=utf-8")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self._begin(status, kind, len(body), {})
        self.wfile.write(body)

    def _begin(self, status: int, kind: str, size: int, further: dict[str, str]) -> None:
        """Send the head of an answer with `size` bytes."""
        self.connection.settimeout(_ANSWER_SECONDS)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        for name, text in further.items():
            self.send_header(name, text)
        if status == 200:
            name = f"{_COOKIE}-{self.server.server_port}"
            cookie = f"{name}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            self.send_header("Set-Cookie", cookie)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing: the command's output is the address."""


class _Request(io.RawIOBase):
    """The bytes that a client sends, until a moment: then reading raises `TimeoutError`.

    Attributes:
        end: that moment, as of `time.monotonic`.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.end = 0.0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, memory: Any) -> int:
        """Receive what has arrived, at least a byte until the client has sent all."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(memory)
