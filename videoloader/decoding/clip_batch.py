"""The results of decoding: a clip, or a batch of clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.errors import VideoError
from videoloader.machinery.runtime.run_stats import NO_WORK, Work
from videoloader.machinery.system.forking import cached_property
from videoloader.machinery.views import facts_table, frames_view

_SHAPES_SHOWN = 3  # of clips of different shapes, by repr


class ClipSound(NamedTuple):
    """The sound of a clip: float32 (samples, channels), and samples a second, 0 without sound.

    Of a request for several clips, their sounds one after another, and the samples of each.
    """

    samples: torch.Tensor
    rate: int
    lengths: tuple[int, ...] = ()

    def divided(self, clips: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The sounds of several clips: (clips, samples, channels), and the samples of each."""
        lengths = [*self.lengths]
        if not lengths:  # of one clip, or of a request that fails
            lengths = [len(self.samples)] if clips == 1 else [0] * clips
        parts = torch.split(self.samples, lengths) if clips else [self.samples]
        padded = pad_sounds(parts)
        assert isinstance(padded, torch.Tensor)
        return padded[:clips], torch.tensor(lengths, dtype=torch.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Clip:
    """Frames that were sampled together.

    Attributes:
        frames: tensor of RGB of full range, in the element type and layout that were asked for;
            with `output="yuv"` (F, samples): the planes of each frame one after another.
        indices: int64[F], the frame that stands at each place, -1 where it was filled.
        times: float64[F], presentation times in seconds, -1 where filled.
        mask: bool[F], True where the frame that was asked for stands: False where it lies outside
            the video, whatever stands there, and where it does not decode.
        plane_shapes: (rows, columns) of each plane, with `output="yuv"`.
        audio: with `audio=True` the sound of its time span, float32 (samples, channels) from -1 to
            1, on the CPU; without samples, (0, channels), if the video has no soundtrack.
        audio_sample_rate: samples a second of that, 0 if there is no soundtrack.
        audio_lengths: of a request for several clips, the samples of each; `audio` has them one
            after another.

    >>> from videoloader import Video
    >>> clip = Video("clip.mp4").get_frames([0, 30, 95], pad_mode="constant")
    >>> clip.indices.tolist(), clip.times.tolist(), clip.mask.tolist()
    ([0, 30, -1], [0.0, 1.0, -1.0], [True, True, False])
    """

    frames: torch.Tensor
    indices: NDArray[np.int64]
    times: NDArray[np.float64]
    mask: NDArray[np.bool_]
    plane_shapes: tuple[tuple[int, int], ...] = ()
    audio: torch.Tensor | None = None
    audio_sample_rate: int = 0
    audio_lengths: tuple[int, ...] = ()

    @property
    def has_audio(self) -> bool:
        """Whether sound was asked for, and the video has a soundtrack."""
        return self.audio_sample_rate > 0

    @property
    def planes(self) -> list[torch.Tensor]:
        """With `output="yuv"`, each plane of the frames, (F, rows, columns): views of `frames`."""
        sizes = [rows * columns for rows, columns in self.plane_shapes]
        parts = torch.split(self.frames, sizes, dim=-1) if sizes else ()
        return [
            part.view(*part.shape[:-1], *shape)
            for part, shape in zip(parts, self.plane_shapes, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.indices)

    def _repr_html_(self) -> str:
        """HTML for notebooks: frames at equal distances."""
        return f"<p>{escape(repr(self))}</p>{frames_view([self.frames.cpu().numpy()])}"

    def __repr__(self) -> str:
        there = self.indices[self.indices >= 0]
        span = f", frames {there.min()}-{there.max()}" if len(there) else ""
        filled = len(self) - len(there)
        kind = str(self.frames.dtype).removeprefix("torch.")
        return (
            f"<Clip of {len(self)}{span}{f', {filled} filled' if filled else ''}: {kind} "
            f"{tuple(self.frames.shape)} on {self.frames.device}>"
        )


@dataclass(frozen=True, slots=True)
class ClipFailure:
    """A request that failed, and why.

    Attributes:
        request: its number.
        frame: number of the frame, None where the video cannot be opened at all.
        error: names the file and the cause.

    >>> import videoloader as vl
    >>> requests = [vl.ClipRequest(path, [0, 5]) for path in ("clip.mp4", "missing.mp4")]
    >>> (failure,) = vl.decode_batch(requests, on_error="skip").failures
    >>> failure.request, failure.frame, type(failure.error).__name__
    (1, None, 'SourceError')
    """

    request: int
    frame: int | None
    error: VideoError


def first_failures(failures: Sequence[ClipFailure]) -> dict[int, ClipFailure]:
    """The first failure of each request that failed, by request, ascending."""
    first = {failure.request: failure for failure in reversed(failures)}
    return dict(sorted(first.items()))


@dataclass(frozen=True, eq=False)
class ClipBatch:
    """Clips in the order of their requests.

    Attributes:
        frames: all clips as one tensor (N, ...), or a list of tensors where their shapes differ.
        indices: for each clip the frame that stands at each place, -1 where it was filled.
        times: for each clip the presentation times in seconds, -1 where filled.
        masks: for each clip bool[F], as `Clip.mask`.
        requests: int64[N], the request that each clip comes from. Failed ones are absent with
            `on_error="skip"`, and stand for others with `"replace"`.
        failures: what went wrong, by request.
        work: that decoding took.
        plane_shapes: for each clip, with `output="yuv"`, as of `Clip`.
        sounds: for each clip, with `audio=True`.

    >>> from videoloader import decode_batch
    >>> batch = decode_batch([("clip.mp4", [0, 1]), ("none.mp4", [0, 1])], on_error="mask")
    >>> batch.frames.shape, batch.masks[1].tolist(), [each.request for each in batch.failures]
    (torch.Size([2, 2, 64, 96, 3]), [False, False], [1])
    """

    frames: torch.Tensor | list[torch.Tensor]
    indices: list[NDArray[np.int64]]
    times: list[NDArray[np.float64]]
    masks: list[NDArray[np.bool_]]
    requests: NDArray[np.int64]
    failures: list[ClipFailure]
    work: Work = NO_WORK
    plane_shapes: Sequence[tuple[tuple[int, int], ...]] = ()
    sounds: Sequence[ClipSound] = ()

    def __len__(self) -> int:
        return len(self.requests)

    def __repr__(self) -> str:
        if isinstance(self.frames, list):
            shapes = [str(tuple(clip.shape)) for clip in self.frames[:_SHAPES_SHOWN]]
            shape = ", ".join(shapes) + (", ..." if len(self.frames) > _SHAPES_SHOWN else "")
            first = self.frames[0] if self.frames else None
        else:
            shape, first = str(tuple(self.frames.shape)), self.frames
        kind = "" if first is None else f": {str(first.dtype).removeprefix('torch.')} {shape}"
        device = "" if first is None else f" on {first.device}"
        failed = f", {len(self.failed)} failed" if self.failures else ""
        return f"<ClipBatch of {len(self)}{failed}{kind}{device}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks: a row of frames for each clip."""
        captions = [repr(clip) for clip in self.clips]
        failed = [("failed", failure.error) for failure in self.failed.values()]
        frames = frames_view([clip.frames.cpu().numpy() for clip in self.clips], captions)
        return f"<p>{len(self)} clips</p>{frames}{facts_table(failed) if failed else ''}"

    @property
    def failed(self) -> dict[int, ClipFailure]:
        """The first failure of each request that failed, by request, ascending."""
        return first_failures(self.failures)

    def at(self, positions: Sequence[int] | slice) -> ClipBatch:
        """Some clips of the batch, with their failures.

        Args:
            positions: of the clips, whose frames are copied; a slice gives views of them.
        """
        chosen = range(len(self))[positions] if isinstance(positions, slice) else positions
        frames: Any = self.frames
        if isinstance(frames, torch.Tensor):
            frames = frames[positions]
        else:
            frames = [frames[position] for position in chosen]
        requests = self.requests[positions]
        kept = {*requests.tolist()}
        return replace(
            self,
            frames=frames,
            indices=[self.indices[position] for position in chosen],
            times=[self.times[position] for position in chosen],
            masks=[self.masks[position] for position in chosen],
            requests=requests,
            failures=[failure for failure in self.failures if failure.request in kept],
            plane_shapes=[self.plane_shapes[p] for p in chosen] if self.plane_shapes else (),
            sounds=[self.sounds[p] for p in chosen] if self.sounds else (),
        )

    def replaced(self, positions: Sequence[int], more: ClipBatch) -> ClipBatch:
        """The batch with the clips of another at some positions; in its own memory, if they fit."""
        others = dict(zip(positions, more.clips, strict=True))
        clips = [others.get(position, clip) for position, clip in enumerate(self.clips)]
        moved = [replace(failure, request=positions[failure.request]) for failure in more.failures]
        return replace(
            self,
            frames=_joined(
                self.frames, {position: clip.frames for position, clip in others.items()}
            ),
            indices=[clip.indices for clip in clips],
            times=[clip.times for clip in clips],
            masks=[clip.mask for clip in clips],
            failures=[each for each in self.failures if each.request not in others] + moved,
            work=self.work + more.work,
            plane_shapes=[clip.plane_shapes for clip in clips] if self.plane_shapes else (),
            sounds=[
                ClipSound(clip.audio, clip.audio_sample_rate, clip.audio_lengths)
                for clip in clips
                if clip.audio is not None
            ],
        )

    # Not made beforehand: to let go of a tensor, torch gives up the interpreter, and a view for
    # each clip costs as many waits where another thread is busy in Python.
    @cached_property
    def clips(self) -> list[Clip]:
        """Each clip with its frame numbers, times and mask; its frames are a view of `frames`."""
        frames = self.frames if isinstance(self.frames, list) else self.frames.unbind()
        parts = zip(frames, self.indices, self.times, self.masks, strict=True)
        shapes = self.plane_shapes or [()] * len(self.indices)
        sounds: Sequence[Any] = self.sounds or [()] * len(self.indices)
        return [
            Clip(*part, shape, *sound)
            for part, shape, sound in zip(parts, shapes, sounds, strict=True)
        ]

    @cached_property
    def audio(self) -> torch.Tensor | list[torch.Tensor] | None:
        """With `audio=True` the sounds (N, samples, channels), shorter ones followed by zeros.

        A list of (samples, channels) where numbers of channels differ.
        """
        return pad_sounds([sound.samples for sound in self.sounds]) if self.sounds else None

    @property
    def audio_lengths(self) -> torch.Tensor:
        """With `audio=True` the samples of each clip, int64 (N,); 0 if it has no sound."""
        return torch.tensor([len(sound.samples) for sound in self.sounds], dtype=torch.int64)

    @property
    def audio_sample_rates(self) -> torch.Tensor:
        """With `audio=True` samples a second of each clip, int64 (N,); 0 if it has no sound."""
        return torch.tensor([sound.rate for sound in self.sounds], dtype=torch.int64)


def pad_sounds(sounds: Sequence[torch.Tensor]) -> torch.Tensor | list[torch.Tensor]:
    """Sounds (samples, channels) as one tensor (N, samples, channels), zeros after shorter ones.

    Those of several clips, (clips, samples, channels), likewise. They stay a list where numbers of
    channels or clips differ; sounds without samples fit any number of channels.
    """
    channels = {sound.shape[-1] for sound in sounds if sound.shape[-2]} or {sounds[0].shape[-1]}
    clips = {sound.shape[:-2] for sound in sounds}
    if len(channels) > 1 or len(clips) > 1:
        return list(sounds)
    longest = max(sound.shape[-2] for sound in sounds)
    padded = torch.zeros(len(sounds), *clips.pop(), longest, *channels)
    for row, sound in zip(padded, sounds, strict=True):
        if sound.shape[-2]:
            row[..., : sound.shape[-2], :] = sound
    return padded


def _joined(frames: torch.Tensor | list[torch.Tensor], others: Mapping[int, torch.Tensor]) -> Any:
    """Clips with the `others` in place of some; a tensor if all have one shape."""
    fits = {clip.shape for clip in others.values()} == {frames[0].shape}
    if isinstance(frames, torch.Tensor) and fits:
        for position, clip in others.items():
            frames[position] = clip
        return frames
    clips = [others.get(position, clip) for position, clip in enumerate(frames)]
    return torch.stack(clips) if len({clip.shape for clip in clips}) == 1 else clips
