"""Which packets a decoder gets, and in what form; for the CPU and NVDEC alike.

Start at `merge.py` (`merge_runs`), which turns clips into runs. `needed.py` leaves out packets that
no wanted frame depends on, `feed.py` reads the others, and `preamble.py` adds headers from the
beginning of the stream.
"""
