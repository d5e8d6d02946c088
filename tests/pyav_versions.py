"""Where FFmpeg reads or decodes otherwise in the versions of PyAV that are supported."""

import av

__all__ = ["IS_BEFORE_16", "IS_BEFORE_17", "IS_BEFORE_18"]

_VERSION = int(av.__version__.partition(".")[0])

IS_BEFORE_16 = _VERSION < 16
"""FFmpeg 7: where an MP4 table of times falls short, its last duration goes on; later it is 0.
PyAV has no table of the packets of a stream, so compressed sound is decoded from the beginning."""

IS_BEFORE_17 = _VERSION < 17
"""FFmpeg 7 and 8.0: 100 kB of garbage before an MP3 are passed over, and ProRes has no range of
colour. PyAV takes no limit of the pictures that FFmpeg decodes while it opens a file."""

IS_BEFORE_18 = _VERSION < 18
"""FFmpeg up to 8.1.1: the last packet of a WAV that is cut inside a sample is dropped."""
