"""The content of a loader's batch: tensors, and lists where sizes differ; its transforms."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import torch
from torch.utils.data import default_collate

from videoloader.decoding.clip_batch import ClipBatch, pad_sounds
from videoloader.decoding.options import Layout
from videoloader.machinery.system.eager_calls import eager
from videoloader.sampling.seeding import seeded_calls
from videoloader.training.decoding import DecodedSamples
from videoloader.training.labels.label_values import VideoLabels
from videoloader.training.requests import SampleRequests
from videoloader.training.samples import divided, stacked

if TYPE_CHECKING:
    _Tensors: TypeAlias = Literal[
        "audio",
        "audio_lengths",
        "audio_sample_rates",
        "cu_seqlens",
        "frame_numbers",
        "frames",
        "labels",
        "mask",
        "patches",
        "positions",
        "sample",
        "sample_ids",
        "times",
        "token_times",
    ]

    class Batch(dict[str, Any]):
        """A batch as type checkers see it, see `Loader`; a plain `dict` when the program runs.

        No `TypedDict`: that has no columns of names of its own, and is no `dict[str, Any]` for
        functions that take one. Where sizes differ a value is a list of tensors, which is told by
        `isinstance`.
        """

        @overload
        def __getitem__(self, key: _Tensors) -> torch.Tensor: ...
        @overload
        def __getitem__(self, key: Literal["error"]) -> list[str]: ...
        @overload
        def __getitem__(self, key: str) -> Any: ...
        def __getitem__(self, key: str) -> Any:
            """A value by its name."""
else:
    Batch = dict


def batch_content(
    batch: DecodedSamples, requests: SampleRequests, layout: Layout, labels: VideoLabels | None
) -> dict[str, Any]:
    """A batch as the training loop gets it, see `Loader`; without its errors."""
    videos = [requests.video(sample) for sample in batch.samples.tolist()]
    rows = torch.tensor([requests.videos.row(video) for video in videos])
    if batch.packed is None:
        clips, framing = batch.clips, requests.framing
        if framing.num_crops > 1 or any(len(shape) > 1 for shape in batch.shapes):
            clips = divided(clips, layout, batch.shapes, framing)
        content = _dense(clips)
    else:
        content = batch.packed | _beside_pack(batch.clips)
    if batch.clips.sounds:
        content |= _sounds(batch.clips, batch.shapes)
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


def _sounds(clips: ClipBatch, shapes: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """The sounds of the samples; where these have several clips, with an axis of clips."""
    audio, lengths = clips.audio, clips.audio_lengths
    if any(len(shape) > 1 for shape in shapes):
        counts = [math.prod(shape[:-1]) for shape in shapes]
        each = [sound.divided(n) for sound, n in zip(clips.sounds, counts, strict=True)]
        audio = pad_sounds([sound for sound, _ in each])
        lengths = stacked([length.numpy() for _, length in each])
    return {
        "audio": audio,
        "audio_lengths": lengths,
        "audio_sample_rates": clips.audio_sample_rates,
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
    sample: dict[str, Any],
    transform: Callable[[Any], Any] | None,
    sample_transform: Callable[[dict[str, Any]], Any] | None,
    rng: np.random.Generator,
) -> Any:
    """A sample whose frames, and which then as a whole, users transform with its random numbers."""
    if transform is None and sample_transform is None:
        return sample
    with _seeded(rng):
        if transform is not None:
            frames = sample["frames"]
            try:
                sample["frames"] = transform(frames)
            except Exception as error:
                error.add_note(
                    f"transform= was called with frames, a tensor of shape {tuple(frames.shape)}; "
                    "sample_transform= is called with the whole sample, a dictionary"
                )
                raise
        return sample if sample_transform is None else sample_transform(sample)


def transformed_batch(
    content: Mapping[str, Any],
    transform: Callable[[Any], Any] | None,
    sample_transform: Callable[[dict[str, Any]], Any] | None,
    rngs: Sequence[np.random.Generator],
) -> Any:
    """The samples of a batch, each transformed, as a batch again; lists where shapes differ."""
    samples = [
        transformed(
            {name: each[at] for name, each in content.items()}, transform, sample_transform, rng
        )
        for at, rng in enumerate(rngs)
    ]
    are_samples = all(isinstance(sample, dict) for sample in samples)
    return collate_samples(samples) if are_samples else default_collate(samples)


@contextmanager
def _seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed the global random numbers, and put them back afterwards.

    They are those of torch (CPU), NumPy, Python, and of operators that run at once, as those
    without inputs do in the block.
    """
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        # Not torch.manual_seed: that would reset the random numbers of GPUs as well.
        torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
        np.random.seed(int(rng.integers(1 << 32)))  # noqa: NPY002
        random.seed(int(rng.integers(1 << 63)))
        with eager(), seeded_calls(int(rng.integers(1 << 63))):
            yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        random.setstate(before[2])


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
    """Whether `audio` is still the decoded sound, not changed by a transform."""
    audio, lengths = sample["audio"], torch.as_tensor(sample.get("audio_lengths", -1))
    is_sound = isinstance(audio, torch.Tensor) and audio.ndim == 2 + lengths.ndim
    return is_sound and audio.shape[-2] == max(lengths.reshape(-1).tolist(), default=0)
