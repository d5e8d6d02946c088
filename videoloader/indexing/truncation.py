"""Detects truncated files: the size stated in headers against the actual size."""

from __future__ import annotations

from videoloader.sources.source import Source

__all__ = ["asf_end", "past_the_end"]

_ASF = bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")  # its first object
_ASF_FILE = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")  # the file properties object
_ASF_SIZE = 16 + 8 + 16  # offset of the file size in the file properties object
_ASF_HEAD = 1 << 16


def past_the_end(source: Source, what: str, end: int) -> tuple[str, ...]:
    """A warning if `what` ends (`end`, exclusive) past the end of the file, otherwise none."""
    if end <= source.size:
        return ()
    return (
        f"{source.name}: truncated: {what} runs to byte {end}, but the file ends at "
        f"{source.size} ({end - source.size} bytes are missing)",
    )


def asf_end(source: Source) -> int:
    """End of an ASF file (WMV) by its header; 0 if that is unknown or the file is not ASF."""
    if source.read_up_to(0, len(_ASF)) != _ASF:
        return 0
    head = source.read_up_to(0, _ASF_HEAD)
    at = head.find(_ASF_FILE)
    return 0 if at < 0 else int.from_bytes(head[at + _ASF_SIZE : at + _ASF_SIZE + 8], "little")
