"""Errors of this library that are errors of other libraries too, for drop-ins."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from videoloader.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    FrameRangeError,
    SourceError,
    UnsupportedError,
)


class ValueRuntimeError(ArgumentError, RuntimeError):
    """An invalid argument."""


class TypeRuntimeError(ArgumentTypeError, RuntimeError):
    """An argument of the wrong type."""


class PlayedOutsideError(FrameRangeError, RuntimeError):
    """A time at which no frame is shown."""


class FileRuntimeError(SourceError, RuntimeError):
    """The bytes of a video cannot be read."""


class MissingFileError(FileRuntimeError, FileNotFoundError):
    """A file that does not exist; also a `FileNotFoundError`."""


class FormatRuntimeError(FormatError, RuntimeError):
    """The bytes are not a video, or the container is damaged."""


class UnsupportedRuntimeError(UnsupportedError, RuntimeError):
    """This library or this machine cannot decode the video as requested."""


class RaisedAs:
    """A `with` block that raises errors of this library as errors of another library.

    Args:
        kinds: the error raised in place of each error; the first that matches counts.
        kept: errors that pass as they are.
        words: what the other library has for arguments of this one, to replace in messages.
    """

    __slots__ = ("_kept", "_kinds", "_words")

    def __init__(
        self,
        kinds: dict[type[Exception], type[Exception]],
        *,
        kept: tuple[type[Exception], ...],
        words: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._kinds = kinds
        self._kept = kept
        self._words = words

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None or isinstance(error, self._kept):
            return
        for known, kind in self._kinds.items():
            if isinstance(error, known):
                if kind is FileRuntimeError and isinstance(error.__cause__, FileNotFoundError):
                    kind = MissingFileError
                text = str(error)
                for ours, theirs in self._words.items():
                    text = text.replace(ours, theirs)
                raise kind(text) from error


as_runtime_errors = RaisedAs(
    {
        SourceError: FileRuntimeError,
        FormatError: FormatRuntimeError,
        UnsupportedError: UnsupportedRuntimeError,
        ArgumentError: ValueRuntimeError,
    },
    kept=(RuntimeError, TypeError, FileNotFoundError),
)
