"""The order of frames where timestamps are missing or damaged.

Start at `time_check.py` (`check_times`), which decides whether timestamps can be trusted. Else
`picture_order.py` takes picture order counts, with `nal_scan.py` and `slice_heads.py`; the last
resort, `decode_scan.py`, decodes everything.
"""
