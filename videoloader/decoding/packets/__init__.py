"""Packets for decoders: their choice and their form, for the CPU and NVDEC alike.

Start at `needed.py`, which leaves out packets of a run that no wanted frame depends on. `feed.py`
reads the others, `preamble.py` adds headers from the beginning of the stream.
"""
