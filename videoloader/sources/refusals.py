"""Converts errors of obstore to ours, with the server's answer and advice."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from videoloader.errors import FormatError, SourceError, VideoError
from videoloader.machinery.system.address import WEB, scrubbed

Answer = TypeVar("Answer")

_WEB = tuple(f"{scheme}://" for scheme in sorted(WEB))

_SIGN_AGAIN = "the signature of the URL is not valid, or has expired; sign it again"
_EXPIRED = (
    "the credentials have expired; put new ones into the environment (AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) and start again, or use credentials that renew "
    "themselves (AWS_WEB_IDENTITY_TOKEN_FILE, the role of a container or machine)"
)
_UNKNOWN = "the server does not accept the credentials of the environment; check "
_UNKNOWN += "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL"
_REFUSED = "no permission to read it (403 or 401); credentials come from the environment"
_BUSY = "the server asks for fewer requests, also after retries; use fewer workers or processes"
_CLOCK = "the clock of this machine differs from the server's; set it"
_BUCKET = "there is no such bucket; check its name and AWS_ENDPOINT_URL"
_CODES = {  # error codes of S3, and of servers that speak its protocol
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "RequestExpired": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "AccessDenied": _REFUSED,
    "InvalidAccessKeyId": _UNKNOWN,
    "InvalidToken": _UNKNOWN,
    "SignatureDoesNotMatch": _UNKNOWN,
    "RequestTimeTooSkewed": _CLOCK,
    "NoSuchBucket": _BUCKET,
    "SlowDown": _BUSY,
    "TooManyRequests": _BUSY,
}
# Where obstore asks for credentials if the environment has none.
_METADATA = re.compile(r"//169\.254\.\d+\.\d+|/latest/api/token|//metadata\.google\.internal")
_NO_CREDENTIALS = (
    "no credentials in the environment; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
    "AWS_SKIP_SIGNATURE=true for public objects (profiles of ~/.aws are not read)"
)
_CERTIFICATE = (
    "the server's certificate is not trusted ({}); name its authority's certificate by "
    "SSL_CERT_FILE, or set AWS_ALLOW_INVALID_CERTIFICATES=true for tests of s3:// URLs"
)


class RefusedError(SourceError):
    """The server denies access; a signature may have expired."""


def asked(name: str, ask: Callable[[], Answer]) -> Answer:
    """The result of a call of obstore.

    Its errors become ours, and are neither cause nor context of them, since they show whole URLs.

    Raises:
        RefusedError: the server denies access.
        SourceError: there is no such object, or it cannot be read; the message says why.
        FormatError: it is empty, or ends before the range.
    """
    from obstore import exceptions

    try:
        return ask()
    except (OSError, ValueError, exceptions.BaseError) as error:
        failure = _failure(name, error)
    raise failure


def _failure(name: str, error: Exception) -> VideoError:
    """Convert an error of obstore, whose text has internals and secrets of URLs."""
    text, _, internals = str(error).partition("\n\nDebug source")
    answer = re.search(r"status code: (\d+)([^:]*)", text)  # without the response body
    status = answer[1] if answer else ""
    code = re.search(r"<Code>(\w+)</Code>", text)
    advice = _CODES.get(code[1]) if code else None
    if code and advice:
        if advice in (_EXPIRED, _UNKNOWN) and name.lower().startswith(_WEB):
            advice = _SIGN_AGAIN
        kind = SourceError if advice in (_BUSY, _CLOCK, _BUCKET) else RefusedError
        return kind(f"{name}: {advice} ({status} {code[1]})")
    if isinstance(error, FileNotFoundError):
        return SourceError(f"{name}: there is no such object (404)")
    if type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError"):
        return RefusedError(f"{name}: {_REFUSED}")
    if type(error).__name__ == "NotSupportedError":
        return SourceError(
            f"{name}: the server does not give parts of a file, which is how URLs are read; "
            "download it and pass its path"
        )
    if status == "416":
        return FormatError(f"{name}: the file is empty, or ends before what is read of it")
    if answer and status in ("429", "503"):
        return SourceError(f"{name}: {_BUSY} ({status}{answer[2]})")
    if _METADATA.search(text):
        return SourceError(f"{name}: {_NO_CREDENTIALS}")
    certificate = re.search(r"InvalidCertificate\(\s*(\w+)", internals)
    if certificate:
        return SourceError(f"{name}: {_CERTIFICATE.format(certificate[1])}")
    reason = f"the server answered {status}{answer[2]}" if answer else scrubbed(text, "")
    reason = reason.rpartition(" - ")[2].strip()
    if "kind: Connect" in internals:
        reason = f"no connection to the server ({reason})"
    elif "kind: Timeout" in internals:
        reason = f"the server does not answer in time ({reason})"
    return SourceError(f"{name}: cannot be read: {reason}")
