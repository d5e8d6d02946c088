"""`Segments`: parts of videos as samples.

`segments.py` is the class; `rows.py` reads its table, `values.py` what no column of it has,
`times.py` its times; `usable.py` finds the videos, and the rows that cannot be used. `part.py` is
one segment, as jobs over many videos take it.
"""
