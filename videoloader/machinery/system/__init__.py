"""Python and operating system helpers that know nothing of video, one subject a module.

`faults.py` converts errors of other libraries; `address.py` keeps secrets of URLs out of messages.
`forking.py`: locks and caches that survive a fork. `writing.py`: files that are written whole or
not at all. `kept_files.py`: a folder of files with a limit. `options.py`: keyword options that
several functions share. `pickling.py`: functions for other processes. `callers.py`: warnings at the
line of the user. `eager_calls.py`: `videoloader.dali.eager`. `spelling.py`: suggestions for
misspelled names. `closing.py`: what a `with` block closes.
"""
