"""Where FFmpeg reads or decodes otherwise in the versions of PyAV that are supported."""

import av

__all__ = ["IS_BEFORE_16", "IS_BEFORE_17"]

_VERSION = int(av.__version__.partition(".")[0])

IS_BEFORE_16 = _VERSION < 16
"""FFmpeg 7: where an MP4 table of times falls short, its last duration goes on; later it is 0."""

IS_BEFORE_17 = _VERSION < 17
"""FFmpeg 7 and 8.0: the last packet of a WAV that is cut inside a sample is dropped, 100 kB of
garbage before an MP3 are passed over, and ProRes has no range of colour. PyAV takes no limit of
the pictures that FFmpeg decodes while it opens a file."""
