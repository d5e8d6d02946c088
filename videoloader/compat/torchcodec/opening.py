"""Sources of torchcodec's decoders and their headers."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from videoloader.compat.runtime_errors import ValueRuntimeError
from videoloader.errors import ArgumentTypeError, FormatError
from videoloader.indexing.libav import StreamHeader, read_stream_header
from videoloader.sources.opening import open_source


def as_source(source: Any) -> Any:
    """A source as a `Video` takes it.

    Raises:
        ArgumentTypeError: torchcodec takes no such source.
        ValueRuntimeError: a tensor of another type or shape.
    """
    if isinstance(source, torch.Tensor):
        if source.dtype != torch.uint8 or source.ndim != 1:
            raise ValueRuntimeError(
                f"the tensor of a file is uint8 with 1 dimension, got {source.dtype} with shape "
                f"{tuple(source.shape)}"
            )
        return source.cpu().contiguous().numpy().data
    if isinstance(source, io.TextIOBase):
        raise ArgumentTypeError(
            "source is for reading text, likely from open(..., 'r'). Try with 'rb' for binary "
            "reading?"
        )
    is_file = hasattr(source, "read") and hasattr(source, "seek")
    if not isinstance(source, str | os.PathLike | bytes) and not is_file:
        raise ArgumentTypeError(
            f"Unknown source type: {type(source)}. Supported types are str, Path, bytes, Tensor "
            "and files with read(size) and seek(offset, whence)"
        )
    return _ReadAndSeek(source) if is_file and not isinstance(source, io.IOBase) else source


class _ReadAndSeek:
    """A file with only `read(size)` and `seek(offset, whence)`."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.name = getattr(file, "name", f"<{type(file).__name__}>")
        self.read = file.read

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))


def read_header(source: Any, stream: int) -> StreamHeader:
    """The header of a stream of a source from `as_source`."""
    opened = open_source(source)
    try:
        return read_stream_header(opened, stream)
    finally:
        opened.close()


@contextmanager
def naming_stream(stream: int | None, kind: str) -> Iterator[None]:
    """Report a missing stream in torchcodec's words; `kind` as in "an audio"."""
    try:
        yield
    except FormatError as error:
        if stream is None or f"stream {stream} is no " not in str(error):
            raise
        raise FormatError(
            f"No valid stream found in input file: The stream index {stream} is not a valid stream "
            f"of its kind. The stream at index {stream} is not {kind} stream. ({error})"
        ) from error
