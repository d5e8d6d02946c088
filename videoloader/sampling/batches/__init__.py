"""Batches of clips of several shapes and lengths: buckets and packs.

Start at `batch_plan.py` (`BatchPlan`), the batches of every epoch; `buckets.py` and `packs.py` make
one from `video_sizes.py`, which also says how long a clip each video allows.
"""
