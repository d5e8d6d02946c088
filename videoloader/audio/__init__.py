"""Sample-exact reading of audio files and of the soundtracks of videos.

Start at `audio.py` (`Audio`). It reads `wav.py` or, for all other files, `stream.py` (FFmpeg), and
resamples with `resampling.py`. `mixing.py` makes samples of FFmpeg's frames, `seeking.py` says
where decoding may begin. `request.py` is a read that is sent to a worker process.

For `videoloader.dali`: `elements.py`, `request.py`, `resampling.py`.
"""

from videoloader.audio.audio import Audio

__all__ = ["Audio"]
