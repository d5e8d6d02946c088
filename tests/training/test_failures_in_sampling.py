"""Failures beside what decides which clips there are: weights, shared decoding, several clips
a video, checkpoints."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from damaged_videos import FRAMES, LOST, make_videos

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.readers.video import media
from videoloader.dali.readers.video.clip_decoding import DecoderSetup, SampleError, decode_planned
from videoloader.dali.readers.video.planned import Decoded, PlannedClip, SharedClip
from videoloader.decoding.failures import FailurePolicy, Failures
from videoloader.demo.videos import read_frame_number
from videoloader.errors import DecodeError
from videoloader.sources.items import Item

DAMAGED, UNREADABLE = 1, 3
WHOLE = vl.UniformClip(4)  # frames 0, 4, 7 and 11 of 12
CLIPS = [list(range(first, first + 3)) for first in range(0, FRAMES, 3)]
SOUND = [clip for clip in CLIPS if not LOST & set(clip)]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sampling") / "videos"
    return make_videos(folder, count=6, damaged=[DAMAGED], unreadable=[UNREADABLE])


@pytest.fixture
def log(paths, tmp_path):
    """What a run over all videos logged."""
    log = tmp_path / "errors.jsonl"
    with loader(paths, on_error="skip", error_log=log) as batches:
        list(batches)
    return log


def loader(paths, **options):
    return vl.Loader(paths, WHOLE, **{"batch_size": 3, "workers": 0, "layout": "FHWC", **options})


def sampled(batches):
    return sorted(itertools.chain(*(batch["sample"].tolist() for batch in batches)))


def reader(files, batch_size=4, *, read=fn.readers.video, pipe=None, **options):
    options = {"labels": [], "name": "Reader", "enable_frame_num": "sequence", **options}

    @pipeline_def(batch_size=batch_size, num_threads=1, seed=3, **(pipe or {}))
    def definition():
        return tuple(read(filenames=list(map(str, files)), **options))

    return definition()


def epoch(pipe, size):
    """(label, frame numbers) of `size` samples, each of which shows these frames."""
    found = []
    while len(found) < size:
        for clip, label, numbers in zip(*pipe.run(), strict=True):
            wanted = numbers.tolist()
            for frame, number in zip(clip, wanted, strict=True):
                assert number < 0 or read_frame_number(frame.numpy()) == number
            found.append((label.item(), wanted))
    assert len(found) == size
    return found


# -- clips that are decoded together

TOGETHER = {"sequence_length": 3, "clips_per_decode": 4, "random_shuffle": True}


def failed_in_epoch(pipe, number):
    return Counter(each.sample for each in pipe.failures if each.epoch == number)


def test_clips_that_fail_beside_those_they_share_a_decoder_with_are_skipped_once(paths):
    some = [paths[0], paths[DAMAGED], paths[2]]  # 12 clips in 2 batches of an epoch
    with reader(some, 6, on_error="skip", **TOGETHER) as pipe:
        for number in range(2):
            found = epoch(pipe, 10)
            assert sorted(found) == sorted(
                [(0, clip) for clip in CLIPS] + [(1, clip) for clip in SOUND]
                + [(2, clip) for clip in CLIPS]
            )  # fmt: skip
            assert failed_in_epoch(pipe, number) == {6: 1, 7: 1}


def test_clips_that_fail_beside_those_they_share_a_decoder_with_are_masked(paths):
    some = [paths[0], paths[DAMAGED], paths[2]]
    with reader(some, 6, on_error="mask", **TOGETHER) as pipe:
        found = epoch(pipe, 12)
        assert failed_in_epoch(pipe, 0) == {6: 1, 7: 1}
    masked = [[-1 if frame in LOST else frame for frame in clip] for clip in CLIPS]
    assert sorted(found) == sorted(
        [(label, clip) for label in (0, 2) for clip in CLIPS] + [(1, clip) for clip in masked]
    )


def test_clips_that_fail_beside_those_they_share_a_decoder_with_are_replaced(paths):
    some = [paths[0], paths[DAMAGED], paths[2]]
    with reader(some, 6, on_error="replace", **TOGETHER) as pipe:
        found = epoch(pipe, 12)
        assert set(failed_in_epoch(pipe, 0)) == {6, 7}
    sound = [(label, clip) for label in (0, 2) for clip in CLIPS] + [(1, clip) for clip in SOUND]
    several = Counter((label, *clip) for label, clip in found)
    assert set(several) == {(label, *clip) for label, clip in sound}
    assert several.total() == 12


def test_with_raise_a_clip_that_fails_costs_its_own_batch_alone(paths):
    some = [paths[0], paths[DAMAGED], paths[2]]
    outcomes = Counter()
    with reader(some, 1, **TOGETHER) as pipe:
        for _ in range(12):
            try:
                outcomes[epoch(pipe, 1)[0][0]] += 1
            except vl.errors.OperatorError:
                outcomes["failed"] += 1
    assert outcomes == {0: 4, 1: 2, 2: 4, "failed": 2}


def test_frames_that_clips_share_count_once_as_work(paths):
    used = {}
    for together in (1, 4):
        options = {"sequence_length": 9, "step": 1, "random_shuffle": True, "shuffle_buffer": 4}
        if together == 1:
            del options["shuffle_buffer"]
        with reader(
            paths[:1], 1, clips_per_decode=together, pipe={"prefetch_queue_depth": 1}, **options
        ) as pipe:
            epoch(pipe, 12)  # three epochs, beside which the batches made ahead are few
            work = pipe.stats().work
        used[together] = work.used
        assert work.packets > 0
        assert work.bytes > 0
    assert used[4] >= 3 * FRAMES
    assert used[4] <= used[1] / 2


class Number:
    """Selects all frames of a video; the output beside the pictures is a number."""

    def __init__(self, number):
        self.number = number

    def frames(self, index):
        return np.arange(FRAMES)

    def outputs(self, index, frames):
        return [torch.tensor([self.number])]


class Instead:
    """Gives one clip for all that fail."""

    def __init__(self, clip):
        self.clip = clip

    def after(self, clip):
        return iter([self.clip])


def planned(path, failures, *, number=0, shared=None, instead=None):
    return PlannedClip(
        str(path),
        Number(number),
        failures=failures,
        item=Item(str(path)),
        shared=shared,
        successors=Instead(instead),
    )


def held(value):
    """A clip that another batch has decoded."""
    shared = SharedClip()
    assert shared.claim()
    shared.give(value)
    return shared


@pytest.mark.parametrize("is_there", [True, False])
def test_no_batch_is_empty_and_none_is_filled_up_beside_a_clip_of_another_batch(paths, is_there):
    """Where every clip that a batch decodes itself is skipped, one decoded before is enough."""
    failures = Failures(FailurePolicy("skip"))
    other = planned(paths[0], failures, number=9)
    bad = {"failures": failures, "instead": other}
    before = Decoded(torch.zeros(FRAMES, 96, 128, 3), [torch.tensor([5])], "before")
    clips = [
        planned(paths[UNREADABLE], number=0, **bad),
        planned(paths[UNREADABLE], number=1, shared=held(before if is_there else None), **bad),
        planned(paths[UNREADABLE], number=2, **bad),
    ]
    setup = DecoderSetup.of(media.clip_decoder("cpu", 1), {})
    decoded = decode_planned(clips, setup, [{"fill_value": (0,)}] * 3)
    assert decoded.places == [1]
    frames, numbers = decoded.outputs
    assert [number.item() for number in numbers] == [5 if is_there else 9]
    assert frames.source_info == ["before" if is_there else str(paths[0])]
    assert len(frames) == 1
    assert failures.count == (2 if is_there else 3)


def test_a_mistake_in_a_definition_is_told_with_the_place_in_the_whole_batch(paths):
    before = Decoded(torch.zeros(FRAMES, 96, 128, 3), [torch.tensor([5])], "before")
    failures = Failures(FailurePolicy("mask"))
    clips = [planned(paths[0], failures, shared=held(before)), planned(paths[0], failures)]

    def fuse(position: int, form: DecodedForm) -> DecodedForm:
        raise DecodeError(f"at {position}")

    setup = DecoderSetup.of(media.clip_decoder("cpu", 1), {})
    with pytest.raises(SampleError) as caught:
        decode_planned(clips, setup, [{"fill_value": (0,)}] * 2, fuse=fuse)
    assert caught.value.position == 1
    assert str(caught.value.error) == "at 1"


# -- what is left out, and weights


def test_weights_stay_with_their_videos_where_some_are_left_out(paths, log):
    weights = [1, 50, 0, 50, 1, 2]
    for given in (weights, dict(zip(map(str, paths), weights, strict=True))):
        with loader(paths, weights=given, skip_known=log, on_error="raise") as batches:
            assert [sampled(batches) for _ in range(2)] == [[0, 4, 5, 5]] * 2


def test_weights_of_the_rows_of_an_index_stay_with_their_videos(paths, log, tmp_path):
    dataset = vl.index_dataset(list(map(str, paths)), tmp_path / "set.parquet", 0)
    assert dataset.failed.tolist() == [UNREADABLE]
    for weights in ([1, 50, 0, 50, 1, 2], [1, 50, 0, 1, 2]):  # of rows, and of videos
        with loader(dataset, weights=weights, skip_known=log) as batches:
            assert sampled(batches) == [0, 4, 5, 5]


def test_classes_are_balanced_among_the_videos_that_are_left(paths, log):
    options = {"labels": [0, 0, 0, 0, 1, 2], "balanced": True, "clips_per_video": 3}
    with loader(paths, skip_known=log, **options) as batches:
        (*found,) = batches
    labels = Counter(label for batch in found for label in batch["labels"].tolist())
    assert labels == {0: 4, 1: 4, 2: 4}
    assert Counter(sampled(found)) == {0: 2, 2: 2, 4: 4, 5: 4}


@pytest.mark.parametrize("way", ["weights", "balanced"])
def test_clips_that_are_left_out_are_never_drawn(paths, tmp_path, way):
    """Of video 1 half of the clips are; its weight is then that of the others."""
    damage = tmp_path / "damage.jsonl"
    damage.write_text(f'{{"path": "{paths[DAMAGED]}", "member": "", "frames": [8, 9, 10, 11]}}\n')
    some = [paths[0], paths[DAMAGED]]
    chosen = {"weights": [1.0, 1.0]} if way == "weights" else {"balanced": True}
    with reader(
        some, 2, sequence_length=3, skip_known=str(damage), on_error="raise", **chosen
    ) as pipe:
        assert pipe.epoch_size("Reader") == len(CLIPS) + len(SOUND) == 6
        found = [each for _ in range(4) for each in epoch(pipe, 6)]
        assert not pipe.failures
    assert Counter(label for label, _ in found) == {0: 12, 1: 12}
    assert {tuple(clip) for label, clip in found if label == 1} == set(map(tuple, SOUND))


def test_weights_of_a_reader_stay_with_their_videos(paths, log):
    with reader(paths, 4, sampler=WHOLE, skip_known=str(log), weights=[1, 50, 0, 50, 1, 2]) as pipe:
        assert sorted(label for label, _ in epoch(pipe, 4)) == [0, 4, 5, 5]


def test_a_weighted_epoch_replaces_what_fails(paths):
    weights = [0, 3, 0, 3, 0, 0]
    with loader(paths, weights=weights, on_error="replace", batch_size=6) as batches:
        (batch,) = batches
        assert Counter(batch["sample"].tolist()) == {2: 3, 4: 3}
        assert Counter(each.sample for each in batches.failures) == {1: 3, 3: 3}


# -- several clips of each video


def test_failures_of_further_clips_are_those_of_their_videos(paths):
    with loader(paths, clips_per_video=2, on_error="skip", batch_size=4) as batches:
        assert sampled(batches) == [0, 0, 2, 2, 4, 4, 5, 5]
        assert Counter(each.sample for each in batches.failures) == {1: 2, 3: 2}
        assert {Path(each.path).stem for each in batches.failures if each.sample == 1} == {"1"}


def test_a_further_clip_is_replaced_by_one_of_the_next_video(paths):
    dataset = vl.ClipDataset(
        paths, WHOLE, clips_per_video=2, on_error="replace", labels=[10, 11, 12, 13, 14, 15]
    )
    assert len(dataset) == 12
    sample = dataset[6 + DAMAGED]
    assert (sample["requested"], sample["sample"], sample["labels"]) == (1, 2, 12)
    last = dataset[6 + UNREADABLE]
    assert (last["requested"], last["sample"]) == (3, 4)
    assert {each.sample for each in dataset.failures} == {1, 3}


def test_what_is_left_out_is_left_out_for_each_clip_of_a_video(paths, log):
    dataset = vl.ClipDataset(paths, WHOLE, clips_per_video=2, skip_known=log, on_error="skip")
    assert [dataset[number]["sample"] for number in range(8)] == [0, 2, 4, 5] * 2
    assert len(dataset) == 8


@pytest.mark.parametrize("on_error", ["skip", "mask"])
def test_readers_that_resize_take_the_same_policies(paths, on_error):
    with reader(
        paths, 6, read=fn.readers.video_resize, sampler=WHOLE, size=48, on_error=on_error
    ) as pipe:
        clips, labels, _ = pipe.run()
    wanted = [0, 2, 4, 5] if on_error == "skip" else list(range(6))
    assert [label.item() for label in labels] == wanted
    assert clips.shape() == [(4, 48, 48, 3)] * len(wanted)


# -- buckets and columns


@pytest.mark.parametrize("batches", [vl.Buckets([(4, 96, 128)], 6 * 4 * 48, patch=(1, 16, 16)),
                                     vl.Packing(6 * 4 * 48, patchify=(1, 16, 16))])  # fmt: skip
def test_buckets_and_packs_hold_what_is_left_with_its_columns(paths, log, tmp_path, batches):
    for number, path in enumerate(paths):
        path.with_suffix(".txt").write_text(f"caption {number}")
    dataset = vl.index_dataset(list(map(str, paths)), tmp_path / "set.parquet", 0)
    columns = {"columns": ["num_frames", ".txt"], "workers": 0, "batches": batches}
    with vl.Loader(dataset, WHOLE, skip_known=log, **columns) as loading:
        (batch,) = loading
        assert not loading.failures
    assert batch["sample"].tolist() == [0, 2, 4, 5]
    assert batch[".txt"] == [f"caption {number}" for number in (0, 2, 4, 5)]
    assert batch["num_frames"].tolist() == [FRAMES] * 4
    drawn = Counter()
    weights = [1, 50, 0, 50, 1, 2]
    with vl.Loader(dataset, WHOLE, skip_known=log, weights=weights, **columns) as loading:
        for batch in loading:
            drawn.update(batch["sample"].tolist())
    assert drawn == {0: 1, 4: 1, 5: 2}


@pytest.mark.parametrize("on_error", ["skip", "mask", "replace"])
def test_a_bucket_records_its_failures_and_ends_with_too_many(paths, tmp_path, on_error):
    dataset = vl.index_dataset(list(map(str, paths)), tmp_path / "set.parquet", 0)
    options = {
        "batches": vl.Buckets([(4, 96, 128)], 6 * 4 * 48, patch=(1, 16, 16)),
        "workers": 0,
        "on_error": on_error,
    }
    log = tmp_path / "errors.jsonl"
    with vl.Loader(dataset, WHOLE, error_log=log, max_errors=1, **options) as loading:
        (batch,) = loading
        (failure,) = loading.failures
        assert loading.stats().errors == 1
        assert loading.stats().work.decoded > 0
    wanted = {"skip": [0, 2, 4, 5], "mask": [0, 1, 2, 4, 5], "replace": [0, 2, 2, 4, 5]}
    assert batch["sample"].tolist() == wanted[on_error]
    assert (failure.sample, failure.frame, failure.action) == (DAMAGED, 11, on_error)
    assert log.read_text().count("\n") == 1
    with (
        vl.Loader(dataset, WHOLE, max_errors=0, **options) as loading,
        pytest.raises(vl.errors.TooManyFailuresError, match="1 of 5 samples"),
    ):
        list(loading)


# -- checkpoints


def test_a_loader_that_is_resumed_goes_on_counting_and_a_new_one_begins(paths):
    options = {"on_error": "skip", "max_errors": 3, "batch_size": 6}
    with loader(paths, **options) as batches:
        assert sampled(batches) == [0, 2, 4, 5]
        state = batches.state_dict()
        assert state["epoch"] == 1
        batches.load_state_dict(state)
        with pytest.raises(vl.errors.TooManyFailuresError, match="4 of 12 samples"):
            list(batches)
    with loader(paths, **options) as batches:
        batches.load_state_dict(state)
        assert sampled(batches) == [0, 2, 4, 5]
        assert {each.epoch for each in batches.failures} == {1}


def test_a_restored_pipeline_begins_its_statistics_and_keeps_its_failures(paths):
    told = []
    pipe = {
        "enable_checkpointing": True,
        "prefetch_queue_depth": 1,
        "on_stats": told.append,
        "stats_interval": 0,
    }
    with reader(paths, 6, sampler=WHOLE, on_error="skip", pipe=pipe) as pipe:
        first = epoch(pipe, 4)
        state = pipe.checkpoint()
        second = epoch(pipe, 4)
        failed = len(pipe.failures)
        assert failed >= 4
        pipe.restore(state)
        begun = pipe.stats()
        assert (begun.batches, begun.samples, begun.errors) == (0, 0, 0)
        assert begun.work.packets == 0
        assert epoch(pipe, 4) == second == first
        stats = pipe.stats()
        assert (stats.batches, stats.samples) == (1, 4)
        assert stats.errors >= 2
        assert len(pipe.failures) >= failed + 2
        assert stats["Reader"].samples >= 6
    assert len(told) == 3
    assert all(each.samples == 4 and each.work.packets >= 0 for each in told)
    assert all(each.errors <= 6 for each in told)
