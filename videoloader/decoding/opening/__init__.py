"""Opens the videos of a batch, each once.

Start at `videos.py` (`open_videos`). It takes indexes from `index_cache.py`, and missing ones from
`indexer.py`, which runs FFmpeg in a worker process if a file needs it.
"""
