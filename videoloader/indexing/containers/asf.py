"""ASF (WMV): FFmpeg's demuxer reads it; its header states the size of the file."""

from __future__ import annotations

from videoloader.indexing.containers.container import Container
from videoloader.sources.source import Source

_FIRST = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")  # the first object of a file
_FILE = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")  # the file properties object
_SIZE = 16 + 8 + 16  # offset of the file size in the file properties object
_HEAD = 1 << 16


def _end(source: Source) -> int:
    head = source.read_up_to(0, _HEAD)
    at = head.find(_FILE)
    return 0 if at < 0 else int.from_bytes(head[at + _SIZE : at + _SIZE + 8], "little")


ASF = Container(
    name="asf",
    endings=(".wmv",),
    begins=lambda head: head.startswith(_FIRST),
    stated_end=_end,
    times="decode",
)
