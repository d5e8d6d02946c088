"""Decoded clips kept in a folder, for runs that want the very same clips again.

A clip is one file, named by a digest of all that its pixels and sound depend on, in one of 256
folders. Processes share the files without locks: one is written under a temporary name and renamed,
so it is whole or not there, and read through one descriptor, so it may be removed meanwhile. Only
who removes files holds a lock, which nobody waits for. What cannot be read, or has another
checksum, is removed and decoded again; where nothing can be written, nothing more is kept.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import platform
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip_batch import ClipSound
from videoloader.errors import ArgumentError, SourceError
from videoloader.runtime.run_stats import Work
from videoloader.sources.address import is_url
from videoloader.sources.items import Item
from videoloader.system.forking import ForkSafeLock
from videoloader.system.writing import written, written_whole

if TYPE_CHECKING:
    from videoloader.decoding.assembly import Assembly, OpenClip
    from videoloader.decoding.output import OutputFormat
    from videoloader.decoding.rules import DecodingRules

__all__ = ["DEFAULT_CACHE", "CacheOptions", "ClipCache", "clip_key", "open_clip_cache"]

_log = logging.getLogger(__name__)

# Raise it where a request gets other pixels or another sound than before, or files another form.
_FORMAT = 2

# Magic; bytes of the frames; samples, channels, rate and clips of the sound; CRC. Then come the
# frames, the samples of each of several clips, int64, and the sound.
_HEAD = Struct("<8sQQIIII")
_MAGIC = b"vlclip" + _FORMAT.to_bytes(2, "little")

_SAMPLE, _LENGTH = 4, 8  # bytes of a float32 sample, and of the length of a sound
_LOCK = "remove.lock"
_REMOVED = 16  # one part in so many is free after files were removed
_SHARE = 32  # of the limit, one part in so many is written before the folder is looked at again
_USED = 3600.0  # seconds after which the use of a file is noted once more
_ABANDONED = 3600.0  # seconds after which an unfinished file is one of a process that was killed

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(i?)B")
_FILE = re.compile(r"[0-9a-f]{32}\.clip(\.[0-9a-f]+\.partial)?")

# What does not reach the pixels: the names of the file and remarks on it. Its state, and the frames
# that were chosen, are part of the key by themselves.
_NOT_OF_INDEX = {"name", "fingerprint", "warnings", "checks", "traits"}
_NOT_OF_REQUEST = {"source", "index", "frames", "times"}


class CacheOptions(TypedDict, total=False):
    """Where decoded clips are kept.

    Attributes:
        cache: folder in which decoded clips are kept, and from where they are read when the very
            same clip is wanted again, also by another process or run: same file, frames, options
            and kind of device. It pays where clips come again, such as those of an evaluation;
            random clips do not. Not kept: clips that fail, and those of servers that tell neither
            time nor etag. See docs/loading.md.
        cache_size: bytes that the clips in the folder may take, or as "50GB" or "50GiB"; those not
            used for longest are removed.
    """

    cache: str | os.PathLike[str] | None
    cache_size: int | str


DEFAULT_CACHE: CacheOptions = {"cache": None, "cache_size": "50GB"}


def open_clip_cache(options: CacheOptions) -> ClipCache | None:
    """The cache that the options name, if they name one; nothing is read or written yet.

    Raises:
        ArgumentError: `cache` is no folder, or `cache_size` no number of bytes.
    """
    folder, limit = options["cache"], _as_bytes(options["cache_size"])
    if folder is None:
        return None
    if not isinstance(folder, str | os.PathLike) or is_url(os.fspath(folder)):
        raise ArgumentError(f"cache is the path of a local folder, got {folder!r:.80}")
    path = Path(folder).absolute()
    if path.exists() and not path.is_dir():
        raise ArgumentError(f"cache={os.fspath(folder)!r} is a file; name a folder")
    return ClipCache(path, limit)


def _as_bytes(size: int | str) -> int:
    if isinstance(size, str) and (match := _SIZE.fullmatch(size)):
        number, unit, is_binary = match.groups()
        size = int(float(number) * (1024 if is_binary else 1000) ** _UNITS[unit])
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ArgumentError(f'cache_size is a number of bytes, or such as "50GB", got {size!r}')
    return size


class ClipCache:
    """Decoded clips in a folder. Threads and processes may share it; it pickles.

    Args:
        folder: need not be there; others of its files are left alone.
        limit: bytes that its clips may take. With several processes they may take 1/32 of it more
            for each further process that writes.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._room = 0  # bytes that may be written before the folder is looked at again
        self._writes = True
        self._lock = ForkSafeLock()

    def __reduce__(self) -> Any:
        return ClipCache, (self._folder, self._limit)

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
        path, frames = self._path(key), memory.numpy()
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                head = file.read(_HEAD.size).ljust(_HEAD.size, b"\0")
                magic, size, samples, channels, rate, clips, checksum = _HEAD.unpack(head)
                length = _HEAD.size + size + _LENGTH * clips + _SAMPLE * samples * channels
                is_whole = (magic, size, length) == (_MAGIC, len(frames), status.st_size)
                if is_whole:
                    file.readinto(frames.data)
                    sound = file.read()
                    is_whole = _checksum(key, head, frames, sound) == checksum
            if not is_whole:
                path.unlink(missing_ok=True)
                return False
            if time.time() - status.st_mtime > _USED:
                with suppress(OSError):  # a read-only folder
                    os.utime(path)
        except OSError:
            return False
        if with_sound:
            lengths = np.frombuffer(sound, np.int64, clips)
            heard = np.frombuffer(sound, np.float32, offset=_LENGTH * clips)
            made = torch.from_numpy(heard.reshape(samples, channels).copy())
            clip.heard = ClipSound(made, rate, tuple(lengths.tolist()))
        return True

    def _keep(self, assembly: Assembly, keys: Mapping[int, str]) -> None:
        """Write those clips of a finished batch that have not failed, until one cannot be."""
        failed = {failure.request for failure in assembly.failures}
        for number, key in keys.items():
            if number in failed or not self._writes:
                continue
            clip = assembly.clips[number]
            try:
                with written(self._folder):
                    self._write(key, _as_row(clip.tensor).cpu().numpy(), clip.heard)
            except SourceError as error:
                with self._lock:
                    if self._writes:
                        _log.warning("%s; decoded clips are no longer kept by this process", error)
                    self._writes = False

    def _write(self, key: str, frames: NDArray[np.uint8], heard: ClipSound | None) -> None:
        samples, rate, lengths = ClipSound(torch.zeros(0, 1), 0) if heard is None else heard
        sound = np.array(lengths, np.int64).tobytes() + samples.numpy().tobytes()
        path = self._path(key)
        head = _HEAD.pack(_MAGIC, len(frames), *samples.shape, rate, len(lengths), 0)
        size = len(head) + len(frames) + len(sound)
        if path.exists() or not self._has_room(size):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as unfinished, open(unfinished, "wb") as file:
            file.write(head[:-4] + _checksum(key, head, frames, sound).to_bytes(4, "little"))
            file.write(frames.data)
            file.write(sound)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.clip"

    def _has_room(self, size: int) -> bool:
        """Whether so many bytes may be written now; they then are counted."""
        if size > self._limit:
            return False
        with self._lock:
            if self._room < size:
                self._room = self._make_room(size)
            if self._room < size:
                return False
            self._room -= size
            return True

    def _make_room(self, size: int) -> int:
        """Bytes that may be written, after files were removed if need be.

        0 where another process is removing files.
        """
        files = sorted(self._files())
        total = sum(length for _, length, _ in files)
        if total + size > self._limit:
            with _held(self._folder / _LOCK) as is_held:
                if not is_held:
                    return 0
                for _, length, path in files:
                    if total <= self._limit - max(self._limit // _REMOVED, size):
                        break
                    path.unlink(missing_ok=True)
                    total -= length
        return min(self._limit - total, max(self._limit // _SHARE, size))

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """Time of last use, bytes and path of each file, without those that were left behind."""
        now = time.time()
        for number in range(256):
            with suppress(FileNotFoundError), os.scandir(self._folder / f"{number:02x}") as entries:
                for entry in entries:
                    if (match := _FILE.fullmatch(entry.name)) is None:
                        continue
                    with suppress(FileNotFoundError):  # removed by another process
                        status = entry.stat()
                        if match[1] and now - status.st_mtime > _ABANDONED:
                            os.unlink(entry.path)
                        else:
                            yield status.st_mtime, status.st_size, Path(entry.path)


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
    """What decodes for a device: its kind, and FFmpeg's libraries, whose rounding may change."""
    import av

    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") else ""
    return platform.machine(), gpu, sorted(av.library_versions.items())


def _checksum(key: str, head: bytes, frames: NDArray[np.uint8], sound: bytes) -> int:
    """CRC of a file; of its name too, so that one which was renamed is none."""
    return zlib.crc32(sound, zlib.crc32(frames.data, zlib.crc32(key.encode() + head[:-4])))


def _as_row(memory: torch.Tensor) -> torch.Tensor:
    """The bytes of a clip."""
    return memory.reshape(-1).view(torch.uint8)


@contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Hold a lock, if no other process or thread does; the system releases it with the process."""
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:  # a file system without locks; two that remove files remove too many
            pass
        yield True
