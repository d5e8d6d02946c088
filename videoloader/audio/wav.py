"""Reads WAV files of PCM samples without FFmpeg, which takes milliseconds to open one.

Unusual files are left to FFmpeg: `open_wav` returns None.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from videoloader.audio.pieces import Piece, StreamHeader
from videoloader.sources.source import Source

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_GUID = bytes.fromhex("000000001000800000aa00389b71")  # of subformats that are format tags

# (format tag, bits): how samples are stored, FFmpeg's names of the codec and of the element type.
_KINDS = {
    (_PCM, 8): ("u1", "pcm_u8", "u8"),
    (_PCM, 16): ("<i2", "pcm_s16le", "s16"),
    (_PCM, 24): ("u1", "pcm_s24le", "s32"),
    (_PCM, 32): ("<i4", "pcm_s32le", "s32"),
    (_FLOAT, 32): ("<f4", "pcm_f32le", "flt"),
    (_FLOAT, 64): ("<f8", "pcm_f64le", "dbl"),
}

# WAV files may contain DTS, or other codecs in S/PDIF framing, instead of samples.
_SYNC_WORDS = re.compile(
    rb"\x7f\xfe\x80\x01|\xfe\x7f\x01\x80|\x1f\xff\xe8\0|\xff\x1f\0\xe8|\x72\xf8\x1f\x4e"
)
_SEARCHED = 1 << 13  # bytes of samples to search for them

_MOST_CHUNKS = 256
_UNKNOWN = 0x7FFFF000  # bytes; sizes from here on mean unknown
_PIECE = 1 << 16  # samples


@dataclass(frozen=True, slots=True)
class _Layout:
    """Position and format of the samples of a file.

    `begin` and `size` are in bytes; `stated` is the size by the header.
    """

    kind: tuple[str, str, str]
    channels: int
    rate: int
    frame: int
    begin: int
    size: int
    stated: int


class WavStream:
    """The samples of a WAV file, with the part of `SoundStream`'s interface that reading needs."""

    is_counted, is_broken = True, False

    def __init__(self, source: Source, layout: _Layout) -> None:
        self._source, self._layout = source, layout
        self._count = layout.size // layout.frame
        self.sample_rate, self.num_channels = layout.rate, layout.channels
        _, codec, form = layout.kind
        self.header = StreamHeader(
            codec=codec,
            stream=0,
            sample_rate=layout.rate,
            num_channels=layout.channels,
            sample_format=form,
            bit_rate=layout.rate * layout.frame * 8,
            begin=None,
            duration=self._count / layout.rate,
        )
        self.first = self.last = self._read(0)
        self.warning = ""
        if layout.stated // layout.frame > self._count:
            stated = layout.stated // layout.frame
            self.warning = f"truncated: the header states {stated} samples, {self._count} are there"

    def advance(self) -> bool:
        """Read the next piece, which is then `last`; False at the end of the file."""
        if self.last.stop >= self._count:
            return False
        self.last = self._read(self.last.stop)
        return True

    def skip(self, number: int) -> None:
        """Nothing: `seek` reaches any sample."""

    def seek(self, number: int) -> bool:
        """Go to a sample."""
        self.last = self._read(min(number, self._count - 1))
        return True

    def _read(self, number: int) -> Piece:
        layout = self._layout
        count = min(_PIECE, self._count - number)
        data = self._source.array(layout.begin + number * layout.frame, count * layout.frame)
        stored, codec, _ = layout.kind
        if codec == "pcm_s24le":
            wide = np.zeros((len(data) // 3, 4), np.uint8)
            wide[:, 1:] = data.reshape(-1, 3)
            samples = wide.view("<i4").reshape(count, layout.channels)
        else:
            samples = data.view(stored).reshape(count, layout.channels)
        return Piece(number, Fraction(number, layout.rate), samples.T)

    def close(self) -> None:
        """Does nothing: the caller owns the source."""


def open_wav(source: Source) -> WavStream | None:
    """The samples of a WAV file of a common kind; None for anything else."""
    head = source.read_up_to(0, 12)
    if head[:4] not in (b"RIFF", b"RF64") or head[8:] != b"WAVE":
        return None
    layout = _find_layout(source, is_long=head[:4] == b"RF64")
    if layout is None or layout.size < layout.frame:
        return None
    samples = source.read_up_to(layout.begin, min(layout.size, _SEARCHED))
    if _SYNC_WORDS.search(samples):
        return None
    return WavStream(source, layout)


def _find_layout(source: Source, *, is_long: bool) -> _Layout | None:
    """Read the layout from the chunks of a file; None if they are unusual."""
    at, form, data, long_size = 12, None, None, None
    for _ in range(_MOST_CHUNKS):
        header = source.read_up_to(at, 8)
        if len(header) < 8:
            break
        name, size = header[:4], int.from_bytes(header[4:], "little")
        if name in (b"fmt ", b"data") and (data or (form and name == b"fmt ")):
            return None  # several of them
        if name == b"ds64":
            long_size = int.from_bytes(source.read_up_to(at + 16, 8), "little")
        elif name == b"fmt ":
            form = source.read_up_to(at + 8, min(size, 40))
        elif name == b"data":
            room = source.size - at - 8
            if size == 0 or size >= _UNKNOWN:  # written before the size was known, or in `ds64`
                size = long_size if is_long and long_size else max(size, room)
            data = at + 8, min(size, room), size if size < _UNKNOWN or long_size else room
        at += 8 + size + size % 2
    else:
        return None
    if form is None or data is None:
        return None
    return _layout(form, *data)


def _layout(form: bytes, begin: int, size: int, stated: int) -> _Layout | None:
    if len(form) < 16:
        return None
    tag, channels, rate, _, frame, bits = struct.unpack_from("<HHIIHH", form)
    if tag == _EXTENSIBLE and len(form) == 40 and form[26:] == _GUID:
        valid, _, tag = struct.unpack_from("<HIH", form, 18)
        if valid not in (0, bits):
            return None
    kind = _KINDS.get((tag, bits))
    if kind is None or not channels or not rate or frame != channels * bits // 8:
        return None
    return _Layout(kind, channels, rate, frame, begin, size, stated)
