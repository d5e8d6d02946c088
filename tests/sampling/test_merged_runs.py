"""Clips of many videos as runs: each place of each clip is filled once, each frame decoded once."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from videoloader.sampling import FILLED, plan_decode
from videoloader.sampling.plan import merge_runs


def index_of(num_frames, gop):
    """A video whose packets are in presentation order, with a keyframe every `gop` frames."""
    frames = np.arange(num_frames)
    return SimpleNamespace(
        frame_packets=frames,
        seek_packets=frames // gop * gop,
        end_packets=frames,
        disposable=None,
    )


INDEXES = {name: index_of(30, gop) for name, gop in (("a", 4), ("b", 7), ("c", 30))}
FRAMES = st.lists(st.integers(FILLED, 29), max_size=12)


def merged(clips):
    videos = {}
    for number, (video, frames) in enumerate(clips):
        videos.setdefault(video, {})[number] = np.array(frames, dtype=np.int64)
    return [run for name, of in videos.items() for run in merge_runs(INDEXES[name], of)]


@given(st.lists(st.tuples(st.sampled_from("abc"), FRAMES), max_size=8))
def test_every_place_is_filled_once_with_its_frame(clips):
    wanted = {
        (number, position): (video, frame)
        for number, (video, frames) in enumerate(clips)
        for position, frame in enumerate(frames)
        if frame != FILLED
    }
    runs = merged(clips)
    given_places = [
        ((clip, position), (clips[run.clip][0], frame))
        for run in runs
        for frame, clip, position in run.wants
    ]
    assert len(given_places) == len(wanted)
    assert dict(given_places) == wanted


@given(st.lists(st.tuples(st.sampled_from("abc"), FRAMES), max_size=8))
def test_no_packet_is_fed_more_often_than_for_all_frames_of_a_video_at_once(clips):
    runs = merged(clips)
    for video, index in INDEXES.items():
        together = [frame for name, frames in clips if name == video for frame in frames]
        packets = [run.run.packets for run in runs if clips[run.clip][0] == video]
        assert sum(map(len, packets)) == plan_decode(index, together).num_packets


@given(st.lists(st.tuples(st.sampled_from("abc"), FRAMES), max_size=8))
def test_a_run_tells_its_wants_in_the_order_of_frames_and_wants_each_frame_it_keeps(clips):
    for run in merged(clips):
        frames = [frame for frame, _, _ in run.wants]
        assert frames == sorted(frames)
        assert set(frames) == set(run.run.frames.tolist())
