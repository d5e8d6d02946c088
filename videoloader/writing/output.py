"""`VideoOutput`: a video file that is being encoded, with its sound."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from videoloader.errors import ArgumentError, UnsupportedError, VideoError
from videoloader.machinery.system.scheduling import kept_scheduling
from videoloader.writing.encoding import Encoding
from videoloader.writing.formats import CODECS, Muxer, muxer_of
from videoloader.writing.pictures import Form
from videoloader.writing.sound import Sound

if TYPE_CHECKING:
    from av import VideoFrame


class VideoOutput:
    """An encoded file in the making. Frames come in presentation order. Not for sharing.

    Use it in a `with` block; the end of the block completes the file.

    Args:
        path: of the file that is written.
        target: final name, for its suffix and for messages.
        encoding: how to encode.
        form: of the pictures.
        time_base: seconds a tick of the times of frames.
        rate: frames a second on average, by which encoders distribute bits.
        sound: to write beside; its packets are written as the pictures advance.
        pixel_aspect: width to height of a pixel.

    Raises:
        ArgumentError, UnsupportedError: the codec, form or container is not available.
    """

    def __init__(
        self,
        path: Path,
        target: Path,
        encoding: Encoding,
        form: Form,
        *,
        time_base: Fraction,
        rate: Fraction,
        sound: Sound | None = None,
        pixel_aspect: Fraction | None = None,
    ) -> None:
        import av

        muxer = muxer_of(target)
        if not muxer.takes(encoding.codec):
            known = ", ".join(codec for codec in CODECS if muxer.takes(codec))
            raise UnsupportedError(
                f"{target}: {muxer.suffixes[0]} does not take {encoding.codec}; it takes {known}"
            )
        encoder = encoding.encoder(is_rgb=form.is_rgb)
        formats = encoder.pixel_formats(is_rgb=form.is_rgb)
        if form.pixel_format not in formats:
            raise UnsupportedError(
                f"{target}: {encoder.name} takes no {form.pixel_format}; it takes "
                f"{', '.join(formats)}"
            )
        layout = av.VideoFormat(form.pixel_format, form.width, form.height)
        halved = (64 // layout.chroma_width(64), 64 // layout.chroma_height(64))
        is_odd = form.width % halved[0] or form.height % halved[1]
        if is_odd and not encoder.odd_sides:
            raise ArgumentError(
                f"{target}: {encoding.codec} codes {form.pixel_format} with even sides only, the "
                f"pictures are {form.width}x{form.height}; crop or resize them, pass "
                'pixel_format="yuv444p", or choose codec="vp9"'
            )
        self._target = target
        self._time_base = time_base
        self._durations: dict[int, int] = {}
        self._last: int | None = None
        self._stack = ExitStack()
        self._sound = sound
        try:
            with muxing(target):
                self._open(path, muxer, encoding, form, rate)
                context = self._stream.codec_context
                if pixel_aspect:
                    context.sample_aspect_ratio = pixel_aspect
                if encoder.tag and muxer.has_edit_lists:
                    context.codec_tag = encoder.tag
                context.open()
                unknown = encoding.options.keys() & context.options.keys()
                if unknown:
                    raise ArgumentError(
                        f"{target}: {encoder.name} has no option {', '.join(sorted(unknown))}"
                    )
                if sound is not None:
                    sound.attach(self._container, muxer)
        except BaseException:
            self._give_up()
            raise

    def _open(
        self, path: Path, muxer: Muxer, encoding: Encoding, form: Form, rate: Fraction
    ) -> None:
        import av

        self._stack.enter_context(kept_scheduling())
        options = {"fflags": "+bitexact", **muxer.options}
        container = av.open(str(path), "w", format=muxer.name, container_options=options)
        self._container = self._stack.enter_context(container)
        # The banner of SVT-AV1 goes to stderr; only the environment disables it.
        os.environ.setdefault("SVT_LOG", "1")
        encoder = encoding.encoder(is_rgb=form.is_rgb)
        name = encoder.name_for(is_rgb=form.is_rgb)
        settings = encoding.settings(encoder)
        self._stream: Any = container.add_stream(name, rate=rate, options=settings)
        form.tag(self._stream.codec_context)
        self._stream.codec_context.time_base = self._time_base

    def add(self, frame: VideoFrame, ticks: int, duration: int) -> None:
        """Encode the next frame.

        Args:
            frame: of the form that was announced.
            ticks: when it is shown, after the frame before.
            duration: ticks that it is shown.

        Raises:
            ArgumentError: it is not shown after the frame before.
        """
        from av.video.frame import PictureType

        if self._last is not None and ticks <= self._last:
            raise ArgumentError(
                f"{self._target}: a frame at {float(ticks * self._time_base)} s follows one at "
                f"{float(self._last * self._time_base)} s; times must ascend"
            )
        self._last = ticks
        frame.pts, frame.time_base = ticks, self._time_base
        frame.pict_type = PictureType.NONE  # that of a decoded frame would be known over
        self._durations[ticks] = duration
        with muxing(self._target):
            if self._sound is not None:
                self._sound.write_until(ticks * self._time_base)
            self._mux(frame)

    def _mux(self, frame: VideoFrame | None) -> None:
        for packet in self._stream.encode(frame):
            if packet.pts is not None:
                packet.duration = self._durations.pop(packet.pts, packet.duration)
            self._container.mux(packet)

    def _give_up(self) -> None:
        """Close all that is open, ignoring errors, since the file is not needed."""
        with suppress(Exception):
            self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._give_up()
            return
        try:
            with muxing(self._target):
                self._mux(None)
                if self._sound is not None:
                    self._sound.write_until(None)
                self._stack.close()
        except BaseException:
            self._give_up()
            raise


@contextmanager
def muxing(target: Path) -> Iterator[None]:
    """Convert errors of FFmpeg to errors that name the file, but not errors of the system."""
    import av

    try:
        yield
    except VideoError:
        raise
    except (av.error.FFmpegError, ValueError) as error:
        if isinstance(error, OSError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise UnsupportedError(f"{target}: FFmpeg does not write this file ({reason})") from error
