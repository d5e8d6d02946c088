"""Terminal output: tables of videos, sheets of frames, and `videoloader top`."""
