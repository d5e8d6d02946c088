"""Converts foreign exceptions to `VideoError`, so that a bad file fails only itself.

Libraries and the system raise various exceptions: an `OSError` of a demuxer, too many open files,
out of memory. Where a video is opened or decoded, these become a `VideoError` that names it, with
the original as its cause. Programming errors (`TypeError` and the like) are not converted.
"""

from __future__ import annotations

from videoloader.errors import (
    DecodeError,
    FormatError,
    OutOfMemoryError,
    SourceError,
    VideoError,
)
from videoloader.sources.address import scrubbed

__all__ = ["as_video_error", "blamed_on", "drop_frames", "is_mistake"]

_MISTAKES = (
    AssertionError,
    AttributeError,
    ImportError,
    NameError,
    NotImplementedError,
    SyntaxError,
    TypeError,
)


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
        if isinstance(error, Exception) and not isinstance(error, VideoError):
            if is_mistake(error):
                return
            raise as_video_error(error, self.name, self._kind) from error


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


def _is_memory(error: Exception) -> bool:
    """Whether memory ran out; torch raises a `RuntimeError` then."""
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "allocate memory" in text
    )
