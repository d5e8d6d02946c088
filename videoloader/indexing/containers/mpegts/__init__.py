"""MPEG transport streams, indexed from the headers of their packets and pictures.

Start at `stream.py` (`index_mpegts`). `grid.py` finds the transport packets, `programs.py` the
streams, `pes.py` the PES packets of one and their times; `units.py` and `pictures.py` parse the
headers of its pictures.
"""
