"""Sample-exact reading of audio files and of the soundtracks of videos."""

from videoloader.audio.audio import Audio

__all__ = ["Audio"]
