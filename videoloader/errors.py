"""What can go wrong, in one tree.

::

    VideoError
    ├── SourceError        (OSError)      the bytes cannot be had: missing, a directory, unreadable
    ├── FormatError        (ValueError)   the bytes are not a video, or the container is damaged
    │   └── NoSoundError                  a file without a soundtrack is asked for its sound
    ├── UnsupportedError   (ValueError)   well formed, but outside what this library or machine does
    │   └── NoGpuError     (RuntimeError) a GPU is asked for, and this machine has none
    ├── StaleIndexError    (ValueError)   an index does not belong to the file beside it
    ├── FrameRangeError    (IndexError)   a frame that the video does not have
    ├── ArgumentError      (ValueError)   an argument that has no meaning
    │   ├── ArgumentTypeError (TypeError) an argument of a type that is not taken
    │   └── ArgumentIndexError (IndexError) a position outside what is indexed
    ├── DecodeError        (RuntimeError) a packet or frame that does not decode
    ├── OutOfMemoryError   (MemoryError)  a clip needs more memory than there is, or than it may use
    ├── ResourceError      (OSError)      the machine has no open file, process or memory left
    ├── ClosedError        (ValueError)   the decoder was closed by another thread meanwhile
    ├── TooManyFailuresError (RuntimeError) more samples failed than `max_errors` allows
    └── OperatorError      (RuntimeError) an operator failed on a sample of a batch
        └── OperatorArgumentError (ValueError) it does not take an argument or an input there

Each derives from the builtin that callers already know, so ``except OSError`` still works.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArgumentIndexError",
    "ArgumentTypeError",
    "ClosedError",
    "DecodeError",
    "FormatError",
    "FrameRangeError",
    "NoGpuError",
    "NoSoundError",
    "OperatorArgumentError",
    "OperatorError",
    "OutOfMemoryError",
    "ResourceError",
    "SourceError",
    "StaleIndexError",
    "TooManyFailuresError",
    "UnsupportedError",
    "VideoError",
]


class VideoError(Exception):
    """Every error of this library."""


class SourceError(VideoError, OSError):
    """The bytes cannot be had: no such file, a directory, no permission, a short read."""


class FormatError(VideoError, ValueError):
    """The bytes are no video, or their container is damaged beyond an exact index."""


class NoSoundError(FormatError):
    """A file is asked for its sound, and has none."""


class UnsupportedError(VideoError, ValueError):
    """Well formed, but something this library or this machine does not read or do."""


class NoGpuError(UnsupportedError, RuntimeError):
    """A GPU is asked for, and torch finds none on this machine."""


class StaleIndexError(VideoError, ValueError):
    """An index was made from another state of the file than the one at hand."""


class FrameRangeError(VideoError, IndexError):
    """A frame number or time outside the video, with nothing said about padding."""


class ArgumentError(VideoError, ValueError):
    """An argument, or a combination of arguments, without a meaning."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a type that is not taken there."""


class ArgumentIndexError(ArgumentError, IndexError):
    """A position outside what is indexed, such as a sample that a batch does not have."""


class DecodeError(VideoError, RuntimeError):
    """A packet or frame that does not decode."""


class OutOfMemoryError(VideoError, MemoryError):
    """A clip needs more memory than there is, or than a worker process may use."""


class ResourceError(VideoError, OSError):
    """The machine lacks what decoding needs: open files, processes, memory of the system.

    It says nothing of a video, so no `on_error` skips or replaces a sample for it.
    """


class ClosedError(VideoError, ValueError):
    """A decoder was closed while it was in use."""


class TooManyFailuresError(VideoError, RuntimeError):
    """More samples of a run failed than `max_errors` allows; names the last ones."""


class OperatorError(VideoError, RuntimeError):
    """An operator failed; names the operator and the sample, keeps the cause.

    Attributes:
        sample: the place of the sample in its batch; None if the whole batch failed.
    """

    sample: int | None = None


class OperatorArgumentError(OperatorError, ArgumentError):
    """An operator does not take an argument, or an input, of a sample: a layout, for one."""
