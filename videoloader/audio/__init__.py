"""Sound: the samples of an audio file or of the soundtrack of a video, exact to the sample."""

from videoloader.audio.audio import Audio

__all__ = ["Audio"]
