"""Blocks of remote files kept in a local folder, for epochs that read the same bytes again.

Switched on by the environment, so that processes that are started inherit it: VIDEOLOADER_BLOCKS is
the folder, VIDEOLOADER_BLOCKS_SIZE the bytes that it may take. A block is one of `KeptFiles`, named
by a digest of the URL, the state of the object and the number of the block.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from videoloader.machinery.system.kept_files import KeptFiles, as_bytes, as_folder
from videoloader.sources.source import Fingerprint

BLOCK = 1 << 17  # bytes; smaller ones cost more files, larger ones more bytes around a clip


def block_cache() -> BlockCache | None:
    """The cache that the environment names, if it names one.

    Raises:
        ArgumentError: VIDEOLOADER_BLOCKS is a file or the folder of another user, or
            VIDEOLOADER_BLOCKS_SIZE no number of bytes.
    """
    folder = os.environ.get("VIDEOLOADER_BLOCKS")
    return _cache(folder, os.environ.get("VIDEOLOADER_BLOCKS_SIZE", "50GB")) if folder else None


@lru_cache(maxsize=1)
def _cache(folder: str, size: str) -> BlockCache:
    path = as_folder("VIDEOLOADER_BLOCKS", folder)
    limit = as_bytes("VIDEOLOADER_BLOCKS_SIZE", int(size) if size.isdecimal() else size)
    return BlockCache(path, limit)


class BlockCache:
    """Blocks in a folder. Threads and processes may share it.

    Args:
        folder: need not be there.
        limit: bytes that the blocks may take, as for `KeptFiles`.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._kept = KeptFiles(folder, "block", limit, what="blocks of remote files", size=BLOCK)

    def read(
        self,
        url: str,
        state: Fingerprint,
        offset: int,
        size: int,
        request: Callable[[int, int], bytes],
    ) -> bytes:
        """Bytes of an object, from kept blocks or by one request of whole blocks.

        Args:
            url: of the object.
            state: of the object, with a time or etag.
            offset: of the first byte.
            size: at least 1, to the end of the object at most.
            request: gives the bytes of an (offset, size).
        """
        first, stop = offset // BLOCK, -(-(offset + size) // BLOCK)
        keys = [_key(url, state, number) for number in range(first, stop)]
        blocks = [self._read(key, state, first + at) for at, key in enumerate(keys)]
        missing = [at for at, block in enumerate(blocks) if block is None]
        if missing:
            begin, end = missing[0], missing[-1] + 1
            start = (first + begin) * BLOCK
            data = request(start, min((first + end) * BLOCK, state.size) - start)
            for at in range(begin, end):
                block = data[(at - begin) * BLOCK : (at - begin + 1) * BLOCK]
                if blocks[at] is None:
                    self._kept.write(keys[at], block)
                blocks[at] = block
        whole = b"".join(block for block in blocks if block is not None)
        return whole[offset - first * BLOCK :][:size]

    def _read(self, key: str, state: Fingerprint, number: int) -> bytes | None:
        """A block, if it is kept."""
        size = min(BLOCK, state.size - number * BLOCK)
        block = self._kept.read(key, most=size)
        if block is not None and len(block) < size:
            self._kept.discard(key)
            return None
        return block


def _key(url: str, state: Fingerprint, number: int) -> str:
    text = repr((url, state.size, state.etag or state.mtime_ns, number))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
