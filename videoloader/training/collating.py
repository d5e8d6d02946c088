"""`collate_samples`: a batch of samples, whose shapes may differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import default_collate

from videoloader.decoding.clip_batch import pad_sounds


def collate_samples(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A batch of samples of a `ClipDataset`, as `Loader` gives it: for `DataLoader(collate_fn=)`.

    What has one shape in all samples is stacked as by torch's default; tensors and arrays of
    several shapes become a list: of `frames` (clips, F, C, H, W), `frame_numbers`, `times` and
    `mask` (clips, F) where videos have different numbers of clips. `audio` is filled up with zeros.

    >>> batch = collate_samples([{"frames": torch.zeros(n, 4), "sample": n} for n in (2, 3)])
    >>> [tuple(clips.shape) for clips in batch["frames"]], batch["sample"]
    ([(2, 4), (3, 4)], tensor([2, 3]))
    """
    batch = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        if name == "audio" and all(map(_has_its_sound, samples)):
            batch[name] = pad_sounds(values)
        else:
            batch[name] = values if len(set(_shapes(values))) > 1 else default_collate(values)
    return batch


def _shapes(values: Sequence[Any]) -> list[tuple[int, ...] | None]:
    """The shape of each value that is a tensor or an array."""
    shapes = (getattr(each, "shape", None) for each in values)
    return [None if shape is None else tuple(shape) for shape in shapes]


def _has_its_sound(sample: dict[str, Any]) -> bool:
    """Whether `audio` is still what decoding gave, not what a transform made of it."""
    audio, lengths = sample["audio"], torch.as_tensor(sample.get("audio_lengths", -1))
    is_sound = isinstance(audio, torch.Tensor) and audio.ndim == 2 + lengths.ndim
    return is_sound and audio.shape[-2] == max(lengths.reshape(-1).tolist(), default=0)
