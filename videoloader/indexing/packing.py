"""How packets lie in a file, by `VideoIndex.packing`."""

from __future__ import annotations

import re

from videoloader.errors import FormatError
from videoloader.indexing.mpegts.pieces import Packing

__all__ = ["check_packing", "packing_prefix"]

_SIMPLE = re.compile("plain|demuxed|prefix:([0-9a-f]{2})+")


def packing_prefix(packing: str) -> bytes:
    """What each packet begins with that was left out of the file.

    >>> packing_prefix("plain").hex(), packing_prefix("prefix:000001").hex()
    ('', '000001')
    """
    return bytes.fromhex(packing.removeprefix("prefix:")) if packing.startswith("prefix:") else b""


def check_packing(packing: str) -> None:
    """Make sure that this is one of the ways in which packets lie in a file.

    Raises:
        FormatError: it is not.
    """
    if not _SIMPLE.fullmatch(packing) and Packing.parse(packing) is None:
        raise FormatError(f"packets cannot be packed as {packing!r:.80}")
