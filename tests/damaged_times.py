"""Small sound files with one timestamp changed, in every container that has timestamps; and raw
streams with a part repeated."""

import itertools
import random
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
from coded_clips import Coded
from matroska_files import block, cluster, matroska, track
from mp4_files import movie, read_clip
from remuxing import remux_bytes
from sequential import digest, sequential
from transport_files import transport

import videoloader as vl
from videoloader.demo.videos import encode_video

__all__ = [
    "CASES",
    "access_units",
    "changes",
    "clips",
    "is_told_or_right",
    "raw_streams",
    "repeated",
]

FRAMES, SIZE, FPS = 24, (64, 48), 25
X264 = "threads=1:keyint=12:scenecut=0"
ENCODERS = {
    "h264": ("libx264", {"x264-params": f"{X264}:bframes=3:b-adapt=0"}),
    "forward": ("libx264", {"x264-params": f"{X264}:bframes=0"}),
    "open": ("libx264", {"x264-params": f"{X264}:bframes=2:open-gop=1"}),
    "hevc": ("libx265", {"x265-params": "log-level=none:pools=none:keyint=12:bframes=3"}),
    "vp9": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8", "g": "12"}),
    "av1": ("libsvtav1", {"preset": "12", "g": "12"}),
    "mpeg4": ("mpeg4", {"g": "12", "bf": "2"}),
    "mpeg2": ("mpeg2video", {"g": "12", "bf": "2"}),
}
TAGS = {
    "h264": "V_MPEG4/ISO/AVC",
    "hevc": "V_MPEGH/ISO/HEVC",
    "vp9": "V_VP9",
    "av1": "V_AV1",
}


def clips(folder):
    """MP4 files of all encoders by name."""
    paths = {}
    for name, (encoder, options) in ENCODERS.items():
        paths[name] = encode_video(
            folder / f"{name}.mp4",
            codec=encoder,
            frames=FRAMES,
            size=SIZE,
            fps=FPS,
            options=options,
        )

    paths["vfr"] = encode_video(
        folder / "vfr.mp4",
        frames=FRAMES,
        size=SIZE,
        options=ENCODERS["h264"][1],
        pts=[4 * n + n * n % 4 for n in range(FRAMES)],
        time_base=Fraction(1, 100),
    )
    return paths


def _composition(path, packet, frames):
    """`ctts` of one sample."""
    clip = read_clip(path)
    samples = list(clip.samples)
    step = samples[0].duration
    changed = samples[packet].composition + round(frames * step)
    samples[packet] = replace(samples[packet], composition=changed)
    return movie(clip, samples)


def _duration(path, packet, frames):
    """`stts` of one sample."""
    clip = read_clip(path)
    samples = list(clip.samples)
    duration = max(samples[packet].duration + round(frames * samples[packet].duration), 0)
    samples[packet] = replace(samples[packet], duration=duration)
    return movie(clip, samples)


def _matroska(path, packet, frames):
    """The time of one block."""
    coded = Coded(path)
    times = list(coded.times)
    times[packet] = max(times[packet] + round(frames * 1000 / FPS), 0)
    blocks = [
        block(payload, time, key=key)
        for payload, time, key in zip(coded.payloads, times, coded.keys, strict=True)
    ]
    entry = track(private=coded.record, codec=TAGS[coded.codec], size=SIZE)
    return matroska([entry], cluster(0, *blocks))


def _transport(path, packet, frames):
    """The presentation time of one PES packet."""
    coded = Coded(path)
    pts = [90 * time + 900_000 for time in coded.times]
    dts = [time - 4 * 3600 for time in sorted(pts)]
    pts[packet] += round(frames * 90_000 / FPS)
    kind = {"h264": 0x1B, "hevc": 0x24, "mpeg2video": 2}[coded.codec]
    return transport(list(zip(pts, dts, coded.stream, strict=True)), kind=kind)


def _flv(path, packet, frames):
    """The shift of one tag from decoding to presentation."""
    data = bytearray(remux_bytes(path, "flv"))
    at, number = 13, 0
    while at + 11 < len(data):
        size = int.from_bytes(data[at + 1 : at + 4], "big")
        if data[at] == 9 and data[at + 11] & 15 == 7 and data[at + 12] == 1:
            if number == packet:
                shift = int.from_bytes(data[at + 13 : at + 16], "big", signed=True)
                shift += round(frames * 1000 / FPS)
                data[at + 13 : at + 16] = shift.to_bytes(3, "big", signed=True)
            number += 1
        at += 11 + size + 4
    return bytes(data)


_NAL = ("h264", "forward", "open", "hevc")
CASES = {
    **{f"mp4 ctts {name}": (_composition, name) for name in (*ENCODERS, "vfr")},
    **{f"mp4 stts {name}": (_duration, name) for name in (*ENCODERS, "vfr")},
    **{f"mkv {name}": (_matroska, name) for name in (*_NAL, "vfr", "vp9", "av1")},
    **{f"ts {name}": (_transport, name) for name in (*_NAL, "vfr", "mpeg2")},
    **{f"flv {name}": (_flv, name) for name in ("h264", "forward", "open", "vfr")},
}
"""What is changed, and in which clip."""

SHIFTS = (-12, -9, -4, -2, -1, -0.5, 0.5, 1, 2, 3, 5, 9, 12, 30, 400)


def changes(count, seed):
    """(packet, by how many frames) of some changes, or of all."""
    every = [(packet, shift) for packet in range(FRAMES) for shift in SHIFTS]
    return every if count is None else random.Random(seed).sample(every, count)


def is_told_or_right(data):
    """Whether frames are FFmpeg's in its order, or the index warns; and whether it does."""
    index = vl.index_video(data)
    frames = {}
    with vl.Video(data, index=index) as video:
        for number, surface in video.decode(range(index.num_frames)):
            planes = [np.ascontiguousarray(plane).tobytes() for plane in surface.planes]
            frames[number] = digest(b"".join(planes))
    right = [frames[number] for number in range(index.num_frames)] == sequential(data)
    return right, bool(index.warnings), index


def access_units(data):
    """The packets of a raw stream, and the NAL units."""
    offsets = vl.index_video(data).packets["offset"].tolist()
    codes = [found.start() for found in re.finditer(b"\0\0\1", data)]
    codes = [at - (at > 0 and data[at - 1] == 0) for at in codes]
    return [
        [data[at:stop] for at, stop in itertools.pairwise([*places, len(data)])]
        for places in (offsets, codes)
    ]


def repeated(parts, number, place):
    """A stream with one of its parts there twice, the second time at some place."""
    return b"".join([*parts[:place], parts[number], *parts[place:]])


def raw_streams(folder):
    """Raw H.264 and HEVC streams by name."""
    return {
        name: encode_video(
            folder / f"{name}.{'h265' if encoder == 'libx265' else 'h264'}",
            codec=encoder,
            frames=FRAMES,
            size=SIZE,
            options=options,
        ).read_bytes()
        for name, (encoder, options) in ENCODERS.items()
        if encoder in ("libx264", "libx265")
    }
