"""What becomes of samples that fail, in every way in: skip, replace, mask, count, log."""

import gc
import itertools
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from child_processes import children, state_of
from damaged_videos import FRAMES, LOST, make_videos
from misbehaving import InDecoder
from programs import Program
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.decoding.check import check_dataset
from videoloader.decoding.failures import FailurePolicy, Failures
from videoloader.demo.videos import read_frame_number
from videoloader.sources.items import Item

DAMAGED, UNREADABLE = 1, 3
BAD = {DAMAGED, UNREADABLE}
WHOLE = vl.UniformClip(4)  # frames 0, 4, 7 and 11 of 12
TEMPORAL = [0, 4, 7, 11]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failures") / "videos"
    return make_videos(folder, count=6, damaged=[DAMAGED], unreadable=[UNREADABLE])


def name_of(failure):
    return Path(failure.path).stem


def loader(paths, **options):
    options = {"batch_size": 3, "workers": 0, "layout": "FHWC", **options}
    return vl.Loader(paths, WHOLE, **options)


def reader(paths, batch_size=3, **options):
    options = {"labels": [], "sampler": WHOLE, "name": "Reader", **options}
    of_pipeline = {key: options.pop(key) for key in list(options) if key.startswith("pipe_")}

    @pipeline_def(
        batch_size=batch_size,
        num_threads=1,
        prefetch_queue_depth=1,
        **{key.removeprefix("pipe_"): value for key, value in of_pipeline.items()},
    )
    def definition():
        return tuple(fn.readers.video(filenames=list(map(str, paths)), **options))

    return definition()


def shown(frames):
    return [[read_frame_number(frame.numpy()) for frame in clip] for clip in frames]


# -- the policy


@pytest.mark.parametrize("most", [-1, -0.1, 1.5, True, "3", float("nan")])
def test_max_errors_is_a_number_or_a_share(most):
    with pytest.raises(vl.errors.ArgumentError, match="max_errors is a number of failures"):
        FailurePolicy("skip", most)


def test_wrong_policies_are_refused_in_every_way_in(paths):
    for make in (
        lambda **wrong: loader(paths, **wrong),
        lambda **wrong: vl.ClipDataset(paths, WHOLE, **wrong),
        lambda **wrong: reader(paths, **wrong).build(),
        lambda **wrong: vl.dali.Pipeline(batch_size=1, **wrong),
    ):
        with pytest.raises(vl.errors.ArgumentError, match="on_error"):
            make(on_error="ignore")
        with pytest.raises(vl.errors.ArgumentError, match="max_errors goes with"):
            make(max_errors=3)


@pytest.mark.parametrize(
    ("most", "asked", "allowed"),
    [(None, 5, 5), (0, 1000, 0), (3, 1000, 3), (0.02, 50, 2), (0.02, 1000, 20), (0.0, 10, 0)],
)
def test_one_failure_more_than_allowed_is_an_error_that_counts_and_names(most, asked, allowed):
    failures = Failures(FailurePolicy("skip", most))
    failures.ask(asked)
    for number in range(allowed):
        failures.add(Item(f"{number}.mp4"), vl.errors.DecodeError(f"{number}.mp4: broken"))
    assert failures.count == allowed
    if most is None:
        return
    with pytest.raises(vl.errors.TooManyFailuresError) as caught:
        failures.add(Item("last.mp4"), vl.errors.DecodeError("last.mp4: broken"))
    assert f"{allowed + 1} of {asked} samples" in str(caught.value)
    assert "last.mp4: broken" in str(caught.value)
    assert f"max_errors={most}" in str(caught.value)
    assert isinstance(caught.value.__cause__, vl.errors.DecodeError)


def test_a_long_run_keeps_the_first_failures_and_counts_all():
    failures = Failures(FailurePolicy("skip"))
    for number in range(10_010):
        failures.add(Item("a.mp4"), vl.errors.DecodeError("a.mp4: broken"), sample=number)
    kept = list(failures)
    assert failures.count == 10_010
    assert [failure.sample for failure in kept] == list(range(10_000))
    assert failures.pairs() == (("a.mp4", "a.mp4: broken"),)


# -- what is recorded


def test_a_failure_says_file_frame_class_sample_epoch_and_time(paths):
    begin = time.time()
    with loader(paths, on_error="skip") as batches:
        batches.set_epoch(2)
        list(batches)
        damaged, unreadable = sorted(batches.failures, key=lambda failure: failure.sample)
    assert (name_of(damaged), damaged.sample, damaged.epoch) == ("1", DAMAGED, 2)
    assert damaged.frame == 11  # the first of the clip that is lost
    assert (damaged.kind, damaged.action) == ("DecodeError", "skip")
    assert "1.mp4: frame 11" in damaged.reason
    assert begin <= damaged.time <= time.time()
    assert damaged.process == os.getpid()
    assert (name_of(unreadable), unreadable.frame, unreadable.kind) == ("3", None, "FormatError")
    assert isinstance(unreadable.error, vl.errors.FormatError)
    assert str(unreadable.error) == unreadable.reason


def test_failures_of_raise_are_recorded_too(paths, tmp_path):
    log = tmp_path / "errors.jsonl"
    dataset = vl.ClipDataset(paths, WHOLE, error_log=log)
    with pytest.raises(vl.errors.DecodeError):
        dataset[DAMAGED]
    with reader(paths, error_log=str(log)) as pipe, pytest.raises(vl.errors.OperatorError):
        pipe.run()
    with loader(paths, error_log=log) as batches, pytest.raises(vl.VideoError):
        list(batches)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["action"] for line in lines} == {"raise"}
    found = [line["path"] for line in lines]  # of batches made ahead, too
    assert found.count(str(paths[DAMAGED])) >= 3


def test_many_processes_append_whole_lines_to_one_log(paths, tmp_path):
    log = tmp_path / "logs" / "errors.jsonl"
    program = (
        "import sys, videoloader as vl\n"
        "from videoloader.decoding.failures import *\n"
        "from videoloader.sources.items import Item\n"
        "failures = Failures(FailurePolicy('skip', error_log=sys.argv[1]))\n"
        "for n in range(200):\n"
        "    failures.add(Item('a.mp4'), vl.errors.DecodeError('x' * n), sample=n)\n"
    )
    jobs = [Program([sys.executable, "-c", program, log]) for _ in range(2)]
    try:
        assert [job.wait(60) for job in jobs] == [0, 0]
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 400
    for job in jobs:
        assert [line["sample"] for line in lines if line["process"] == job.pid] == list(range(200))
    assert {line["path"] for line in lines} == {os.path.abspath("a.mp4")}


def test_a_log_that_cannot_be_written_is_an_error_at_once(paths, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(vl.errors.SourceError, match="cannot be written"):
        loader(paths, on_error="skip", error_log=tmp_path / "file" / "errors.jsonl")


def test_a_log_that_fills_the_disk_does_not_end_the_run(paths, tmp_path, monkeypatch, caplog):
    class FullDisk:
        """`os` for the log alone: other threads of the process write as before."""

        def __getattr__(self, name):
            return getattr(os, name)

        def write(self, descriptor, data):
            raise OSError(28, "No space left on device")

    with loader(paths, on_error="skip", error_log=tmp_path / "errors.jsonl") as batches:
        monkeypatch.setattr("videoloader.decoding.failures.os", FullDisk())
        assert sum(len(batch["sample"]) for batch in batches) == 4
        assert len(batches.failures) == 2
    assert caplog.text.count("No space left on device") == 1


# -- the loader


def test_a_loader_ends_with_too_many_failures(paths):
    with (
        loader(paths, on_error="replace", max_errors=1) as batches,
        pytest.raises(vl.errors.TooManyFailuresError, match=r"2 of \d .*max_errors=1 .*3\.mp4"),
    ):
        list(batches)  # two threads decode, so that either batch may be the one that is too many
    with loader(paths, on_error="replace", max_errors=2) as batches:
        assert len(list(batches)) == 2


def test_a_masked_sample_keeps_the_shape_of_its_batch_though_nothing_else_opens(paths):
    some = [paths[UNREADABLE], paths[0]]
    options = {"batch_size": 1, "on_error": "mask", "size": (48, 64), "fill_value": 9}
    with loader(some, **options) as batches:
        blank, sound = batches
    assert blank["frames"].shape == sound["frames"].shape == (1, 4, 48, 64, 3)
    assert (blank["frames"] == 9).all()
    assert not blank["mask"].any()
    assert blank["mask"].shape == sound["mask"].shape == (1, 4)


@pytest.mark.parametrize("clips", [vl.SegmentClip(5), vl.RandomClip(6, stride=9)])
def test_a_masked_clip_is_as_long_as_others_of_its_sampler(paths, clips):
    options = {"batch_size": 1, "on_error": "mask", "size": 32, "workers": 0}
    with vl.Loader([paths[UNREADABLE], paths[0]], clips, **options) as batches:
        blank, sound = batches
    assert blank["frames"].shape == sound["frames"].shape


# -- ClipDataset


def test_a_dataset_skips_and_never_gives_an_empty_batch(paths):
    dataset = vl.ClipDataset(paths, WHOLE, on_error="skip", layout="FHWC")
    samples = dataset.__getitems__([0, 1, 2, 3])
    assert [sample["sample"] for sample in samples] == [0, 2]
    assert shown([sample["frames"] for sample in samples]) == [TEMPORAL] * 2
    (alone,) = dataset.__getitems__([3])
    assert (alone["sample"], alone["requested"]) == (4, 3)
    assert "3.mp4" in alone["error"]
    assert dataset[1]["sample"] == 2


def test_a_dataset_masks_the_frames_concerned(paths):
    dataset = vl.ClipDataset(paths, WHOLE, on_error="mask", layout="FHWC", size=(96, 128))
    damaged, unreadable = dataset[DAMAGED], dataset[UNREADABLE]
    assert damaged["mask"].tolist() == [True, True, True, False]
    assert damaged["frame_numbers"].tolist() == [0, 4, 7, -1]
    assert shown([damaged["frames"][:3]]) == [TEMPORAL[:3]]
    assert "frame 11" in damaged["error"]
    assert unreadable["mask"].tolist() == [False] * 4
    assert unreadable["frames"].shape == damaged["frames"].shape
    assert (unreadable["sample"], unreadable["requested"]) == (3, 3)


def identity(samples):
    return samples


@pytest.mark.parametrize(("method", "workers"), [("fork", 2), ("spawn", 1)])
def test_failures_of_workers_are_seen_where_the_data_set_was_made(paths, tmp_path, method, workers):
    log = tmp_path / "errors.jsonl"
    dataset = vl.ClipDataset(paths, WHOLE, on_error="skip", error_log=log)
    batches = DataLoader(
        dataset, 3, num_workers=workers, multiprocessing_context=method, collate_fn=identity
    )
    seen = [sample["sample"] for batch in batches for sample in batch]
    assert seen == [0, 2, 4, 5]
    assert {(name_of(each), each.sample) for each in dataset.failures} == {("1", 1), ("3", 3)}
    assert os.getpid() not in {each.process for each in dataset.failures}
    assert {each.epoch for each in dataset.failures} == {None}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["sample"] for line in lines) == [1, 3]


def test_max_errors_counts_the_failures_of_all_workers(paths):
    dataset = vl.ClipDataset(paths, WHOLE, on_error="replace", max_errors=1)
    with pytest.raises(vl.errors.TooManyFailuresError, match="2 of "):
        for _ in DataLoader(dataset, 3, num_workers=2):
            pass
    assert len(dataset.failures) == 2


def test_a_data_set_gives_its_file_of_failures_back(paths):
    def memory():
        names = os.listdir("/proc/self/fd")
        return sum(
            "videoloader-failures" in os.readlink(f"/proc/self/fd/{name}")
            for name in names
            if os.path.islink(f"/proc/self/fd/{name}")
        )

    gc.collect()  # data sets of other tests
    before = memory()
    dataset = vl.ClipDataset(paths, WHOLE, on_error="skip")
    assert memory() == before + 1
    del dataset
    assert memory() == before


# -- decoding in a supervised process


@pytest.fixture
def misbehaving(paths, tmp_path):
    """Six videos, three of which misbehave in every process but this one."""
    wrongs = {1: ("die", signal.SIGSEGV), 3: ("stop", 0), 5: ("allocate", 2 << 30)}
    items = []
    for number in range(6):
        path = tmp_path / f"{number}.mp4"
        os.link(paths[0], path)
        wrong = wrongs.get(number)
        items.append(InDecoder(str(path), *wrong) if wrong else Item(str(path)))
    return items


def test_a_dataloader_outlives_what_a_codec_does_to_a_supervised_decoder(misbehaving):
    before = children()
    dataset = vl.ClipDataset(
        misbehaving,
        vl.UniformClip(2),
        on_error="replace",
        layout="FHWC",
        decode="worker",
        time_limit=1.5,
        memory_limit=400 << 20,
    )
    batches = DataLoader(dataset, 3, num_workers=2)
    found = [batch["sample"].tolist() for batch in batches]
    assert found == [[0, 2, 2], [4, 4, 0]]
    reasons = {each.sample: each.reason for each in dataset.failures}
    assert reasons.keys() == {1, 3, 5}
    assert "SIGSEGV" in reasons[1]
    assert "1.5 s" in reasons[3]
    assert "memory" in reasons[5]
    del batches
    deadline = time.monotonic() + 10
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not children() - before


def test_supervised_decoders_end_with_the_worker_of_a_loader(paths):
    """Also where that worker is killed itself."""
    dataset = vl.ClipDataset(paths[:1] * 8, WHOLE, decode="worker", sample_transform=grandchildren)
    batches = DataLoader(dataset, 1, num_workers=1, collate_fn=identity)
    iterator = iter(batches)
    worker, (decoder,) = next(iterator)[0]
    assert state_of(decoder) != "Z"
    os.kill(worker, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"DataLoader worker .* exited unexpectedly|killed"):
        list(iterator)
    deadline = time.monotonic() + 10
    while state_of(decoder) != "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert state_of(decoder) == "Z"


def grandchildren(sample):
    return os.getpid(), sorted(children())


def test_supervised_decoding_gives_the_same_samples(paths):
    sound = [paths[0], paths[2]]
    here = vl.ClipDataset(sound, vl.RandomClip(3, stride=2), seed=5)
    there = vl.ClipDataset(sound, vl.RandomClip(3, stride=2), seed=5, decode="worker")
    for dataset in (here, there):
        dataset.set_epoch(1)
    for number in range(2):
        assert torch.equal(here[number]["frames"], there[number]["frames"])


def test_how_to_decode_is_checked(paths):
    with pytest.raises(vl.errors.ArgumentError, match="decode must be"):
        vl.ClipDataset(paths, WHOLE, decode="thread")
    with pytest.raises(vl.errors.ArgumentError, match="time_limit"):
        vl.ClipDataset(paths, WHOLE, decode="worker", time_limit=0)


# -- readers


@pytest.mark.parametrize("where", ["", "pipe_"])
def test_a_reader_that_skips_gives_smaller_batches_but_never_empty_ones(paths, where):
    with reader(paths, batch_size=3, **{f"{where}on_error": "skip"}) as pipe:
        clips, labels = pipe.run()
        assert [each.item() for each in labels] == [0, 2]
        assert shown(clips) == [TEMPORAL] * 2
        assert [each.item() for each in pipe.run()[1]] == [4, 5]
        known = [(name_of(each), each.sample, each.epoch) for each in pipe.failures]
        assert {("1", 1, 0), ("3", 3, 0)} <= set(known)  # more in batches made ahead
        assert pipe.failures[0].action == "skip"
    with reader([paths[1], paths[3], paths[0]], batch_size=2, on_error="skip") as pipe:
        assert [each.item() for each in pipe.run()[1]] == [2]


def test_everything_of_a_sample_that_is_skipped_is_skipped(paths):
    """What other sources put into the batch, and what operators had made of it already."""

    @pipeline_def(batch_size=3, num_threads=1)
    def definition():
        files = list(map(str, paths))
        numbers = fn.external_source(lambda info: np.int64(info.idx_in_epoch), batch=False)
        clips, labels = fn.readers.video(filenames=files, labels=[], sampler=WHOLE, on_error="skip")
        others, more = fn.readers.video(
            filenames=files, labels=[], sampler=WHOLE, on_error="mask", name="Other"
        )
        return fn.resize(clips, size=48), labels, numbers, numbers * 2, others, more

    with definition() as pipe:
        for wanted in ([0, 2], [4, 5]):
            clips, labels, numbers, doubled, others, more = pipe.run()
            assert [each.item() for each in labels] == wanted
            assert [each.item() for each in numbers] == wanted
            assert [each.item() for each in doubled] == [2 * number for number in wanted]
            assert [each.item() for each in more] == wanted
            assert shown(others) == [TEMPORAL] * 2
            assert clips.shape() == [(4, 48, 48, 3)] * 2


def test_a_reader_masks_frames_and_tells_by_their_numbers_and_times(paths):
    options = {"enable_frame_num": "sequence", "enable_timestamps": True, "fill_value": 7}
    with reader(paths, batch_size=6, on_error="mask", **options) as pipe:
        clips, labels, numbers, times = pipe.run()
    assert [each.item() for each in labels] == [0, 1, 2, 3, 4, 5]
    assert numbers[DAMAGED].tolist() == [0, 4, 7, -1]
    assert numbers[UNREADABLE].tolist() == [-1] * 4
    assert times[UNREADABLE].tolist() == [-1.0] * 4
    assert times[DAMAGED].tolist() == pytest.approx([0, 4 / 30, 7 / 30, -1])
    assert clips.shape() == [(4, 96, 128, 3)] * 6
    assert (clips[UNREADABLE] == 7).all()
    assert (clips[DAMAGED][3] == 7).all()
    assert shown([clips[DAMAGED][:3]]) == [TEMPORAL[:3]]


def test_iterators_count_the_samples_that_are_left(paths):
    """Samples of the next epoch in the last batch stay out, whichever before them failed."""
    some = [paths[number] for number in (0, 1, 2, 3, 4)]
    with reader(some, batch_size=3, on_error="skip") as pipe:
        batches = GenericIterator(
            pipe,
            ["clips", "labels"],
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )
        for _ in range(2):
            seen = [batch[0]["labels"].flatten().tolist() for batch in batches]
            assert sorted(itertools.chain(*seen)) == [0, 2, 4]


def test_too_many_failures_of_a_reader_end_the_run(paths):
    with (
        reader(paths, batch_size=3, on_error="replace", max_errors=1) as pipe,
        pytest.raises(vl.errors.TooManyFailuresError, match=r"\d of \d+ samples"),
    ):
        assert not [pipe.run() for _ in range(2)]
    with (
        reader(paths, batch_size=6, pipe_on_error="mask", pipe_max_errors=1) as pipe,
        pytest.raises(vl.errors.TooManyFailuresError, match=r"\d of \d+ samples"),
    ):
        pipe.run()


def test_readers_of_files_replace_where_the_pipeline_masks(tmp_path):
    names = []
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", np.full(2, number))
        names.append(str(tmp_path / f"{number}.npy"))
    Path(names[1]).write_bytes(b"nothing")
    log = tmp_path / "errors.jsonl"
    pipe = pipeline_def(lambda: fn.readers.numpy(files=names))
    with pipe(batch_size=3, num_threads=1, on_error="mask", error_log=str(log)) as pipe:
        (values,) = pipe.run()
        assert [each[0].item() for each in values] == [0, 2, 2]
        assert {name_of(each) for each in pipe.failures} == {"1"}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["path"] for line in lines} == {names[1]}


# -- what is known to be bad


@pytest.fixture(scope="module")
def checked(paths, tmp_path_factory):
    """The data set of the videos, and what a check wrote of it."""
    folder = tmp_path_factory.mktemp("checked")
    dataset = vl.index_dataset(list(map(str, paths)), folder / "set.parquet", 0)
    check_dataset(dataset, folder / "damage.parquet", workers=0)
    return dataset, folder / "damage.parquet"


@pytest.fixture
def log(paths, tmp_path):
    """The log of a run over all videos."""
    log = tmp_path / "errors.jsonl"
    with loader(paths, on_error="skip", error_log=log) as batches:
        list(batches)
    return log


def test_what_a_log_names_is_not_opened_again(paths, log, tmp_path):
    again = tmp_path / "again.jsonl"
    options = {"skip_known": log, "error_log": again}
    with loader(paths, **options) as batches:
        seen = [batch["sample"].tolist() for batch in batches]
        assert sorted(itertools.chain(*seen)) == [0, 2, 4, 5]
    dataset = vl.ClipDataset(paths, WHOLE, labels=[10, 11, 12, 13, 14, 15], **options)
    assert [(s["sample"], s["labels"]) for s in map(dataset.__getitem__, range(4))] == [
        (0, 10), (2, 12), (4, 14), (5, 15),
    ]  # fmt: skip
    assert len(dataset) == 4
    with reader(paths, batch_size=4, skip_known=str(log), error_log=str(again)) as pipe:
        assert [each.item() for each in pipe.run()[1]] == [0, 2, 4, 5]
    assert again.read_text() == ""


def test_rows_of_a_data_set_stay_what_they_are(checked):
    dataset, damage = checked
    assert dataset.failed.tolist() == [UNREADABLE]
    with vl.Loader(dataset, WHOLE, batch_size=4, workers=0, skip_known=damage) as batches:
        (batch,) = batches
    assert batch["sample"].tolist() == [0, 2, 4, 5]


@pytest.mark.parametrize("way", ["dataset", "filenames"])
def test_of_clips_end_to_end_only_those_with_damaged_frames_are_left_out(paths, checked, way):
    dataset, damage = checked
    some = [paths[0], paths[DAMAGED], paths[2]]
    given = {"dataset": dataset} if way == "dataset" else {"filenames": list(map(str, some))}

    @pipeline_def(batch_size=3, num_threads=1)
    def definition():
        return fn.readers.video(
            **given,
            sequence_length=3,
            enable_frame_num="sequence",
            labels=[],
            skip_known=[str(damage)],
            name="Reader",
        )

    videos = 5 if way == "dataset" else 3
    whole = [list(range(first, first + 3)) for first in range(0, FRAMES, 3)]
    sound = [clip for clip in whole if not LOST & set(clip)]
    assert len(sound) == 2
    with definition() as pipe:
        assert pipe.epoch_size("Reader") == 4 * (videos - 1) + len(sound)
        found = {}
        for _ in range(pipe.epoch_size("Reader") // 3):
            _, labels, numbers = pipe.run()
            for label, frames in zip(labels, numbers, strict=True):
                found.setdefault(label.item(), []).append(frames.tolist())
        assert not pipe.failures
    assert found[1] == sound
    assert all(clips == whole[: len(clips)] for label, clips in found.items() if label != 1)


@pytest.mark.parametrize("told", ["check", "log"])
def test_what_is_known_of_a_data_set_holds_for_it_where_it_was_moved(paths, tmp_path, told):
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(paths[0].parent, before)
    index = vl.index_dataset(before, tmp_path / "set.parquet", 0, root=before)
    known = tmp_path / ("damage.parquet" if told == "check" else "errors.jsonl")
    if told == "check":
        check_dataset(index, known, workers=0)
    else:
        with loader(index, on_error="skip", error_log=known) as batches:
            list(batches)
    before.rename(after)
    moved = vl.open_dataset(tmp_path / "set.parquet", root=after)
    with vl.Loader(moved, WHOLE, batch_size=4, workers=0, skip_known=known) as batches:
        (batch,) = batches
    assert batch["sample"].tolist() == [0, 2, 4, 5]


def test_keys_of_another_data_set_say_nothing_of_one_that_is_known_itself(paths, tmp_path):
    index = vl.index_dataset(paths[0].parent, tmp_path / "set.parquet", 0, root=paths[0].parent)
    known = tmp_path / "known.jsonl"
    here, there = str(paths[0].parent), "/another"
    bad = [(here, paths[DAMAGED].name), (there, paths[DAMAGED].name), (there, paths[2].name)]
    known.write_text(
        "".join(
            json.dumps({"path": f"{root}/{name}", "key": name, "frame": None}) + "\n"
            for root, name in bad
        )
    )
    assert len(vl.ClipDataset(index, WHOLE, skip_known=known)) == 4


def test_what_is_known_of_an_index_without_keys(paths, checked, tmp_path):
    """Another program may have written the table, and nothing where the keys stand."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    dataset, damage = checked
    table = pq.read_table(dataset.path)
    place = table.schema.get_field_index("key")
    nothing = pa.nulls(len(table), pa.string())
    pq.write_table(table.set_column(place, "key", nothing), tmp_path / "set.parquet")
    with vl.Loader(
        tmp_path / "set.parquet", WHOLE, batch_size=4, workers=0, skip_known=damage
    ) as batches:
        (batch,) = batches
    assert batch["sample"].tolist() == [0, 2, 4, 5]


def test_members_of_archives_are_known_by_their_names(paths, tmp_path):
    import tarfile

    with tarfile.open(tmp_path / "shard.tar", "w") as tar:
        for number in (0, 1, 2):
            tar.add(paths[number], arcname=f"{number}.mp4")
    log = tmp_path / "errors.jsonl"
    shard = str(tmp_path / "shard.tar")
    with loader(shard, on_error="skip", error_log=log) as batches:
        assert [batch["sample"].tolist() for batch in batches] == [[0, 2]]
    assert json.loads(log.read_text())["member"] == "1.mp4"
    assert len(vl.ClipDataset(shard, WHOLE, skip_known=log)) == 2
    assert len(vl.ClipDataset(paths, WHOLE, skip_known=log)) == 6


def test_files_that_say_nothing_of_failures_are_refused(paths, tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"a": 1}\n')
    with pytest.raises(vl.errors.SourceError, match="no log of failures"):
        loader(paths, skip_known=wrong)
    wrong.write_text("nonsense\n{}\n")
    with pytest.raises(vl.errors.SourceError, match="line 1 is no JSON"):
        loader(paths, skip_known=wrong)
    with pytest.raises(vl.errors.SourceError, match=r"none\.jsonl"):
        loader(paths, skip_known=tmp_path / "none.jsonl")
    with pytest.raises(vl.errors.SourceError, match=r"none\.parquet"):
        loader(paths, skip_known=tmp_path / "none.parquet")


def test_a_line_that_a_killed_process_cut_off_is_passed_over(paths, log):
    log.write_text(log.read_text() + '{"path": "/vid')
    with loader(paths, skip_known=log) as batches:
        assert len(batches) == 2


def test_nothing_left_is_an_error(paths, log):
    with pytest.raises(vl.errors.ArgumentError, match="skip_known leaves none of the 2 videos"):
        loader([paths[1], paths[3]], skip_known=log)
