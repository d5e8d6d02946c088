"""Parses paths and URLs, and removes secrets from them.

A URL can hold secrets: `user:password@` before the host, and the signature of a presigned URL
after the `?`. They are used to fetch, but never appear in names, messages and files.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple
from urllib.parse import unquote

from videoloader.errors import SourceError

WEB = frozenset({"http", "https"})
"""Schemes of web servers, whose URLs have a query and a fragment."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>`]*")
_PARTS = re.compile(
    r"""(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://
        (?:(?P<userinfo>[^/?#\\]*)@)?
        (?P<host>(?:\[[0-9A-Fa-f:.]+\]|[^/?\#@:\[\]\\]+)(?::[0-9]*)?)
        (?P<path>(?:/[^?]*)?)
        (?:\?(?P<query>.*))?""",
    re.VERBOSE | re.DOTALL,
)
_CONTAINERS = {"abfs", "abfss", "adl"}  # their URLs begin with container@account
_NO_HOST = "..."  # replaces a host that may be part of a password

# Control characters, line separators, bidirectional marks, and bytes that are not UTF-8.
_UNSEEN = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Url(NamedTuple):
    """The parts of a URL; `userinfo` and `query` may be secret."""

    scheme: str
    userinfo: str
    host: str
    path: str
    query: str


def is_url(place: str) -> bool:
    """Whether a place is written as a URL.

    >>> is_url("s3://bucket/clip.mp4"), is_url("folder/clip.mp4")
    (True, False)
    """
    return ":" in place and _URL.match(place) is not None  # most places are paths


def local_path(place: str) -> str:
    """The path of a `file://` URL, with any bytes; other places are returned unchanged.

    >>> local_path("file:///videos/a%20clip.mp4")
    '/videos/a clip.mp4'
    """
    if not place.lower().startswith("file://"):
        return place
    host, slash, path = place[len("file://") :].partition("/")
    if host not in ("", "localhost"):
        raise SourceError(f"{shown(place)}: is on another machine; file URLs begin with file:///")
    return unquote(slash + path, errors="surrogateescape")


def absolute(place: str | os.PathLike[str]) -> str:
    """The absolute path of a local file; a URL as it is.

    >>> absolute("/videos/../clip.mp4"), absolute("s3://videos/clip.mp4")
    ('/clip.mp4', 's3://videos/clip.mp4')
    """
    path = local_path(os.fspath(place))
    return path if is_url(path) else absolute_path(path)


def absolute_path(path: str | os.PathLike[str]) -> str:
    """`os.path.abspath`, but of the file that the system opens where a link stands before a `..`.

    A relative path stays as it is if the working folder was removed; nothing opens by it then.
    """
    try:
        plain = os.path.abspath(path)
    except FileNotFoundError:
        return os.fspath(path)
    if ".." in os.fspath(path).split(os.sep):
        real = os.path.realpath(path)
        return plain if os.path.realpath(plain) == real else real
    return plain


def parse_url(url: str) -> Url | None:
    """The parts of a URL, its scheme in lower case and no fragment; None if it has no valid host.

    >>> parse_url("https://me:secret@host:8080/a.mp4?key=1#t=3")
    Url(scheme='https', userinfo='me:secret', host='host:8080', path='/a.mp4', query='key=1')
    """
    scheme = url.partition("://")[0].lower()
    found = _PARTS.fullmatch(url.partition("#")[0] if scheme in WEB else url)
    if found is None:
        return None
    _, userinfo, host, path, query = (part or "" for part in found.groups())
    if scheme in _CONTAINERS and ":" not in userinfo and userinfo:
        userinfo, host = "", f"{userinfo}@{host}"
    return Url(scheme, userinfo, host, path, query)


def public(place: str) -> str:
    """A path unchanged; a URL without user, password, query and fragment.

    >>> public("https://me:secret@host/a.mp4?signature=secret")
    'https://host/a.mp4'
    """
    if not is_url(place) or re.match("file://(localhost)?/", place, re.IGNORECASE):
        return place
    url = parse_url(place)
    scheme = place.partition("://")[0]
    return f"{scheme}://{url.host}{url.path}" if url else f"{scheme}://{_NO_HOST}"


def escaped(text: str) -> str:
    r"""A name for one line of a message: invisible characters and line breaks are escaped.

    >>> escaped("two\nlines")
    'two\\nlines'
    """
    return _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a path that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return found[0].encode("unicode_escape").decode()


def shown(place: str) -> str:
    """A path or URL for messages: `public` and `escaped`; quotes for an empty one."""
    return escaped(public(place)) or "''"


def scrubbed(text: str, place: str) -> str:
    """A message of another library about a place, in one line, without the secrets of URLs.

    >>> scrubbed("no answer from http://host/a?key=1 (key=1)", "http://host/a?key=1")
    'no answer from http://host/a (***)'
    """
    text = _IN_TEXT.sub(lambda found: public(found[0]), text)
    url = parse_url(place) if is_url(place) else None
    for secret in (url.query, url.userinfo) if url else ():
        for form in (secret, unquote(secret)):
            text = text.replace(form, "***") if form else text
    return escaped(" ".join(text.split()))
