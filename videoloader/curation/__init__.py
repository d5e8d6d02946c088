"""Curation of data sets: scenes, duplicates, scores, and functions of your own over all videos.

Start at `mapping.py` (`map_clips`), the one job. `scenes.py`, `hashes.py` and `scores.py` have
functions for it, over the pictures that `pictures.py` decodes; `duplicates.py` (`find_duplicates`)
compares what `hashes.py` gives.
"""

from videoloader.curation.duplicates import find_duplicates, hash_videos
from videoloader.curation.hashes import VideoHash, hash_video, picture_hash
from videoloader.curation.mapping import map_clips
from videoloader.curation.pictures import Thumbnails, read_thumbnails
from videoloader.curation.scenes import Scene, find_scenes
from videoloader.curation.scores import Scores, score_video

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
