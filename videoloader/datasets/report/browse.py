"""`videoloader browse`: the page of a report, with pictures of any video made when it is picked.

The server listens on the loopback address alone. Other users of the machine cannot read from it:
each request needs the token that only the printed address holds, by it or by the cookie that the
page's answer sets. A page elsewhere that a browser has open cannot either: the cookie is not sent
for it, and names that resolve to this machine are refused.
"""

from __future__ import annotations

import http.server
import json
import secrets
import threading
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from videoloader.datasets.report.page import render_page, video_pictures
from videoloader.indexing.dataset import DatasetIndex

if TYPE_CHECKING:
    import pyarrow as pa

_COOKIE = "videoloader"
_KEPT = 256  # pictures of videos


class BrowseServer(http.server.ThreadingHTTPServer):
    """Serves the page of a data set until `shutdown`.

    Args:
        dataset: whose videos are shown; it stays open.
        port: to listen on; 0 for a free one.
        damage: as for `write_report`.

    Raises:
        OSError: the port is taken.
    """

    daemon_threads = True

    def __init__(
        self, dataset: DatasetIndex, *, port: int = 0, damage: pa.Table | None = None
    ) -> None:
        self.token = secrets.token_urlsafe(24)
        self.page = render_page(dataset, pictures={}, damage=damage, is_live=True).encode()
        self._dataset = dataset
        self._pictures: dict[int, bytes] = {}
        self._lock = threading.Lock()  # one decode at a time
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """The address to open, with its token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def pictures(self, row: int) -> bytes:
        """The pictures of a video as JSON, see `video_pictures`."""
        with self._lock:
            if row not in self._pictures:
                if len(self._pictures) >= _KEPT:
                    del self._pictures[next(iter(self._pictures))]
                task = row, self._dataset.item(row)
                made = video_pictures(task, dataset=self._dataset)
                self._pictures[row] = json.dumps(made).encode()
            return self._pictures[row]

    def has_row(self, row: int) -> bool:
        """Whether the data set has a row of this number."""
        return 0 <= row < len(self._dataset)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: BrowseServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the page, or the pictures of a video."""
        asked = urlsplit(self.path)
        if not self._is_ours() or not self._is_allowed(parse_qs(asked.query).get("token", [""])[0]):
            self._answer(403, b"open the address that `videoloader browse` printed", "text/plain")
            return
        folder, _, row = asked.path.strip("/").partition("/")
        if not folder:
            self._answer(200, self.server.page, "text/html; charset=utf-8")
        elif folder == "pictures" and row.isdecimal() and self.server.has_row(int(row)):
            self._answer(200, self.server.pictures(int(row)), "application/json")
        else:
            self._answer(404, b"no such page", "text/plain")

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

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        if status == 200:
            name = f"{_COOKIE}-{self.server.server_port}"
            cookie = f"{name}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: the command's output is the address."""
