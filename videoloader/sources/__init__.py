"""Bytes of videos: local files, memory, file objects, URLs, members of archives.

Start at `source.py` (`Source`): random access to bytes, and `Fingerprint`, the state of a file.
`opening.py` (`open_source`) chooses between `local.py` and `remote.py`; `blocks.py` keeps what was
requested. `items.py` (`Item`) names a video of a data set. `demuxer.py` opens a source with FFmpeg,
`formats.py` says what FFmpeg may open.

For `videoloader.dali`: `items.py`, `lists.py`, `local.py`, `opening.py`, `source.py`, `tar.py`.
"""
