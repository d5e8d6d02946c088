"""torchcodec's `VideoEncoder` on `write_video`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from videoloader.compat.runtime_errors import as_runtime_errors
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.writing.formats import CODECS, encoders_of, find_encoder, muxer_of
from videoloader.writing.write import write_video

__all__ = ["VideoEncoder"]

_CHANNELS = 3
_DEFAULT_CRF = {"libsvtav1": "35"}  # of others -1, which FFmpeg takes for the encoder's default


class VideoEncoder:
    """Writes frames to a video file in the format of its suffix, or in a given one.

    Frames on a GPU are encoded on the CPU.

    Args:
        frames: uint8 (N, 3, H, W), RGB.
        frame_rate: frames a second.

    Raises:
        ArgumentError: the tensor has another type or shape, or the rate is not positive.
    """

    def __init__(self, frames: torch.Tensor, *, frame_rate: float) -> None:
        if not isinstance(frames, torch.Tensor):
            raise ArgumentError(f"Expected frames to be a Tensor, got {type(frames)}.")
        if frames.ndim != 4:
            raise ArgumentError(f"Expected 4D frames, got {frames.shape}.")
        if frames.dtype != torch.uint8:
            raise ArgumentError(f"Expected uint8 frames, got {frames.dtype}.")
        if frame_rate <= 0:
            raise ArgumentError(f"frame_rate must be > 0, got {frame_rate}")
        self._frames = frames
        self._frame_rate = frame_rate

    def to_file(
        self,
        dest: str | os.PathLike[str],
        *,
        codec: str | None = None,
        pixel_format: str | None = None,
        crf: float | None = None,
        preset: str | int | None = None,
        extra_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a file; its suffix names the format: .mp4, .m4v, .mov, .mkv or .webm.

        Args:
            dest: path.
            codec: a codec of `write_video`, or FFmpeg's name of the encoder that it uses; H.264 by
                default, VP9 in WebM.
            pixel_format: FFmpeg's name; the encoder's first one by default.
            crf: constant rate factor; the encoder's by default, 23 for H.264.
            preset: of the encoder.
            extra_options: of the encoder.

        Raises:
            UnsupportedError: `write_video` has no such container or encoder.
            RuntimeError: the encoder does not take an argument. Both are `VideoError`.
        """
        with as_runtime_errors:
            if self._frames.shape[1] != _CHANNELS:
                raise ArgumentError(f"frames must have 3 channels (NCHW), got {self._frames.shape}")
            name = _codec_named(codec) or muxer_of(Path(dest)).codec
            encoder = find_encoder(name)
            options = {} if preset is None else {"preset": str(preset)}
            if encoder.quality is not None and crf is None:
                options[encoder.quality] = _DEFAULT_CRF.get(encoder.name, "-1")
            elif isinstance(crf, float):
                options["crf"] = str(crf)
            options |= {key: str(value) for key, value in (extra_options or {}).items()}
            write_video(
                self._frames,
                dest,
                codec=name,
                fps=self._frame_rate,
                quality=crf if isinstance(crf, int) else None,
                pixel_format=pixel_format or encoder.pixel_formats()[0],
                layout="FCHW",
                options=options,
            )

    def to_tensor(self, format: str, **options: Any) -> torch.Tensor:
        """The bytes of a file as a uint8 tensor; with the options of `to_file`.

        Args:
            format: `mp4`, `mov`, `mkv` or `webm`.
            **options: as for `to_file`.
        """
        return torch.frombuffer(bytearray(self._written(format, options)), dtype=torch.uint8)

    def to_file_like(self, file_like: Any, format: str, **options: Any) -> None:
        """Write to an object with `write`; format and options as for `to_tensor`."""
        file_like.write(self._written(format, options))

    def _written(self, form: str, options: dict[str, Any]) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"video.{form}"
            self.to_file(path, **options)
            return path.read_bytes()


def _codec_named(name: str | None) -> str | None:
    """The codec of `write_video` that has this name, or whose encoder has it."""
    if name is None or name in CODECS:
        return name
    for codec in CODECS:
        if name in [encoder.name for encoder in encoders_of(codec)]:
            if find_encoder(codec).name != name:
                raise UnsupportedError(f"{codec} is encoded by {find_encoder(codec).name} here")
            return codec
    raise UnsupportedError(f"the encoder {name!r} is not used; codec is one of {', '.join(CODECS)}")
