"""Where FFmpeg decodes otherwise in the versions of PyAV that are supported."""

import av

__all__ = ["IS_BEFORE_17"]

IS_BEFORE_17 = int(av.__version__.partition(".")[0]) < 17
"""FFmpeg 7 and 8.0: the last packet of a WAV that is cut inside a sample is dropped, and 100 kB of
garbage before an MP3 are passed over."""
