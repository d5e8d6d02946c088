"""A web server of this process that gives ranges, counts, misbehaves, and lists as S3 does.

It serves its own objects, or stands in front of another server.
"""

import http.client
import re
import ssl
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
    paths that are `refused` are given to nobody. With an `upstream` requests go on to that server,
    unless one of `answers` (status, body) is left, which are given first.
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
    upstream: str = ""
    answers: list[tuple[int, bytes]] = field(default_factory=list)
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
def serve(certificate=None, **options):
    """Serve until the context ends; over TLS with a `certificate` (files of it and of its key)."""
    server = ObjectServer(**options)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            answer(server, self)

        do_HEAD = do_PROPFIND = do_GET  # noqa: N815  (names of the library)

    front = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    front.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        front.socket = context.wrap_socket(front.socket, server_side=True)
    server.url = f"http{'s' * (certificate is not None)}://127.0.0.1:{front.server_port}"
    thread = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        front.shutdown()
        front.server_close()
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
    with server.lock:
        canned = server.answers.pop(0) if server.answers else None
    if canned:
        return send(server, request, *canned)
    if server.upstream:
        return send(server, request, *forwarded(server, request))
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


def forwarded(server, request):
    """The answer of the server behind this one: status, body, headers."""
    connection = http.client.HTTPConnection(urlsplit(server.upstream).netloc, timeout=30)
    try:
        connection.request(request.command, request.path, headers=dict(request.headers))
        answer = connection.getresponse()
        kept = {"content-range", "content-type", "etag", "last-modified", "content-length"}
        headers = {name: value for name, value in answer.getheaders() if name.lower() in kept}
        return answer.status, answer.read(), headers
    finally:
        connection.close()


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
    monkeypatch.setattr(redirects, "PAUSES", (0.01,))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    remote._open_store.cache_clear()
    redirects._direct.clear()
