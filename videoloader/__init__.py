"""Piles of video files into training batches.

Indexing and sampling need numpy and PyAV only; whatever needs torch or worker processes is imported
when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from videoloader import errors, indexing, sampling
from videoloader.errors import (
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    ClosedError,
    DecodeError,
    FormatError,
    FrameRangeError,
    NoGpuError,
    NoSoundError,
    OperatorArgumentError,
    OperatorError,
    OutOfMemoryError,
    ResourceError,
    SourceError,
    StaleIndexError,
    TooManyFailuresError,
    UnsupportedError,
    VideoError,
)
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
from videoloader.sampling.seeding import seed
from videoloader.system.eager_calls import eager

if TYPE_CHECKING:
    from videoloader import backend, curation, fn, math, ops, pipeline, ray, tensors, types
    from videoloader.audio import Audio
    from videoloader.clip_samples.columns import TableColumns
    from videoloader.clip_samples.labels import LabelColumn
    from videoloader.clip_samples.patches import patchify, unpatchify
    from videoloader.curation import find_duplicates, find_scenes, map_clips, score_video
    from videoloader.dataset import ClipDataset, collate_samples
    from videoloader.decoding.batch_decoder import BatchDecoder, decode_batch
    from videoloader.decoding.clip_batch import Clip, ClipBatch, ClipFailure
    from videoloader.decoding.failures import SampleFailure
    from videoloader.decoding.request import ClipRequest
    from videoloader.epoch_sampler import Draw, EpochSampler
    from videoloader.indexing.dataset import DatasetIndex, index_dataset, open_dataset
    from videoloader.loader import Loader
    from videoloader.pipeline import Pipeline, newaxis, pipeline_def
    from videoloader.tensors import TensorList
    from videoloader.video import Video
    from videoloader.writing.cut import cut
    from videoloader.writing.transcode import transcode
    from videoloader.writing.write import write_video

__version__ = "1.0.0rc1"

__all__ = [
    "ArgumentError",
    "ArgumentIndexError",
    "ArgumentTypeError",
    "Audio",
    "BatchDecoder",
    "Buckets",
    "Clip",
    "ClipBatch",
    "ClipDataset",
    "ClipFailure",
    "ClipRequest",
    "ClosedError",
    "DatasetIndex",
    "DecodeError",
    "DenseClips",
    "Draw",
    "EpochSampler",
    "EvenClips",
    "FormatError",
    "FrameRangeError",
    "LabelColumn",
    "Loader",
    "NoGpuError",
    "NoSoundError",
    "OperatorArgumentError",
    "OperatorError",
    "OutOfMemoryError",
    "Packing",
    "Pipeline",
    "RandomClip",
    "ResourceError",
    "SampleFailure",
    "SegmentClip",
    "SourceError",
    "StaleIndexError",
    "TableColumns",
    "TensorList",
    "TooManyFailuresError",
    "UniformClip",
    "UnsupportedError",
    "Video",
    "VideoError",
    "VideoIndex",
    "aspect_buckets",
    "backend",
    "collate_samples",
    "curation",
    "cut",
    "decode_batch",
    "eager",
    "errors",
    "find_duplicates",
    "find_scenes",
    "fn",
    "index_dataset",
    "index_video",
    "indexing",
    "map_clips",
    "math",
    "newaxis",
    "open_dataset",
    "ops",
    "patchify",
    "pipeline",
    "pipeline_def",
    "ray",
    "sampling",
    "score_video",
    "seed",
    "tensors",
    "transcode",
    "types",
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
    "ClipDataset": "videoloader.dataset",
    "collate_samples": "videoloader.dataset",
    "ClipFailure": "videoloader.decoding.clip_batch",
    "ClipRequest": "videoloader.decoding.request",
    "DatasetIndex": "videoloader.indexing.dataset",
    "Draw": "videoloader.epoch_sampler",
    "EpochSampler": "videoloader.epoch_sampler",
    "LabelColumn": "videoloader.clip_samples.labels",
    "Loader": "videoloader.loader",
    "Pipeline": "videoloader.pipeline",
    "SampleFailure": "videoloader.decoding.failures",
    "TableColumns": "videoloader.clip_samples.columns",
    "TensorList": "videoloader.tensors",
    "Video": "videoloader.video",
    "backend": None,
    "cut": "videoloader.writing.cut",
    "curation": None,
    "decode_batch": "videoloader.decoding.batch_decoder",
    "find_duplicates": "videoloader.curation",
    "find_scenes": "videoloader.curation",
    "fn": None,
    "index_dataset": "videoloader.indexing.dataset",
    "map_clips": "videoloader.curation",
    "math": None,
    "newaxis": "videoloader.pipeline",
    "open_dataset": "videoloader.indexing.dataset",
    "ops": None,
    "patchify": "videoloader.clip_samples.patches",
    "pipeline": None,
    "pipeline_def": "videoloader.pipeline",
    "ray": None,
    "score_video": "videoloader.curation",
    "tensors": None,
    "transcode": "videoloader.writing.transcode",
    "types": None,
    "unpatchify": "videoloader.clip_samples.patches",
    "write_video": "videoloader.writing.write",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        from videoloader.system.spelling import no_attribute

        raise no_attribute(__name__, name, __all__)
    module = _LAZY[name]
    if module is None:
        return importlib.import_module(f"{__name__}.{name}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
