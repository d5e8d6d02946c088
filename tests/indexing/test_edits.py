"""Edit lists: packets, times and discards are FFmpeg's, whatever the list says."""

import contextlib
import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mp4_files import demuxed, full, indexed, ints, movie, read_clip, track
from processor_time import MILLION, at_most_steps

import videoloader as vl
from videoloader.demo.videos import encode_video

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


@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_an_edit_may_start_among_samples_with_the_same_time(clip, seed):
    rng = random.Random(seed)
    samples = [
        replace(
            s,
            composition=0,
            key=s.key or rng.random() < 0.3,
            duration=rng.choice([0, 512]),
        )
        for s in clip.samples
    ]
    times = itertools.accumulate(s.duration for s in samples)
    data = movie(clip, samples, edits=[(rng.choice([300, 1200]), rng.choice([0, *times]), 1)])
    found = indexed(data)
    assume(found is not None)  # it begins with a picture that is not a keyframe
    expected = demuxed(data, fflags="noparse")
    assert [(*p[:3], *p[4:]) for p in found] == [(*p[:3], *p[4:]) for p in expected]


def elst(*rows, count=None, version=0, tail=b""):
    layout = "QqI" if version else "IiI"
    count = len(rows) if count is None else count
    content = [ints(layout, time, start, 1 << 16) for time, start in rows]
    return full(b"elst", version, 0, ints("I", count), *content, tail)


@pytest.mark.parametrize(
    "box",
    [
        elst((900, 1024), version=1),
        elst((1200, 1024), (300, 5000), count=1),
        elst((1200, 1024), count=5),
        elst((1200, 1024), tail=bytes(8)),
        elst((1200, 1024), count=0xFFFFFFFF),
        elst(),
    ],
    ids=["wide", "more than it says", "fewer than it says", "a tail", "a lie", "none"],
)
def test_a_list_has_what_fits_into_its_box(clip, box):
    assert len(agree(movie(clip, clip.samples, elst=box))) >= FRAMES


@pytest.mark.parametrize(
    "edits",
    [[(900, 1024, 1)], [(300, -1, 1), (500, 5000, 1)], [(500, 2000, 1), (100, 0, 1)]],
)
@pytest.mark.parametrize("shift", [0, -1024])
def test_an_empty_track_in_front_makes_ffmpeg_take_edits_for_an_offset(clip, edits, shift):
    samples = [replace(s, composition=s.composition + shift) for s in clip.samples]
    empty = track([], clip.description, 0, number=2, handler=b"soun")
    packets = agree(movie(clip, samples, edits=edits, before=[empty]), stream=1)
    assert len(packets) == FRAMES
    assert not any(discard for *_, discard in packets)


def test_a_list_without_end_is_refused_at_once(clip):
    for box in (
        elst(*[(1200, 0)] * 20_000),
        elst(*[(0, 3)] * 80_000),
        elst((1 << 63, 0), version=1),
        elst((10, -(1 << 63)), version=1),
        elst(*[((1 << 44), 0)] * 3000, version=1),
    ):
        with at_most_steps(400 * MILLION), contextlib.suppress(vl.VideoError):
            index = vl.index_video(movie(clip, clip.samples, elst=box))
            index.pts, index.duration  # noqa: B018


@settings(max_examples=200)
@given(st.integers(0, 1 << 32))
def test_mutated_lists_give_a_result_or_our_error(clip, seed):
    rng = random.Random(seed)
    version = rng.randrange(2)
    rows = [(time, start) for time, start, _ in random_edits(rng)]
    data = bytearray(movie(clip, clip.samples, elst=elst(*rows, version=version)))
    start = data.find(b"elst")
    for _ in range(rng.randint(1, 6)):
        place = start + rng.randrange(-4, 20 + 20 * len(rows))
        data[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    try:
        index = vl.index_video(bytes(data))
        index.pts, index.keyframes, index.seek_packets, index.duration  # noqa: B018
    except vl.VideoError:
        pass
