"""Indexes MPEG transport streams; the entry point is in `stream`."""
