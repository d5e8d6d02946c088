"""Media for the tests of other libraries, with the properties that those tests state."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

import videoloader as vl
from videoloader.demo.videos import encode_video

_FAST = {"preset": "ultrafast", "threads": "2"}
_FIXTURES = """
from pathlib import Path
import pytest

FOLDER = Path(__file__).parent / "resources"

@pytest.fixture
def auto_close():
    return lambda stream: stream

def file(name):
    return pytest.fixture(lambda: str(FOLDER / name))

corrupt_video_file = file("corrupt.mp4")
delayed_start_video = file("delayed.mp4")
test_movie_clip = file("goldeneye.mp4")
test_image_sequence = file("frame_%03d.png")
"""


def of_imageio(folder: Path) -> None:
    """A video of 280 frames that another version of FFmpeg wrote, a short one, and images."""
    path = encode_video(
        folder / "cockatoo.mp4",
        size=(1280, 720),
        fps=20,
        frames=280,
        pixel_format="yuv444p",
        options=_FAST | {"preset": "veryfast"},
        container_options={"fflags": "-bitexact"},
    )
    version = re.compile(rb"Lavf[\d.]{9,}")
    path.write_bytes(
        version.sub(lambda found: b"Lavf56.4.101".ljust(len(found[0]), b"\0"), path.read_bytes())
    )
    encode_video(folder / "realshort.mp4", size=(640, 360), frames=36)
    cv2.imwrite(str(folder / "chelsea.png"), _noise((300, 451), seed=1))
    shots = [Image.fromarray(_noise((150, 200), seed)) for seed in range(36)]
    shots[0].save(
        folder / "newtonscradle.gif", save_all=True, append_images=shots[1:], duration=100
    )


def of_scenedetect(folder: Path) -> None:
    """Videos of several sizes, shapes of pixels and beginnings, a damaged one, and images."""
    (folder / "conftest.py").write_text(_FIXTURES)
    folder = folder / "resources"
    folder.mkdir()
    rate = Fraction(30000, 1001)
    encode_video(folder / "testvideo.mp4", size=(1280, 720), fps=rate, frames=720, options=_FAST)
    encode_video(
        folder / "issue-195-aspect-ratio.mp4",
        size=(704, 576),
        fps=25,
        frames=628,
        options=_FAST | {"aspect": "16/11"},
    )
    shots = [_noise((544, 1280), seed) for seed in range(3)]
    vl.write_video(  # cuts where tests expect them
        (shots[(number >= 90) + (number >= 210)] for number in range(1980)),
        folder / "goldeneye.mp4",
        fps=Fraction(24000, 1001),
        options=_FAST,
    )
    encode_video(
        folder / "delayed.mp4",
        fps=20,
        frames=50,
        options=_FAST,
        pts=[43 + 2 * number for number in range(50)],
        time_base=Fraction(1, 40),
    )
    path = encode_video(folder / "corrupt.mp4", fps=25, frames=596, options=_FAST)
    packet = vl.index_video(path).packets[300]
    data = bytearray(path.read_bytes())
    data[packet["offset"] + 20 : packet["offset"] + packet["size"]] = bytes(
        int(packet["size"]) - 20
    )
    path.write_bytes(data)
    for number in range(30):
        cv2.imwrite(str(folder / f"frame_{number:03}.png"), _noise((90, 160), number))


def of_vllm(folder: Path) -> None:
    """An image."""
    cv2.imwrite(str(folder / "stop_sign.jpg"), _noise((272, 400), seed=1))


def _noise(size: tuple[int, int], seed: int) -> NDArray[np.uint8]:
    """A picture of smooth spots."""
    coarse = np.random.default_rng(seed).integers(0, 256, (17, 25, 3), dtype=np.uint8)
    return cv2.resize(coarse, size[::-1], interpolation=cv2.INTER_CUBIC).astype(np.uint8)
