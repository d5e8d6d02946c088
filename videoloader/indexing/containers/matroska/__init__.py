"""Matroska and WebM, indexed from the headers of their elements.

Start at `file.py` (`index_matroska`). It reads `segment.py` (tables) and `tracks.py`, then
`clusters.py`, which finds all blocks with `heads.py`; `blocks.py` parses them, `ebml.py` elements.
"""
