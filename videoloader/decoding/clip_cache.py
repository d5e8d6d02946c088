"""Decoded clips kept in a folder, for runs that want the very same clips again.

A clip is one of `KeptFiles`, named by a digest of all that its pixels and sound depend on. What is
damaged is decoded again; where nothing can be written, nothing more is kept.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, partial
from math import isfinite
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip_batch import ClipSound
from videoloader.errors import ArgumentError
from videoloader.machinery.runtime.run_stats import Work
from videoloader.machinery.system.address import is_url
from videoloader.machinery.system.kept_files import KeptFiles, as_bytes, as_folder
from videoloader.sources.items import Item

if TYPE_CHECKING:
    from videoloader.decoding.assembly import Assembly, OpenClip
    from videoloader.decoding.options import DecodingRules
    from videoloader.decoding.output import OutputFormat

# Raise it where a request gets other pixels or another sound than before, or files another form.
_FORMAT = 4

# After the frames: samples, channels, rate and clips of the sound. Then come the samples of each of
# several clips, int64, and the sound, float32.
_SOUND = Struct("<QIII")
_SECOND_OF_SOUND = 1 << 26  # bytes, more than of any: float32, 16 channels of 1 MHz

# What does not reach the pixels: the names of the file and remarks on it. Its state, and the frames
# that were chosen, are part of the key by themselves.
_NOT_OF_INDEX = {"name", "fingerprint", "warnings", "checks", "traits"}
_NOT_OF_REQUEST = {"source", "index", "frames", "times", "start", "stop"}


class CacheOptions(TypedDict, total=False):
    """Where decoded clips are kept.

    Attributes:
        cache: folder in which decoded clips are kept, and from where they are read when the very
            same clip is wanted again, also by another process or run: same file, frames, options
            and kind of device. It pays where clips come again, such as those of an evaluation;
            random clips do not. Not kept: clips that fail, and those of servers that tell neither
            time nor etag. See docs/training/clip-cache.md.
        cache_size: bytes that the clips in the folder may take, or as "50GB" or "50GiB"; those not
            used for longest are removed.
    """

    cache: str | os.PathLike[str] | None
    cache_size: int | str


DEFAULT_CACHE: CacheOptions = {"cache": None, "cache_size": "50GB"}


def open_clip_cache(options: CacheOptions) -> ClipCache | None:
    """The cache that the options name, if they name one; nothing is read or written yet.

    Raises:
        ArgumentError: `cache` is no folder or that of another user, or `cache_size` no number of
            bytes, or without it.
    """
    folder, limit = options["cache"], as_bytes("cache_size", options["cache_size"])
    if folder is None:
        if options["cache_size"] != DEFAULT_CACHE["cache_size"]:
            raise ArgumentError("cache_size goes with cache, the folder where clips are kept")
        return None
    if not isinstance(folder, str | os.PathLike) or is_url(os.fspath(folder)):
        raise ArgumentError(f"cache is the path of a local folder, got {folder!r:.80}")
    return ClipCache(as_folder("cache", folder), limit)


class ClipCache:
    """Decoded clips in a folder. Threads and processes may share it; it pickles.

    Args:
        folder: need not be there; others of its files are left alone.
        limit: bytes that its clips may take, as for `KeptFiles`.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._kept = KeptFiles(folder, "clip", limit, what="decoded clips")

    def __reduce__(self) -> Any:
        return ClipCache, (self._kept.folder, self._kept.limit)

    def read(self, assembly: Assembly, device: torch.device) -> Callable[[], None]:
        """Fill the clips of a batch that are kept, and mark them as `is_cached`.

        Args:
            assembly: of clips that have their memory.
            device: of that memory. A GPU gets all of them by one copy, on the current stream.

        Returns:
            Keeps the other clips; to be called when the batch is finished.
        """
        output, rules = assembly.output, assembly.rules
        keys = {
            number: key
            for number, clip in assembly.clips.items()
            if (key := clip_key(clip, output, rules, device)) is not None
        }
        slots = {number: _as_row(assembly.clips[number].tensor) for number in keys}
        staged = None
        if device.type == "cuda" and keys:
            total = sum(slot.numel() for slot in slots.values())
            staged = torch.empty(total, dtype=torch.uint8, pin_memory=True)
        found, end = [], 0
        for number, key in keys.items():
            size = slots[number].numel()
            memory = slots[number] if staged is None else staged[end : end + size]
            if self._read(key, assembly.clips[number], memory, with_sound=rules.audio):
                found.append(number)
                end += size
        if staged is not None and found:
            moved = staged[:end].to(device, non_blocking=True)
            parts = torch.split(moved, [slots[number].numel() for number in found])
            for number, part in zip(found, parts, strict=True):
                slots[number].copy_(part)
        for number in found:
            assembly.clips[number].is_cached = True
            del keys[number]
        assembly.count(Work(cache_hits=len(found), cache_misses=len(keys)))
        return partial(self._keep, assembly, keys)

    def _read(self, key: str, clip: OpenClip, memory: torch.Tensor, *, with_sound: bool) -> bool:
        """Fill the memory of a clip, on the CPU, and set its sound; False if it is not kept."""
        seconds = sum(abs(span.end - span.begin) for spans in clip.sounds for span in spans)
        most = _SOUND.size + 8 * clip.request.clips
        most += int(seconds * _SECOND_OF_SOUND) if isfinite(seconds) else 0
        data = self._kept.read(key, memory.numpy().data, most=most)
        if data is None:
            return False
        sound = _as_sound(data, clip.request.clips)
        if sound is None:
            self._kept.discard(key)
            return False
        if with_sound:
            clip.heard = sound
        return True

    def _keep(self, assembly: Assembly, keys: Mapping[int, str]) -> None:
        """Write the clips of a finished batch that have not failed, until one cannot be written."""
        failed = {failure.request for failure in assembly.failures}
        for number, key in keys.items():
            if number not in failed and self._kept.writes:
                clip = assembly.clips[number]
                self._write(key, _as_row(clip.tensor).cpu().numpy(), clip.heard)

    def _write(self, key: str, frames: NDArray[np.uint8], heard: ClipSound | None) -> None:
        samples, rate, lengths = ClipSound(torch.zeros(0, 1), 0) if heard is None else heard
        head = _SOUND.pack(*samples.shape, rate, len(lengths))
        sound = np.array(lengths, np.int64).tobytes() + samples.numpy().tobytes()
        self._kept.write(key, frames.data, head + sound)


def _as_sound(data: bytes, clips: int) -> ClipSound | None:
    """The sound of a request for so many clips, as it is stored; None if it has another form."""
    if len(data) < _SOUND.size:
        return None
    samples, channels, rate, count = _SOUND.unpack_from(data)
    size = _SOUND.size + 8 * count + 4 * samples * channels
    if not channels or len(data) != size or count not in (0, clips):
        return None
    lengths = np.frombuffer(data, np.int64, count, offset=_SOUND.size).tolist()
    if count and (min(lengths) < 0 or sum(lengths) != samples):
        return None
    heard = np.frombuffer(data, np.float32, offset=_SOUND.size + 8 * count)
    return ClipSound(torch.from_numpy(heard.reshape(samples, channels).copy()), rate, (*lengths,))


def clip_key(
    clip: OpenClip, output: OutputFormat, rules: DecodingRules, device: torch.device
) -> str | None:
    """A digest of all that the pixels and the sound of a clip depend on.

    None where a change of the file would not be noticed.

    Args:
        clip: that is wanted.
        output: its form.
        rules: of decoding.
        device: where it is decoded: the CPU and NVDEC differ in the last bit, and what NVDEC cannot
            decode depends on the GPU.
    """
    item, state = clip.request.source, clip.source.fingerprint
    if not isinstance(item, Item) or (state.mtime_ns, state.etag) == (None, None):
        return None
    parts = [
        *(_FORMAT, _decoders(str(device)), item.place()),
        *(state.size, state.mtime_ns, state.etag),
        *(clip.frames, clip.view, clip.orientation, clip.sounds, output, rules),
        *_values(clip.request, _NOT_OF_REQUEST),
        *_values(clip.index, _NOT_OF_INDEX),
    ]
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        value = part
        if isinstance(part, np.ndarray):
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
            value = part.dtype, part.shape
        digest.update(f"{value!r}\n".encode())
    return digest.hexdigest()


def _values(of: Any, besides: set[str]) -> list[Any]:
    return [getattr(of, field.name) for field in fields(of) if field.name not in besides]


@cache
def _decoders(device: str) -> tuple[object, ...]:
    """The decoder behind a device: its kind, and FFmpeg's libraries, whose rounding may change."""
    import av

    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") else ""
    return platform.machine(), gpu, sorted(av.library_versions.items())


def _as_row(memory: torch.Tensor) -> torch.Tensor:
    """The bytes of a clip."""
    return memory.reshape(-1).view(torch.uint8)
