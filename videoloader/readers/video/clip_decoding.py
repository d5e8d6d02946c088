"""Planned clips into pictures, a whole batch at a time, by the batch decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from videoloader.decoding.clip import ClipBatch, ClipFailure
from videoloader.decoding.framing import shorter_resized
from videoloader.decoding.output import OutputFormat
from videoloader.errors import ArgumentError
from videoloader.operators.batch import SampleError
from videoloader.operators.decoded import DecodedForm
from videoloader.readers.clip_samples.samples import taken
from videoloader.readers.failures.replacing import decode_replacing
from videoloader.readers.video import media
from videoloader.readers.video.planned import PlannedClip
from videoloader.readers.video.sharing import Decoded, SharedDecoding
from videoloader.runtime.work import NO_WORK, Work
from videoloader.sampling import FILLED, snap_to_keyframes
from videoloader.sources.faults import blamed_on

__all__ = ["DecodedClips", "decode_planned"]

_COLORS = ("color_range", "matrix")
_PASSED_ON = (*_COLORS, "max_pixels", "resolution_change")

Fuse = Callable[[int, DecodedForm], DecodedForm]


@dataclass(frozen=True, slots=True)
class DecodedClips:
    """The clips of a batch.

    Attributes:
        frames: one tensor (N, ...) if all have one shape, else one tensor for each.
        others: for each clip the outputs beside the pictures.
        layout: of a clip.
        origins: for each clip the file that it comes from; "" where it has no name.
        places: positions in the batch of the clips that are left.
        work: that decoding took.
    """

    frames: torch.Tensor | list[torch.Tensor]
    others: list[list[torch.Tensor]]
    layout: str
    origins: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
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
    output = output or DecodedForm.of((1, 1), arguments[0]).output
    options = {name: arguments[0][name] for name in _PASSED_ON if name in arguments[0]}
    output = replace(output, **{name: options.pop(name) for name in _COLORS if name in options})
    run = partial(_decode, clips, decoder, arguments, fuse, output, options)
    sharing = SharedDecoding.of(clips)
    try:
        decoded = run(sharing.own, sharing, may_be_empty=bool(sharing.held))
    finally:
        sharing.give_up()
    if not sharing.held:
        return decoded
    made = _by_position(decoded)
    # Only now, since other batches may wait for this one.
    held = {at: shared.take() for at, shared in sharing.held.items()}
    made |= {at: clip for at, clip in held.items() if clip is not None}
    work = decoded.work
    failed = sorted(held.keys() - made.keys())
    if failed:
        again = run(failed, SharedDecoding(), may_be_empty=bool(made))
        made |= _by_position(again)
        work += again.work
    return _joined(made, output.layout, work)


def _decode(
    clips: Sequence[PlannedClip],
    decoder: media.ClipDecoder,
    arguments: Sequence[Mapping[str, Any]],
    fuse: Fuse,
    output: OutputFormat,
    options: Mapping[str, Any],
    own: Sequence[int],
    sharing: SharedDecoding,
    *,
    may_be_empty: bool,
) -> DecodedClips:
    """Decode the clips at some positions of a batch, and clips of later batches along with them.

    `may_be_empty`: all of them may be left out, since others of the batch are there.
    """
    if not own:
        return DecodedClips([], [], output.layout)
    chosen = [clips[at] for at in own]
    asking = [*own, *(at for _, at in sharing.along)]
    others: list[list[torch.Tensor]] = [[] for _ in asking]
    errors: dict[int, Exception] = {}
    opened: dict[int, media.Index] = {}
    left_out: set[int] = set()

    def resolve(place: int, clip: PlannedClip, index: Any) -> media.ClipRequest:
        """The request of a clip, now that its video is open; what goes wrong costs the clip."""
        with blamed_on(index.name):
            return request_of(place, clip, index)

    def request_of(place: int, clip: PlannedClip, index: Any) -> media.ClipRequest:
        opened[place] = index
        given = arguments[asking[place]]
        frames = clip.select(index)
        if given.get("snap") == "keyframe":
            frames = snap_to_keyframes(frames, index.keyframes, index.name)
        others[place] = clip.others(index, frames)
        displayed = media.displayed_size(index)
        form = DecodedForm.of(displayed, given)
        size = _size(given, displayed)
        if size is not None:
            form = replace(form, view=replace(form.view, size=size), is_resized=True)
        if given.get("roi") is not None:
            form = _windowed(form, given["roi"])
        try:
            form = fuse(asking[place], form)
        except Exception as error:
            errors[place] = error
            raise
        return media.ClipRequest(
            clip.source,
            frames,
            index=index,
            pad_mode="constant" if (frames == FILLED).any() else "none",
            fill_value=_fill_value(given),
            size=form.view.size if form.is_resized else None,
            crop=form.view.crop,
            flip=form.view.flip,
            window=form.view.window,
        )

    def decode(places: Sequence[int]) -> ClipBatch:
        along = list(enumerate((each.planned for each, _ in sharing.along), len(own)))
        requests = [
            media.ClipRequest(
                clip.source,
                np.zeros(clip.length, dtype=np.int64),
                index=clip.index,
                fill_value=_fill_value(arguments[asking[place]]),
                size=_size(arguments[asking[place]]),
                resolve=partial(resolve, place, clip),
            )
            for place, clip in [*((at, chosen[at]) for at in places), *along]
        ]
        batch: ClipBatch = decoder.decode(requests, on_error="mask", **output.keywords, **options)
        return sharing.keep(batch, others, len(places)) if along else batch

    def choose(place: int, failure: ClipFailure) -> bool:
        clip, error = chosen[place], errors.get(place, failure.error)
        if place in errors:
            raise SampleError(own[place], error) from error
        try:
            if clip.note is not None:
                clip.note(failure)
            if clip.on_error == "skip":
                left_out.add(place)
            is_left_out = place in left_out and (may_be_empty or len(left_out) < len(chosen))
            if clip.on_error == "mask" or is_left_out:
                return False
            left_out.discard(place)
            if clip.instead is None:
                raise error
            chosen[place] = clip.instead(error)
        except Exception as none_left:
            raise SampleError(own[place], none_left) from none_left
        return True

    batch = decode_replacing(decode, len(own), choose)
    for failure in batch.failures:
        place = failure.request
        frames = batch.indices[place]
        # What does not need the video any more: the outputs beside may be what failed.
        index = opened.get(place) if (frames != FILLED).any() else None
        others[place] = chosen[place].others(index, frames)
    left = [place for place in range(len(own)) if place not in left_out]
    if left_out:
        batch = taken(batch, left)
    return DecodedClips(
        batch.frames,
        [others[place] for place in left],
        output.layout,
        [str(chosen[place]) for place in left],
        [own[place] for place in left],
        batch.work,
    )


def _fill_value(arguments: Mapping[str, Any]) -> Any:
    fill = arguments["fill_value"]
    return fill[0] if len(fill) == 1 else fill


def _size(
    arguments: Mapping[str, Any], displayed: tuple[int, int] | None = None
) -> tuple[int, int] | None:
    """(height, width) to decode to; None for that of the video, or where that has to be known."""
    size, shorter = arguments.get("size"), arguments.get("resize_shorter")
    if size is not None:
        return size[0], size[-1]
    return None if shorter is None or displayed is None else shorter_resized(displayed, shorter)


def _windowed(form: DecodedForm, roi: tuple[int, ...]) -> DecodedForm:
    """A part of the pictures: (top, left, height, width)."""
    top, left, height, width = roi
    if top + height > form.size[0] or left + width > form.size[1]:
        raise ArgumentError(
            f"roi {roi} (top, left, height, width) reaches outside the frames of "
            f"{form.size[0]} x {form.size[1]} (height x width)"
        )
    return form.cropped(slice(top, top + height), slice(left, left + width))


def _by_position(decoded: DecodedClips) -> dict[int, Decoded]:
    clips = zip(decoded.frames, decoded.others, decoded.origins, strict=True)
    return {
        at: Decoded(frames, others, origin)
        for at, (frames, others, origin) in zip(decoded.places, clips, strict=True)
    }


def _joined(made: Mapping[int, Decoded], layout: str, work: Work) -> DecodedClips:
    """A batch of clips of several decodings, by position."""
    places = sorted(made)
    clips = [made[at] for at in places]
    frames: Any = [clip.frames for clip in clips]
    if len({each.shape for each in frames}) == 1:
        frames = torch.stack(frames)
    return DecodedClips(
        frames,
        [clip.others for clip in clips],
        layout,
        [clip.origin for clip in clips],
        places,
        work,
    )
