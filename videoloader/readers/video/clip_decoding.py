"""Planned clips into pictures, a whole batch at a time, by the batch decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from videoloader.decoding.clip import ClipBatch, ClipFailure
from videoloader.decoding.failures import Attempts, Failures
from videoloader.decoding.framing import shorter_resized
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import Blank, ClipRequest
from videoloader.decoding.rules import Rules
from videoloader.errors import ArgumentError, DecodeError, VideoError
from videoloader.operators.batch import SampleError
from videoloader.operators.decoded import DecodedForm
from videoloader.readers.video import media
from videoloader.readers.video.planned import PlannedClip
from videoloader.readers.video.sharing import Decoded, SharedDecoding
from videoloader.runtime.work import NO_WORK, Work
from videoloader.sampling import FILLED, snap_to_keyframes
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item
from videoloader.tensors.batch import Batch

__all__ = ["DecodedClips", "decode_planned"]

_COLORS = ("color_range", "matrix")
_RULES = ("max_pixels", "resolution_change")

Fuse = Callable[[int, DecodedForm], DecodedForm]


@dataclass(frozen=True, slots=True)
class DecodedClips:
    """What decoding the clips of a batch gave.

    Attributes:
        outputs: the pictures, with the file of each clip as its origin ("" where it has no name);
            then the outputs beside them.
        places: positions in the batch of the clips that are left.
        work: that decoding took.
    """

    outputs: tuple[Batch, ...]
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
    """Decode the clips of a batch; those that fail are treated as their policy says.

    Args:
        clips: what to decode.
        decoder: does it.
        arguments: of the operator that decodes, for each clip: `fill_value`, and where it has them
            `size`; those of `OutputFormat` and `Rules` are the same for all.
        fuse: what operators make of the pictures, by position; see `DecodedForm`.
        output: what `fuse` makes of `OutputFormat`, the same for all.

    Where no clip of a batch is left, the last one is replaced: a batch is never empty.

    Raises:
        SampleError: a clip failed.
    """
    if not clips:
        return DecodedClips((Batch([], "FHWC"),))
    given = arguments[0]
    output = output or DecodedForm.of((1, 1), given).output
    output = replace(output, **{name: given[name] for name in _COLORS if name in given})
    rules = Rules(on_error="mask", **{name: given[name] for name in _RULES if name in given})
    sharing = SharedDecoding.of(clips)
    form = (decoder, arguments, fuse, output, rules)
    try:
        attempts = _attempts(clips, sharing.own, may_be_empty=bool(sharing.held))
        decoded = _Decoding(*form, sharing, attempts).run()
    finally:
        sharing.give_up()
    if not sharing.held:
        return decoded
    made = _by_position(decoded)
    # Only now, since other batches may wait for this one.
    held = {at: shared.take() for at, shared in sharing.held.items()}
    made |= {at: clip for at, clip in held.items() if clip is not None}
    work = decoded.work
    failed = SharedDecoding(own=sorted(held.keys() - made.keys()))
    if failed.own:
        attempts = _attempts(clips, failed.own, may_be_empty=bool(made))
        again = _Decoding(*form, failed, attempts).run()
        made |= _by_position(again)
        work += again.work
    return _joined(made, output.layout, work)


@dataclass(slots=True, eq=False)
class _Decoding:
    """The clips that a batch decodes itself, and those of later batches along with them.

    Attributes:
        attempts: at the clips of `sharing.own`, in their order.
        outputs: beside the pictures, by place among these.
        indexes: of the videos that are open.

    The others are the arguments of `decode_planned`, and what follows from them.
    """

    decoder: media.ClipDecoder
    arguments: Sequence[Mapping[str, Any]]
    fuse: Fuse
    output: OutputFormat
    rules: Rules
    sharing: SharedDecoding
    attempts: Attempts[PlannedClip]
    outputs: dict[int, list[torch.Tensor]] = field(default_factory=dict)
    indexes: dict[int, media.Index | None] = field(default_factory=dict)

    def run(self) -> DecodedClips:
        """Decode them, and treat those that fail as their policy says."""
        positions, clips = self.sharing.own, self.attempts.wanted
        if not positions:
            return DecodedClips((Batch([], self.output.layout),))
        batch: ClipBatch | None = None
        for places in self.attempts.rounds():
            more = self._decode(places)
            batch = more if batch is None else batch.replaced(places, more)
            for number, failure in more.failed.items():
                self._failed(places[number], failure)
        assert batch is not None
        left = [place for place in range(len(positions)) if place not in self.attempts.left_out]
        for place in self.attempts.masked:
            # What does not need the video any more: the outputs beside may be what failed.
            frames, index = batch.indices[place], self.indexes[place]
            index = index if (frames != FILLED).any() else None
            self.outputs[place] = clips[place].selection.outputs(index, frames)
        if self.attempts.left_out:
            batch = batch.at(left)
        origins = [str(clips[place]) for place in left]
        pictures = Batch(batch.frames, self.output.layout, origins)
        others = _columns([self.outputs[place] for place in left])
        return DecodedClips((pictures, *others), [positions[place] for place in left], batch.work)

    def _decode(self, places: Sequence[int]) -> ClipBatch:
        """Decode the clips of some places, and along with the first ones those of `sharing`."""
        own, along = self.sharing.own, self.sharing.along
        wanted = self.attempts.wanted
        clips = [*(wanted[place] for place in places), *(each.planned for each, _ in along)]
        asking = [*(own[place] for place in places), *(at for _, at in along)]
        sources, indexes = [clip.source for clip in clips], [clip.index for clip in clips]
        requests: list[ClipRequest | VideoError] = []
        outputs: list[list[torch.Tensor]] = []
        with self.decoder.open(sources, indexes) as videos:
            for clip, at, video in zip(clips, asking, videos, strict=True):
                beside: list[torch.Tensor] = []
                try:
                    if isinstance(video, VideoError):
                        raise video
                    request, beside = self._request(clip, at, video.index)
                    requests.append(request)
                except VideoError as error:
                    requests.append(error)
                except SampleError as error:
                    if len(requests) < len(places):
                        raise
                    requests.append(DecodeError(str(error.error)))  # its own batch tells it
                outputs.append(beside)
            blanks = [
                Blank(clip.length, _size(given), _fill_value(given))
                for clip, given in zip(clips, map(self.arguments.__getitem__, asking), strict=True)
            ]
            batch = self.decoder.run(requests, videos, self.output, self.rules, blanks=blanks)
        for place, video, beside in zip(places, videos, outputs, strict=False):
            self.indexes[place] = None if isinstance(video, VideoError) else video.index
            self.outputs[place] = beside
        return self.sharing.keep(batch, outputs, len(places)) if along else batch

    def _request(
        self, clip: PlannedClip, at: int, index: media.Index
    ) -> tuple[ClipRequest, list[torch.Tensor]]:
        """What to decode for the clip at, or along with, a position, and its other outputs.

        Raises:
            VideoError: the clip fails.
            SampleError: an operator that is absorbed does.
        """
        given = self.arguments[at]
        with blamed_on(index.name):
            frames = clip.selection.frames(index)
            if given.get("snap") == "keyframe":
                frames = snap_to_keyframes(frames, index.keyframes, index.name)
            outputs = clip.selection.outputs(index, frames)
            displayed = media.displayed_size(index)
            form = DecodedForm.of(displayed, given)
            size = _size(given, displayed)
            if size is not None:
                form = replace(form, view=replace(form.view, size=size), is_resized=True)
            if given.get("roi") is not None:
                form = _windowed(form, given["roi"])
        try:
            form = self.fuse(at, form)
        except Exception as error:
            raise SampleError(at, error) from error
        request = ClipRequest(
            clip.source,
            frames,
            pad_mode="constant" if (frames == FILLED).any() else "none",
            fill_value=_fill_value(given),
            size=form.view.size if form.is_resized else None,
            crop=form.view.crop,
            flip=form.view.flip,
            window=form.view.window,
        )
        return request, outputs

    def _failed(self, place: int, failure: ClipFailure) -> None:
        """Have the policy decide on a clip that failed."""
        clip = self.attempts.wanted[place]
        try:
            self.attempts.failed(
                place,
                clip.item or Item(str(clip)),
                failure.error,
                frame=failure.frame,
                sample=-1 if clip.identity is None else clip.identity.sample,
                epoch=clip.epoch,
            )
        except Exception as error:
            raise SampleError(self.sharing.own[place], error) from error


def _attempts(
    clips: Sequence[PlannedClip], own: Sequence[int], *, may_be_empty: bool
) -> Attempts[PlannedClip]:
    """At the clips at some positions; all are of one reader or operator."""
    failures, others = clips[0].failures or Failures(), clips[0].successors
    return Attempts(failures, [clips[at] for at in own], others, may_be_empty=may_be_empty)


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


def _columns(rows: Sequence[Sequence[torch.Tensor]]) -> Iterator[Batch]:
    """What each clip has beside its pictures, by output."""
    return map(Batch, zip(*rows, strict=True))


def _by_position(decoded: DecodedClips) -> dict[int, Decoded]:
    frames, *others = decoded.outputs
    return {
        at: Decoded(frames[row], [other[row] for other in others], frames.source_info[row])
        for row, at in enumerate(decoded.places)
    }


def _joined(made: Mapping[int, Decoded], layout: str, work: Work) -> DecodedClips:
    """A batch of clips of several decodings, by position."""
    places = sorted(made)
    clips = [made[at] for at in places]
    frames: Any = [clip.frames for clip in clips]
    if len({each.shape for each in frames}) == 1:
        frames = torch.stack(frames)
    pictures = Batch(frames, layout, [clip.origin for clip in clips])
    return DecodedClips((pictures, *_columns([clip.others for clip in clips])), places, work)
