"""Damage that FFmpeg's decode marks, beside what this library says of the same files."""

import io
from contextlib import closing
from dataclasses import dataclass, field

import av
import numpy as np
from sequential import digest

import videoloader as vl
from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.decoding.pictures.surface import Surface
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.sampling import plan_decode

__all__ = ["CLIPS", "PACKET", "WAYS", "decode_by_ffmpeg", "make_clip", "mutate", "read_all"]

PACKET = 188
GROUPS = {"g": "10"}
B_FRAMES = {"g": "10", "bf": "2"}

CLIPS = {
    **{f"mpeg1.{end}": ("mpeg1video", B_FRAMES) for end in ("mpg", "ts", "mkv", "mp4", "asf")},
    **{
        f"mpeg2.{end}": ("mpeg2video", B_FRAMES)
        for end in ("mpg", "ts", "mkv", "mp4", "avi", "asf", "mxf")
    },
    **{f"mpeg4.{end}": ("mpeg4", B_FRAMES) for end in ("ts", "mkv", "mp4", "avi", "asf", "nut")},
    "interlaced.ts": ("mpeg2video", B_FRAMES | {"flags": "+ildct+ilme"}),
    "interlaced.mkv": ("mpeg4", B_FRAMES | {"flags": "+ildct+ilme"}),
    "partitions.ts": ("mpeg4", {"g": "10", "data_partitioning": "1", "ps": "200"}),
    **{f"h263.{end}": ("h263", GROUPS) for end in ("3gp", "avi")},
    "h263_plus.avi": ("h263p", GROUPS),
    "sorenson.flv": ("flv", GROUPS),
    **{f"jpeg.{end}": ("mjpeg", {}) for end in ("mkv", "mp4", "avi", "asf")},
    "wmv1.asf": ("wmv1", GROUPS),
    **{f"wmv2.{end}": ("wmv2", GROUPS) for end in ("asf", "avi")},
    **{f"msmpeg4.{end}": ("msmpeg4", GROUPS) for end in ("asf", "avi", "mkv")},
    "rv20.rm": ("rv20", GROUPS),
    "h264.ts": ("libx264", {"x264-params": "keyint=10:bframes=2:threads=1"}),
    "hevc.ts": ("libx265", {"x265-params": "keyint=10:log-level=none:pools=none"}),
}
"""Encoder and options by the name of the file."""

WAYS = ("flip", "zeros", "noise", "cut", "drop")
"""One bit; 16 bytes of zeros; 50 random bytes; up to 60 bytes removed; a transport packet lost."""


def make_clip(folder, name):
    """40 frames of 176x144."""
    codec, options = CLIPS[name]
    form = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    path = folder / name
    encode_video(
        path, codec=codec, options=options, frames=40, size=(176, 144), fps=25, pixel_format=form
    )
    return path


def mutate(name, data, way, seed):
    """The bytes of a file with one damage, None if it cannot have this one."""
    rng = np.random.default_rng([seed, WAYS.index(way)])
    changed = bytearray(data)
    place = int(rng.integers(min(2000, len(data) // 4), len(data) - 64))
    match way:
        case "flip":
            changed[place] ^= 1 << int(rng.integers(8))
        case "zeros":
            changed[place : place + 16] = bytes(16)
        case "noise":
            changed[place : place + 50] = rng.integers(0, 256, 50, np.uint8).tobytes()
        case "cut":
            del changed[place : place + int(rng.integers(1, 60))]
        case "drop":
            if not name.endswith(".ts"):
                return None
            place -= place % PACKET
            del changed[place : place + PACKET]
    return bytes(changed)


@dataclass
class Decode:
    """FFmpeg's decode of a whole file.

    `hashes` of all frames, `marked` those that it says are damaged. `is_told`: it reports anything,
    a packet or an error included.
    """

    hashes: list[str] = field(default_factory=list)
    marked: list[bool] = field(default_factory=list)
    is_told: bool = False


def _bytes_of(frame):
    planes = map(np.ascontiguousarray, Surface(frame).planes)
    return b"".join(plane.tobytes() for plane in planes)


def decode_by_ffmpeg(data):
    """Decode a file from its beginning to its end; None if FFmpeg does not open it."""
    found = Decode()
    try:
        container = av.open(io.BytesIO(data))
    except (av.error.FFmpegError, UnicodeDecodeError):  # of damaged tags
        return None
    with container:
        video = container.streams.best("video")
        if video is None or video.codec_context is None:
            return None
        video.thread_type = "NONE"
        packets = container.demux(video)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    break
                found.is_told |= packet.is_corrupt
                frames = packet.decode()
            except av.error.FFmpegError:
                found.is_told = True
                if packet is None:
                    break
                continue
            found.hashes += [digest(_bytes_of(frame)) for frame in frames]
            found.marked += [frame.is_corrupt for frame in frames]
    found.is_told |= any(found.marked)
    return found


@dataclass
class Found:
    """What this library gives of a file: hashes of the frames without an error, by number."""

    index: vl.VideoIndex
    given: dict[int, str]
    failed: set[int]

    def wrong(self, healthy):
        """Numbers of frames given without an error that are no frames of the healthy file."""
        return {number for number, found in self.given.items() if found not in healthy}

    def silent(self, sound, decode):
        """Frames given without a word although FFmpeg marks them, or what they are decoded from.

        The latter are wrong if they are no frames of the healthy file, whose decode is `sound`.
        FFmpeg also marks frames of healthy files that have gaps (see `SliceGaps`): a frame that it
        marks there too is not one that it marks for damage. Where such a file has lost a frame, the
        marks cannot be told apart.
        """
        wrong = self.wrong({*sound.hashes})
        if len(decode.marked) != self.index.num_frames:
            return wrong if decode.is_told else set()
        marks = np.array(decode.marked)
        if any(sound.marked):
            if len(sound.marked) != len(marks):
                return set()
            marks &= ~np.array(sound.marked)
        packets, starts = self.index.frame_packets, self.index.seek_packets
        marked = np.flatnonzero(marks)
        places = packets[marked]
        told = {n for n in wrong if ((places >= starts[n]) & (places <= packets[n])).any()}
        gaps = {found for found, is_gap in zip(sound.hashes, sound.marked, strict=True) if is_gap}
        given = {int(n) for n in marked if n in self.given and self.given[n] not in gaps}
        return told | given


def read_all(data):
    """All frames, each by itself, and in one pass; None if the file is refused."""
    try:
        index = vl.index_video(data)
    except vl.VideoError:
        return None
    source = open_source(data)
    with source, closing(CpuDecoder(index, source)) as decoder:
        plan = plan_decode(index, np.arange(index.num_frames))
        failed = {number for number, reason in decoder.examine(plan) if reason is not None}
    given = {}
    with vl.Video(data, index=index) as video:
        for number in range(index.num_frames):
            try:
                ((_, surface),) = video.decode([number])
            except vl.VideoError:
                failed.add(number)
                continue
            planes = [np.ascontiguousarray(plane).tobytes() for plane in surface.planes]
            given[number] = digest(b"".join(planes))
    return Found(index, {n: found for n, found in given.items() if n not in failed}, failed)
