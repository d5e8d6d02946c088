"""A web server of this process that gives parts of files, as object stores do."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@contextmanager
def serve(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Serve the files of a folder on this machine; gives the URL of the folder, without a slash."""
    with _Server(("127.0.0.1", 0), partial(_Handler, directory=os.fspath(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            if not sys.is_finalizing():  # threads have ended then, and nobody would answer
                server.shutdown()
                thread.join()


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not path.is_file():
            self.send_error(404)
            return
        size, modified = path.stat().st_size, path.stat().st_mtime
        first, last = (int(wanted[1]), int(wanted[2])) if wanted else (0, size - 1)
        with open(path, "rb") as file:
            file.seek(first)
            part = file.read(max(0, min(last, size - 1) + 1 - first))
        self.send_response(206 if wanted else 200)
        self.send_header("Last-Modified", self.date_time_string(int(modified)))
        self.send_header("Content-Length", str(len(part)))
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{size}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(part)

    do_HEAD = do_GET  # noqa: N815  (the library's name)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    """Goes on when a client is killed."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
