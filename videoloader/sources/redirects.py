"""Follows the redirects of signed URLs.

obstore follows redirects and sends the previous URL in the header `Referer`, which would reveal the
signature to another host. So redirects of signed URLs are resolved here first, with a request for
one byte and without `Referer`.
"""

from __future__ import annotations

import http.client
import ssl
import time
import urllib.error
import urllib.request
from base64 import b64encode
from functools import cache
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin

from videoloader.errors import SourceError
from videoloader.machinery.system.address import WEB, parse_url, scrubbed

_TIMEOUT = 30.0  # seconds
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds between attempts
_MOST = 10  # redirects
_KNOWN = 1 << 14  # URLs
_AGAIN = {408, 429, 500, 502, 503, 504}
_RESERVED = "%/:=&?~#+!$,;'@()*[]"  # not escaped in a URL

_direct: set[str] = set()  # URLs without redirects


class _Answer(NamedTuple):
    status: int
    location: str = ""
    failure: str = ""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects, but returns them."""

    def redirect_request(self, *_: object) -> None:
        """Return no new request."""


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()  # reading them takes milliseconds


def _opener() -> urllib.request.OpenerDirector:
    """Made for each request, since it takes the proxies of the environment as they are then."""
    secure = urllib.request.HTTPSHandler(context=_certificates())
    return urllib.request.build_opener(_Stay, secure)


def basic(userinfo: str) -> str:
    """The header `Authorization` for the user info of a URL."""
    return f"Basic {b64encode(unquote(userinfo).encode()).decode()}" if userinfo else ""


def find_landing(url: str, authorization: str, *, name: str) -> tuple[str, str]:
    """The final URL of a signed one, and the header `Authorization` to send there.

    The header is sent only to the host that it is for.

    Raises:
        SourceError: no server answers, or redirects lead in a circle or to an open connection.
    """
    for _ in range(_MOST):
        if url in _direct:
            return url, authorization
        answer = _ask(url, authorization)
        if answer.failure:
            raise SourceError(f"{name}: cannot be read: {scrubbed(answer.failure, url)}")
        if not (300 <= answer.status < 400 and answer.location):
            if answer.status in (200, 206):
                if len(_direct) >= _KNOWN:
                    _direct.clear()
                _direct.add(url)
            return url, authorization
        old, target = parse_url(url), urljoin(url, answer.location).partition("#")[0]
        new = parse_url(target)
        if new is None or new.scheme not in WEB:
            raise SourceError(f"{name}: the server redirects to something that is no web address")
        if old is not None and (old.scheme, new.scheme) == ("https", "http"):
            raise SourceError(f"{name}: the server redirects from https to http, which is open")
        if new.userinfo:
            authorization = basic(new.userinfo)
        elif old is None or (old.scheme, old.host) != (new.scheme, new.host):
            authorization = ""
        url = f"{new.scheme}://{new.host}{new.path}" + f"?{new.query}" * bool(new.query)
    raise SourceError(f"{name}: the server redirects more than {_MOST} times")


def _ask(url: str, authorization: str) -> _Answer:
    """A server's answer to a request for the first byte; retries after temporary errors."""
    for pause in (*PAUSES, None):
        answer = _request(url, authorization)
        if pause is None or not (answer.failure or answer.status in _AGAIN):
            break
        time.sleep(pause)
    if answer.status in _AGAIN:
        return answer._replace(failure=f"the server answered {answer.status}")
    return answer


def _request(url: str, authorization: str) -> _Answer:
    headers = {"Range": "bytes=0-0", "Accept-Encoding": "identity"}
    if authorization:
        headers["Authorization"] = authorization
    try:
        request = urllib.request.Request(quote(url, safe=_RESERVED), headers=headers)
        with _opener().open(request, timeout=_TIMEOUT) as response:
            return _Answer(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return _Answer(error.code, error.headers.get("Location") or "")
    except urllib.error.URLError as error:
        return _Answer(0, failure=f"no connection to the server ({error.reason})")
    except TimeoutError:
        return _Answer(0, failure="the server does not answer in time")
    except (OSError, ValueError, http.client.HTTPException) as error:
        return _Answer(0, failure=f"no answer of the server ({type(error).__name__})")
