"""Images in worker processes: the same pixels, and one that misbehaves costs itself only."""

import itertools
import signal
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from child_processes import children
from image_files import FILES, encoded, picture
from misbehaving import MisbehavingHeader

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.dali.operators.decoders import image_files
from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.decoding.cpu import images
from videoloader.decoding.cpu.images import ImageQueue
from videoloader.decoding.images.header import read_header
from videoloader.decoding.images.request import ImageForm, ImageRequest
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.machinery.system.forking import ForkSafeLock

RGB = ImageForm("RGB", adjust_orientation=True, max_pixels=1 << 27)
LIMITS = {"time_limit": 1.5, "memory_limit": 400 << 20}
WRONGS = {
    "crash": ("die", signal.SIGSEGV),
    "hang": ("stop", 0),
    "bomb": ("allocate", 2 << 30),
}
WORDS = {"crash": "SIGSEGV", "hang": "1.5 s", "bomb": "memory"}


def request(data, name="an image", window=None):
    return ImageRequest(memoryview(data), name, read_header(memoryview(data), name), window)


def misbehaving(data, name):
    header = read_header(memoryview(data), name)
    return ImageRequest(memoryview(data), name, MisbehavingHeader.of(header, *WRONGS[name]))


@pytest.fixture(scope="module")
def decoder():
    with vl.BatchDecoder(workers=2) as decoder:
        yield decoder


@pytest.mark.parametrize("output_type", ["RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"])
def test_pixels_are_those_of_this_process(decoder, output_type):
    form = ImageForm(output_type, adjust_orientation=True, max_pixels=1 << 20)
    windows = [None, (slice(1, 9), slice(2, 7))]
    requests = [request(FILES[name], name, w) for name in FILES for w in windows]
    with vl.BatchDecoder(workers=0) as here:
        expected = here.decode_images(requests, form)
    made = decoder.decode_images(requests, form)
    assert len(made) == 2 * len(FILES)
    for mine, theirs in zip(made, expected, strict=True):
        if isinstance(theirs, Exception):
            assert (type(mine), str(mine)) == (type(theirs), str(theirs))
        else:
            assert mine.dtype == theirs.dtype
            assert np.array_equal(mine, theirs)


def test_each_image_has_its_own_pixels_however_many_share_a_task(decoder):
    sizes = [(7 + n % 5, 9 + n % 3) for n in range(300)] + [(900, 1200)] * 4
    pictures = [picture(*size) + np.uint8(n % 200) for n, size in enumerate(sizes)]
    requests = [request(encoded(each, "png")) for each in pictures]
    before = decoder.stats().get("cpu", {"tasks": 0})["tasks"]
    made = decoder.decode_images(requests, RGB)
    assert decoder.stats()["cpu"]["tasks"] - before < 20
    for mine, expected in zip(made, pictures, strict=True):
        assert np.array_equal(mine, expected)
    assert decoder.decode_images([], RGB) == []


def test_the_workers_decode_images_of_several_threads_at_once(decoder):
    pictures = [picture(20 + n, 30) for n in range(8)]
    requests = [request(encoded(each, "png")) for each in pictures]
    failed = []

    def decode(first):
        for _ in range(20):
            made = decoder.decode_images(requests[first : first + 4], RGB)
            wrong = zip(made, pictures[first : first + 4], strict=True)
            failed.extend(first for mine, right in wrong if not np.array_equal(mine, right))

    threads = [threading.Thread(target=decode, args=(first,)) for first in (0, 2, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


class PoolOfOneTask:
    """Does a task when it has got the next one too, as a worker with one task ahead."""

    allocate = staticmethod(np.zeros)

    def decode_files(self, tasks):
        ahead = next(tasks)
        for number in range(2):
            task, deadline = ahead, time.monotonic() + 30
            while number == 0 and (ahead := next(tasks, None)) is None:
                assert time.monotonic() < deadline
            yield number, task.perform(None), None


def test_a_batch_begins_before_the_one_in_front_of_it_has_ended():
    queue = ImageQueue(PoolOfOneTask(), 1, ForkSafeLock())
    pictures = [picture(40, 50), picture(30, 20)]
    with ThreadPoolExecutor(2) as threads:
        requests = [[request(encoded(each, "png"))] for each in pictures]
        made = [threads.submit(queue.decode, each, RGB) for each in requests]
        for mine, expected in zip(made, pictures, strict=True):
            assert np.array_equal(mine.result(30)[0], expected)


class PoolThatFails(PoolOfOneTask):
    """Has no memory left for its first task; a pool that works is in its place then."""

    fails = True

    def decode_files(self, tasks):
        for number, task in enumerate(tasks):
            if self.fails:
                self.fails = False
                raise vl.errors.ResourceError("no memory left")
            yield number, task.perform(None), None


def begun(queue, threads, pixels):
    """A batch that another thread waits for; the caller holds the lock of the queue."""
    made = threads.submit(queue.decode, [request(encoded(pixels, "png"))], RGB)
    deadline = time.monotonic() + 30
    while not queue._waiting:
        assert time.monotonic() < deadline
    return made


def test_clips_do_not_fail_by_images_of_another_thread():
    lock = ForkSafeLock()
    queue = ImageQueue(PoolThatFails(), 1, lock)
    with ThreadPoolExecutor(1) as threads:
        with lock:  # as for clips
            made = begun(queue, threads, picture(40, 50))
            queue.finish()
        assert np.array_equal(made.result(30)[0], picture(40, 50))


def interrupted(method, *, after):
    """Ctrl-C in the first call."""
    interrupts = [KeyboardInterrupt()]

    def call(*given):
        if interrupts and not after:
            raise interrupts.pop()
        made = method(*given)
        if interrupts:
            raise interrupts.pop()
        return made

    return call


@pytest.mark.parametrize("moment", ["begun", "done"])
def test_an_interrupt_loses_no_image_of_another_thread(moment, monkeypatch):
    pool, lock = PoolThatFails(), ForkSafeLock()
    pool.fails = False
    queue = ImageQueue(pool, 1, lock)
    if moment == "done":
        monkeypatch.setattr(images._Batch, "take", interrupted(images._Batch.take, after=False))
    else:

        class Waiting(deque):
            popleft = interrupted(deque.popleft, after=True)

        queue._waiting = Waiting()
    with ThreadPoolExecutor(1) as threads:
        with lock:
            made = begun(queue, threads, picture(40, 50))
            with pytest.raises(KeyboardInterrupt):
                queue.decode([request(encoded(picture(9, 9), "png"))], RGB)
        assert np.array_equal(made.result(30)[0], picture(40, 50))


class PoolThatEndsSlowly(PoolOfOneTask):
    """Does the last task first; Ctrl-C while its workers are ended."""

    interrupts = 1

    def decode_files(self, tasks):
        try:
            for number, task in reversed([*enumerate(itertools.islice(tasks, 2))]):
                yield number, task.perform(None), None
        except GeneratorExit:
            if self.interrupts:
                self.interrupts -= 1
                raise KeyboardInterrupt from None
            raise


class InterruptedLock(ForkSafeLock):
    interrupts = 0

    def __enter__(self):
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        return super().__enter__()


def test_two_interrupts_lose_no_image_of_another_thread():
    lock = InterruptedLock()
    queue = ImageQueue(PoolThatEndsSlowly(), 1, lock)
    own = [request(encoded(picture(9, 9), "png"))]
    with ThreadPoolExecutor(1) as threads:
        with lock:
            made = begun(queue, threads, picture(40, 50))
            queue.decode(own, RGB)
            lock.interrupts = 1
            with pytest.raises(KeyboardInterrupt):
                queue.decode(own, RGB)
        assert np.array_equal(made.result(30)[0], picture(40, 50))


def test_a_batch_fails_while_others_are_added():
    queue = ImageQueue(PoolThatFails(), 1, ForkSafeLock())

    class Other:
        @property
        def batch(self):  # another thread adds a group just as this one is looked at
            queue._waiting.append(self)

        task = None

    queue._waiting.append(Other())
    with pytest.raises(vl.errors.ResourceError):
        queue.decode([request(encoded(picture(8, 8), "png"))], RGB)
    assert {type(group) for group in queue._waiting} == {Other}


def test_a_damaged_image_fails_by_name_among_good_ones(decoder):
    good = encoded(picture(40, 50), "png")
    bad = good[:200] + bytes(300) + good[500:]
    made = decoder.decode_images([request(good), request(bad, "bad.png"), request(good)], RGB)
    assert isinstance(made[1], vl.errors.DecodeError)
    assert str(made[1]).startswith("bad.png: ")
    assert all(np.array_equal(made[at], picture(40, 50)) for at in (0, 2))


@pytest.mark.parametrize("name", WRONGS)
def test_an_image_that_misbehaves_costs_itself_only(name):
    before = children()
    good = encoded(picture(40, 50), "png")
    with vl.BatchDecoder(workers=2, **LIMITS) as decoder:
        requests = [request(good, f"good-{n}") for n in range(9)]
        requests[4:4] = [misbehaving(good, name)]
        made = decoder.decode_images(requests, RGB)
        again = decoder.decode_images(requests[:4], RGB)
    assert isinstance(
        made[4], vl.errors.OutOfMemoryError if name == "bomb" else vl.errors.DecodeError
    )
    assert str(made[4]).startswith(f"{name}: ")
    assert WORDS[name] in str(made[4])
    for mine in [*made[:4], *made[5:], *again]:
        assert np.array_equal(mine, picture(40, 50))
    assert children() == before


@pytest.mark.parametrize("limit", [20, 60])  # the codec fails, the conversion to RGB fails
def test_an_image_that_needs_too_much_memory_is_named(limit):
    large = encoded(np.zeros((6000, 6000, 1), np.uint8), "png")
    good = encoded(picture(40, 50), "png")
    with vl.BatchDecoder(workers=1, memory_limit=limit << 20) as decoder:
        made = decoder.decode_images([request(good), request(large, "large.png")], RGB)
    assert isinstance(made[1], vl.errors.OutOfMemoryError)
    assert str(made[1]).startswith("large.png: ")
    assert np.array_equal(made[0], picture(40, 50))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Six files, of which three misbehave in a worker process, by their headers."""
    data = encoded(picture(40, 50), "png")
    names = ["0-good", "1-crash", "2-good", "3-hang", "4-bomb", "5-good"]
    for name in names:
        (tmp_path / name).write_bytes(data)

    def read(content, name):
        header = read_header(content, name)
        wrong = WRONGS.get(Path(name).name[2:])
        return header if wrong is None else MisbehavingHeader.of(header, *wrong)

    monkeypatch.setattr(image_files, "read_header", read)
    yield [str(tmp_path / name) for name in names]
    shared_decoder("cpu", 2, **LIMITS).close()


def test_a_pipeline_outlives_images_that_misbehave(folder):
    @pipeline_def(batch_size=1, num_threads=2, device_id=None, prefetch_queue_depth=1)
    def pipeline():
        data, labels = fn.readers.file(files=folder, labels=list(range(6)))
        return fn.decoders.image(data, **LIMITS), labels

    with pipeline() as pipe:
        for path in folder:
            word = WORDS.get(Path(path).name[2:])
            if word is None:
                images, _ = pipe.run()
                assert np.array_equal(images[0].numpy(), picture(40, 50))
                continue
            with pytest.raises(vl.errors.OperatorError, match=word) as caught:
                pipe.run()
            assert path in str(caught.value)
            assert isinstance(caught.value.__cause__, vl.VideoError)
            assert caught.value.sample == 0


def test_an_error_names_the_sample_and_no_image_is_decoded_again(folder):
    @pipeline_def(batch_size=3, num_threads=2, device_id=None, prefetch_queue_depth=1)
    def pipeline():
        good = [folder[0], folder[2], folder[5]]
        files = [*good[:2], folder[1], *good * 4]  # the next batches may be on their way already
        data, _ = fn.readers.file(files=files)
        return fn.decoders.image_crop(data, crop=(8, 8), **LIMITS)

    with pipeline() as pipe:
        with pytest.raises(vl.errors.OperatorError, match="sample 2 of batch 0") as caught:
            pipe.run()
        stats = shared_decoder("cpu", 2, **LIMITS).stats()["cpu"]
    assert caught.value.sample == 2
    assert stats["replaced"] == 2  # one for the task of all three, one for the image alone


def test_eager_calls_are_contained(folder):
    data = np.frombuffer(Path(folder[0]).read_bytes(), np.uint8)
    assert np.array_equal(fn.decoders.image(data, **LIMITS).numpy(), picture(40, 50))
    decoder = shared_decoder("cpu", **LIMITS)
    assert decoder.stats()["cpu"]["workers"] >= 1
    decoder.close()


def test_clips_and_images_share_workers(tmp_path):
    encode_video(tmp_path / "clip.mp4", frames=8, size=(64, 48))
    before = children()
    with vl.BatchDecoder(workers=1) as decoder:
        for count in (1, 3):
            images = decoder.decode_images([request(encoded(picture(8, 8), "png"))] * count, RGB)
            assert all(np.array_equal(each, picture(8, 8)) for each in images)
            batch = decoder.decode([(str(tmp_path / "clip.mp4"), [5, 2])])
            assert [read_frame_number(frame.numpy()) for frame in batch.frames[0]] == [5, 2]
        assert len(children() - before) == 1
