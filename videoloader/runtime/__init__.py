"""Runs stages ahead of their consumer: threads, queues, statistics. Knows nothing of video.

Start at `stages.py` (`StageRunner`): a thread for each stage (`stage_thread.py`), a bounded queue
behind it (`queues.py`). `monitor.py`, `worker_stats.py` and `work.py` count; `run_stats.py` is what
`stats()` returns, `status.py` the file that `videoloader top` reads.
"""
