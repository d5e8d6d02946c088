"""Planned clips into pictures, a whole batch at a time, by the batch decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from videoloader.decoding.clip import ClipBatch, ClipFailure
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.work import NO_WORK, Work
from videoloader.operators.decoded import DecodedForm
from videoloader.readers import media
from videoloader.readers.planned import PlannedClip
from videoloader.readers.replacing import decode_replacing
from videoloader.readers.samples import taken
from videoloader.sampling import FILLED
from videoloader.sources.faults import blamed_on

__all__ = ["DecodedClips", "SampleError", "decode_planned"]

_COLORS = ("color_range", "matrix")
_PASSED_ON = (*_COLORS, "max_pixels", "resolution_change")

Fuse = Callable[[int, DecodedForm], DecodedForm]


class SampleError(Exception):
    """A sample of a batch failed.

    Attributes:
        position: of the sample in the batch.
        error: what went wrong.
    """

    def __init__(self, position: int, error: Exception) -> None:
        super().__init__(position, error)
        self.position = position
        self.error = error


@dataclass(frozen=True, slots=True)
class DecodedClips:
    """The clips of a batch.

    Attributes:
        frames: one tensor (N, ...) if all have one shape, else one tensor for each.
        others: for each clip the outputs beside the pictures.
        layout: of a clip.
        origins: for each clip the file that it comes from; "" where it has no name.
        places: positions in the batch of the clips that are left; None where all are.
        work: that decoding took.
    """

    frames: torch.Tensor | list[torch.Tensor]
    others: list[list[torch.Tensor]]
    layout: str
    origins: list[str] = field(default_factory=list)
    places: list[int] | None = None
    work: Work = NO_WORK


def decode_planned(
    clips: Sequence[PlannedClip],
    decoder: media.ClipDecoder,
    arguments: Sequence[Mapping[str, Any]],
    *,
    fuse: Fuse = lambda position, form: form,  # noqa: ARG005
    output: OutputFormat | None = None,
) -> DecodedClips:
    """Decode the clips of a batch; what becomes of those that fail, they say themselves.

    Args:
        clips: what to decode.
        decoder: does it.
        arguments: of the operator that decodes, for each clip: `fill_value`, and where it has them
            `size` and what is passed on to `BatchDecoder.decode`, which is the same for all.
        fuse: what operators make of the pictures, by position; see `DecodedForm`.
        output: what `fuse` makes of `OutputFormat`, the same for all.

    Where no clip of a batch is left, the last one is replaced: a batch is never empty.

    Raises:
        SampleError: a clip failed.
    """
    if not clips:
        return DecodedClips([], [], "FHWC")
    output = output or OutputFormat()
    options = {name: arguments[0][name] for name in _PASSED_ON if name in arguments[0]}
    output = replace(output, **{name: options.pop(name) for name in _COLORS if name in options})
    chosen = list(clips)
    others: list[list[torch.Tensor]] = [[] for _ in clips]
    errors: dict[int, Exception] = {}
    opened: dict[int, media.Index] = {}
    left_out: set[int] = set()

    def resolve(position: int, index: Any) -> media.ClipRequest:
        """The request of a clip, now that its video is open; what goes wrong costs the clip."""
        with blamed_on(index.name):
            return request_of(position, index)

    def request_of(position: int, index: Any) -> media.ClipRequest:
        clip = chosen[position]
        opened[position] = index
        frames = clip.select(index)
        others[position] = clip.others(index, frames)
        displayed = media.displayed_size(index)
        form = DecodedForm.of(displayed)
        size = _size(arguments[position])
        if size is not None:
            form = replace(form, view=replace(form.view, size=size))
        try:
            form = fuse(position, form)
        except Exception as error:
            errors[position] = error
            raise
        return media.ClipRequest(
            clip.source,
            frames,
            index=index,
            pad_mode="constant" if (frames == FILLED).any() else "none",
            fill_value=_fill_value(arguments[position]),
            size=form.view.size if form.is_resized or size is not None else None,
            crop=form.view.crop,
            flip=form.view.flip,
            window=form.view.window,
        )

    def decode(positions: Sequence[int]) -> ClipBatch:
        requests = [
            media.ClipRequest(
                chosen[at].source,
                np.zeros(chosen[at].length, dtype=np.int64),
                index=chosen[at].index,
                fill_value=_fill_value(arguments[at]),
                size=_size(arguments[at]),
                resolve=partial(resolve, at),
            )
            for at in positions
        ]
        batch: ClipBatch = decoder.decode(requests, on_error="mask", **output.keywords, **options)
        return batch

    def choose(at: int, failure: ClipFailure) -> bool:
        clip, error = chosen[at], errors.get(at, failure.error)
        if at in errors:
            raise SampleError(at, error) from error
        try:
            if clip.note is not None:
                clip.note(failure)
            if clip.on_error == "skip":
                left_out.add(at)
            if clip.on_error == "mask" or (at in left_out and len(left_out) < len(chosen)):
                return False
            left_out.discard(at)
            if clip.instead is None:
                raise error
            chosen[at] = clip.instead(error)
        except Exception as none_left:
            raise SampleError(at, none_left) from none_left
        return True

    batch = decode_replacing(decode, len(chosen), choose)
    for failure in batch.failures:
        at = failure.request
        others[at] = chosen[at].others(opened.get(at), batch.indices[at])
    places = None
    if left_out:
        places = [at for at in range(len(chosen)) if at not in left_out]
        batch = taken(batch, places)
        others, chosen = [others[at] for at in places], [chosen[at] for at in places]
    return DecodedClips(
        batch.frames, others, output.layout, list(map(str, chosen)), places, batch.work
    )


def _fill_value(arguments: Mapping[str, Any]) -> Any:
    fill = arguments["fill_value"]
    return fill[0] if len(fill) == 1 else fill


def _size(arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    size = arguments.get("size")
    return None if size is None else (size[0], size[-1])
