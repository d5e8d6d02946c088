"""Jobs over many videos: scenes, duplicates, scores, functions of your own, other files, reports.

Start at `mapping.py` (`map_clips`): a function for each video. `scenes.py`, `hashes.py` and
`scores.py` have functions for it, over the pictures that `pictures.py` decodes; `duplicates.py`
(`find_duplicates`) compares what `hashes.py` gives. `transcode.py` encodes a data set anew.
`report/` makes pages about one. `ray.py` gives clips to Ray Data.
"""

from videoloader.datasets.duplicates import find_duplicates, hash_videos
from videoloader.datasets.hashes import VideoHash, hash_video, picture_hash
from videoloader.datasets.mapping import map_clips
from videoloader.datasets.pictures import Thumbnails, read_thumbnails
from videoloader.datasets.scenes import Scene, find_scenes
from videoloader.datasets.scores import Scores, score_video

__all__ = [
    "Scene",
    "Scores",
    "Thumbnails",
    "VideoHash",
    "find_duplicates",
    "find_scenes",
    "hash_video",
    "hash_videos",
    "map_clips",
    "picture_hash",
    "read_thumbnails",
    "score_video",
]
