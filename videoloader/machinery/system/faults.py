"""Converts foreign exceptions to `VideoError`, so that a bad file fails only itself.

Libraries and the system raise various exceptions: an `OSError` of a demuxer, too many open files,
out of memory. Where a video is opened or decoded, these become a `VideoError` that names it, with
the original as its cause. Programming errors (`TypeError` and the like) are not converted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, TypeVar

from videoloader.errors import (
    DecodeError,
    FormatError,
    OutOfMemoryError,
    ResourceError,
    SourceError,
    VideoError,
)
from videoloader.machinery.system.address import is_url, scrubbed, shown

T = TypeVar("T")

_MISTAKES = (
    AssertionError,
    AttributeError,
    ImportError,
    NameError,
    NotImplementedError,
    SyntaxError,
    TypeError,
)


class InterruptedReadError(Exception):
    """Carries an interrupt (`KeyboardInterrupt`) through a library that only hands on `Exception`.

    `blamed_on` raises the interrupt itself again.
    """

    def __init__(self, interrupt: BaseException) -> None:
        super().__init__(repr(interrupt))
        self.interrupt = interrupt


def is_mistake(error: BaseException) -> bool:
    """Whether an error is about the program or the whole GPU, not about one video.

    >>> is_mistake(TypeError()), is_mistake(KeyboardInterrupt()), is_mistake(OSError())
    (True, True, False)
    """
    if isinstance(error, VideoError):
        return False
    if not isinstance(error, Exception) or isinstance(error, _MISTAKES):
        return True
    # After a CUDA error the GPU context is unusable; after an out-of-memory error it is not.
    is_cuda = isinstance(error, RuntimeError) and "CUDA" in f"{type(error).__name__} {error}"
    return is_cuda and not _is_memory(error)


def as_video_error(
    error: Exception, name: object, kind: type[VideoError] = DecodeError
) -> VideoError:
    """Convert an exception to a `VideoError`.

    Args:
        error: returned unchanged if it is a `VideoError`.
        name: of the video, for the message.
        kind: class for errors that are neither about memory nor about reading.
    """
    lack = _lack(error)
    if lack:
        return error if isinstance(error, ResourceError) else ResourceError(f"{name}: {lack}")
    if isinstance(error, VideoError):
        return error
    text = scrubbed(f"{type(error).__name__}: {error}".removesuffix(": "), str(name))
    if _is_memory(error):
        return OutOfMemoryError(f"{name}: not enough memory ({text})")
    if isinstance(error, OSError | EOFError) and not type(error).__module__.startswith("av."):
        return SourceError(f"{name}: cannot be read ({text})")
    if issubclass(kind, FormatError):
        return kind(f"{name}: damaged ({text})")
    return kind(f"{name}: {text}")


def unreadable(place: str, error: Exception, task: str = "read") -> VideoError:
    """The error for a list, table or folder on this machine that cannot be opened.

    Raise it `from None`: if `place` is a URL, the text of the original shows its secrets.
    """
    lack = _lack(error)
    if lack:
        return ResourceError(f"{shown(place)}: {lack}")
    if task == "read" and isinstance(error, FileNotFoundError) and not is_url(place):
        return SourceError(f"{shown(place)}: no such file")
    if is_url(place):
        reason = "it is a URL; download it and pass its path"
    else:
        reason = getattr(error, "strerror", None) or scrubbed(str(error), place)
    return SourceError(f"{shown(place)}: cannot be {task} ({reason})")


class blamed_on:  # noqa: N801  (reads as a clause of `with`)
    """Convert exceptions in the block with `as_video_error`, except programming errors.

    >>> with blamed_on("clip.mp4"):
    ...     raise OverflowError("too large")
    Traceback (most recent call last):
    ...
    videoloader.errors.DecodeError: clip.mp4: OverflowError: too large
    """

    __slots__ = ("_kind", "name")

    def __init__(self, name: object, kind: type[VideoError] = DecodeError) -> None:
        self.name = name
        self._kind = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, InterruptedReadError):
            raise error.interrupt from None
        if isinstance(error, Exception) and not is_mistake(error):
            ours = as_video_error(error, self.name, self._kind)
            if ours is not error:
                raise ours from error


def tried(name: object, make: Callable[..., T], *arguments: Any) -> T | VideoError:
    """The result of a call, or its error as `blamed_on` would raise it.

    >>> tried("clip.mp4", int, "many")
    DecodeError("clip.mp4: ValueError: invalid literal for int() with base 10: 'many'")
    """
    try:
        return make(*arguments)
    except Exception as error:
        if isinstance(error, InterruptedReadError):
            raise error.interrupt from None
        if is_mistake(error):
            raise
        ours = as_video_error(error, name)
        if ours is not error:
            ours.__cause__ = error
        return ours


def raise_shortage(error: BaseException, name: object) -> None:
    """Raise a `ResourceError` if an error is or was caused by a lack of resources.

    Call this before recording an error as a fault of a video.
    """
    if isinstance(error, ResourceError):
        raise error
    if isinstance(error, Exception) and _lack(error):
        raise as_video_error(error, name) from error


def raise_too_large(error: Exception, name: object) -> None:
    """Raise an `OutOfMemoryError` if a library could not allocate memory."""
    if not isinstance(error, VideoError) and _is_memory(error):
        raise OutOfMemoryError(f"{name}: not enough memory ({_first_line(error)})") from error


def drop_frames(error: BaseException) -> None:
    """Clear the stack frames in the tracebacks of an error and its causes.

    For errors that are stored: a stack frame of the decoder keeps its whole batch in memory.
    """
    todo: list[BaseException | None] = [error]
    done: set[int] = set()
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in done:
            done.add(id(each))
            each.__traceback__ = None
            todo += [each.__cause__, each.__context__]


_TOO_LARGE = (  # of torch, then NumPy, then OpenCV
    "storage size calculation overflowed",
    "integer multiplication overflow",
    "cannot be represented as a symint",
    "overflow when unpacking long",
    "array is too big",
    "maximum allowed dimension exceeded",
    "insufficient memory",
)
_FILES = "no open file is left ({}); raise the limit (ulimit -n), or open fewer files at a time"
_LACKS = {
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOMEM: "the system has no memory left ({}); use smaller batches, or fewer workers",
}


def _lack(error: BaseException | None) -> str:
    """The resource whose lack caused an error; empty if none did."""
    while error is not None:
        if isinstance(error, ResourceError):
            return str(error)
        number = error.errno if isinstance(error, OSError) else None
        # FFmpeg reports a lack of memory if a damaged file asks for too much.
        is_of_file = number == errno.ENOMEM and type(error).__module__.startswith("av.")
        if number in _LACKS and not is_of_file:
            return _LACKS[number].format(os.strerror(number))
        text = str(error)
        if "os error 24" in text or "os error 23" in text:  # of a library in Rust
            return _FILES.format("Too many open files")
        if isinstance(error, RuntimeError) and "can't start new thread" in text:
            return "no thread can be started; raise the limit (ulimit -u), or use fewer workers"
        if isinstance(error, RuntimeError) and "torch_" in text and "No space left" in text:
            return "the shared memory (/dev/shm) is full; enlarge it, or use fewer workers"
        if isinstance(error, RuntimeError) and "torch_" in text and "Too many open files" in text:
            return _FILES.format("Too many open files")
        error = error.__cause__
    return ""


def _is_memory(error: Exception) -> bool:
    """Whether memory ran out; torch raises a `RuntimeError` then.

    Where the bytes do not fit into an integer, the libraries raise various errors.
    """
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    if isinstance(error, RuntimeError) and ("out of memory" in text or "allocate memory" in text):
        return True
    return any(part in text for part in _TOO_LARGE)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
