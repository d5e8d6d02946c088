"""Parses text lists: lines, exact numbers and paths, with limits on their lengths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fractions import Fraction

from videoloader.errors import SourceError
from videoloader.machinery.system.address import is_url, shown

_MOST_DIGITS = 64  # of a number; with many more, `int` fails and `Fraction` takes for ever
_MOST_EXPONENT = 2  # digits of the exponent
_NUMBER = re.compile(r"[+-]?[0-9][0-9_]*(?:[./][0-9_]*)?(?:[eE][+-]?[0-9_]+)?")
_LONGEST_NAME, _LONGEST_PATH = 255, 4095  # bytes that a file system takes
_SHOWN = 80  # characters of a wrong value in a message


def lines_of(text: bytes, name: str) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file that are not blank, stripped, and their numbers.

    Raises:
        SourceError: a line is no UTF-8.
    """
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        try:
            entry = line.decode().strip()
        except UnicodeDecodeError:
            # `from None`: the cause would show the line, which may hold secrets.
            raise SourceError(f"{shown(name)}, line {number}: is no UTF-8 text") from None
        if entry:
            yield number, entry


def exact_number(text: str) -> Fraction:
    """Parse a number such as `12`, `0.5`, `1e-3` or `30000/1001`.

    Raises:
        OverflowError: it has too many digits.
        ValueError: it is no number.
    """
    exponent = text.lower().partition("e")[2].lstrip("+-0")
    if len(text) > _MOST_DIGITS or len(exponent) > _MOST_EXPONENT:
        if _NUMBER.fullmatch(text):
            raise OverflowError(f"{text[:_SHOWN]!r} has too many digits")
        raise ValueError(f"{text[:_SHOWN]!r} is no number")
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise ValueError(f"{text!r} divides by zero") from error


def check_length(path: str, where: str) -> None:
    """Fail if a path of a list is longer than file systems take.

    Raises:
        SourceError: it is.
    """
    if len(path) <= _LONGEST_NAME // 4 or is_url(path):
        return
    data = os.fsencode(path)
    if len(data) > _LONGEST_PATH or max(map(len, data.split(b"/"))) > _LONGEST_NAME:
        raise SourceError(f"{where}: the name {shown(path[:_SHOWN])!r}... is too long for a file")
