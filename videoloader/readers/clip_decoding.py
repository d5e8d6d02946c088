"""Planned clips into pictures, a whole batch at a time, by the batch decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch

from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.output import OutputFormat
from videoloader.operators.batch import SampleError
from videoloader.operators.decoded import DecodedForm
from videoloader.readers import media
from videoloader.readers.planned import PlannedClip
from videoloader.readers.replacing import decode_replacing
from videoloader.readers.sharing import Decoded, SharedDecoding
from videoloader.sampling import FILLED
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
    """

    frames: torch.Tensor | list[torch.Tensor]
    others: list[list[torch.Tensor]]
    layout: str
    origins: list[str] = field(default_factory=list)


def decode_planned(
    clips: Sequence[PlannedClip],
    decoder: media.ClipDecoder,
    arguments: Sequence[Mapping[str, Any]],
    *,
    fuse: Fuse = lambda position, form: form,  # noqa: ARG005
    output: OutputFormat | None = None,
) -> DecodedClips:
    """Decode the clips of a batch; those that fail are replaced where they say by what.

    Args:
        clips: what to decode.
        decoder: does it.
        arguments: of the operator that decodes, for each clip: `fill_value`, and where it has them
            `size` and what is passed on to `BatchDecoder.decode`, which is the same for all.
        fuse: what operators make of the pictures, by position; see `DecodedForm`.
        output: what `fuse` makes of `OutputFormat`, the same for all.

    Raises:
        SampleError: a clip failed.
    """
    if not clips:
        return DecodedClips([], [], "FHWC")
    output = output or OutputFormat()
    options = {name: arguments[0][name] for name in _PASSED_ON if name in arguments[0]}
    output = replace(output, **{name: options.pop(name) for name in _COLORS if name in options})
    run = partial(_decode, clips, decoder, arguments, fuse, output, options)
    sharing = SharedDecoding.of(clips)
    try:
        decoded = run(sharing.own, sharing)
    finally:
        sharing.give_up()
    if not sharing.held:
        return decoded
    made = _by_position(sharing.own, decoded)
    # Only now, since other batches may wait for this one.
    taken = {at: shared.take() for at, shared in sharing.held.items()}
    made |= {at: clip for at, clip in taken.items() if clip is not None}
    failed = sorted(taken.keys() - made.keys())
    if failed:
        made |= _by_position(failed, run(failed, SharedDecoding()))
    return _joined([made[at] for at in range(len(clips))], decoded.layout)


def _decode(
    clips: Sequence[PlannedClip],
    decoder: media.ClipDecoder,
    arguments: Sequence[Mapping[str, Any]],
    fuse: Fuse,
    output: OutputFormat,
    options: Mapping[str, Any],
    own: Sequence[int],
    sharing: SharedDecoding,
) -> DecodedClips:
    """Decode the clips at some positions of a batch, and clips of later batches along with them."""
    if not own:
        return DecodedClips([], [], output.layout)
    chosen = [clips[at] for at in own]
    asking = [*own, *(at for _, at in sharing.along)]
    others: list[list[torch.Tensor]] = [[] for _ in asking]
    errors: dict[int, Exception] = {}

    def resolve(place: int, clip: PlannedClip, index: Any) -> media.ClipRequest:
        """The request of a clip, now that its video is open; what goes wrong costs the clip."""
        with blamed_on(index.name):
            return request_of(place, clip, index)

    def request_of(place: int, clip: PlannedClip, index: Any) -> media.ClipRequest:
        frames = clip.select(index)
        others[place] = clip.others(index, frames)
        displayed = media.displayed_size(index)
        form = DecodedForm.of(displayed)
        given = arguments[asking[place]]
        size, fill = given.get("size"), given["fill_value"]
        if size is not None:
            form = replace(form, view=replace(form.view, size=(size[0], size[-1])))
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
            fill_value=fill[0] if len(fill) == 1 else fill,
            size=form.view.size if form.is_resized or size is not None else None,
            crop=form.view.crop,
            flip=form.view.flip,
            window=form.view.window,
        )

    def decode(places: Sequence[int]) -> ClipBatch:
        along = list(enumerate((each.planned for each, _ in sharing.along), len(own)))
        requests = [
            media.ClipRequest(
                clip.source, (), index=clip.index, resolve=partial(resolve, place, clip)
            )
            for place, clip in [*((at, chosen[at]) for at in places), *along]
        ]
        batch: ClipBatch = decoder.decode(requests, on_error="mask", **output.keywords, **options)
        return sharing.keep(batch, others, len(places)) if along else batch

    def choose(place: int, failure: Exception) -> None:
        error = errors.get(place, failure)
        instead = chosen[place].instead
        if place in errors or instead is None:
            raise SampleError(own[place], error) from error
        try:
            chosen[place] = instead(error)
        except Exception as none_left:
            raise SampleError(own[place], none_left) from none_left

    batch = decode_replacing(decode, len(own), choose)
    return DecodedClips(batch.frames, others[: len(own)], output.layout, list(map(str, chosen)))


def _by_position(positions: Sequence[int], decoded: DecodedClips) -> dict[int, Decoded]:
    clips = zip(decoded.frames, decoded.others, decoded.origins, strict=True)
    return {
        at: Decoded(frames, others, origin)
        for at, (frames, others, origin) in zip(positions, clips, strict=True)
    }


def _joined(clips: Sequence[Decoded], layout: str) -> DecodedClips:
    """A batch of clips of several decodings."""
    frames: Any = [clip.frames for clip in clips]
    if len({each.shape for each in frames}) == 1:
        frames = torch.stack(frames)
    return DecodedClips(
        frames, [clip.others for clip in clips], layout, [clip.origin for clip in clips]
    )
