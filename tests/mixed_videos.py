"""A data set of small videos of several sizes, lengths and rates, with captions, in tar shards."""

import io
import json
import tarfile
from fractions import Fraction

from videoloader.demo.videos import encode_video

TRAITS = [  # width, height, frames, frames a second, rotation
    (160, 96, 24, 24, 0),
    (100, 170, 40, 30, 0),
    (128, 128, 9, 25, 0),
    (320, 192, 50, Fraction(30000, 1001), 0),
    (160, 96, 12, 24, 0),
    (128, 128, 33, 25, 0),
    (160, 96, 30, 10, 90),  # shown as 96 x 160
    (208, 112, 18, 24, 0),
]


def encode_all(folder):
    """One file for each of `TRAITS`; gives their paths."""
    return [
        encode_video(
            folder / f"video{number}.mp4",
            size=(width, height),
            frames=frames,
            fps=fps,
            rotation=rotation,
            options={"x264-params": "threads=1:keyint=12", "preset": "ultrafast"},
        )
        for number, (width, height, frames, fps, rotation) in enumerate(TRAITS)
    ]


def caption(number):
    return f"video {number}: ein bewegtes Bild, größer, a moving picture"


def write_shard(paths, numbers):
    """A tar archive of videos; `.json` comes before each and `.txt` behind it. Gives its bytes."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for number in numbers:
            video = paths[number % len(paths)].read_bytes()
            facts = json.dumps({"number": number, "quality": number / 4}).encode()
            for ending, content in (
                ("json", facts),
                ("mp4", video),
                ("txt", caption(number).encode()),
            ):
                member = tarfile.TarInfo(f"clips/{number:04}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return data.getvalue()
