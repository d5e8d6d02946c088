"""`Mixer`: decoded frames as arrays of samples, mixed to the wanted channels by FFmpeg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.contexts import reason_of
from videoloader.errors import UnsupportedError

if TYPE_CHECKING:
    import av

# PyAV counts the planes of a frame up to the first null pointer. FFmpeg keeps 8 pointers without a
# terminating null, so PyAV reads beyond them for 8 or more planes, and crashes.
_PLANES = 7

_MIXED = "flt"  # interleaved, so that any number of channels is one plane

_LAYOUTS = {1: "mono", 2: "stereo", 3: "2.1", 4: "4.0", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"}


class Mixer:
    """Makes samples (channels, n) of the frames of a stream. Not thread-safe.

    Args:
        frame: the first of the stream.
        num_channels: to mix to; those of the frame by default.
        is_bounded: scale the mix down if it could exceed -1 to 1.

    Raises:
        UnsupportedError: FFmpeg does not mix to so many channels.
    """

    def __init__(self, frame: av.AudioFrame, num_channels: int | None, *, is_bounded: bool) -> None:
        import av

        given, rate = frame.layout.nb_channels, frame.sample_rate
        self.num_channels = num_channels or given
        self._gain = 1.0
        self._resampler: av.AudioResampler | None = None
        layout: Any = frame.layout
        if self.num_channels != given:
            layout = _LAYOUTS.get(self.num_channels)
            if layout is None:
                raise UnsupportedError(
                    f"num_channels must be 1 to {max(_LAYOUTS)}, or {given} as "
                    f"the stream has, got {self.num_channels}"
                )
            try:
                gain = _find_gain(frame, layout)
            except av.error.FFmpegError as error:
                raise UnsupportedError(
                    f"FFmpeg does not mix {frame.layout.name} to {layout} ({reason_of(error)})"
                ) from error
            self._gain = gain if is_bounded else 1.0
            self._resampler = av.AudioResampler(format=_MIXED, layout=layout, rate=rate)
        elif frame.format.is_planar and given > _PLANES:
            packed = frame.format.packed.name
            self._resampler = av.AudioResampler(format=packed, layout=layout, rate=rate)

    def samples(self, frame: av.AudioFrame) -> NDArray[Any]:
        """(channels, n) of a frame, in the codec's own element type unless it is mixed."""
        if self._resampler is not None:
            frame.pts = None
            (frame,) = self._resampler.resample(frame)
        values = frame.to_ndarray()
        if self._gain != 1:
            values *= np.float32(self._gain)
        return values if frame.format.is_planar else values.reshape(-1, self.num_channels).T

    def close(self) -> None:
        """Let go of the resampler and its threads."""
        self._resampler = None


def _find_gain(frame: av.AudioFrame, layout: str) -> float:
    """The gain that keeps the mix between -1 and 1; FFmpeg's weights may sum to more."""
    import av

    values = np.ones((1, frame.layout.nb_channels * 16), np.float32)
    ones = av.AudioFrame.from_ndarray(values, "flt", frame.layout)
    ones.sample_rate = frame.sample_rate
    mixer = av.AudioResampler(format=_MIXED, layout=layout, rate=frame.sample_rate)
    (mixed,) = mixer.resample(ones)
    return 1 / max(1.0, float(mixed.to_ndarray().max()))
