"""Processes, threads, launches and shared memory, independent of codecs.

`system/`: checks of arguments, forks, whole files, pickles, errors of others. `runtime/`: stages,
queues, statistics. `cuda/`: launches and streams. `workers/`: supervised processes and shared
memory. `views.py`: facts and sheets of frames as HTML.

For `videoloader.dali`: `cuda/launching.py`, `cuda/streams.py`, `runtime/monitor.py`,
`runtime/run_stats.py`, `runtime/stage_thread.py`, `runtime/stages.py`, `runtime/threads.py`,
`system/address.py`, `system/callers.py`, `system/checks.py`, `system/closing.py`,
`system/eager_calls.py`, `system/faults.py`, `system/forking.py`, `system/pickling.py`,
`system/spelling.py`, `views.py`, `workers/processors.py`, `workers/python_jobs.py`,
`workers/python_pool.py`, `workers/sample_info.py`.
"""
