"""Which clips `fn.readers.video` takes, how often, and which of them it decodes together."""

import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc
import pytest
import torch
from processor_time import MILLION, at_most_steps
from synthetic_index import write_index

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.readers.video.planned import SharedClip
from videoloader.demo.videos import encode_video
from videoloader.errors import OperatorError
from videoloader.indexing.dataset import index_dataset
from videoloader.sampling import RandomClip
from videoloader.sampling.orders.reader_epochs import Epochs
from videoloader.sampling.orders.reader_order import ReaderOrder
from videoloader.sampling.orders.sample_order import SampleOrder
from videoloader.sampling.orders.weighted import WeightedDraws

pytestmark = pytest.mark.usefixtures("no_threads_left")

FILES = ["a.mp4", "b.mp4", "c.mp4"]


def reader(batch_size=2, seed=0, **arguments):
    arguments = {"filenames": FILES, "name": "Reader", "labels": []} | arguments
    return pipeline_def(lambda: fn.readers.video(**arguments))(batch_size=batch_size, seed=seed)


def clips_of(pipe, batches):
    """(label, frames) of the samples of some batches."""
    found = []
    for _ in range(batches):
        clips, labels, *_ = pipe.run()
        found += [
            (int(label), clip[:, 0, 0, 0].tolist())
            for clip, label in zip(clips, labels, strict=True)
        ]
    return found


def epoch(pipe):
    with pipe:
        size = pipe.epoch_size("Reader")
        found = clips_of(pipe, -(-size // pipe.max_batch_size))
    return found[:size]


def test_a_target_rate_goes_by_presentation_times(videos):
    steps = [4] * 20 + [90] + [20] * 4 + [4] * 9 + [150] + [8] * 10
    video = replace(videos.made("a"), num_frames=45, pts=np.cumsum(steps))
    videos.indexes["a"] = video
    found = epoch(reader(filenames=["a"], sequence_length=4, fps=5, step=7))
    times = video.pts / 100
    assert len(found) > 2
    for number, (_, clip) in enumerate(found):
        wanted = times[7 * number] + np.arange(4) / 5
        # Of two that are as near, the later one.
        nearest = [np.abs(times - time).round(9) for time in wanted]
        assert clip == [int(np.flatnonzero(each == each.min())[-1]) for each in nearest]


@pytest.mark.parametrize("shuffled", [False, True])
def test_even_clips_of_each_video_are_samples_of_their_own(videos, shuffled):
    clips = vl.EvenClips(3, count=4, stride=2)
    found = epoch(reader(sampler=clips, random_shuffle=shuffled))
    wanted = [
        (label, frames.tolist())
        for label, name in enumerate(FILES)
        for frames in clips.frames(videos.made(name).num_frames)
    ]
    assert (found == wanted) is not shuffled
    assert sorted(found) == sorted(wanted)


def test_an_even_clip_that_fails_is_masked_at_its_own_length(tmp_path):
    encode_video(tmp_path / "a.mp4", frames=12, size=(32, 16))
    (tmp_path / "b.mp4").write_bytes(b"no video")
    files = [str(tmp_path / name) for name in ("a.mp4", "b.mp4")]
    clips = vl.EvenClips(2, count=4)
    with reader(filenames=files, sampler=clips, on_error="mask") as pipe:
        found = [clip for _ in range(2) for clip in pipe.run()[0]]
    assert [len(clip) for clip in found] == [4] * 4
    assert [bool(clip.any()) for clip in found] == [True, True, False, False]


def test_several_clips_of_each_video_begin_at_places_of_their_own(videos):
    pipe = reader(sequence_length=4, stride=2, clips_per_video=5)
    found = epoch(pipe)
    assert Counter(label for label, _ in found) == {0: 5, 1: 5, 2: 5}
    assert all(np.diff(clip).tolist() == [2, 2, 2] for _, clip in found)
    assert len({(label, clip[0]) for label, clip in found}) > 9
    assert videos.indexed == []  # nothing is opened to count clips


def test_a_sampler_draws_several_times_and_differently_in_each_epoch(videos):
    sampler = RandomClip(3)
    with reader(batch_size=6, sampler=sampler, clips_per_video=2) as pipe:
        first, second = clips_of(pipe, 1), clips_of(pipe, 1)
    assert first != second
    assert [label for label, _ in first] == [0, 0, 1, 1, 2, 2]


def test_weights_say_how_often_clips_of_a_video_are_drawn(videos):
    videos.lengths = {"a.mp4": 4, "b.mp4": 40, "c.mp4": 16}  # 1, 10 and 4 clips
    found = Counter()
    with reader(batch_size=15, sequence_length=4, weights=[1, 1, 0]) as pipe:
        for _ in range(4):
            found.update(label for label, _ in clips_of(pipe, 1))
    assert found[2] == 0
    assert abs(found[0] - found[1]) <= 4
    assert sum(found.values()) == 60


def test_weights_may_be_given_by_key(videos):
    for weights in ({"/x/a.mp4": 1, "/x/b.mp4": 0}, lambda key: key.endswith("a.mp4")):
        arguments = {"filenames": ["/x/a.mp4", "/x/b.mp4"], "weights": weights}
        found = epoch(reader(sequence_length=20, **arguments))
        assert [label for label, _ in found] == [0] * 4


def test_a_clip_that_is_drawn_again_is_another_one(videos):
    """A random clip depends on which draw of the epoch it is."""
    pipe = reader(batch_size=3, sampler=RandomClip(4), weights=[1, 0, 0])
    found = epoch(pipe)
    assert [label for label, _ in found] == [0, 0, 0]
    assert len({clip[0] for _, clip in found}) > 1


def test_balanced_classes_come_alike_whatever_their_videos_are(videos):
    files = [f"{number}.mp4" for number in range(8)]
    videos.lengths = {"0.mp4": 4}
    found = Counter()
    labels = [5, *[6] * 7]
    pipe = reader(16, filenames=files, labels=labels, sequence_length=4, balanced=True)
    with pipe:
        assert pipe.epoch_size("Reader") == 71
        for _ in range(9):
            found.update(label for label, _ in clips_of(pipe, 1))
    assert found.total() == 144
    assert abs(found[5] - found[6]) <= 12


def test_shards_draw_by_weight_together_what_one_does(videos):
    arguments = {"sequence_length": 4, "weights": [1, 2, 3]}
    whole = epoch(reader(**arguments))
    parts = [
        epoch(reader(**arguments, shard_id=shard, num_shards=3, seed=shard))[:10]
        for shard in range(3)
    ]
    assert sorted(whole) == sorted(clip for part in parts for clip in part)


def test_a_filter_leaves_videos_out_before_anything_is_opened(demo_folder, tmp_path):
    with index_dataset(demo_folder, tmp_path / "set.parquet", workers=0) as dataset:
        table = dataset.table.to_pylist()
    middle = sorted(row["num_frames"] for row in table)[len(table) // 2]
    expected = [n for n, row in enumerate(table) if row["num_frames"] >= middle]
    assert 0 < len(expected) < len(table)
    for wanted in ({"min_frames": middle}, pc.field("num_frames") >= middle):
        pipe = reader(
            filenames=None,
            index=tmp_path / "set.parquet",
            filter=wanted,
            labels=list(range(len(table))),  # one for each row
            sequence_length=2,
            clips_per_video=1,
        )
        assert [label for label, _ in epoch(pipe)] == expected


def test_a_large_index_opens_no_video_before_it_is_needed(tmp_path):
    write_index(tmp_path / "set.parquet", 20_000, {"num_frames": [100] * 20_000})
    pipe = reader(index=tmp_path / "set.parquet", filenames=None, labels=None, sequence_length=16)
    with pipe:
        assert pipe.epoch_size("Reader") == 120_000
        with pytest.raises(OperatorError):  # none of the files is there
            pipe.run()


def runs(videos, batch_size=4, epochs=2, **arguments):
    videos.batches = []
    with reader(batch_size, **arguments) as pipe:
        batches = epochs * -(-pipe.epoch_size("Reader") // batch_size)
        return clips_of(pipe, batches)


SHARED = {"sequence_length": 4, "random_shuffle": True, "clips_per_decode": 5}


def test_clips_that_are_decoded_together_come_once_an_epoch_each(videos):
    found = runs(videos, batch_size=5, **SHARED)
    everything = [(label, list(range(first, first + 4))) for label in range(3)
                  for first in range(0, 40, 4)]  # fmt: skip
    assert sorted(found[:30]) == everything
    assert sorted(found[30:]) == everything
    assert found[:30] != found[30:]
    neighbours = sum(
        one[0] == other[0] and abs(one[1][0] - other[1][0]) == 4 for one, other in pairwise(found)
    )
    assert neighbours < 20  # of 59; decoded together, they are not given out together


def test_clips_are_requested_with_their_neighbours_and_only_once(videos):
    runs(videos, batch_size=2, epochs=1, prefetch_queue_depth=1, **SHARED)
    requests = [source for batch in videos.batches for source in batch]
    largest = max(videos.batches, key=len)
    assert len(largest) > 2
    assert max(Counter(largest).values()) >= 4  # clips of one video, decoded together
    assert len(requests) <= 30 + 2 * 5 * 2  # and some of the epochs that follow


@pytest.mark.parametrize("seed", range(3))
def test_what_is_decoded_together_does_not_depend_on_batches(videos, seed):
    alone = runs(videos, batch_size=1, epochs=1, seed=seed, **SHARED)
    assert runs(videos, batch_size=6, epochs=1, seed=seed, **SHARED) == alone
    assert runs(videos, batch_size=30, epochs=1, seed=seed, **SHARED) == alone


def test_without_shuffling_clips_that_are_decoded_together_stay_in_order(videos):
    plain = runs(videos, sequence_length=4)
    assert runs(videos, sequence_length=4, clips_per_decode=4) == plain


def test_a_resumed_reader_decodes_what_an_earlier_batch_would_have_given(videos):
    arguments = {"name": "Reader", "filenames": FILES, "labels": [], **SHARED}

    @pipeline_def(batch_size=3, seed=4, enable_checkpointing=True)
    def definition():
        return tuple(fn.readers.video(**arguments))

    with definition() as pipe:
        clips_of(pipe, 3)
        state = pipe.checkpoint()
        rest = clips_of(pipe, 9)
    with definition(checkpoint=state) as pipe:
        assert clips_of(pipe, 9) == rest


def test_a_bad_clip_costs_its_own_batch_alone(videos):
    videos.broken.add("b.mp4")
    outcomes = Counter()
    with reader(1, seed=1, **SHARED) as pipe:
        for _ in range(30):
            try:
                ((label, _),) = clips_of(pipe, 1)
                outcomes[label] += 1
            except OperatorError as error:
                assert "b.mp4" in str(error)
                outcomes["failed"] += 1
    assert outcomes == {0: 10, 2: 10, "failed": 10}


def test_replaced_clips_and_those_decoded_along_go_together(videos):
    videos.broken.add("b.mp4")
    found = runs(videos, epochs=1, on_error="replace", **SHARED)
    assert {label for label, _ in found} == {0, 2}


def test_operators_behind_see_the_clips_of_their_own_batch(videos):
    """What differs between samples is not done while clips of later batches are decoded."""

    @pipeline_def(batch_size=3, seed=2)
    def definition():
        clips, _ = fn.readers.video(filenames=FILES, labels=[], **SHARED)
        widths = fn.random.uniform(values=[2, 3, 4, 5, 7, 8, 9])
        return fn.resize(clips, resize_x=widths, resize_y=3, subpixel_scale=False), widths

    with definition() as pipe:
        for _ in range(8):
            clips, widths = pipe.run()
            for clip, width in zip(clips, widths, strict=True):
                assert clip.shape == (4, 3, int(width), 3)


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_clips_that_are_decoded_together_hold_the_pixels_of_clips_alone(demo_folder, device):
    files = sorted(demo_folder.glob("*.mp4"))[:3]

    @pipeline_def(batch_size=4, seed=3)
    def definition(arguments):
        arguments = {"sequence_length": 5, "stride": 2, "step": 4, "device": device, **arguments}
        clips, numbers, label = fn.readers.video(
            filenames=files, enable_frame_num="sequence", labels=[], name="Reader", **arguments
        )
        return fn.resize(clips, size=[24, 40]), numbers, label

    def pictures(count, pipe):
        found = {}
        with pipe:
            for _ in range(-(-count // 4)):
                clips, labels, numbers = pipe.run()
                for clip, label, frames in zip(clips, labels, numbers, strict=True):
                    found[int(label[0]), int(frames[0])] = torch.as_tensor(clip)
        return found

    with definition({}) as pipe:
        count = pipe.epoch_size("Reader")
    plain = pictures(count, definition({}))
    shared = pictures(count, definition({"clips_per_decode": 4, "random_shuffle": True}))
    assert len(plain) == count
    assert plain.keys() == shared.keys()
    assert all(torch.equal(plain[key], shared[key]) for key in plain)


def test_a_shared_clip_is_decoded_by_whoever_comes_first():
    clip = SharedClip()
    assert [clip.claim(), clip.claim(), clip.claim()] == [True, False, False]
    clip.give(None)
    assert clip.take() is None


def test_ten_million_clips_take_no_memory_of_their_own(tmp_path):
    """The order is computed place by place; only counts by video are kept."""

    size = 50_000_000
    draws = WeightedDraws.of(np.arange(1, 1001.0), counts=np.full(1000, size // 1000))
    orders = [
        ReaderOrder(Epochs(size, 64, 7, 3), SampleOrder(size)),
        ReaderOrder(Epochs(size, 64, 7, 3), SampleOrder(size, group=8), window=128),
        ReaderOrder(Epochs(size, 64, 7, 3), SampleOrder(size, draws=draws)),
    ]
    tracemalloc.start()
    try:
        for order in orders:
            with at_most_steps(600 * MILLION):  # 15 million without tracing
                seen = [number for batch in range(50) for _, number in order.batch(batch * 1009)]
            assert len(set(seen)) == len(seen)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_an_epoch_may_mix_sizes_and_codecs(demo_folder, tmp_path):
    files = [demo_folder / name for name in ("h264.mp4", "hevc.mp4", "vp9.webm", "av1.mp4")]
    files.append(encode_video(tmp_path / "tall.mp4", size=(96, 160), frames=20))

    @pipeline_def(batch_size=5, seed=1)
    def definition():
        return fn.readers.video(
            filenames=files, labels=[], sequence_length=3, clips_per_video=2, random_shuffle=True,
            enable_frame_num="sequence",
        )  # fmt: skip

    seen = Counter()
    with definition() as pipe:
        for _ in range(2):
            clips, labels, numbers = pipe.run()
            for clip, label, frames in zip(clips, labels, numbers, strict=True):
                with vl.Video(files[int(label[0])], chroma="centered") as video:
                    expected = video.get_frames(frames.tolist(), layout="FHWC").frames
                assert torch.equal(torch.as_tensor(clip), expected)
                seen[int(label[0])] += 1
    assert seen == dict.fromkeys(range(5), 2)
