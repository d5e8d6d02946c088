"""The clips of a set of videos: which frames each one is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.readers.file_list import Entry
from videoloader.readers.media import Index
from videoloader.sampling import ClipSampler, DenseClips, UniformClip, sample_frames

__all__ = ["Clips", "Scope", "clip_rule"]


@dataclass(frozen=True, slots=True)
class Scope:
    """A range of frames of one video that clips are taken from."""

    entry: Entry
    index: Index
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Clips:
    """Every clip of some scopes, numbered.

    `scope_of` and `first` say for each clip its scope and its first frame, as `DenseClips` has it;
    -1 is the only clip of a scope, which may be drawn at random.
    """

    scopes: tuple[Scope, ...]
    sampler: ClipSampler
    backwards: bool
    scope_of: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, scopes: Sequence[Scope], sampler: ClipSampler, *, backwards: bool = False) -> Clips:
        """All clips that a sampler takes from the scopes."""
        scope_of: list[NDArray[np.int64]] = []
        first: list[NDArray[np.int64]] = []
        for number, scope in enumerate(scopes):
            starts = np.array([-1])
            if isinstance(sampler, DenseClips):
                starts = _frames(sampler, scope)[:, 0]
            scope_of.append(np.full(len(starts), number))
            first.append(starts)
        none = np.empty(0, dtype=np.int64)
        return cls(
            tuple(scopes),
            sampler,
            backwards,
            np.concatenate([none, *scope_of]),
            np.concatenate([none, *first]),
        )

    def __len__(self) -> int:
        return len(self.first)

    def scope(self, number: int) -> Scope:
        """Where a clip is taken from."""
        return self.scopes[int(self.scope_of[number])]

    def frames(self, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Frame numbers of a clip; some may lie outside its scope.

        Args:
            number: of the clip.
            rng: what a random sampler draws from.
        """
        scope = self.scope(number)
        frames: NDArray[np.int64]
        if isinstance(self.sampler, DenseClips):
            rest = replace(scope, start=int(self.first[number]))
            only = replace(self.sampler, step=rest.stop - rest.start, partial=True)
            frames = _frames(only, rest)[0]
        else:
            frames = _frames(self.sampler, scope, rng)
        return frames[::-1] if self.backwards else frames


def clip_rule(
    *,
    sequence_length: int | None,
    stride: int,
    step: int,
    uniform_sample: bool,
    sampler: ClipSampler | None,
    pad_mode: str,
) -> ClipSampler:
    """The sampler that the arguments of a reader describe."""
    if sampler is not None:
        if sequence_length is not None or stride != 1 or step != -1 or uniform_sample:
            raise ArgumentError(
                "fn.readers.video: sampler excludes sequence_length, stride, step, uniform_sample"
            )
        if not isinstance(sampler, ClipSampler):
            raise ArgumentError(
                f"fn.readers.video: sampler must be a clip sampler of videoloader.sampling, "
                f"got {sampler!r}"
            )
        return sampler
    if sequence_length is None:
        raise ArgumentError("fn.readers.video needs sequence_length (or a sampler)")
    if uniform_sample:
        if stride != 1 or step != -1:
            raise ArgumentError("fn.readers.video: uniform_sample excludes stride and step")
        return UniformClip(sequence_length)
    if step == 0 or step < -1:
        raise ArgumentError(f"fn.readers.video: step must be at least 1, or -1, got {step}")
    return DenseClips(
        sequence_length, abs(stride), None if step == -1 else step, partial=pad_mode != "none"
    )


def _frames(
    sampler: ClipSampler, scope: Scope, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    return sample_frames(sampler, scope.index, start=scope.start, stop=scope.stop, rng=rng)
