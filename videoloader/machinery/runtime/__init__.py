"""Runs stages ahead of their consumer: threads, queues, statistics. Knows nothing of video.

Start at `stages.py` (`StageRunner`): a thread for each stage (`stage_thread.py`), a bounded queue
behind it (`queues.py`). `monitor.py` and `worker_stats.py` count; `run_stats.py` is what
`stats()` returns, `status.py` the file that `videoloader top` reads. `threads.py` calls a
function in several threads.
"""
