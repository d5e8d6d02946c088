"""What a batch of a loader holds: tensors, and lists where sizes differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.output import Layout
from videoloader.readers.clip_samples.decoding import DecodedSamples
from videoloader.readers.clip_samples.global_random import seeded
from videoloader.readers.clip_samples.label_values import VideoLabels
from videoloader.readers.clip_samples.requests import SampleRequests
from videoloader.readers.clip_samples.samples import divided, stacked

__all__ = ["batch_content", "batch_tensors", "transformed"]


def batch_content(
    batch: DecodedSamples, requests: SampleRequests, layout: Layout, labels: VideoLabels | None
) -> dict[str, Any]:
    """A batch as the training loop gets it, see `Loader`; without its errors.

    Args:
        batch: decoded.
        requests: what its samples are made of.
        layout: of its clips.
        labels: of all videos, if there are any.
    """
    videos = [requests.video(sample) for sample in batch.samples.tolist()]
    rows = torch.tensor([requests.videos.row(video) for video in videos])
    if batch.packed is None:
        clips, framing = batch.clips, requests.framing
        if framing.crops > 1 or any(len(shape) > 1 for shape in batch.shapes):
            clips = divided(clips, layout, batch.shapes, framing)
        content = _dense(clips)
    else:
        content = batch.packed | _beside_pack(batch.clips)
    content |= {"sample": rows, **batch.columns}
    if labels is not None:
        content["labels"] = labels.at(videos)
    return content


def _dense(clips: ClipBatch) -> dict[str, Any]:
    return {
        "frames": clips.frames,
        "frame_numbers": stacked(clips.indices),
        "times": stacked(clips.times),
        "mask": stacked(clips.masks),
    }


def _beside_pack(clips: ClipBatch) -> dict[str, Any]:
    return {
        "frame_numbers": [torch.from_numpy(each) for each in clips.indices],
        "times": [torch.from_numpy(each) for each in clips.times],
        "frame_mask": [torch.from_numpy(each) for each in clips.masks],
    }


def batch_tensors(batch: DecodedSamples) -> list[torch.Tensor]:
    """The tensors of a batch that may be on a GPU."""
    values: list[Any] = [batch.clips.frames, *(batch.packed or {}).values()]
    return [
        tensor
        for value in values
        for tensor in (value if isinstance(value, list) else [value])
        if isinstance(tensor, torch.Tensor)
    ]


def transformed(
    content: Mapping[str, Any],
    transform: Callable[[dict[str, Any]], Any],
    rngs: Sequence[np.random.Generator],
) -> Any:
    """The samples of a batch, each transformed with random numbers of its own, as a batch."""
    results = []
    for at, rng in enumerate(rngs):
        with seeded(rng):
            results.append(transform({name: each[at] for name, each in content.items()}))
    return default_collate(results)
