"""MPEG transport streams; `stream` has the way in."""
