"""Planned clips into pictures, a whole batch at a time, by the batch decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import torch

from videoloader.dali.operators.context import SampleError
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.readers.video.planned import Companion, Decoded, PlannedClip, SharedClip
from videoloader.dali.tensors.batch import Batch
from videoloader.decoding.attempts import Attempts, Named, requests_for
from videoloader.decoding.batch_decoder import BatchDecoder
from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.clip_cache import DEFAULT_CACHE, CacheOptions, ClipCache, open_clip_cache
from videoloader.decoding.failures import Failures
from videoloader.decoding.framing import shorter_resized
from videoloader.decoding.options import DecodingRules
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import Blank, ClipRequest
from videoloader.errors import ArgumentError, DecodeError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.runtime.run_stats import NO_WORK, Work
from videoloader.machinery.system.faults import blamed_on
from videoloader.sampling import FILLED, snap_to_keyframes
from videoloader.sources.items import Item

_COLORS = ("chroma", "color_range", "matrix", "tone_map")
_RULES = ("max_pixels", "resolution_change", "audio_sample_rate", "audio_channels")

Fuse = Callable[[int, DecodedForm], DecodedForm]


@dataclass(frozen=True, slots=True)
class DecoderSetup:
    """A decoder, with the form and the rules that an operator decodes by, and its cache of clips.

    These follow from arguments of the operator that are the same for all batches.
    """

    decoder: BatchDecoder
    output: OutputFormat
    rules: DecodingRules
    cache: ClipCache | None = None

    @classmethod
    def of(
        cls, decoder: BatchDecoder, arguments: Mapping[str, Any], output: OutputFormat | None = None
    ) -> DecoderSetup:
        """The set-up of an operator's decoder.

        Args:
            decoder: decodes its clips.
            arguments: of the operator.
            output: what absorbed operators make of `OutputFormat`, if there are any.
        """
        output = output or DecodedForm.of((1, 1), arguments).output
        output = replace(output, **{name: arguments[name] for name in _COLORS if name in arguments})
        given = {name: arguments[name] for name in _RULES if name in arguments}
        rules = DecodingRules(**given, audio=arguments.get("enable_audio", False))
        return cls(decoder, output, rules, cache_of(arguments))


@dataclass(frozen=True, slots=True)
class DecodedClips:
    """The decoded clips of a batch.

    Attributes:
        outputs: the pictures, with the file of each clip as its origin ("" where it has no name);
            then the outputs beside them.
        places: positions in the batch of the clips that make it up, see `Attempts.chosen`.
        work: that decoding took.
    """

    outputs: tuple[Batch, ...]
    places: list[int] = field(default_factory=list)
    work: Work = NO_WORK


def cache_of(arguments: Mapping[str, Any]) -> ClipCache | None:
    """The cache of decoded clips that arguments of an operator name, if they do."""
    given = {name: arguments[name] for name in DEFAULT_CACHE if name in arguments}
    return open_clip_cache(cast(CacheOptions, {**DEFAULT_CACHE, **given}))


def decode_planned(
    clips: Sequence[PlannedClip],
    setup: DecoderSetup,
    arguments: Sequence[Mapping[str, Any]],
    *,
    fuse: Fuse = lambda position, form: form,  # noqa: ARG005
) -> DecodedClips:
    """Decode the clips of a batch, and handle failures by their policy.

    Args:
        clips: what to decode.
        setup: of the operator that decodes.
        arguments: of this operator, for each clip.
        fuse: what absorbed operators make of the pictures, by position; see `DecodedForm`.

    A batch is never empty: if every clip would be left out, the last one is replaced.

    Raises:
        SampleError: a clip failed.
    """
    if not clips:
        return DecodedClips((Batch([], "FHWC"),))
    sharing = _SharedDecoding.of(clips)
    try:
        attempts = _attempts(clips, sharing.own, may_be_empty=bool(sharing.held))
        decoded = _Decoding(setup, arguments, fuse, sharing, attempts).run()
    finally:
        sharing.give_up()
    if not sharing.held:
        return decoded
    made = _by_position(decoded)
    # After decoding its own clips, since other batches may wait for these.
    held = {at: shared.take() for at, shared in sharing.held.items()}
    made |= {at: clip for at, clip in held.items() if clip is not None}
    work = decoded.work
    failed = _SharedDecoding(own=sorted(held.keys() - made.keys()))
    if failed.own:
        attempts = _attempts(clips, failed.own, may_be_empty=bool(made))
        again = _Decoding(setup, arguments, fuse, failed, attempts).run()
        made |= _by_position(again)
        work += again.work
    return _joined(made, setup.output.layout, work)


@dataclass(slots=True)
class _SharedDecoding:
    """Which clips this batch decodes, and which it shares with other batches.

    Attributes:
        held: clips that another batch decodes, by position in this batch.
        own: positions that this batch decodes.
        companions: clips of later batches to decode as well, with the position that asks for each.
    """

    held: dict[int, SharedClip] = field(default_factory=dict)
    own: list[int] = field(default_factory=list)
    companions: list[tuple[Companion, int]] = field(default_factory=list)

    @classmethod
    def of(cls, clips: Sequence[PlannedClip]) -> _SharedDecoding:
        """Divide the clips of a batch: own ones, companions, and ones held by other batches."""
        made = cls()
        for at, clip in enumerate(clips):
            if clip.shared is None or clip.shared.claim():
                made.own.append(at)
                made.companions += [(each, at) for each in clip.companions if each.shared.claim()]
            else:
                made.held[at] = clip.shared
        return made

    def keep(self, batch: ClipBatch, others: Mapping[int, list[torch.Tensor]]) -> ClipBatch:
        """Hand the clips of later batches to their `SharedClip`; returns the clips of this batch.

        Args:
            batch: the clips of `own`, then those of `companions`.
            others: the outputs beside the pictures, by place in `batch`.
        """
        failed, count = batch.failed, len(self.own)
        ready = None
        kept: list[Decoded | None] = []
        for at, (each, _) in enumerate(self.companions, count):
            if at in failed:
                kept.append(None)  # its own batch retries it and reports the error
                continue
            # A view would keep the memory of all clips.
            beside = others[at] + _sound_of(batch, at)
            kept.append(Decoded(batch.frames[at].clone(), beside, str(each.planned)))
        if any(clip is not None and clip.frames.is_cuda for clip in kept):
            ready = torch.cuda.current_stream(batch.frames[0].device).record_event()
        for (each, _), clip in zip(self.companions, kept, strict=True):
            each.shared.give(None if clip is None else clip._replace(ready=ready))
        self.companions = []
        return batch.at(slice(count))

    def give_up(self) -> None:
        """Tell other batches to decode the clips that this one has not decoded."""
        for each, _ in self.companions:
            each.shared.give(None)
        self.companions = []


@dataclass(slots=True, eq=False)
class _Decoding:
    """The clips that a batch decodes: its own, and clips of later batches along with them.

    Attributes:
        attempts: at the clips of `sharing.own`, in their order.
        outputs: beside the pictures, by place among these; then those of the companions.
        indexes: of the videos that are open, by place.

    The others are the arguments of `decode_planned`, and what follows from them.
    """

    setup: DecoderSetup
    arguments: Sequence[Mapping[str, Any]]
    fuse: Fuse
    sharing: _SharedDecoding
    attempts: Attempts[PlannedClip]
    outputs: dict[int, list[torch.Tensor]] = field(default_factory=dict)
    indexes: dict[int, VideoIndex] = field(default_factory=dict)

    def run(self) -> DecodedClips:
        """Decode the clips, and handle failures by their policy."""
        positions, clips, setup = self.sharing.own, self.attempts.wanted, self.setup
        if not positions:
            return DecodedClips((Batch([], setup.output.layout),))
        try:
            batch = self.attempts.clips(self._decode, _names)
        except Exception as error:
            if self.attempts.ended_by is None:
                raise
            raise SampleError(positions[self.attempts.ended_by], error) from error
        left = self.attempts.chosen
        for place in self.attempts.masked:
            # Without the video: computing these outputs may be what failed.
            frames = batch.indices[place]
            index = self.indexes.get(place) if (frames != FILLED).any() else None
            self.outputs[place] = clips[place].selection.outputs(index, frames)
        origins = [str(clips[place]) for place in left]
        pictures = Batch(batch.frames, setup.output.layout, origins)
        beside = [self.outputs[place] + _sound_of(batch, row) for row, place in enumerate(left)]
        outputs = (pictures, *_columns(beside))
        if len({*left}) < len(left):  # functions of users may write to a sample
            outputs = tuple(output.each(torch.clone) for output in outputs)
        return DecodedClips(outputs, [positions[place] for place in left], batch.work)

    def _decode(self, places: Sequence[int]) -> ClipBatch:
        """Decode the clips of some places; clips of later batches are handed over."""
        attempts, sharing, setup = self.attempts, self.sharing, self.setup
        wanted = [(attempts.wanted[place], place, sharing.own[place]) for place in places]
        wanted += [  # along with the first ones
            (each.planned, place, at)
            for place, (each, at) in enumerate(sharing.companions, len(sharing.own))
        ]
        sources = [clip.source for clip, _, _ in wanted]
        indexes = [clip.index for clip, _, _ in wanted]
        blanks = [_blank(clip, self.arguments[at]) for clip, _, at in wanted]
        with setup.decoder.open(sources, indexes) as videos:
            requests = requests_for(videos, partial(self._choose, wanted))
            batch = setup.decoder.begin(
                requests, videos, setup.output, setup.rules, blanks=blanks, cache=setup.cache
            ).finish()
        return sharing.keep(batch, self.outputs) if sharing.companions else batch

    def _choose(
        self, wanted: Sequence[tuple[PlannedClip, int, int]], number: int, index: VideoIndex
    ) -> ClipRequest:
        """The request for a clip; also records the index and the outputs of its place."""
        clip, place, at = wanted[number]
        self.indexes[place] = index
        try:
            request, self.outputs[place] = self._request(clip, at, index)
        except SampleError as error:
            if place < len(self.sharing.own):
                raise
            raise DecodeError(str(error.error)) from error  # its own batch raises it
        return request

    def _request(
        self, clip: PlannedClip, at: int, index: VideoIndex
    ) -> tuple[ClipRequest, list[torch.Tensor]]:
        """The request for a clip, and its outputs other than pictures.

        `at` is the position in the batch of the clip, or of the one that it is decoded along with.

        Raises:
            VideoError: the clip fails.
            SampleError: an operator that is absorbed does.
        """
        given = self.arguments[at]
        with blamed_on(index.name):
            frames = clip.selection.frames(index)
            if given.get("snap") == "keyframe":
                frames = snap_to_keyframes(frames, clip.selection.keyframes(index), index.name)
            outputs = clip.selection.outputs(index, frames)
            displayed = index.orientation.displayed((index.height, index.width))
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
            sound=clip.selection.sound(index) if self.setup.rules.audio else None,
        )
        return request, outputs


def _attempts(
    clips: Sequence[PlannedClip], own: Sequence[int], *, may_be_empty: bool
) -> Attempts[PlannedClip]:
    """At the clips at some positions; all are of one reader or operator."""
    failures, others = clips[0].failures or Failures(), clips[0].successors
    return Attempts(failures, [clips[at] for at in own], others, may_be_empty=may_be_empty)


def _names(clip: PlannedClip) -> Named:
    """The names of a clip in failures."""
    sample = -1 if clip.identity is None else clip.identity.sample
    return clip.item or Item(str(clip)), sample, clip.epoch


def _blank(clip: PlannedClip, arguments: Mapping[str, Any]) -> Blank:
    """The form of a clip where it fails."""
    return Blank(clip.length, _size(arguments), _fill_value(arguments))


def _fill_value(arguments: Mapping[str, Any]) -> Any:
    fill = arguments["fill_value"]
    return fill[0] if len(fill) == 1 else fill


def _size(
    arguments: Mapping[str, Any], displayed: tuple[int, int] | None = None
) -> tuple[int, int] | None:
    """(height, width) to decode to; None for the video's size, or if that must be known first."""
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


def _sound_of(batch: ClipBatch, row: int) -> list[torch.Tensor]:
    """The samples (n, channels) and the rate of a clip, if decoding gives sound."""
    if not batch.sounds:
        return []
    sound = batch.sounds[row]
    return [sound.samples, torch.tensor(float(sound.rate))]


def _columns(rows: Sequence[Sequence[torch.Tensor]]) -> Iterator[Batch]:
    """The outputs other than pictures, each for all clips."""
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
