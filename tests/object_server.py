"""A web server of this process that gives ranges, counts, misbehaves, and lists as S3 does."""

import re
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from zlib import crc32

from videoloader.sources import redirects, remote


@dataclass
class ObjectServer:
    """`objects` by path; `url` is where they are, `requests` what was asked for and sent.

    `tamper` changes an answer: (status, headers, body, data of the object, first byte asked for)
    -> (status, headers, body). `redirects` leads paths elsewhere, their query left out. `received`
    are the headers of requests. `password` is asked for as the header `Authorization` has it, and
    paths that are `refused` are given to nobody.
    """

    objects: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    requests: list[tuple[str, str, int]] = field(default_factory=list)
    received: list[dict[str, str]] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    tamper: Callable | None = None
    password: str = ""
    refused: set[str] = field(default_factory=set)
    gives_ranges: bool = True
    status: int = 0
    delay: float = 0.0
    has_etags: bool = True
    modified: float = 1_700_000_000.0
    busy: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def sent(self):
        return sum(size for _, _, size in self.requests)

    def forget(self):
        self.requests.clear()
        self.received.clear()
        self.most_at_once = 0


@contextmanager
def serve(**options):
    server = ObjectServer(**options)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            answer(server, self)

        do_HEAD = do_PROPFIND = do_GET  # noqa: N815  (names of the library)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def answer(server, request):
    with server.lock:
        server.busy += 1
        server.most_at_once = max(server.most_at_once, server.busy)
    time.sleep(server.delay)
    with server.lock:
        server.busy -= 1  # before the answer, after which the client may ask again
    respond(server, request)


def respond(server, request):
    place = urlsplit(request.path)
    query = parse_qs(place.query)
    wanted = request.headers.get("Range")
    server.received.append(dict(request.headers))
    if server.password and request.headers.get("Authorization") != server.password:
        return send(server, request, 401, b"")
    if place.path in server.refused:
        return send(server, request, 403, b"")
    if place.path in server.redirects:
        return send(server, request, 302, b"", {"Location": server.redirects[place.path]})
    if server.status or request.command == "PROPFIND":
        return send(server, request, server.status or 405, b"")
    if "list-type" in query:
        return send(server, request, 200, listing(server, place.path, query["prefix"][0]))
    data = server.objects.get(unquote(place.path))
    if data is None:
        return send(server, request, 404, b"")
    headers = {"Last-Modified": formatdate(server.modified, usegmt=True)}
    if server.has_etags:
        headers["ETag"] = etag(data)
    if wanted is None or not server.gives_ranges:
        return send(server, request, 200, data, headers)
    first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", wanted).groups())
    if first >= len(data):
        return send(server, request, 416, b"")
    part = data[first : last + 1]
    headers["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
    status = 206
    if server.tamper is not None:
        status, headers, part = server.tamper(status, headers, part, data, first)
    return send(server, request, status, part, headers)


def send(server, request, status, data, headers=None):
    server.requests.append((request.command, request.path, len(data)))
    try:
        request.send_response(status)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(data)
        if headers and int(headers.get("Content-Length", len(data))) > len(data):
            request.close_connection = True  # the rest never comes
    except OSError:
        request.close_connection = True  # the client has gone


def etag(data):
    return f'"{crc32(data):08x}"'


def listing(server, bucket, prefix):
    start = f"{bucket.rstrip('/')}/"
    rows = "".join(
        f"<Contents><Key>{path.removeprefix(start)}</Key><Size>{len(data)}</Size>"
        f"<LastModified>2023-11-14T22:13:20.000Z</LastModified>"
        f"<ETag>{etag(data)}</ETag></Contents>"
        for path, data in server.objects.items()
        if path.startswith(start + prefix)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>'
        f"<IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
    ).encode()


def fail_quickly(monkeypatch):
    """Few attempts, no proxies, and nothing known from before."""
    monkeypatch.setitem(remote._RETRIES, "max_retries", 1)
    monkeypatch.setitem(remote._RETRIES, "backoff", {"init_backoff": timedelta(milliseconds=5)})
    monkeypatch.setattr(redirects, "_PAUSES", (0.01,))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    remote._open_store.cache_clear()
    redirects._direct.clear()
