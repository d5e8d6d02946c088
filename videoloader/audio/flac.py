"""Checks FLAC: its frames carry numbers and checksums (RFC 9639, section 9).

A demuxer that does not find a frame leaves it out without a word, and gives those after it times
that are wrong. So the numbers in the frames themselves are followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from videoloader.errors import DecodeError
from videoloader.sources.source import Source

if TYPE_CHECKING:
    import av
    from av.audio.frame import AudioFrame

STRICT = {"err_detect": "crccheck+explode"}
"""Options of FFmpeg's decoder, which otherwise ignores the checksums of frames."""

_SEQUENTIAL = {"flac", "ogg"}  # containers in which packets are frames and no number is left out
_MARK, _TAG = b"fLaC", 10  # bytes of the header of an ID3 tag
_PAGE = 27  # bytes of the header of an Ogg page
_MOST_HEADERS = 1 << 10  # blocks or pages in front of the first frame


class NoFrameError(Exception):
    """A packet of FLAC is not one frame."""


class FlacFrames:
    """Follows the numbers of the frames of a stream.

    Args:
        source: of the file.
        container: FFmpeg's name.
        extradata: the stream information block.
        rate: samples a second.
        gap: seconds; where times of other containers jump by more, their caller knows of it.
    """

    def __init__(
        self, source: Source, container: str, extradata: bytes, rate: int, *, gap: float
    ) -> None:
        self._gap = gap
        self._is_sequential = container in _SEQUENTIAL
        self._place = _first_frame(source, container)
        least, most = (int.from_bytes(extradata[at : at + 2], "big") for at in (0, 2))
        self._block = most if least == most else 0
        self._rate = rate
        self.begin: int | None = None
        """Sample with which the last frame begins, by its own number; None if unknown."""
        self.restart()

    def restart(self) -> None:
        """Go on at another place of the stream."""
        self._next = -1  # number of the frame to come
        self._end = 0.0  # seconds

    def follow(
        self,
        packet: av.Packet[Any],
        frames: list[AudioFrame],
        *,
        is_first: bool,
        is_behind_fault: bool,
    ) -> None:
        """Take a packet and its decoded frames.

        Args:
            packet: of the stream.
            frames: its sound.
            is_first: no packet of the stream before it has sound.
            is_behind_fault: the packet before it does not decode.

        Raises:
            NoFrameError: the packet is not one frame.
            DecodeError: frames in front of it are missing, or come twice.
        """
        numbered = _number(packet)
        if numbered is None or not frames or (len(frames) > 1 and self._is_sequential):
            raise NoFrameError("it is not a frame of FLAC")
        number, counts_samples = numbered
        block = 1 if counts_samples else self._block
        self.begin = number * block if block else None
        lost = (number - self._next) * (block or frames[0].samples) if self._next >= 0 else 0
        late = 0.0 if packet.pts is None else _seconds(packet) - self._end
        samples = sum(frame.samples for frame in frames)
        self._next = number + (samples if counts_samples else len(frames))
        self._end += late + samples / self._rate
        # Other files may be joined of parts; where the times of a part go on, nothing is lost.
        is_joined = not self._is_sequential and late * self._rate <= lost / 2
        is_gap = not self._is_sequential and late > self._gap
        is_late = is_first and number > 0  # as in a file that is cut, or damaged in front
        is_misplaced = self._place is not None and packet.pos != self._place
        if (lost and not is_joined and not is_gap) or (
            is_late and (is_behind_fault or is_misplaced)
        ):
            where = f"{self._end - samples / self._rate:.3f} s"
            raise DecodeError(f"the sound in front of {where} is damaged or missing")


def _first_frame(source: Source, container: str) -> int | None:
    """Offset of the first frame, or of the Ogg page with it; None if that cannot be told."""
    if container == "flac":
        return _behind_blocks(source)
    return _behind_pages(source) if container == "ogg" else None


def _behind_blocks(source: Source) -> int | None:
    """The end of the metadata blocks of a FLAC file."""
    head = source.read_up_to(0, _TAG)
    at = 0
    if head[:3] == b"ID3" and len(head) == _TAG:
        at = _TAG
        for octet, shift in zip(head[6:], (21, 14, 7, 0), strict=True):
            at += (octet & 127) << shift
    if source.read_up_to(at, len(_MARK)) != _MARK:
        return None
    at += len(_MARK)
    for _ in range(_MOST_HEADERS):
        head = source.read_up_to(at, 4)
        at += 4 + int.from_bytes(head[1:], "big")
        if len(head) < 4 or head[0] & 128:
            return at if len(head) == 4 else None
    return None


def _behind_pages(source: Source) -> int | None:
    """The first page of sound of the FLAC stream in an Ogg file."""
    at, serial = 0, b""
    for _ in range(_MOST_HEADERS):
        head = source.read_up_to(at, _PAGE + 255)
        if len(head) < _PAGE or head[:4] != b"OggS":
            return None
        table = head[_PAGE : _PAGE + head[26]]
        body = _PAGE + len(table)
        if source.read_up_to(at + body, 5) == b"\x7fFLAC":
            serial = head[14:18]
        elif head[14:18] == serial and int.from_bytes(head[6:14], "little", signed=True) > 0:
            return at
        at += body + sum(table)
    return None


def is_flac(packet: av.Packet[Any]) -> bool:
    """Whether a packet begins like a frame."""
    return _number(packet) is not None


def _number(packet: av.Packet[Any]) -> tuple[int, bool] | None:
    """The number in the header of a frame, and whether it counts samples; None without a header."""
    head = bytes(memoryview(packet)[:11])
    if len(head) < 5 or head[0] != 0xFF or head[1] & 0xFE != 0xF8:
        return None
    # Coded as in UTF-8, in up to seven bytes.
    more = 0
    while more < 8 and head[4] << more & 128:
        more += 1
    if more in (1, 8) or len(head) < 4 + max(more, 1):
        return None
    number = head[4] & (0x7F >> more)
    for octet in head[5 : 4 + more]:
        number = number << 6 | octet & 63
    return number, bool(head[1] & 1)


def _seconds(packet: av.Packet[Any]) -> float:
    base = packet.time_base
    assert packet.pts is not None
    return float(packet.pts * base.numerator / base.denominator)
