"""Opens a source with FFmpeg's demuxers (PyAV), which get its bytes and not its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from videoloader.codecs.contexts import check_allowed, reason_of
from videoloader.errors import FormatError
from videoloader.machinery.system.faults import InterruptedReadError
from videoloader.sources.formats import CONFINED, HEAD, is_text, refuse_others, refuse_references
from videoloader.sources.source import Source

if TYPE_CHECKING:
    from av.container import InputContainer


@contextmanager
def open_container(
    source: Source, kind: str = "video file", options: Mapping[str, str] | None = None
) -> Iterator[InputContainer]:
    """Open the container in a source with FFmpeg.

    libav opens nothing by name, and does not get the name of the file: it would treat
    `%03d.jpg` as a pattern of image files and open them.

    Args:
        source: stays open; the file object that FFmpeg reads from is closed at the end.
        kind: what the file should be, for the message.
        options: options of FFmpeg, in addition to `CONFINED`.
    """
    check_allowed()
    import av

    head = source.read_up_to(0, HEAD)
    refuse_references(head)
    refuse_others(head)
    with source.file() as file:
        try:
            arguments = _arguments(CONFINED | dict(options or {}))
            container = av.open(_Nameless(file), mode="r", **arguments)
        except (av.error.FFmpegError, ValueError) as error:
            end = max(source.size - HEAD, 0)  # text in front of sound does not make a file text
            is_whole = is_text(head) and is_text(source.read_up_to(end, HEAD))
            reason = "it is text" if is_whole else reason_of(error)
            raise FormatError(f"no {kind} that FFmpeg opens ({reason})") from error
        except InterruptedReadError as error:
            raise error.interrupt from None
        with container:
            try:
                yield container
            except InterruptedReadError as error:
                raise error.interrupt from None


class _Nameless:
    """A file object for PyAV that hides the file name.

    PyAV calls `read` from within FFmpeg. When FFmpeg returns, it raises an `Exception` of `read`,
    but it drops an interrupt (`KeyboardInterrupt`) and takes it as the end of the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.seek = file.seek
        self.tell = file.tell
        self._read = file.read
        self._is_interrupted = False

    def read(self, size: int) -> bytes:
        if self._is_interrupted:
            return b""
        try:
            return self._read(size)
        except Exception:
            raise
        except BaseException as interrupt:  # noqa: BLE001  (`open_container` raises it)
            self._is_interrupted = True
            raise InterruptedReadError(interrupt) from None


def _arguments(options: dict[str, str]) -> dict[str, Any]:
    """The arguments of `av.open` that give these options to FFmpeg.

    PyAV before 17 frees memory that it does not own if codecs get options too and a stream begins
    in the middle of a file, as in MPEG-PS. So its options are for the container only; then the
    size of the file bounds what FFmpeg decodes while it probes streams, not `max_pixels`. Titles
    in an unknown encoding are ignored, as PyAV 19 does by itself.
    """
    import av

    version = int(av.__version__.partition(".")[0])
    arguments: dict[str, Any] = {"options" if version >= 17 else "container_options": options}
    return arguments | ({"metadata_errors": "ignore"} if version < 19 else {})
