"""Samples of a `ClipDataset` become a batch: by `collate_samples`, or torch's default function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import default_collate
from torch.utils.data._utils.collate import collate, default_collate_fn_map

from videoloader.decoding.clip_batch import pad_sounds
from videoloader.errors import ArgumentError


class Sample(dict[str, Any]):
    """A sample of a `ClipDataset`; torch's default collation knows it by its type."""


def collate_samples(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A batch of samples of a `ClipDataset`, as `Loader` gives it: for `DataLoader(collate_fn=)`.

    What has one shape in all samples is stacked as by torch's default; tensors of several shapes
    become a list: of `frames` (clips, F, C, H, W), `frame_numbers`, `times` and `mask` (clips, F)
    where videos have different numbers of clips. `audio` is filled up with zeros.

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


def _collate_equal(samples: Sequence[Sample], *, collate_fn_map: Any = None) -> dict[str, Any]:
    """A batch of samples of one shape: what torch's default collate function makes of them.

    Raises:
        ArgumentError: tensors of one name have several shapes, which torch cannot stack.
    """
    # `frames` last: where the numbers of clips differ, another size would not help.
    for name in sorted(samples[0], key="frames".__eq__):
        shapes = _shapes([sample.get(name) for sample in samples])
        at = next((at for at, shape in enumerate(shapes) if shape != shapes[0]), 0)
        first, other = shapes[0], shapes[at]
        if first is None or other is None or first == other:
            continue
        numbers = [samples[place].get("sample", f"{place} of the batch") for place in (0, at)]
        one_size = "size=(height, width) or crop= of ClipDataset gives frames of one size; "
        result = "samples with sounds of several lengths" if name == "audio" else "lists"
        raise ArgumentError(
            f"samples of a batch differ in shape: {name!r} is {tuple(first)} in sample "
            f"{numbers[0]} and {tuple(other)} in sample {numbers[1]}; "
            f"{one_size * (name == 'frames')}DataLoader(..., "
            f"collate_fn=videoloader.collate_samples) makes a batch of {result}"
        )
    alike = [dict(sample) for sample in samples]
    return collate(alike, collate_fn_map=collate_fn_map)  # type: ignore[no-any-return]


default_collate_fn_map[Sample] = _collate_equal


def _shapes(values: Sequence[Any]) -> list[torch.Size | None]:
    """The shape of each value that is a tensor."""
    return [each.shape if isinstance(each, torch.Tensor) else None for each in values]


def _has_its_sound(sample: dict[str, Any]) -> bool:
    """Whether `audio` is still what decoding gave, not what a transform made of it."""
    audio, lengths = sample["audio"], torch.as_tensor(sample.get("audio_lengths", -1))
    is_sound = isinstance(audio, torch.Tensor) and audio.ndim == 2 + lengths.ndim
    return is_sound and audio.shape[-2] == max(lengths.reshape(-1).tolist(), default=0)
