"""A codec that crashes, hangs or takes all memory costs one clip, in pipelines and loaders alike.

Each data set here has four sound videos and between them three that misbehave in a worker process.
"""

import gc
import os
import signal
import threading
from pathlib import Path

import pytest
from child_processes import children
from misbehaving import Misbehaving

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.sources.items import Item

LIMITS = {"time_limit": 1.5, "memory_limit": 400 << 20}
WORKERS = 2
BAD = {1: "crash.mp4", 3: "hang.mp4", 5: "bomb.mp4"}
WORDS = {1: "SIGSEGV", 3: "1.5 s", 5: "memory"}


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("videos") / "clip.mp4"
    encode_video(path, frames=30, size=(128, 96), options={"g": "5"})
    return path


@pytest.fixture
def videos(clip, tmp_path):
    """Seven videos; what is wrong with three of them shows in a worker process only."""
    wrongs = {
        "crash.mp4": ("die", signal.SIGSEGV),
        "hang.mp4": ("stop", 0),
        "bomb.mp4": ("allocate", 2 << 30),
    }
    items = []
    for number in range(7):
        path = tmp_path / BAD.get(number, f"good-{number}.mp4")
        os.link(clip, path)
        wrong = wrongs.get(path.name)
        items.append(Misbehaving(str(path), *wrong) if wrong else Item(str(path)))
    return items


def shared_memory():
    """Segments of shared memory that this process has, open or mapped."""
    gc.collect()
    maps = Path("/proc/self/maps").read_text().count("memfd:videoloader")
    links = [os.readlink(f"/proc/self/fd/{name}") for name in _descriptors()]
    return maps, sum("memfd:videoloader" in link for link in links)


def _descriptors():
    return [name for name in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{name}")]


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Once the shared decoder is closed there is no process, thread or memory more than before."""
    before = children(), set(threading.enumerate()), shared_memory()
    yield
    decoder = shared_decoder("cpu", WORKERS, **LIMITS)
    alive = children() - before[0]
    assert len(alive) <= WORKERS  # those that misbehaved are gone
    decoder.close()
    for thread in set(threading.enumerate()) - before[1]:
        thread.join(5)
    assert children() <= before[0]
    assert set(threading.enumerate()) <= before[1]
    assert all(now <= then for now, then in zip(shared_memory(), before[2], strict=True))


def numbers(clips):
    return [[read_frame_number(frame.numpy()) for frame in clip] for clip in clips]


def check(failures, wanted=frozenset(BAD)):
    """Each bad video has failed, its error names it and the cause; no other has."""
    assert {Path(name).name for name, _ in failures} == {BAD[number] for number in wanted}
    for name, text in failures:
        (number,) = [number for number, bad in BAD.items() if bad in name]
        assert BAD[number] in text
        assert WORDS[number] in text.lower() or WORDS[number] in text


def loader(videos, **options):
    options = {"batch_size": 7, "layout": "FHWC", "workers": WORKERS, **LIMITS, **options}
    return vl.Loader(videos, vl.UniformClip(2), **options)


@pytest.mark.parametrize("on_error", ["skip", "replace", "mask"])
def test_a_loader_loses_the_clips_that_misbehave_and_no_other(videos, on_error):
    with loader(videos, on_error=on_error) as batches:
        (batch,) = batches
        check([(failure.video, str(failure.error)) for failure in batches.failures])
        assert len(batches.failures) == len(BAD)
    sound = [[0, 29]]
    if on_error == "skip":
        assert batch["sample"].tolist() == [0, 2, 4, 6]
        assert numbers(batch["frames"]) == sound * 4
    elif on_error == "replace":
        assert batch["sample"].tolist() == [0, 2, 2, 4, 4, 6, 6]
        assert numbers(batch["frames"]) == sound * 7
        assert [bool(text) for text in batch["error"]] == [at in BAD for at in range(7)]
    else:
        assert batch["mask"].all(dim=1).tolist() == [at not in BAD for at in range(7)]
        assert not batch["frames"][sorted(BAD)].any()
        assert numbers(batch["frames"][::2]) == sound * 4


def test_a_loader_that_raises_goes_on_with_the_next_batch(videos):
    with loader(videos[:3], batch_size=2, prefetch=1) as batches:
        with pytest.raises(vl.VideoError, match=BAD[1]):
            next(iter(batches))
        batches.load_state_dict(batches.state_dict())
        assert [batch["sample"].tolist() for batch in batches] == [[2]]


def pipeline(definition, batch_size=7, **options):
    return pipeline_def(definition)(batch_size=batch_size, num_threads=WORKERS, **options)


def test_a_reader_takes_the_next_clip_for_one_that_misbehaves(videos):
    def definition():
        return fn.readers.video(
            dataset=videos[2:],
            labels=[],
            sequence_length=2,
            uniform_sample=True,
            on_error="replace",
            name="Reader",
            **LIMITS,
        )

    with pipeline(definition, batch_size=5, prefetch_queue_depth=1) as pipe:
        clips, labels = pipe.run()
        assert numbers(clips) == [[0, 29]] * 5
        assert [each.item() for each in labels] == [0, 2, 2, 4, 4]
        check(pipe.stats()["Reader"].failures, {3, 5})


@pytest.mark.parametrize(("way", "wanted"), [("reader", [0, 1, 2]), ("decoder", [2, 3, 4, 5, 6])])
def test_a_pipeline_outlives_batches_that_misbehave(videos, way, wanted):
    some = [videos[number] for number in wanted]

    def definition():
        if way == "reader":
            return fn.readers.video(
                filenames=some, sequence_length=2, uniform_sample=True, **LIMITS
            )
        files = fn.external_source([[item] for item in some])
        return fn.decoders.video(files, frames=[0, 29], **LIMITS)

    with pipeline(definition, batch_size=1, prefetch_queue_depth=1) as pipe:
        for number in wanted:
            if number in BAD:
                with pytest.raises(vl.errors.OperatorError, match=BAD[number]) as caught:
                    pipe.run()
                assert isinstance(caught.value.__cause__, vl.VideoError)
            else:
                (clips,) = pipe.run()
                assert numbers(clips) == [[0, 29]]


def test_limits_are_checked_where_they_are_given(videos):
    for wrong in ({"time_limit": 0}, {"memory_limit": -1}, {"time_limit": "long"}):
        (name,) = wrong
        with pytest.raises(vl.errors.ArgumentError, match=name):
            loader(videos, **wrong)
        with pytest.raises(vl.errors.ArgumentError, match=name):
            pipeline(lambda wrong=wrong: fn.readers.video(filenames=["a"], **wrong))
