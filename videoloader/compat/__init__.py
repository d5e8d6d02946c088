"""Drop-ins: the readers of other libraries under their own names, on this library's frames.

One module or folder for each library. Shared by them: `opening.py` opens files with the colours and
streams that the other library would choose, `video_cache.py` keeps them open, `single_frames.py`
serves callers that ask for one frame at a time, `runtime_errors.py` has errors that are also
theirs. DALI is not here: `videoloader.dali` has its names.
"""
