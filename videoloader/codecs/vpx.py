"""VP8 and VP9 headers: key frames, and packets that are never shown (alternate references)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.bits import BitReader
from videoloader.codecs.color import Color
from videoloader.codecs.picture import PictureFormat, pixel_format
from videoloader.errors import FormatError

Octets: TypeAlias = "bytes | memoryview"

SUPERFRAME = 8
"""Maximum frames of a VP9 superframe."""

_VP8_SYNC, _VP9_SYNC = b"\x9d\x01\x2a", 0x498342
_VP9_RGB = 7
_EXISTING, _INTER, _SHOWN = 0, 1, 2  # show_existing_frame, frame_type, show_frame
_VP9_MATRICES = (None, "bt470bg", "bt709", "smpte170m", "smpte240m", "bt2020nc", None, "gbr")


def is_hidden(codec: str, packet: bytes) -> bool:
    """Whether no frame of a packet is shown.

    VP8 has the flag in its frame tag (RFC 6386, section 9.1), VP9 in its uncompressed header
    (VP9 Bitstream & Decoding Process Specification, section 6.2).
    """
    if codec == "vp8":
        return len(packet) > 0 and not packet[0] >> 4 & 1
    return count_shown(packet) == 0


def count_shown(packet: bytes) -> int:
    """Number of shown frames in a VP9 packet; the standard allows at most one a superframe."""
    heads = [frame[:2] for frame in _frames(packet) if frame]
    hidden = [len(head) == 2 and bool(_vp9_hides(int.from_bytes(head, "big"))) for head in heads]
    return len(heads) - sum(hidden)


def are_hidden(codec: str, heads: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """`is_hidden` for many packets without superframes, from their first two bytes, (n, 2)."""
    if codec == "vp8":
        return _is(heads[:, 0] >> 4 & 1, 0)
    hidden: NDArray[np.bool_] = _vp9_hides(_words(heads))
    return hidden


def are_keys(codec: str, heads: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask of packets that begin with a key frame, from their first two bytes, shape (n, 2)."""
    if codec == "vp8":
        return _is(heads[:, 0] & 1, 0)
    words = _words(heads)
    keys: NDArray[np.bool_] = _vp9_lacks(words, _EXISTING) & _vp9_lacks(words, _INTER)
    return keys


def _words(heads: NDArray[np.uint8]) -> NDArray[np.int64]:
    return heads[:, 0].astype(np.int64) << 8 | heads[:, 1]


def are_superframes(lasts: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask of VP9 packets that may be superframes, from the last byte of each."""
    return _is(lasts & 0xE0, 0xC0)


def _is(values: NDArray[np.uint8 | np.int64], value: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = values == value
    return found


def _vp9_hides(words: Any) -> Any:
    """Whether a VP9 frame is not shown, from its first two bytes: a number, or an array of them."""
    return _vp9_lacks(words, _EXISTING) & _vp9_lacks(words, _SHOWN)


def _vp9_lacks(words: Any, flag: int) -> Any:
    """Whether a flag behind the profile is 0."""
    place = 11 - flag - (words >> 12 & 3 == 3)  # profile 3 has a reserved bit
    return (words >> 14 == 2) & (words >> place & 1 == 0)


def _frames(packet: Octets) -> list[Octets]:
    """The frames of a superframe (annex B), or the packet if it is a single frame."""
    if not packet or packet[-1] & 0xE0 != 0xC0:
        return [packet]
    count, width = (packet[-1] & 7) + 1, (packet[-1] >> 3 & 3) + 1
    index = 2 + width * count
    if len(packet) < index or packet[-index] != packet[-1]:
        return [packet]
    sizes = [
        int.from_bytes(packet[place : place + width], "little")
        for place in range(len(packet) - index + 1, len(packet) - 1, width)
    ]
    ends = list(accumulate(sizes))
    return [packet[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def shows_earlier(packet: bytes) -> bool:
    """Whether a VP9 packet shows a frame that an earlier one hid (show_existing_frame)."""
    for frame in _frames(packet):  # noqa: SIM110  (a generator for each packet costs more)
        if frame and frame[0] & (4 if frame[0] & 0x30 == 0x30 else 8):  # profile 3 has a bit more
            return True
    return False


def is_plain(packet: Octets) -> bool:
    """Whether it is plain that a VP9 packet is one frame, shown, of the size of a reference."""
    return len(packet) > 0 and packet[-1] & 0xE0 != 0xC0 and _takes_size(packet)


def count_joinable(lasts: Iterable[int]) -> int:
    """How many VP9 packets, with these last bytes, one superframe has room for; at least one."""
    frames = [last % SUPERFRAME + 1 if last & 0xE0 == 0xC0 else 1 for last in lasts]
    return max(1, sum(total <= SUPERFRAME for total in accumulate(frames)))


def join_frames(packets: Iterable[Octets]) -> bytes:
    """VP9 packets as one superframe (annex B); at most as many as `count_joinable` says."""
    frames = [packet for packet in packets if packet]
    if len(frames) < 2:
        return b"".join(frames)
    if any(packet[-1] & 0xE0 == 0xC0 for packet in frames):
        frames = [frame for packet in frames for frame in _frames(packet) if frame]
    sizes = [*map(len, frames)]
    width, layout = (2, "H") if max(sizes) < 1 << 16 else (4, "I")
    marker = bytes([0xC0 | width - 1 << 3 | len(frames) - 1])
    return b"".join((*frames, marker, struct.pack(f"<{len(frames)}{layout}", *sizes), marker))


def parse_picture(codec: str, packet: bytes) -> PictureFormat | None:
    """The picture format in a key frame header; None if `packet` begins with no key frame.

    RFC 6386, section 9.1, and VP9 specification, section 6.2. The first bytes of a packet suffice.
    """
    if codec == "vp8":
        if len(packet) < 10 or packet[0] & 1 or packet[3:6] != _VP8_SYNC:
            return None
        width, height = (int.from_bytes(packet[at : at + 2], "little") & 0x3FFF for at in (6, 8))
        return PictureFormat(width, height, "yuv420p", 8, reorders=False)
    try:
        return _vp9_picture(BitReader(packet[:24]))
    except FormatError:
        return None


def stated_sizes(codec: str, packet: bytes) -> list[tuple[int, int]]:
    """Width and height of each frame in a packet whose header states them.

    Other frames have the size of the last key frame (VP8) or of a reference frame (VP9).

    Raises:
        FormatError: a header is truncated or invalid.
    """
    if codec == "vp8":
        picture = parse_picture("vp8", packet)
        return [] if picture is None else [(picture.width, picture.height)]
    stating = (frame for frame in _frames(packet) if frame and not _takes_size(frame))
    sizes = (_vp9_size(BitReader(bytes(frame[:32]))) for frame in stating)
    return [size for size in sizes if size is not None]


def _takes_size(frame: Octets) -> bool:
    """Whether it is plain that a VP9 frame has the size of a reference, as shown ones mostly do."""
    first = frame[0]  # frame marker, profile, show_existing_frame, frame_type, show_frame, ...
    if first & 0b11001110 != 0b10000110 or first & 0x30 == 0x30 or len(frame) < 5:
        return False
    before = 20 if first & 1 else 22  # bits between error_resilient_mode and found_ref
    return int.from_bytes(frame[1:5], "big") >> 29 - before & 7 != 0


def _vp9_size(bits: BitReader) -> tuple[int, int] | None:
    """The size in an uncompressed header (VP9 specification, sections 6.2 and 7.2)."""
    if bits.u(2) != 2:
        raise FormatError("a VP9 frame has no frame marker")
    profile = _vp9_profile(bits)
    if bits.flag():  # show_existing_frame
        return None
    flags = bits.u(3)  # frame_type, show_frame, error_resilient_mode
    is_inter = flags & 4
    if is_inter:
        is_intra_only = not flags & 2 and bits.flag()
        bits.u(0 if flags & 1 else 2)  # reset_frame_context
        if not is_intra_only:
            bits.u(8 + 3 * 4)  # refresh_frame_flags, references and their signs
            if bits.u(3):  # found_ref
                return None
            return bits.u(16) + 1, bits.u(16) + 1
    if bits.u(24) != _VP9_SYNC:
        raise FormatError("a VP9 key frame has no sync code")
    if not is_inter or profile > 0:
        _vp9_color(bits, profile)
    if is_inter:
        bits.u(8)  # refresh_frame_flags
    return bits.u(16) + 1, bits.u(16) + 1


def _vp9_picture(bits: BitReader) -> PictureFormat | None:
    if bits.u(2) != 2:
        return None
    profile = _vp9_profile(bits)
    if bits.u(2) or bits.u(26) & 0xFFFFFF != _VP9_SYNC:
        return None  # show_existing_frame, or no key frame
    found = _vp9_color(bits, profile)
    if found is None:
        return None  # 4:4:0
    depth, chroma, color = found
    # FFmpeg's decoder never outputs yuvj formats.
    name = pixel_format(chroma, depth, Color(color.matrix))
    return PictureFormat(bits.u(16) + 1, bits.u(16) + 1, name, depth, color, reorders=False)


def _vp9_profile(bits: BitReader) -> int:
    profile = (0, 2, 1, 3)[bits.u(2)]  # low bit first
    if profile == 3:
        bits.flag()  # reserved
    return profile


def _vp9_color(bits: BitReader, profile: int) -> tuple[int, int, Color] | None:
    """Bit depth, chroma format (1 to 3 as in H.264) and colours; None for 4:4:0."""
    depth = 8 if profile < 2 else 10 + 2 * bits.u(1)
    space = bits.u(3)
    color, chroma = Color(_VP9_MATRICES[space], range="pc"), 3
    if space != _VP9_RGB:
        color, chroma = Color(_VP9_MATRICES[space], range="pc" if bits.flag() else "tv"), 1
    is_440 = False
    if profile in (1, 3):
        if space != _VP9_RGB:
            across, down = bits.flag(), bits.flag()
            is_440 = down and not across
            chroma = 1 if down else 2 if across else 3
        bits.flag()
    return None if is_440 else (depth, chroma, color)
