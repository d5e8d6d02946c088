"""Where the values of an LMDB database lie in its file.

The file is a B+ tree of pages. Two meta pages stand in front, of which the one with the later
transaction tells the root. A branch page has the number of a child page in each node; a leaf page
has keys with their values, or the page where a large value begins.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, FormatError, UnsupportedError
from videoloader.machinery.system.address import is_url
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source

_HEADER = struct.Struct(
    "<QHHHH"
)  # number, padding, kind, end of the node table, begin of the nodes
_META = struct.Struct("<IIQQ")  # magic, version, address, size of the map
_TREE = struct.Struct("<IHHQQQQQ")  # page size, kind, depth, pages (3), entries, root
_NODE = struct.Struct("<HHHH")  # size or page (low, high), kind or page, size of the key
_MAGIC, _VERSION = 0xBEEFC0DE, 1
_BRANCH, _LEAF = 1, 2
_ELSEWHERE, _NESTED = 1, 6  # kinds of a node: a large value; trees and duplicates
_NO_ROOT = (1 << 64) - 1
_MOST_DEPTH = 32


class _Tree(NamedTuple):
    page_size: int
    root: int
    entries: int


def data_file(path: str) -> str:
    """The file of a database, which is named by its folder or as a file."""
    return os.path.join(path, "data.mdb") if not is_url(path) and os.path.isdir(path) else path


def find_values(path: str) -> tuple[list[bytes], NDArray[np.int64]]:
    """The keys of a database in order, and where their values lie: (offset, size), (N, 2).

    Raises:
        SourceError: the file cannot be read.
        FormatError: it is no LMDB file, or damaged.
        UnsupportedError: it has several values for a key, or databases inside.
    """
    keys: list[bytes] = []
    places: list[tuple[int, int]] = []
    with open_source(path) as source:
        tree = max(_metas(source), default=None)
        if tree is None:
            raise FormatError(f"{source.name}: no LMDB file")
        _, found = tree
        if found.root != _NO_ROOT:
            _walk(source, found, found.root, keys, places)
        if len(keys) != found.entries:
            raise FormatError(
                f"{source.name}: {len(keys)} values found, {found.entries} expected; the file is "
                "damaged"
            )
    if not keys:
        raise ArgumentError(f"{path}: the database is empty")
    return keys, np.array(places, dtype=np.int64)


def _metas(source: Source) -> list[tuple[int, _Tree]]:
    """(transaction, tree) of the meta pages, the second of which lies a page behind the first."""
    found: list[tuple[int, _Tree]] = []
    at = 0
    for _ in range(2):
        data = source.read_up_to(at, 16 + _META.size + 2 * _TREE.size + 16)
        if len(data) < 16 + _META.size + 2 * _TREE.size + 16:
            break
        magic, version, _, _ = _META.unpack_from(data, 16)
        if magic != _MAGIC or version != _VERSION:
            break
        page_size = _TREE.unpack_from(data, 16 + _META.size)[0]
        main = _TREE.unpack_from(data, 16 + _META.size + _TREE.size)
        (transaction,) = struct.unpack_from("<Q", data, 16 + _META.size + 2 * _TREE.size + 8)
        if not 256 <= page_size <= 1 << 16:
            break
        if main[1]:
            raise UnsupportedError(
                f"{source.name}: a database with several values for a key, or reversed keys"
            )
        found.append((transaction, _Tree(page_size, main[7], main[6])))
        at = page_size
    return found


def _walk(
    source: Source, tree: _Tree, root: int, keys: list[bytes], places: list[tuple[int, int]]
) -> None:
    """Append the keys of a tree and the places of their values, in order."""
    seen = 0
    waiting = [(root, 0)]
    while waiting:
        number, depth = waiting.pop()
        seen += 1
        if depth > _MOST_DEPTH or seen * tree.page_size > source.size:
            raise FormatError(f"{source.name}: pages that lead to one another; it is damaged")
        start = number * tree.page_size
        page = source.read(start, tree.page_size)
        _, _, kind, table_end, _ = _HEADER.unpack_from(page)
        count = (table_end - _HEADER.size) // 2
        if not 0 <= count <= (tree.page_size - _HEADER.size) // 2:
            raise FormatError(f"{source.name}: a damaged page at byte {start}")
        nodes = struct.unpack_from(f"<{count}H", page, _HEADER.size)
        if kind & _LEAF:
            for node in nodes:
                _leaf(source, tree, page, start, node, keys, places)
        elif kind & _BRANCH:
            waiting += [(_child(source, page, node), depth + 1) for node in reversed(nodes)]
        else:
            raise FormatError(f"{source.name}: a page of kind {kind} at byte {start}")


def _child(source: Source, page: bytes, node: int) -> int:
    if node + _NODE.size > len(page):
        raise FormatError(f"{source.name}: a damaged branch page")
    low, high, higher, _ = _NODE.unpack_from(page, node)
    return int(low | high << 16 | higher << 32)


def _leaf(
    source: Source,
    tree: _Tree,
    page: bytes,
    start: int,
    node: int,
    keys: list[bytes],
    places: list[tuple[int, int]],
) -> None:
    if node + _NODE.size > len(page):
        raise FormatError(f"{source.name}: a damaged page at byte {start}")
    low, high, kind, key_size = _NODE.unpack_from(page, node)
    size, at = low | high << 16, node + _NODE.size + key_size
    if kind & _NESTED:
        raise UnsupportedError(f"{source.name}: a database inside, or several values for a key")
    if kind & _ELSEWHERE and at + 8 <= len(page):
        (number,) = struct.unpack_from("<Q", page, at)
        offset = number * tree.page_size + _HEADER.size
    else:
        offset = start + at
    if at > len(page) or offset + size > source.size:
        raise FormatError(f"{source.name}: a value that lies behind the end of the file")
    keys.append(page[node + _NODE.size : at])
    places.append((offset, size))
