"""`python -m videoloader.demo`: indexes, samples, decodes and batches a folder of clips.

Start at `show.py`. `videos.py` encodes small clips whose frames show their numbers; tests use them
too.
"""
