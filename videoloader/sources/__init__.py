"""Bytes of videos: local files, memory, file objects, URLs, members of archives.

Start at `source.py` (`Source`): random access to bytes, and `Fingerprint`, the state of a file.
`opening.py` (`open_source`) chooses between `local.py` and `remote.py`; `blocks.py` keeps what was
requested. `items.py` (`Item`) names a video of a data set. `faults.py` converts errors of other
libraries; `address.py` keeps secrets of URLs out of messages.
"""
