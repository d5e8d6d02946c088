"""Worker processes: supervised, limited in time and memory, and ended with their parent.

Start at `protocol.py`, which says who starts, who owns memory and what happens when one side dies.
`process.py` is a worker as its parent sees it. `supervisor.py` runs tasks and replaces lost
workers; `tasks.py` runs one function many times, with `on_ray.py` on a cluster. `shared_memory.py`
holds results. `python_pool.py` runs Python code of users.
"""
