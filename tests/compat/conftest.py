"""Clips for the tests of drop-ins."""

from fractions import Fraction

import pytest

from videoloader.demo.videos import encode_video


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """50 frames at 25 a second, with B-frames and a keyframe every 12 frames; untagged HD."""
    return encode_video(
        tmp_path_factory.mktemp("compat") / "clip.mp4",
        frames=50,
        size=(96, 720),
        fps=25,
        options={"x264-params": "threads=1:no-mbtree=1:keyint=12:min-keyint=12:scenecut=0"},
    )


@pytest.fixture(scope="session")
def uneven(tmp_path_factory):
    """20 frames at uneven times, from 0.4 s on."""
    pts = [10, 11, 13, 14, 20, 21, 22, 25, 26, 27, 28, 30, 33, 34, 35, 36, 37, 40, 41, 42]
    return encode_video(
        tmp_path_factory.mktemp("compat") / "uneven.mkv",
        frames=20,
        size=(64, 48),
        fps=25,
        pts=pts,
        time_base=Fraction(1, 25),
    )
