"""torchcodec.encoders: `AudioEncoder`, `VideoEncoder`, others from the installed torchcodec."""

from __future__ import annotations

import io
import os
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import torch

from videoloader.compat.runtime_errors import ValueRuntimeError
from videoloader.compat.torchcodec import installed
from videoloader.compat.torchcodec.video_encoder import VideoEncoder
from videoloader.errors import ArgumentError

if TYPE_CHECKING:
    import av
    from av.container import OutputContainer

__all__ = ["AudioEncoder", "VideoEncoder"]

_CHUNK = 1 << 16  # samples a frame, before the encoder divides it


class AudioEncoder:
    """Writes samples to an audio file in the format of its suffix, or in a given one.

    Args:
        samples: float32 (channels, n) or (n,), from -1 to 1.
        sample_rate: samples a second.

    Raises:
        ArgumentError: the tensor has another type or shape, or the rate is not positive.
    """

    def __init__(self, samples: torch.Tensor, *, sample_rate: int) -> None:
        if not isinstance(samples, torch.Tensor):
            raise ArgumentError(f"Expected samples to be a Tensor, got {type(samples)}.")
        if samples.ndim not in (1, 2):
            raise ArgumentError(f"Expected 1D or 2D samples, got {samples.shape}.")
        if samples.dtype != torch.float32:
            raise ArgumentError(f"Expected float32 samples, got {samples.dtype}.")
        if sample_rate <= 0:
            raise ArgumentError(f"sample_rate must be > 0, got {sample_rate}")
        self._samples = samples if samples.ndim == 2 else samples[None]
        self._sample_rate = sample_rate

    def to_file(
        self,
        dest: str | os.PathLike[str],
        *,
        bit_rate: int | None = None,
        num_channels: int | None = None,
        sample_rate: int | None = None,
    ) -> None:
        """Write a file; its suffix names the format.

        Args:
            dest: path.
            bit_rate: bits a second; FFmpeg's choice by default.
            num_channels: mix to this number; that of the samples by default.
            sample_rate: resample to this rate; that of the samples by default.

        Raises:
            ValueRuntimeError: FFmpeg lacks the format, or cannot encode such samples in it.
        """
        self._write(os.fspath(dest), None, bit_rate, num_channels, sample_rate)

    def to_tensor(
        self,
        format: str,
        *,
        bit_rate: int | None = None,
        num_channels: int | None = None,
        sample_rate: int | None = None,
    ) -> torch.Tensor:
        """The bytes of a file as a uint8 tensor; arguments as for `to_file`."""
        buffer = io.BytesIO()
        self._write(buffer, format, bit_rate, num_channels, sample_rate)
        return torch.frombuffer(buffer.getbuffer(), dtype=torch.uint8)

    def to_file_like(
        self,
        file_like: Any,
        format: str,
        *,
        bit_rate: int | None = None,
        num_channels: int | None = None,
        sample_rate: int | None = None,
    ) -> None:
        """Write to an object with `write` and `seek`; arguments as for `to_file`."""
        self._write(file_like, format, bit_rate, num_channels, sample_rate)

    def _write(
        self,
        target: Any,
        form: str | None,
        bit_rate: int | None,
        num_channels: int | None,
        sample_rate: int | None,
    ) -> None:
        import av

        channels = len(self._samples) if num_channels is None else num_channels
        rate = self._sample_rate if sample_rate is None else sample_rate
        if channels < 1 or rate < 1:
            raise ValueRuntimeError(
                f"num_channels and sample_rate must be > 0, got {channels} and {rate}"
            )
        try:
            with av.open(target, "w", format=form) as container:
                self._encode(container, channels, rate, bit_rate)
        except (av.error.FFmpegError, ValueError) as error:
            raise ValueRuntimeError(
                f"FFmpeg does not write {channels} channels at {rate} Hz as "
                f"{form or target!r}: {error}"
            ) from error

    def _encode(
        self, container: OutputContainer, channels: int, rate: int, bit_rate: int | None
    ) -> None:
        import av

        # FFmpeg calls the default layout of n channels "nc".
        stream = container.add_stream(
            container.default_audio_codec, rate=rate, layout=f"{channels}c"
        )
        assert isinstance(stream, av.AudioStream)
        formats = [each.name for each in stream.codec_context.codec.audio_formats or ()]
        stream.codec_context.format = "fltp" if "fltp" in formats else (formats or ["s16"])[0]
        if bit_rate is not None:
            stream.bit_rate = bit_rate
        for start in range(0, self._samples.shape[1], _CHUNK):
            container.mux(stream.encode(self._frame(start)))
        container.mux(stream.encode(None))

    def _frame(self, start: int) -> av.AudioFrame:
        """At most `_CHUNK` samples from `start` on."""
        import av

        part = self._samples[:, start : start + _CHUNK].cpu().contiguous().numpy()
        frame = av.AudioFrame.from_ndarray(part, "fltp", f"{len(part)}c")
        frame.sample_rate, frame.pts = self._sample_rate, start
        frame.time_base = Fraction(1, self._sample_rate)
        return frame


def __getattr__(name: str) -> Any:
    return installed.find_name(name, "encoders")
