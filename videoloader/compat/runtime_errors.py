"""Errors that are a `RuntimeError` too, as torchcodec and PyTorchVideo raise it.

Each is an error of this library as well, so that code for either catches it.
"""

from __future__ import annotations

from videoloader.errors import (
    ArgumentError,
    ArgumentTypeError,
    FormatError,
    FrameRangeError,
    SourceError,
    UnsupportedError,
)

__all__ = ["PlayedOutsideError", "TypeRuntimeError", "ValueRuntimeError", "as_runtime_errors"]


class ValueRuntimeError(ArgumentError, RuntimeError):
    """An argument without a meaning."""


class TypeRuntimeError(ArgumentTypeError, RuntimeError):
    """An argument of a type that is not taken."""


class PlayedOutsideError(FrameRangeError, RuntimeError):
    """A time at which no frame is shown."""


class FileRuntimeError(SourceError, RuntimeError):
    """The bytes of a video cannot be had."""


class FormatRuntimeError(FormatError, RuntimeError):
    """The bytes are no video, or the container is damaged."""


class UnsupportedRuntimeError(UnsupportedError, RuntimeError):
    """The video, or a way to decode it, is outside what this library or machine does."""


_KINDS: dict[type[Exception], type[Exception]] = {
    SourceError: FileRuntimeError,
    FormatError: FormatRuntimeError,
    UnsupportedError: UnsupportedRuntimeError,
    ArgumentError: ValueRuntimeError,
}


class as_runtime_errors:  # noqa: N801  (reads as a clause of `with`)
    """Raise errors about a file, or what is asked of it, as `RuntimeError` too."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None or isinstance(error, RuntimeError | TypeError):
            return
        for known, kind in _KINDS.items():
            if isinstance(error, known):
                raise kind(str(error)) from error
