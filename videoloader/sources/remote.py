"""Videos at URLs: object stores and web servers, read by ranges with obstore.

A request takes some tens of milliseconds for any size, so each fetches more bytes than needed and
caches them: the tables of an MP4 file take one request if they are at the beginning, and two if
they are at the end. If several ranges are needed, they are requested concurrently.

The timeout of a request is 30 s, and 5 s to connect. A request without connection or answer, or
with a server error (5xx), is retried up to six times, for at most a minute.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from videoloader.errors import SourceError, StaleIndexError, UnsupportedError
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.system.address import WEB, parse_url, shown
from videoloader.sources.blocks import block_cache
from videoloader.sources.redirects import basic, find_landing
from videoloader.sources.refusals import RefusedError, asked
from videoloader.sources.source import Fingerprint, Source

if TYPE_CHECKING:
    from obstore import ObjectMeta

_SETTINGS = ("AWS_", "AZURE_", "GOOGLE_", "SSL_CERT_")  # how variables for stores begin
_STORES = {"s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"}

_BLOCK = 1 << 16  # minimum bytes of a request
_SLACK = 1 << 12  # bytes to request past a range, since the next box begins there
_MAX_TAIL = 1 << 20  # bytes at the end of a file to fetch together: tables are often there
_MAX_AHEAD = 1 << 21  # bytes per request of a sequential reader
_MAX_KEPT = 1 << 23  # bytes that a source caches
_AT_ONCE = 16  # concurrent requests of one source

_RETRIES: dict[str, Any] = {"max_retries": 6, "retry_timeout": timedelta(seconds=60)}
_CLIENT: dict[str, Any] = {"connect_timeout": "5s", "timeout": "30s"}
_LOST = "this process was forked from one that had read URLs, which obstore does not survive; "
_LOST += 'start workers with the method "forkserver" or "spawn"'

_user: int | None = None  # the process in which obstore was first used


@dataclass(frozen=True, slots=True)
class _Object:
    """An object in a store.

    Args:
        name: its URL without passwords and signatures, for messages.
        store: where it is.
        path: its name there; empty if the store is only this object.
        url: to find it again where access is denied: a redirect may have expired, or the
            environment may have new credentials.
    """

    name: str
    store: Any = field(repr=False)
    path: str
    url: str = field(repr=False)

    def get(self, start: int, stop: int) -> tuple[Fingerprint, bytes]:
        """Its state, and the bytes from `start` to `stop` or to its end."""
        try:
            return self._get(start, stop)
        except RefusedError:
            again = _find(self.url)
            if again.store is self.store:
                raise
        return again._get(start, stop)

    def _get(self, start: int, stop: int) -> tuple[Fingerprint, bytes]:
        import obstore

        _stay(self.name)

        def ask() -> tuple[ObjectMeta, Any, int, bytes]:
            # obstore checks that the server's range is the requested one.
            result = obstore.get(self.store, self.path, options={"range": (start, stop)})
            size = min(stop, result.meta["size"]) - start
            # Stop reading an answer one byte past the expected size.
            body = next(iter(result.stream(min_chunk_size=size + 1)), b"")
            return result.meta, result.attributes, size, bytes(body)

        meta, attributes, size, data = asked(self.name, ask)
        encoding = attributes.get("Content-Encoding") or "identity"
        if encoding != "identity":
            raise SourceError(
                f"{self.name}: the server sends it compressed ({encoding}), so that parts of it "
                "mean nothing; store it uncompressed, or download it and pass its path"
            )
        if len(data) != size:
            much = f"more than {size}" if len(data) > size else str(len(data))
            raise SourceError(
                f"{self.name}: the server sent {much} bytes where {size} at {start} were asked for"
            )
        return _fingerprint(meta), data


def open_url(
    url: str,
    *,
    name: str | None = None,
    offset: int = 0,
    size: int | None = None,
    block: int = _BLOCK,
    known: Fingerprint | None = None,
) -> Source:
    """Open an object at a URL, or `size` bytes of it from `offset` on.

    Args:
        url: with a scheme that obstore supports.
        name: of the part, for messages, which append it to the URL.
        offset: start of the part.
        size: of the part; by default up to the end of the object.
        block: minimum bytes of a request.
        known: state of the object, if it is known already. Then nothing is requested here, and
            later reads must find the object in that state, or raise a StaleIndexError.

    Raises:
        SourceError: there is no such object, access is denied, or the server has no ranges.
        FormatError: it is empty.
        UnsupportedError: the scheme of the URL is not supported, or obstore is not installed.
    """
    return _RemoteSource(_find(url), name=name, base=offset, size=size, block=block, known=known)


def look(url: str) -> Fingerprint:
    """The state of the object at a URL.

    Raises:
        SourceError: as `open_url`.
    """
    # Not HEAD, which is refused for signed URLs and by some servers.
    return _find(url).get(0, 1)[0]


def is_listable(url: str) -> bool:
    """Whether a URL is of a store, which lists its objects, and not of a web server."""
    return _scheme(url) in _STORES


def list_objects(url: str) -> Iterator[tuple[str, Fingerprint]]:
    """URL and state of all objects under a URL that ends with a slash, in the order of URLs.

    Raises:
        SourceError: the store cannot list objects; web servers cannot.
    """
    root = _find(url)
    import obstore

    try:
        found = asked(root.name, lambda: obstore.list(root.store, root.path or None).collect())
    except SourceError as error:
        if _scheme(url) in WEB:
            raise SourceError(
                f"{root.name}: this server does not list its files; name them, or a text list"
            ) from error
        raise
    bucket = url[: len(url) - len(_quoted(root.path))].rstrip("/")
    for meta in sorted(found, key=lambda meta: meta["path"]):
        yield f"{bucket}/{_quoted(meta['path'])}", _fingerprint(meta)


class _RemoteSource(Source):
    """Ranges of an object; caches the last ones."""

    whole: Fingerprint

    def __init__(
        self,
        remote: _Object,
        *,
        name: str | None,
        base: int,
        size: int | None,
        block: int,
        known: Fingerprint | None,
    ) -> None:
        first = block if size is None else min(max(size, 1), block)
        self._object = remote
        self.whole, data = (known, b"") if known else remote.get(base, base + first)
        if size is None:
            size = self.whole.size - base
        if base + size > self.whole.size:
            raise SourceError(
                f"{remote.name}: {name} is said to lie at {base}, but the object ends before"
            )
        super().__init__(name=f"{remote.name}/{name}" if name else remote.name, size=size)
        self._base = base
        self._is_known = known is not None
        has_state = known is not None and (known.mtime_ns, known.etag) != (None, None)
        self._blocks = block_cache() if has_state else None
        self._block = block
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._next = 0  # where the last request ended
        self._ahead = block
        if data:
            self._keep(0, data)

    @property
    def fingerprint(self) -> Fingerprint:
        """Size, etag and modification time when the object was opened."""
        return Fingerprint(self.size, self.whole.mtime_ns, self.whole.etag)

    def _read(self, offset: int, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = self._remembered(offset, size) or self._fetch(offset, size)[:size]
            if not part:
                break
            parts.append(part)
            offset, size = offset + len(part), size - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each (offset, size), with concurrent requests."""
        return in_threads(lambda each: self._read_alone(*each), ranges, _AT_ONCE)

    def _read_alone(self, offset: int, size: int) -> bytes:
        """Fetch exactly a range, since all needed ranges are known."""
        if 0 <= offset <= offset + size <= self.size:
            data = self._remembered(offset, size)
            missing = size - len(data)
            data += self._request(offset + len(data), missing) if missing else b""
            if len(data) == size:
                return data
        return self.read(offset, size)  # raises the error

    def _remembered(self, offset: int, size: int) -> bytes:
        """The cached bytes at the beginning of a range."""
        with self._lock:
            for start, block in self._kept.items():
                if start <= offset < start + len(block):
                    self._kept.move_to_end(start)
                    return block[offset - start : offset - start + size]
        return b""

    def _fetch(self, offset: int, size: int) -> bytes:
        """Request a range and some bytes after it."""
        data = self._request(offset, self._stop(offset, size) - offset)
        self._keep(offset, data)
        return data

    def _request(self, offset: int, size: int) -> bytes:
        if self._blocks is None:
            return self._get(self._base + offset, size)
        whole, url = self.whole, self._object.url
        return self._blocks.read(url, whole, self._base + offset, size, self._get)

    def _get(self, begin: int, size: int) -> bytes:
        state, data = self._object.get(begin, begin + size)
        if not state.is_same(self.whole):
            kind = StaleIndexError if self._is_known else SourceError
            raise kind(
                f"{self.name}: the object was changed while it was read, or since it was indexed; "
                "index it again"
            )
        return data

    def _stop(self, offset: int, size: int) -> int:
        """End of the request for a range."""
        with self._lock:
            follows = self._next <= offset <= self._next + self._block
            self._ahead = min(2 * self._ahead, _MAX_AHEAD) if follows else self._block
            stop = offset + max(size + _SLACK, self._ahead)
            tail = min(max(self.size >> 6, self._block), _MAX_TAIL)
            if self.size - offset <= tail:
                stop = self.size
            # The end of the range may be cached already.
            starts = [start for start in self._kept if offset < start < stop]
            return min(starts, default=min(stop, self.size))

    def _keep(self, offset: int, data: bytes) -> None:
        with self._lock:
            self._next = offset + len(data)
            if len(data) > _MAX_KEPT // 2:  # too large: keep the end alone
                offset, data = offset + len(data) - self._block, data[-self._block :]
            self._kept[offset] = data
            while sum(map(len, self._kept.values())) > _MAX_KEPT:
                self._kept.popitem(last=False)

    def close(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._kept.clear()


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower()


def _find(url: str) -> _Object:
    """The object at a URL, in a store that all URLs of its server or bucket share."""
    name, scheme, parts = shown(url), _scheme(url), parse_url(url)
    if scheme not in WEB | _STORES:
        raise UnsupportedError(
            f"{name}: {scheme} URLs are not read; http, https, s3, gs, az and file are"
        )
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise UnsupportedError(
            f'{name}: URLs are read by obstore, which is missing; pip install "videoloader[remote]"'
        ) from error
    _stay(name)
    if parts is None:
        raise SourceError(f"{name}: the URL has no valid host; write scheme://host/path")
    place, path = f"{parts.scheme}://{parts.host}", parts.path
    if scheme in _STORES:
        if "?" in url:
            raise UnsupportedError(
                f"{name}: {scheme} URLs take nothing behind a ?; write a ? of a key as %3F"
            )
        return _Object(name, _store(name, place), _unquoted(path.removeprefix("/")), url)
    authorization = basic(parts.userinfo)
    if parts.query:
        signed = f"{place}{path}?{parts.query}"
        landing, authorization = find_landing(signed, authorization, name=name)
        return _Object(name, _store(name, landing, authorization), "", url)
    # obstore would escape these characters again in a path, but not in the address of a store.
    if re.search(r"[%@]|//", path):
        return _Object(name, _store(name, f"{place}{path}", authorization), "", url)
    return _Object(name, _store(name, place, authorization), path.removeprefix("/"), url)


def _quoted(key: str) -> str:
    """Escape a key of a store for a URL, in which a ? would begin the query."""
    return re.sub("%((?:25)*3F)", r"%25\1", key).replace("?", "%3F")


def _unquoted(path: str) -> str:
    """Invert `_quoted`."""
    return re.sub("%25((?:25)*3F)", r"%\1", re.sub("%3F", "?", path))


def _stay(name: str) -> None:
    """Raise in a forked process, where obstore would hang."""
    global _user
    _user = _user or os.getpid()
    if _user != os.getpid():
        raise SourceError(f"{name}: {_LOST}")


def _store(name: str, url: str, authorization: str = "") -> Any:
    """The store of a URL, one for each state of the environment; `name` is for messages."""
    settings = tuple(each for each in os.environ.items() if each[0].startswith(_SETTINGS))
    return asked(name, lambda: _open_store(url, authorization, settings))


@lru_cache(maxsize=256)
def _open_store(url: str, authorization: str, _: tuple[tuple[str, str], ...]) -> Any:
    """Open a store, with credentials from the environment."""
    from obstore.store import HTTPStore, from_url

    retries = cast(Any, _RETRIES)
    if _scheme(url) not in WEB:
        # No client options: they would replace those of the environment (AWS_ALLOW_HTTP).
        return from_url(url, retry_config=retries)
    options = _CLIENT | {"allow_http": _scheme(url) == "http"}
    if authorization:
        options["default_headers"] = {"authorization": authorization}
    return HTTPStore(url, client_options=cast(Any, options), retry_config=retries)


def _fingerprint(meta: ObjectMeta) -> Fingerprint:
    """The state of an object; times are truncated to seconds, as some answers have only these."""
    seconds = int(meta["last_modified"].timestamp())
    etag = meta["e_tag"]
    return Fingerprint(
        meta["size"],
        mtime_ns=seconds * 1_000_000_000 if seconds > 0 else None,
        etag=etag.removeprefix("W/") if etag else None,
    )
