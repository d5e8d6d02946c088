"""The errors of the library, in one tree.

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
    """Every error of this library.

    >>> import videoloader as vl
    >>> try:
    ...     vl.Video("missing.mp4")
    ... except VideoError as error:
    ...     print(type(error).__name__, isinstance(error, OSError))
    SourceError True
    """


class SourceError(VideoError, OSError):
    """The bytes cannot be read: no such file, a directory, no permission, a short read.

    >>> import videoloader as vl
    >>> vl.Video("missing.mp4")
    Traceback (most recent call last):
    videoloader.errors.SourceError: missing.mp4: No such file or directory
    """


class FormatError(VideoError, ValueError):
    """The bytes are no video, or their container is damaged beyond an exact index.

    >>> import videoloader as vl
    >>> vl.Video(b"no video")
    Traceback (most recent call last):
    videoloader.errors.FormatError: <8 bytes>: no video file that FFmpeg opens (it is text)
    """


class NoSoundError(FormatError):
    """A file is asked for its sound, and has none.

    >>> import videoloader as vl
    >>> vl.Audio("silent.mp4")
    Traceback (most recent call last):
    videoloader.errors.NoSoundError: silent.mp4: there is no sound in it (streams: video)
    """


class UnsupportedError(VideoError, ValueError):
    """Well formed, but something this library or this machine does not read or do.

    >>> import videoloader as vl
    >>> vl.Video("ftp://host/clip.mp4")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.UnsupportedError: ftp://host/clip.mp4: ftp URLs are not read; ...
    """


class NoGpuError(UnsupportedError, RuntimeError):
    """A GPU is asked for, and torch finds none on this machine.

    >>> import torch
    >>> import videoloader as vl
    >>> try:
    ...     device = vl.Video("clip.mp4", device="cuda")[0].device.type
    ... except NoGpuError:
    ...     device = vl.Video("clip.mp4")[0].device.type
    >>> device == ("cuda" if torch.cuda.is_available() else "cpu")
    True
    """


class StaleIndexError(VideoError, ValueError):
    """An index was made from another state of the file than the one at hand.

    >>> import videoloader as vl
    >>> vl.Video("silent.mp4", index=vl.index_video("clip.mp4"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.StaleIndexError: silent.mp4: the file has changed since it was indexed: ...
    """


class FrameRangeError(VideoError, IndexError):
    """A frame number or time outside the video, with nothing said about padding.

    >>> import videoloader as vl
    >>> vl.Video("clip.mp4").get_frames([80, 90])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.FrameRangeError: clip.mp4: frame 90 requested, the video has 90 frames...
    """


class ArgumentError(VideoError, ValueError):
    """An argument, or a combination of arguments, without a meaning.

    >>> import videoloader as vl
    >>> vl.Video("clip.mp4").get_frames([0], pad_mode="mirror")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.ArgumentError: pad_mode must be one of none, edge, ..., got 'mirror'
    """


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a type that is not taken there.

    >>> import videoloader as vl
    >>> vl.Video("clip.mp4")["first"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.ArgumentTypeError: clip.mp4: video[...] takes ...
    """


class ArgumentIndexError(ArgumentError, IndexError):
    """A position outside what is indexed, such as a sample that a batch does not have.

    >>> import torch
    >>> from videoloader.dali.tensors import TensorList
    >>> TensorList([torch.zeros(2), torch.zeros(2)])[5]
    Traceback (most recent call last):
    videoloader.errors.ArgumentIndexError: sample 5 is out of range: the batch has 2
    """


class DecodeError(VideoError, RuntimeError):
    """A packet or frame that does not decode.

    >>> from pathlib import Path
    >>> import videoloader as vl
    >>> index, data = vl.index_video("clip.mp4"), bytearray(Path("clip.mp4").read_bytes())
    >>> offset, size = index.packets[40][["offset", "size"]]
    >>> data[offset : offset + size] = bytes(int(size))  # damage
    >>> vl.Video(bytes(data)).get_frames([40])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.DecodeError: <... bytes>: frame 40 does not decode: packet 40, ...
    """


class OutOfMemoryError(VideoError, MemoryError):
    """A clip needs more memory than there is, or than a worker process may use.

    >>> import videoloader as vl
    >>> vl.Video("clip.mp4").get_frames([0] * 20_000, size=(20_000, 20_000))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.OutOfMemoryError: clip.mp4: 20000 frames of 20000x20000 take 24000.0 GB, ...
    """


class ResourceError(VideoError, OSError):
    """The machine has no open files, processes or system memory left for decoding.

    It says nothing of a video, so no `on_error` skips or replaces a sample for it.

    >>> issubclass(ResourceError, OSError)
    True
    """


class ClosedError(VideoError, ValueError):
    """A video, decoder or loader is closed, or was closed while it was in use.

    >>> import videoloader as vl
    >>> video = vl.Video("clip.mp4")
    >>> video.close()
    >>> video[0]
    Traceback (most recent call last):
    videoloader.errors.ClosedError: clip.mp4: is closed
    """


class TooManyFailuresError(VideoError, RuntimeError):
    """More samples of a run failed than `max_errors` allows; names the last ones.

    >>> import videoloader as vl
    >>> options = {"batch_size": 1, "on_error": "skip", "max_errors": 0}
    >>> with vl.Loader(["missing.mp4", "clip.mp4"], vl.UniformClip(2), **options) as loader:
    ...     batches = list(loader)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.TooManyFailuresError: 1 of ... failed, more than max_errors=0 allows; ...
    """


class OperatorError(VideoError, RuntimeError):
    """An operator failed; names the operator and the sample, keeps the cause.

    Attributes:
        sample: the place of the sample in its batch; None if the whole batch failed.

    >>> from videoloader.dali import Pipeline, fn
    >>> with Pipeline(batch_size=2, num_threads=1) as pipe:
    ...     pipe.set_outputs(fn.python_function(fn.zeros(shape=[4]), function=lambda x: x / "2"))
    >>> with pipe:
    ...     pipe.run()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.OperatorError: fn.python_function ... failed on batch 0: ...
    """

    sample: int | None = None


class OperatorArgumentError(OperatorError, ArgumentError):
    """An operator does not take an argument, or an input, of a sample: a layout, for one.

    >>> from videoloader.dali import Pipeline, fn
    >>> with Pipeline(batch_size=2, num_threads=1) as pipe:
    ...     pipe.set_outputs(fn.crop(fn.zeros(shape=[4, 6, 3], layout="HWC"), crop=(8, 8)))
    >>> with pipe:
    ...     pipe.run()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    videoloader.errors.OperatorArgumentError: ... a window of 8 x 8 does not fit ...
    """
