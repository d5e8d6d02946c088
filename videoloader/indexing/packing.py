"""Parses `VideoIndex.packing`, which says how packets are stored in a file."""

from __future__ import annotations

import re

from videoloader.errors import FormatError
from videoloader.indexing.containers.mpegts.pieces import Packing

__all__ = ["check_packing", "packing_prefix"]

_SIMPLE = re.compile("plain|demuxed|prefix:([0-9a-f]{2})+")


def packing_prefix(packing: str) -> bytes:
    """The prefix of every packet that is not stored in the file.

    >>> packing_prefix("plain").hex(), packing_prefix("prefix:000001").hex()
    ('', '000001')
    """
    return bytes.fromhex(packing.removeprefix("prefix:")) if packing.startswith("prefix:") else b""


def check_packing(packing: str) -> None:
    """Check that `packing` is valid.

    Raises:
        FormatError: it is not.
    """
    if not _SIMPLE.fullmatch(packing) and Packing.parse(packing) is None:
        raise FormatError(f"packets cannot be packed as {packing!r:.80}")
