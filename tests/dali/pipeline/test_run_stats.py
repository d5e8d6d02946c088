"""Statistics: what they count, in one form for loaders, pipelines and iterators."""

import math
import re
import threading
import time
from dataclasses import replace

import pytest
from damaged_videos import make_videos

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator
from videoloader.machinery.runtime.run_stats import OperatorStats, RunStats, StageStats, Work


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stats") / "videos"
    return make_videos(folder, count=5, damaged=[1])


class Frames:
    """Takes the same frames of every video."""

    def __init__(self, *frames):
        self.chosen = frames

    def frames(self, num_frames, *, fps=None, rng=None):
        import numpy as np

        return np.array(self.chosen)


def loader(paths, sampler=None, **options):
    options = {"batch_size": 2, "workers": 0, **options}
    return vl.Loader(paths, sampler or vl.UniformClip(2), **options)


@pipeline_def(num_threads=1)
def labelled(paths, sampler):
    files = list(map(str, paths))
    clips, labels = fn.readers.video(filenames=files, labels=[], sampler=sampler, name="Reader")
    return clips + 1, labels


@pytest.mark.parametrize("workers", [0, 1])
def test_packets_bytes_and_frames_are_those_that_the_groups_of_pictures_ask_for(paths, workers):
    """Frames 2 and 5 of groups of four, without B-frames: 0 to 2, and 4 to 5 are decoded."""
    sound = [paths[0], paths[2]]
    with loader(sound, Frames(2, 5, 5), workers=workers) as batches:
        list(batches)
        stats = batches.stats()
    packets = vl.index_video(sound[0]).packets
    assert stats.work.packets == 2 * 5
    assert stats.work.decoded == 2 * 5
    assert (stats.work.used, stats.work.discarded) == (2 * 2, 2 * 3)
    assert stats.work.bytes == 2 * packets["size"][[0, 1, 2, 4, 5]].sum()
    assert stats.work.decode_seconds > 0
    assert stats.work.convert_seconds > 0
    assert stats["decode"].samples == 2
    assert stats.engines == ({} if not workers else {"workers": 1, "replaced": 0})


def test_frames_that_clips_share_count_once(paths):
    with loader([paths[0]] * 4, Frames(2, 5), batch_size=4) as batches:
        list(batches)
        assert batches.stats().work.packets == 5
        assert batches.stats().samples == 4


def test_a_pipeline_counts_the_same(paths):
    sound = [paths[0], paths[2]]
    with labelled(sound, sampler=Frames(2, 5, 5), batch_size=2, prefetch_queue_depth=1) as pipe:
        pipe.run()
        pipe.run()
        stats = pipe.stats()
    made = stats["Reader"].samples // 2  # batches made ahead are counted, too
    assert stats.work.packets == made * 10
    assert stats.work.discarded == made * 6
    assert (stats.batches, stats.samples, stats.first_samples) == (2, 4, 2)
    assert stats.errors == 0


def test_iterators_have_the_statistics_of_their_pipelines(paths):
    pipes = [labelled([paths[0]] * 4, sampler=Frames(1), batch_size=2) for _ in range(2)]
    with GenericIterator(pipes, ["clips", "labels"], size=8) as batches:
        for _ in batches:
            pass
        stats = batches.stats()
        alone = [pipe.stats() for pipe in pipes]
    assert stats.batches == 2
    assert stats.samples == 8
    assert {"0/Reader", "1/Reader"} <= set(stats)
    assert stats.waited == pytest.approx(sum(each.waited for each in alone))
    assert "samples/s" in str(stats)


def test_errors_of_an_epoch_are_counted(paths):
    with loader(paths, vl.UniformClip(12), on_error="skip") as batches:
        assert str(replace(batches.stats(), errors=1)).endswith("second batch on; 1 failed")
        for _ in range(2):
            list(batches)
            stats = batches.stats()
            assert stats.errors == 1
            assert ", 1 failed" in str(stats)
        assert len(batches.failures) == 2
        assert [path.rpartition("/")[2] for path, _ in stats["decode"].failures] == ["1.mp4"]


def test_one_line_says_whether_the_consumer_waits_and_for_what(paths):
    with loader([paths[0]] * 12) as batches:
        for _ in batches:
            pass
        stats = batches.stats()
    assert "the consumer waited" in str(stats)
    assert "for decode" in str(stats)
    assert stats.slowest == "decode"
    assert stats.samples_per_second == pytest.approx(10 / stats.seconds)


@pytest.mark.parametrize(
    ("work", "engines", "limit"),
    [
        (Work(decoded=9, used=5, decode_seconds=2, convert_seconds=1), {}, "decode"),
        (Work(decoded=9, used=4, decode_seconds=2, convert_seconds=1), {}, "unused frames"),
        (Work(decoded=9, used=4, decode_seconds=2, convert_seconds=3), {}, "convert"),
        (Work(decoded=9, used=4, decode_seconds=2), {"nvdec_percent": 90}, "NVDEC"),
        (Work(decoded=9, used=9, decode_seconds=2), {"nvdec_percent": 50}, "decode"),
    ],
)
def test_the_limit_is_what_takes_longest_of_decoding(work, engines, limit):
    stages = (StageStats("plan", 4, 1.0, 0, 0), StageStats("decode", 4, 5.0, 0, 0))
    options = {"batches": 4, "samples": 8, "seconds": 6.0, "waited": 3.0}
    stats = RunStats(stages=stages, work=work, engines=engines, **options)
    assert stats.limit == limit
    why = "" if limit == "decode" else f": {limit}"
    assert f"for decode (busy 5.0 s{why})" in str(stats)
    slow_plan = replace(stats, stages=(replace(stages[0], busy=9.0), stages[1]))
    assert slow_plan.limit == "plan"


def test_the_end_of_an_epoch_is_no_batch_of_a_stage(paths):
    with loader([paths[0]] * 5) as batches:
        count = len(list(batches))
        assert [stage.items for stage in batches.stats().stages] == [count, count]


def test_queues_are_counted_while_they_are_full(paths):
    with loader([paths[0]] * 20, prefetch=3) as batches:
        iterator = iter(batches)
        next(iterator)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            decode = batches.stats().stages[-1]
            if decode.queued == 3:
                break
            time.sleep(0.01)
        assert (decode.name, decode.queued, decode.room) == ("decode", 3, 3)
    assert batches.stats().stages[-1].queued == 0


def test_a_transform_is_counted(paths):
    def transform(sample):
        time.sleep(0.005)
        return sample["sample"]

    with loader([paths[0]] * 4, sample_transform=transform) as batches:
        list(batches)
        assert batches.stats()["transform"].samples == 4
        assert batches.stats()["transform"].seconds >= 4 * 0.005


def test_all_numbers_go_to_a_logger_under_flat_names(paths):
    with labelled([paths[0]] * 2, sampler=Frames(1), batch_size=2) as pipe:
        pipe.run()
        numbers = pipe.stats().as_dict()
    assert all(math.isfinite(value) for value in numbers.values())
    assert all("\n" not in name and " " not in name for name in numbers)
    assert {
        "waited_seconds", "waited_share", "samples_per_second", "frames_decoded",
        "frames_discarded", "bytes_read", "packets", "decode_seconds", "convert_seconds", "errors",
        "operator/Reader/seconds", "stage/plan/queued",
    } <= numbers.keys()  # fmt: skip


def some(batches, **others):
    stage = StageStats("decode", batches, batches / 2, 0.5, 0.25, 1, 2)
    return RunStats(
        operators={"Reader": OperatorStats(4 * batches, batches / 4)},
        batches=batches,
        samples=4 * batches,
        first_samples=4,
        seconds=float(batches),
        waited=batches / 10,
        stages=(stage,),
        work=Work(batches, 10 * batches, 3 * batches, 2 * batches, 0.5 * batches, 0.0),
        errors=batches // 2,
        **others,
    )


def test_a_slow_transform_is_told_though_the_consumer_waits_for_nothing(paths):
    def slow(frames):
        time.sleep(0.05)
        return frames

    with loader([paths[0]] * 10, transform=slow) as batches:
        list(batches)
        told = batches.stats()
    assert told["transform"].is_callers
    assert not told["decode"].is_callers
    assert re.search(r"; transform took 0\.\d s \(\d+%\) in its thread", str(told))
    assert "took" not in str(some(4))


def test_what_was_done_since_is_the_difference():
    difference = some(10).since(some(4))
    assert (difference.batches, difference.samples, difference.errors) == (6, 24, 3)
    assert difference.samples_per_second == pytest.approx(24 / 6)
    assert difference.work == Work(6, 60, 18, 12, 3.0, 0.0)
    assert difference["Reader"] == OperatorStats(24, 1.5)
    (stage,) = difference.stages
    assert (stage.items, stage.busy, stage.queued) == (6, 3.0, 1)
    assert some(4).since(RunStats()).samples_per_second == pytest.approx(12 / 4)


def test_a_function_is_called_with_the_numbers_of_each_interval(paths):
    told, threads = [], set()

    def tell(stats):
        told.append(stats)
        threads.add(threading.current_thread())

    with loader([paths[0]] * 10, on_stats=tell, stats_interval=0) as batches:
        list(batches)
        total = batches.stats()
    assert [stats.batches for stats in told] == [1] * 5
    assert sum(stats.samples for stats in told) == total.samples == 10
    assert threads == {threading.current_thread()}
    with labelled(
        [paths[0]], sampler=Frames(1), batch_size=1, on_stats=tell, stats_interval=1000
    ) as pipe:
        told.clear()
        for _ in range(3):
            pipe.run()
    assert not told


def test_an_error_of_that_function_is_raised_in_the_loop(paths):
    def fail(stats):
        raise ZeroDivisionError

    with (
        loader([paths[0]] * 2, on_stats=fail, stats_interval=0) as batches,
        pytest.raises(ZeroDivisionError),
    ):
        list(batches)


def test_a_batch_costs_no_look_at_the_statistics_unless_they_are_due(paths, monkeypatch):
    def fail(self):
        raise AssertionError

    monkeypatch.setattr(vl.Loader, "stats", fail)
    with loader([paths[0]] * 4, on_stats=print, stats_interval=1000) as batches:
        assert len(list(batches)) == 2


def test_intervals_are_checked(paths):
    for make in (
        lambda **wrong: loader(paths, **wrong),
        lambda **wrong: vl.dali.Pipeline(1, **wrong),
    ):
        with pytest.raises(vl.errors.ArgumentError, match="stats_interval"):
            make(stats_interval=-1)
