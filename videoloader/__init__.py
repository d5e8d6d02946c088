"""Piles of video files into training batches.

Frames: `Video`, `decode_batch`, `ClipRequest`, `write_video`, `cut`. Indexes: `index_video`,
`index_dataset`, `open_dataset`. Samplers: `RandomClip` and the like; all of them are in `sampling`.
Training: `Loader`, `ClipDataset`, `Segments`, `EpochSampler`. Jobs over many videos: `map_clips`,
`transcode`; others are in `datasets`. Errors are in `errors`. DALI's programming model, under
DALI's names, is in `dali`: `from videoloader.dali import fn, pipeline_def, types`.

Indexing and sampling need numpy and PyAV only; whatever needs torch or worker processes is imported
when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from videoloader import errors, indexing, sampling
from videoloader.errors import VideoError
from videoloader.indexing import VideoIndex, index_video
from videoloader.sampling import (
    Buckets,
    DenseClips,
    EvenClips,
    Packing,
    RandomClip,
    SegmentClip,
    UniformClip,
    aspect_buckets,
)

if TYPE_CHECKING:
    from videoloader import datasets
    from videoloader.audio import Audio
    from videoloader.datasets import find_duplicates, find_scenes, map_clips, score_video
    from videoloader.datasets.transcode import transcode
    from videoloader.datasets.tuning import tune
    from videoloader.decoding.batch_decoder import BatchDecoder, decode_batch
    from videoloader.decoding.clip_batch import Clip, ClipBatch, ClipFailure
    from videoloader.decoding.failures import SampleFailure
    from videoloader.decoding.request import ClipRequest
    from videoloader.indexing.dataset import DatasetIndex, index_dataset, open_dataset, unnest
    from videoloader.training.clip_dataset import ClipDataset, collate_samples
    from videoloader.training.epoch_sampler import EpochSampler
    from videoloader.training.labels.label_column import LabelColumn
    from videoloader.training.labels.table_columns import TableColumns
    from videoloader.training.loader import Loader
    from videoloader.training.patches import patchify, unpatchify
    from videoloader.training.segments.segments import Segments
    from videoloader.video import Video
    from videoloader.writing.cut import cut
    from videoloader.writing.write import write_video

__version__ = "1.0.0rc1"

__all__ = [
    "Audio",
    "BatchDecoder",
    "Buckets",
    "Clip",
    "ClipBatch",
    "ClipDataset",
    "ClipFailure",
    "ClipRequest",
    "DatasetIndex",
    "DenseClips",
    "EpochSampler",
    "EvenClips",
    "LabelColumn",
    "Loader",
    "Packing",
    "RandomClip",
    "SampleFailure",
    "SegmentClip",
    "Segments",
    "TableColumns",
    "UniformClip",
    "Video",
    "VideoError",
    "VideoIndex",
    "aspect_buckets",
    "collate_samples",
    "cut",
    "dali",
    "datasets",
    "decode_batch",
    "errors",
    "find_duplicates",
    "find_scenes",
    "index_dataset",
    "index_video",
    "indexing",
    "map_clips",
    "open_dataset",
    "patchify",
    "sampling",
    "score_video",
    "transcode",
    "tune",
    "unnest",
    "unpatchify",
    "write_video",
]

# Names that need torch or worker processes are imported on first use: the module of each, or None
# where the name is a module itself.
_LAZY = {
    "Audio": "videoloader.audio",
    "BatchDecoder": "videoloader.decoding.batch_decoder",
    "Clip": "videoloader.decoding.clip_batch",
    "ClipBatch": "videoloader.decoding.clip_batch",
    "ClipDataset": "videoloader.training.clip_dataset",
    "collate_samples": "videoloader.training.clip_dataset",
    "ClipFailure": "videoloader.decoding.clip_batch",
    "ClipRequest": "videoloader.decoding.request",
    "DatasetIndex": "videoloader.indexing.dataset",
    "EpochSampler": "videoloader.training.epoch_sampler",
    "LabelColumn": "videoloader.training.labels.label_column",
    "Loader": "videoloader.training.loader",
    "SampleFailure": "videoloader.decoding.failures",
    "Segments": "videoloader.training.segments.segments",
    "TableColumns": "videoloader.training.labels.table_columns",
    "Video": "videoloader.video",
    "cut": "videoloader.writing.cut",
    "dali": None,
    "datasets": None,
    "decode_batch": "videoloader.decoding.batch_decoder",
    "find_duplicates": "videoloader.datasets",
    "find_scenes": "videoloader.datasets",
    "index_dataset": "videoloader.indexing.dataset",
    "map_clips": "videoloader.datasets",
    "open_dataset": "videoloader.indexing.dataset",
    "patchify": "videoloader.training.patches",
    "score_video": "videoloader.datasets",
    "transcode": "videoloader.datasets.transcode",
    "tune": "videoloader.datasets.tuning",
    "unnest": "videoloader.indexing.dataset",
    "unpatchify": "videoloader.training.patches",
    "write_video": "videoloader.writing.write",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        from videoloader.machinery.system.spelling import no_attribute

        raise no_attribute(__name__, name, __all__)
    module = _LAZY[name]
    if module is None:
        return importlib.import_module(f"{__name__}.{name}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
