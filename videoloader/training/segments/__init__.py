"""`Segments`: parts of videos as samples.

`segments.py` is the class; `rows.py` reads its table, `times.py` the times in it; `usable.py` finds
the videos, and the rows that cannot be used.
"""
