"""Parsers of containers: one module or folder each, no demuxer.

Start at `container.py` (`Container`), then `registry.py` (`CONTAINERS`), which tries them in order.
A parser gives None for a file that FFmpeg's demuxer has to read. Where to begin in the folders:
`mp4/movie.py`, `matroska/file.py`, `mpegts/stream.py`.
"""
