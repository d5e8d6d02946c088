"""Data set indexes: the job that writes a Parquet file of video indexes, and its reader.

Writing: start at `job.py` (`index_dataset`), which lists files with `listing.py` and keeps
finished rows in `journal.py`; `merging.py` joins shards. Reading: start at `videos.py`
(`DatasetIndex`, `Videos`), which chooses among the rows of `reader.py` with `filtering.py`,
`sql.py`, `dividing.py` and `joining.py`; single rows come from `cache.py`. `rows.py` is one row,
`skipped.py` what was not indexed; `part.py` writes files, and reads all of their rows. `tables.py`
reads tables of others, `nested.py` (`unnest`) the lists in their rows.
"""

from videoloader.indexing.dataset.job import index_dataset
from videoloader.indexing.dataset.listing import find_items, find_videos
from videoloader.indexing.dataset.merging import merge_datasets
from videoloader.indexing.dataset.nested import unnest
from videoloader.indexing.dataset.part import write_part
from videoloader.indexing.dataset.sql import count_by, query_rows
from videoloader.indexing.dataset.videos import DatasetIndex, Videos, open_dataset
from videoloader.sources.items import Item

__all__ = [
    "DatasetIndex",
    "Item",
    "Videos",
    "count_by",
    "find_items",
    "find_videos",
    "index_dataset",
    "merge_datasets",
    "open_dataset",
    "query_rows",
    "unnest",
    "write_part",
]
