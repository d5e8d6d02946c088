"""Room for large blocks of memory: an error where the kernel would end the process.

The kernel gives a page with the first write to it. So a block can be allocated whose writing ends
this process; and blocks that were allocated and are not written yet are not in the kernel's count.
"""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from videoloader.errors import ResourceError
from videoloader.machinery.workers.processors import CONTROL_GROUP, machine_memory

_SMALL = 1 << 24  # bytes; smaller blocks are allocated unseen
_MEMINFO = Path("/proc/meminfo")
_libc = ctypes.CDLL(None)
_libc.mincore.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p


def check_room(size: int, promised: Sequence[tuple[int, int]]) -> None:
    """Fail if a fresh block of `size` bytes is more than the kernel can give.

    Args:
        size: bytes that will all be written.
        promised: address and bytes of blocks in use; what is not written of them yet is still to be
            given.

    Raises:
        ResourceError: there is no room.
    """
    if size < _SMALL:
        return
    available = available_memory()
    if size + sum(length for _, length in promised) <= available:
        return
    unwritten = sum(max(length - _resident(at, length), 0) for at, length in promised)
    if size > available - unwritten:
        begun = f", {unwritten / 1e9:.1f} GB of it for batches that are being decoded"
        raise ResourceError(
            f"a batch needs {size / 1e9:.1f} GB of memory, and {max(available, 0) / 1e9:.1f} GB of "
            f"{machine_memory() / 1e9:.1f} GB are free{begun * (unwritten > 0)}; use a smaller "
            "batch, fewer frames, a smaller size, or fewer batches ahead (prefetch)"
        )


def available_memory(root: Path = CONTROL_GROUP, meminfo: Path = _MEMINFO) -> int:
    """Bytes that can be written before the kernel ends a process: free, swapped out, or freed.

    The kernel frees pages of files that it keeps. In a control group, version 2 or 1, with a limit,
    at most what that leaves.
    """
    host = _numbers(meminfo, "MemAvailable:", "SwapFree:")
    if "MemAvailable:" not in host:
        return machine_memory()
    swap = host.get("SwapFree:", 0) << 10
    available = (host["MemAvailable:"] << 10) + swap
    for limit, used, prefix in (
        ("memory.max", "memory.current", ""),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_"),
    ):
        with suppress(OSError, ValueError):  # not there, or "max"
            free = int((root / limit).read_text()) - int((root / used).read_text())
            if free >= available:
                continue  # the next file takes the kernel longer
            kinds = (f"{prefix}{kind}_file" for kind in ("active", "inactive"))
            files = _numbers((root / limit).with_name("memory.stat"), *kinds)
            available = min(available, free + sum(files.values()) + swap)
    return available


def _numbers(file: Path, *names: str) -> dict[str, int]:
    """The number after each of these names in a file, where the name begins a line."""
    with suppress(OSError):
        text = "\n" + file.read_text()
        found = {name: re.search(rf"\n{name} +(\d+)", text) for name in names}
        return {name: int(match[1]) for name, match in found.items() if match}
    return {}


def _resident(address: int, size: int) -> int:
    """Bytes of some memory that have been written; all where the kernel does not tell."""
    page = mmap.PAGESIZE
    begin = address // page * page
    pages = np.empty(-(-(address + size - begin) // page), np.uint8)
    if _libc.mincore(begin, len(pages) * page, pages.ctypes.data):
        return size
    return int(np.count_nonzero(pages & 1)) * page
