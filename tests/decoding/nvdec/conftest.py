"""The demo's clips for the GPU that is emulated, which is slow: as small as they may be."""

import dataclasses

import pytest
from made_once import made_once

from videoloader.demo.videos import DEMO_VIDEOS, encode


@pytest.fixture(scope="session")
def demo_folder(run_folder):
    """The demo's clips with fewer pixels, encoded once for all workers of a run."""
    return made_once(run_folder, "small-demo-videos", _make)


def _make(folder):
    for video in DEMO_VIDEOS:
        small = 192 + video.size[0] % 2, 108 + video.size[1] % 2
        changed = dataclasses.replace(video, size=small, encoders=_encoders(video))
        encode(changed, folder / video.name)


def _encoders(video):
    """Those of a clip, with keyframes where they are of larger pictures."""
    return {
        name: {
            key: f"{value}:scenecut=0" if key == "x265-params" else value
            for key, value in options.items()
        }
        for name, options in video.encoders.items()
    }
