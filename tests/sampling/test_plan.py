"""Decode plans, against a brute-force search and a decoder that knows only what it was fed."""

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import FrameRangeError
from videoloader.sampling import plan_decode


@dataclass(frozen=True)
class Stream:
    """A made-up video: for every packet, when it is shown and what it refers to."""

    shown: tuple[int, ...]  # frame number of each packet
    refers: tuple[tuple[int, ...], ...]  # packets each packet is predicted from
    keys: tuple[int, ...]
    headers: bool = True

    @cached_property
    def frame_packets(self):
        return np.argsort(np.array(self.shown))

    @property
    def end_packets(self):
        return self.frame_packets

    @cached_property
    def seek_packets(self):
        starts = []
        for packet in self.frame_packets.tolist():
            keys = [k for k in self.keys if k <= packet]
            leads = self.shown[packet] < self.shown[keys[-1]]
            starts.append(keys[-2] if leads and len(keys) > 1 else keys[-1])
        return np.array(starts, dtype=np.int64)

    @cached_property
    def disposable(self):
        if not self.headers:
            return None
        used = {p for refs in self.refers for p in refs}
        return np.array([p not in used for p in range(len(self.shown))])


def decode(stream, packets):
    """Feed packets to a decoder that starts with nothing; give the frames that come out right."""
    held = set()
    for packet in packets:
        if all(reference in held for reference in stream.refers[packet]):
            held.add(packet)
    return {stream.shown[packet] for packet in held}


@st.composite
def streams(draw):
    """GOPs in decode order: a keyframe, then leading frames, then P frames with B frames."""
    shown, refers, keys = [], [], []
    time, anchor = 0, None
    for gop in range(draw(st.integers(1, 4))):
        leading = draw(st.integers(0, 3)) if gop else 0
        before, key = anchor, len(shown)
        keys.append(key)
        shown.append(time + leading)
        refers.append(())
        for lead in range(leading):
            shown.append(time + lead)
            refers.append((before, key))
        time += leading + 1
        anchor = key
        for _ in range(draw(st.integers(0, 3))):
            between = draw(st.integers(0, 2))
            new = len(shown)
            shown.append(time + between)
            refers.append((anchor,))
            for b in range(between):
                shown.append(time + b)
                refers.append((anchor, new))
            time += between + 1
            anchor = new
    headers = draw(st.booleans())
    return Stream(tuple(shown), tuple(refers), tuple(keys), headers)


@given(st.data(), streams())
def test_every_wanted_frame_comes_out_once_and_in_place(data, stream):
    count = len(stream.shown)
    frames = data.draw(st.lists(st.integers(-1, count - 1), max_size=20))
    plan = plan_decode(stream, frames)
    given_frames = []
    for run in plan.runs:
        assert run.packets[0] in stream.keys
        assert (np.diff(run.packets) > 0).all()
        assert set(run.frames.tolist()) <= decode(stream, run.packets.tolist())
        assert [stream.shown[p] for p in run.frame_packets] == run.frames.tolist()
        given_frames += run.frames.tolist()
    assert sorted(given_frames) == sorted({f for f in frames if f >= 0})
    assert plan.frames.tolist() == sorted(given_frames)
    restored = [-1 if place < 0 else int(plan.frames[place]) for place in plan.positions]
    assert restored == frames


@given(st.data(), streams())
def test_no_plan_of_whole_runs_feeds_fewer_packets(data, stream):
    count = len(stream.shown)
    frames = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=6))
    plan = plan_decode(stream, frames)
    # Brute force: cover the wanted packets, in decode order, by runs of every possible split,
    # each from the last keyframe that serves all of its frames.
    wanted = sorted(set(frames), key=lambda f: int(stream.frame_packets[f]))

    def cost(group):
        packets = [int(stream.frame_packets[f]) for f in group]
        start = min(int(stream.seek_packets[f]) for f in group)
        fed = range(start, max(packets) + 1)
        if stream.disposable is None:
            return len(fed)
        return sum(p in packets or not stream.disposable[p] for p in fed)

    def splits(items):
        if not items:
            yield []
        for cut in range(1, len(items) + 1):
            for rest in splits(items[cut:]):
                yield [items[:cut], *rest]

    assert plan.num_packets == min(sum(map(cost, split)) for split in splits(wanted))


@given(streams())
def test_a_whole_video_is_fed_once(stream):
    plan = plan_decode(stream, range(len(stream.shown)))
    fed = np.concatenate([run.packets for run in plan.runs])
    assert fed.tolist() == list(range(len(stream.shown)))


def test_a_run_begins_with_its_keyframe_also_where_that_is_disposable():
    flags = np.array([True, True, False, True])
    table = SimpleNamespace(
        frame_packets=np.arange(4),
        seek_packets=np.zeros(4, np.int64),
        end_packets=np.arange(4),
        disposable=flags,
    )
    (run,) = plan_decode(table, [3])
    assert run.packets.tolist() == [0, 2, 3]


def test_frames_outside_must_be_padded_first():
    stream = Stream((0, 1), ((), (0,)), (0,))
    for wrong in (2, -2):
        with pytest.raises(FrameRangeError, match="pad"):
            plan_decode(stream, [wrong])


def test_nothing_wanted_is_nothing_planned():
    stream = Stream((0, 1), ((), (0,)), (0,))
    plan = plan_decode(stream, [])
    assert plan.runs == ()
    assert plan.num_packets == 0
    assert plan_decode(stream, [-1, -1]).positions.tolist() == [-1, -1]
