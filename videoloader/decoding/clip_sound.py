"""Decodes the sound of the clips of a batch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import islice

import numpy as np
import torch

from videoloader.audio.request import ClipSoundRequest, DecodedSound
from videoloader.decoding.assembly import Assembly
from videoloader.decoding.clip_batch import ClipSound
from videoloader.decoding.cpu.engine import CpuEngine
from videoloader.decoding.cpu.local import LocalEngine
from videoloader.errors import VideoError
from videoloader.machinery.system.faults import as_video_error


def decode_clip_sounds(assembly: Assembly, engine: CpuEngine | LocalEngine) -> None:
    """Decode the sounds of a batch; sound that several clips of a video share is decoded once."""
    together: dict[Hashable, list[int]] = {}
    for number, clip in assembly.clips.items():
        if not clip.is_cached:
            together.setdefault(clip.video, []).append(number)
    alone = []
    for numbers, error in _decode(assembly, engine, [*together.values()]):
        if len(numbers) > 1:  # damage that one of them hears costs the others nothing
            alone += [[number] for number in numbers]
        else:
            assembly.fail(numbers[0], error)
    for (number,), error in _decode(assembly, engine, alone):
        assembly.fail(number, error)


def _decode(
    assembly: Assembly, engine: CpuEngine | LocalEngine, groups: list[list[int]]
) -> list[tuple[list[int], VideoError]]:
    """Decode the sounds of groups of clips, each of one video; gives failed groups with errors."""
    requests = []
    for numbers in groups:
        clip, rules = assembly.clips[numbers[0]], assembly.rules
        requests.append(
            ClipSoundRequest(
                engine.sound_source(clip.request.source, clip.source),
                clip.index.name,
                tuple(spans for number in numbers for spans in assembly.clips[number].sounds),
                rules.audio_sample_rate,
                rules.audio_channels,
            )
        )
    failed = []
    for request, numbers, found in zip(
        requests, groups, engine.decode_sounds(requests), strict=True
    ):
        if isinstance(found, Exception):
            failed.append((numbers, as_video_error(found, request.name)))
            continue
        parts = iter(found)
        for number in numbers:
            clip = assembly.clips[number]
            clip.heard = _joined([*islice(parts, len(clip.sounds))], clip.request.clips)
    return failed


def _joined(parts: Sequence[DecodedSound], clips: int) -> ClipSound | None:
    """The sounds of the clips of a request; None where it has no clips."""
    if not parts:
        return None
    samples = np.concatenate([part.samples for part in parts], axis=1).T
    lengths = () if clips == 1 else tuple(part.samples.shape[1] for part in parts)
    made = torch.from_numpy(np.ascontiguousarray(samples))
    return ClipSound(made, parts[0].sample_rate, lengths)
