"""MP4 and MOV (ISO base media files), indexed from the tables in `moov` and `moof` boxes.

Start at `movie.py` (`index_mp4`). `layout.py` finds the boxes, `boxes.py` parses them. A track is
`entry.py` (codec; `older.py` for codecs with headers in the samples), `samples.py` (tables),
`fragments.py` and `runs.py` (fragmented files) and `edits.py` (edit lists). `pictures.py` checks
keyframes and order against the pictures.
"""
