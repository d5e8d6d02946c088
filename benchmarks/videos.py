"""The videos that are measured: encoded once, and put into other containers."""

from __future__ import annotations

import itertools
import shutil
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from videoloader.demo.videos import encode_video

if TYPE_CHECKING:
    from av import AudioStream, Packet
    from av.container import OutputContainer

__all__ = ["CASES", "SMALL_FILES", "Case", "make_small_files"]

DATA = Path(__file__).parent / "data"
FPS, MINUTES, RATE = 30, 10, 44_100
VIDEO = DATA / f"h264-360p-{MINUTES}min.mp4"
SMALL_FILES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The video's packets in a container, `repeats` times over, with sound or without."""

    file: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    repeats: int = 1
    sound: bool = False

    @property
    def path(self) -> Path:
        """Where it is, once it has been made."""
        return DATA / self.file

    def make(self) -> None:
        """Make the file, unless it is there."""
        make_video()
        if not self.path.exists():
            unfinished = DATA / f"unfinished-{self.file}"
            _remux(self, unfinished)
            unfinished.replace(self.path)


_NAME = VIDEO.stem
_FRAGMENTS = "frag_keyframe+empty_moov"
CASES = {
    "MP4": Case(file=VIDEO.name, format="mp4"),
    "fragmented MP4": Case(
        file=f"{_NAME}-fragments.mp4", format="mp4", options={"movflags": _FRAGMENTS}
    ),
    "MP4, fragments of 1 s": Case(
        file=f"{_NAME}-fragments-1s.mp4",
        format="mp4",
        options={"movflags": _FRAGMENTS, "frag_duration": "1000000"},
    ),
    "MKV": Case(file=f"{_NAME}.mkv", format="matroska"),
    "MKV with sound": Case(file=f"{_NAME}-sound.mkv", format="matroska", sound=True),
    "TS": Case(file=f"{_NAME}.ts", format="mpegts"),
    "MP4, 2 hours": Case(file="h264-360p-120min.mp4", format="mp4", repeats=12),
}


def make_video() -> None:
    """Encode the video once: B-frames, keyframes every 250 frames, the index at the end."""
    if VIDEO.exists():
        return
    DATA.mkdir(exist_ok=True)
    print("Encoding ten minutes of video, once ...", file=sys.stderr)
    encode_video(
        VIDEO.with_name(f"unfinished-{VIDEO.name}"),
        size=(640, 360),
        fps=FPS,
        frames=FPS * 60 * MINUTES,
        options={
            "preset": "ultrafast",
            "crf": "32",
            "x264-params": "bframes=3:b-adapt=0",
        },
    ).replace(VIDEO)


def _remux(case: Case, path: Path) -> None:
    """Put the packets of the video into another container, one copy behind the other."""
    import av

    with av.open(str(path), "w", format=case.format, options=dict(case.options)) as target:
        with av.open(str(VIDEO)) as source:
            stream = target.add_stream_from_template(source.streams.video[0])
        sound = _sound(target) if case.sound else iter(())
        heard = next(sound, None)
        for repeat in range(case.repeats):
            with av.open(str(VIDEO)) as source:
                video = source.streams.video[0]
                assert video.time_base is not None
                shift = round(repeat * MINUTES * 60 / video.time_base)
                for packet in source.demux(video):
                    if packet.dts is None or packet.pts is None:
                        continue
                    while heard is not None and _seconds(heard) <= packet.dts * video.time_base:
                        target.mux(heard)
                        heard = next(sound, None)
                    packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                    packet.stream = stream
                    target.mux(packet)


def _sound(target: OutputContainer) -> Iterator[Packet[AudioStream]]:
    """Ten minutes of noise in a new stream."""
    import av

    stream = target.add_stream("aac", rate=RATE)
    noise = np.random.default_rng(0).standard_normal((64, 1, 1024), dtype=np.float32) / 10
    for number in range(RATE * 60 * MINUTES // 1024):
        frame = av.AudioFrame.from_ndarray(noise[number % 64], format="fltp", layout="mono")
        frame.sample_rate, frame.pts = RATE, 1024 * number
        yield from stream.encode(frame)


def _seconds(packet: Packet[AudioStream]) -> Fraction:
    assert packet.pts is not None
    assert packet.time_base is not None
    return packet.pts * packet.time_base


# -- Many small files. --

# Two seconds each, from different sizes, rates, groups of pictures and places of the tables.
_KINDS: tuple[dict[str, Any], ...] = (
    {"size": (320, 240), "fps": 30, "options": {"preset": "ultrafast"}},
    {"size": (320, 180), "fps": 25, "options": {"preset": "veryfast", "g": "12"}},
    {"size": (256, 256), "fps": 24, "options": {"preset": "veryfast", "bf": "0"}},
    {"size": (480, 270), "fps": 30, "container_options": {"movflags": "faststart"}},
)


def make_small_files() -> Path:
    """A folder of clips of two seconds: four encoded ones, each with its number put behind it.

    So that no two are the same file, yet all are real ones; a `free` box holds the number.
    """
    folder = DATA / f"small-{SMALL_FILES}"
    if folder.exists():
        return folder
    print(f"Making {SMALL_FILES} small files, once ...", file=sys.stderr)
    unfinished = folder.with_name(f"unfinished-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    clips = []
    for number, kind in enumerate(_KINDS):
        path = encode_video(unfinished / f"{number}.mp4", frames=2 * kind["fps"], **kind)
        clips.append(path.read_bytes())
        path.unlink()
    for number, clip in zip(range(SMALL_FILES), itertools.cycle(clips), strict=False):
        mark = struct.pack(">I4sQ", 16, b"free", number)
        (unfinished / f"{number:05}.mp4").write_bytes(clip + mark)
    unfinished.replace(folder)
    return folder
