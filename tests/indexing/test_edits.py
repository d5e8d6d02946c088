"""Edit lists: packets, times and discards are FFmpeg's, whatever the list says."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mp4_files import demuxed, full, indexed, ints, movie, read_clip, track

import videoloader as vl
from videoloader.demo_videos import encode_video

FRAMES = 36


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("edits") / "clip.mp4"
    options = {"x264-params": "keyint=12:bframes=2:scenecut=0:threads=1"}
    encode_video(path, frames=FRAMES, size=(64, 48), options=options)
    return read_clip(path)


def agree(file, stream=None):
    """Ours and FFmpeg's, but for decode times where it makes some up."""
    found, expected = indexed(file), demuxed(file, stream)
    if any(discard for *_, discard in expected) or repeats(expected):
        found, expected = ([(*p[:3], *p[4:]) for p in packets] for packets in (found, expected))
    assert found == expected
    return expected


def repeats(packets):
    places = [place for place, *_ in packets]
    return len(set(places)) < len(places)


def random_edits(rng):
    edits = []
    for _ in range(rng.choice([1, 1, 2, 2, 3, 5])):
        # 18432 ticks of media in all, 1200 ms.
        start = rng.choice([0, 1024, -1, rng.randint(0, 20000), rng.randint(0, 9000), -2, -700])
        duration = rng.choice([1200, rng.randint(0, 1500), rng.randint(0, 300), 0])
        edits.append((duration, start, rng.choice([1, 1, 1, 0, 2])))
    return edits


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_any_edit_list_gives_ffmpegs_packets(clip, seed):
    rng = random.Random(seed)
    shift = rng.choice([0, 0, -512, -1024, -1300])
    samples = [replace(s, composition=s.composition + shift) for s in clip.samples]
    if rng.random() < 0.3:
        samples = [replace(s, composition=0) for s in samples]
    if rng.random() < 0.3:
        samples = [replace(s, duration=rng.choice([512, 300, 700, 1])) for s in samples]
    agree(movie(clip, samples, edits=random_edits(rng)))
