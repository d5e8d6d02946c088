"""Data set indexes: the job that writes a Parquet file of video indexes, and its reader.

Writing: start at `job.py` (`index_dataset`), which lists files with `listing.py`, keeps finished
rows in `journal.py` and may run on `on_ray.py`. Reading: start at `reader.py` (`DatasetIndex`),
which reads single rows from `cache.py` and selects them with `filtering.py`. `rows.py` is one row.
"""

from videoloader.indexing.dataset.job import index_dataset, merge_datasets
from videoloader.indexing.dataset.listing import find_items, find_videos
from videoloader.indexing.dataset.reader import DatasetIndex, Videos, open_dataset
from videoloader.sources.items import Item

__all__ = [
    "DatasetIndex",
    "Item",
    "Videos",
    "find_items",
    "find_videos",
    "index_dataset",
    "merge_datasets",
    "open_dataset",
]
