"""`fn.readers.nemo_asr`: sounds and their texts, as the manifests of NVIDIA NeMo list them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from videoloader.audio.request import DecodedSound, SoundRequest
from videoloader.dali.operators.arguments import BOOL, FLOAT, REQUIRED, Argument
from videoloader.dali.operators.audio.decoding import SOUND_TYPE, convert_sound
from videoloader.dali.operators.audio.resample import QUALITY
from videoloader.dali.operators.context import Sample
from videoloader.dali.operators.deprecated import Deprecated
from videoloader.dali.readers.files.reader import TEXTS
from videoloader.dali.readers.stored_samples import declare_reader
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.errors import ArgumentError, FormatError, VideoError
from videoloader.machinery.system.address import scrubbed, shown
from videoloader.machinery.system.faults import unreadable
from videoloader.sources.items import Item
from videoloader.sources.lists import lines_of


@dataclass(frozen=True, slots=True)
class _Entry:
    """A sound of a manifest: `duration` is None if it reaches to the end, `position` its number."""

    item: Item
    offset: float
    duration: float | None
    text: str
    position: int


class _Sounds:
    """The sounds of manifests as a data set."""

    def __init__(
        self, entries: Sequence[_Entry], arguments: Mapping[str, Any], workers: int
    ) -> None:
        self._entries = entries
        self._workers = workers
        self._form = {
            name: arguments[name] for name in ("downmix", "sample_rate", "quality", "dtype")
        }
        self._outputs = [arguments[name] for name in _OPTIONAL]

    def __len__(self) -> int:
        return len(self._entries)

    def name(self, number: int) -> str:
        return self._entries[number].item.path

    def read(self, number: int) -> tuple[Sample, ...]:
        (found,) = self.read_all([number])
        if isinstance(found, Exception):
            raise found
        return found

    def read_all(self, numbers: Sequence[int]) -> list[tuple[Sample, ...] | Exception]:
        entries = [self._entries[number] for number in numbers]
        requests = [
            SoundRequest(
                each.item, each.item.name, "stored", offset=each.offset, length=each.duration
            )
            for each in entries
        ]
        sounds = shared_decoder("cpu", self._workers).decode_sounds(requests)
        return [
            sound if isinstance(sound, Exception) else self._outputs_of(entry, sound)
            for entry, sound in zip(entries, sounds, strict=True)
        ]

    def _outputs_of(self, entry: _Entry, sound: DecodedSound) -> tuple[Sample, ...] | Exception:
        try:
            samples, rate = convert_sound(sound, **self._form)
        except VideoError as error:
            return type(error)(f"{entry.item.name}: {error}")
        text = np.frombuffer(entry.text.encode("utf-8"), dtype=np.uint8).copy()
        others = (torch.tensor(rate), torch.from_numpy(text), torch.tensor([entry.position]))
        wanted = [each for each, is_wanted in zip(others, self._outputs, strict=True) if is_wanted]
        return Sample(samples, source_info=entry.item.path), *map(Sample, wanted)


def _entries(manifest: str, shortest: float, longest: float) -> Iterator[_Entry]:
    """List the sounds of a manifest, without too short and too long ones."""
    name, position = shown(manifest), 0
    try:
        content = Path(manifest).read_bytes()
    except OSError as error:
        raise unreadable(manifest, error) from None
    for number, line in lines_of(content, manifest):
        try:
            fields = json.loads(line)
            path = os.fspath(fields["audio_filepath"])
            offset = float(fields.get("offset") or 0)
            duration = fields.get("duration")
            duration = None if duration is None or float(duration) < 0 else float(duration)
            text = str(fields.get("text") or "")
            if not (0 <= offset < math.inf and (duration or 0) < math.inf):
                raise ValueError(f"offset {offset}, duration {duration}")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            got, reason = scrubbed(line, "")[:200], scrubbed(str(error), "")
            raise FormatError(
                f"{name}, line {number}: a JSON object with audio_filepath is expected, and offset "
                f"and duration in seconds; got {got!r} ({type(error).__name__}: {reason})"
            ) from None
        if (duration or 0) < shortest or (longest > 0 and (duration or 0) > longest):
            continue
        beside = os.path.join(os.path.dirname(manifest), path)
        path = beside if not os.path.exists(path) and os.path.exists(beside) else path
        yield _Entry(Item(path).absolute(), offset, duration, text, position)
        position += 1


_OPTIONAL = ("read_sample_rate", "read_text", "read_idxs")


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return 1 + sum(bool(arguments[name]) for name in _OPTIONAL)


def _check(arguments: Mapping[str, Any]) -> None:
    if not arguments["manifest_filepaths"]:
        raise ArgumentError("fn.readers.nemo_asr: manifest_filepaths is empty")


@declare_reader(
    "readers.nemo_asr",
    num_outputs=_num_outputs,
    arguments=(
        Argument("manifest_filepaths", TEXTS, REQUIRED, "manifests: a JSON object a line"),
        Argument("read_sample_rate", BOOL, default=True, doc="an output of sample rates"),
        Argument("read_text", BOOL, default=True, doc="an output of texts"),
        Argument("read_idxs", BOOL, default=False, doc="an output of positions in the manifest"),
        SOUND_TYPE,
        Argument("downmix", BOOL, default=True, doc="give the mean of all channels"),
        Argument("sample_rate", FLOAT, -1.0, "rate to resample to, if above 0"),
        QUALITY,
        Argument("min_duration", FLOAT, 0.0, "leave out shorter sounds, in seconds"),
        Argument("max_duration", FLOAT, 0.0, "leave out longer ones, if above 0"),
    ),
    deprecated=(Deprecated("normalize_text"),),
    check=_check,
)
def read_nemo_asr(**arguments: Any) -> _Sounds:
    """Read sounds and their texts, as manifests of NVIDIA NeMo list them.

    A line of a manifest is a JSON object: `audio_filepath`, and if you like `offset` and `duration`
    in seconds, and `text`. Paths are relative to the working directory, or else to the manifest;
    any file that `vl.Audio` reads will do. `min_duration` and `max_duration` look at the manifest:
    a sound without `duration` counts as 0 s.

    Outputs: the samples, (n,) or without `downmix` (n, channels); if asked for their rate (float32
    scalar), the text (1-D uint8, UTF-8), and the position among the sounds that are kept of the
    manifest (int64, shape (1,)).
    """
    shortest, longest = arguments["min_duration"], arguments["max_duration"]
    entries = [
        entry
        for manifest in arguments["manifest_filepaths"]
        for entry in _entries(manifest, shortest, longest)
    ]
    if not entries:
        names = ", ".join(map(shown, arguments["manifest_filepaths"]))
        raise ArgumentError(f"fn.readers.nemo_asr: no sounds in {names}")
    return _Sounds(entries, arguments, arguments["num_threads"])
