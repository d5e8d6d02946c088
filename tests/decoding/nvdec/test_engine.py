"""What shares a batch out between GPU and CPU, on a GPU made of FFmpeg."""

import threading
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from fake_gpu import FakeStream, fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import consumer, decoder  # noqa: F401  (fixtures)

import videoloader as vl
from videoloader.decoding.nvdec import engine
from videoloader.decoding.nvdec.engine import GpuEngine
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.errors import UnsupportedError
from videoloader.indexing import index_video
from videoloader.sources.opening import open_source

CLIPS = {
    "h264.mp4": [0, 7, 7, 80, 3],
    "h264_open_gop.mp4": [50, 24, 23, 0, 1],
    "vp9.webm": [30, 20, 10, 0, 40],
    "av1.mp4": [10, 11, 12, 70, 71],
}


def requests(folder):
    return [(folder / name, frames) for name, frames in CLIPS.items()]


def numbers(batch):
    return [[read_frame_number(frame.numpy()) for frame in clip.frames] for clip in batch.clips]


@pytest.mark.parametrize("hybrid", [False, True])
def test_frames_are_those_that_were_asked_for_whoever_decodes_them(decoder, demo_folder, hybrid):
    batch = decoder.decode(requests(demo_folder), hybrid=hybrid)
    assert numbers(batch) == list(CLIPS.values())
    (reason,) = decoder.stats()["routed"]
    assert "av1" in reason


def test_the_work_of_a_batch_is_counted_whoever_does_it(decoder, demo_folder):
    """As on the CPU alone: packets that are fed, frames that are wanted, and those that are not."""
    batch = decoder.decode(requests(demo_folder))
    wanted = sum(len(set(frames)) for frames in CLIPS.values())
    alone = vl.decode_batch(requests(demo_folder), workers=0)
    assert batch.work.used == alone.work.used == wanted
    assert batch.work.packets == alone.work.packets >= wanted
    assert batch.work.bytes == alone.work.bytes > 0
    assert batch.work.discarded >= 0
    assert batch.work.decode_seconds > 0
    assert decoder.engines()["sessions"] >= 1
    assert decoder.engines()["routed"] >= 1


@pytest.mark.parametrize("dtype", ["uint16", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", ["FHWC", "FCHW", "CFHW"])
def test_elements_of_any_size_and_order_are_written_where_they_belong(
    decoder, demo_folder, dtype, layout
):
    batch = decoder.decode(requests(demo_folder), size=(180, 320), dtype=dtype, layout=layout)
    assert isinstance(batch.frames, torch.Tensor)  # so that clips are rows of one
    unit = 257 if dtype == "uint16" else 1
    axes = [layout.index(axis) for axis in "FHWC"]
    found = [(clip.frames.permute(axes).double() / unit).round().byte() for clip in batch.clips]
    assert [[read_frame_number(frame.numpy()) for frame in clip] for clip in found] == [
        *CLIPS.values()
    ]


def test_what_the_gpu_loses_the_cpu_decodes(decoder, fake_gpu, demo_folder):
    fake_gpu.drops = {2}
    batch = decoder.decode(requests(demo_folder))
    assert numbers(batch) == list(CLIPS.values())
    routed = decoder.stats()["routed"]
    assert "NVDEC gave no frame for a packet" in routed


MANY = {
    **CLIPS,
    "hevc.mp4": [1, 2, 3, 4, 5],
    "hevc_10bit.mkv": [59, 2, 30, 0, 0],
    "rotated.mp4": [9, 8, 7, 6, 5],
}


def test_a_batch_is_its_clips_one_by_one(decoder, demo_folder):
    wanted = [(demo_folder / name, frames) for name, frames in MANY.items()]
    wanted.append((demo_folder / "h264.mp4", [1, 1, 2, 2, 88]))  # opened already
    batch = decoder.decode(wanted, size=(90, 160))
    alone = [decoder.decode([one], size=(90, 160)).frames[0] for one in wanted]
    assert torch.equal(batch.frames, torch.stack(alone))
    assert [clip.indices.tolist() for clip in batch.clips] == [frames for _, frames in wanted]


def test_a_matrix_without_an_equation_is_an_error_on_both_devices(decoder, demo_folder):
    path = demo_folder / "h264.mp4"
    index = index_video(path)
    index = replace(index, color=replace(index.color, matrix="ictcp"))
    request = vl.ClipRequest(path, [3], index=index)
    with vl.BatchDecoder(workers=0) as cpu, pytest.raises(UnsupportedError) as here:
        cpu.decode([request])
    with pytest.raises(UnsupportedError) as there:
        decoder.decode([request])
    assert str(there.value) == str(here.value)
    assert "ictcp" in str(here.value)
    good = decoder.decode([request, (demo_folder / "hevc.mp4", [4])], on_error="skip")
    assert numbers(good) == [[4]]


def test_crops_and_sizes_may_be_lists_and_arrays(decoder, demo_folder):
    path = demo_folder / "h264.mp4"
    plain = vl.ClipRequest(path, [3], crop=(10, 20, 90, 160), size=(45, 80))
    others = [
        vl.ClipRequest(path, [3], crop=kind((10, 20, 90, 160)), size=kind((45, 80)))
        for kind in (list, np.array)
    ]
    here, *there = decoder.decode([plain, *others]).frames
    assert all(torch.equal(here, clip) for clip in there)


@pytest.mark.parametrize("size", [1, 2])
def test_a_packet_cut_in_its_header_costs_what_needs_it_on_either_device(decoder, tmp_path, size):
    """VP9, whose headers are read before the hardware gets them."""
    path = tmp_path / "clip.webm"
    options = {"g": "5", "deadline": "realtime", "lag-in-frames": "0"}
    encode_video(path, codec="libvpx-vp9", size=(128, 96), frames=15, options=options)
    index = index_video(path)
    index.packets["size"][7] = size
    wanted = [vl.ClipRequest(path, [frame], index=index) for frame in range(15)]
    for batch in (
        decoder.decode(wanted, on_error="mask"),
        vl.decode_batch(wanted, workers=0, on_error="mask"),
    ):
        assert [each.frame for each in batch.failures] == [7, 8, 9]
        assert all("packet 7" in str(each.error) for each in batch.failures)
        good = [clip for number, clip in enumerate(batch.clips) if number not in (7, 8, 9)]
        shown = [read_frame_number(clip.frames[0].numpy()) for clip in good]
        assert shown == [*range(7), *range(10, 15)]


def test_a_video_that_is_missing_costs_its_clip_only(decoder, demo_folder):
    names = [*list(MANY)[:5], "missing.mp4", *list(MANY)[5:]]
    wanted = [(demo_folder / name, [0, 5]) for name in names]
    with pytest.raises(vl.errors.SourceError, match="missing"):
        decoder.decode(wanted, size=64)
    found = [decoder.decode([one], size=64).frames[0] for one in wanted if one[0].exists()]
    kept = decoder.decode(wanted, size=64, on_error="skip")
    assert kept.requests.tolist() == [n for n, name in enumerate(names) if name != "missing.mp4"]
    assert torch.equal(kept.frames, torch.stack(found))
    replaced = decoder.decode(wanted, size=64, on_error="replace")
    assert replaced.requests.tolist() == [6 if n == 5 else n for n in range(len(names))]
    assert torch.equal(replaced.frames[5], found[5])
    masked = decoder.decode(wanted, size=64, on_error="mask")
    assert not masked.frames[5].any()
    assert [mask.all() for mask in masked.masks] == [name != "missing.mp4" for name in names]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_memory_is_not_free_before_what_writes_into_it(
    decoder, consumer, demo_folder, monkeypatch, kind
):
    def fail(*_):
        raise kind

    monkeypatch.setattr(GpuEngine, "_on_cpu", fail)
    begun = []
    submit = decoder._gpu._pool.submit

    def note(jobs):
        futures = submit(jobs)
        [future.result() for future in futures]
        begun.extend(futures)
        return futures

    monkeypatch.setattr(decoder._gpu._pool, "submit", note)
    with pytest.raises(kind):
        decoder.decode(requests(demo_folder))
    assert consumer.waited == len({future.result() for future in begun}) > 1


def test_a_second_interrupt_does_not_free_memory_that_is_written(
    decoder, consumer, demo_folder, monkeypatch
):
    futures, waits = [], []

    def submit(jobs):
        futures.extend(Future() for _ in jobs)
        [future.set_running_or_notify_cancel() for future in futures]
        return futures

    def fail(*_):
        raise KeyboardInterrupt

    def wait(_):
        waits.append(0)
        if len(waits) == 1:
            raise KeyboardInterrupt
        for future in futures:
            future.set_result(object())

    monkeypatch.setattr(decoder._gpu._pool, "submit", submit)
    monkeypatch.setattr(GpuEngine, "_on_cpu", fail)
    monkeypatch.setattr(engine, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        decoder.decode(requests(demo_folder))
    assert consumer.waited == len(futures) > 1


def test_memory_is_of_no_stream_that_works_and_the_caller_is_noted(
    decoder, consumer, demo_folder, monkeypatch
):
    entered, noted = threading.local(), []
    engine = decoder._gpu
    engine._allocations = allocations = FakeStream()

    @contextmanager
    def stream(chosen):
        before = inside()
        entered.stream = chosen
        yield
        entered.stream = before

    def inside():
        main = threading.current_thread() is threading.main_thread()
        return getattr(entered, "stream", consumer if main else None)

    def empty(*arguments, **options):
        if threading.current_thread() is not threading.main_thread() or "device" in options:
            noted.append(inside())
        return made(*arguments, **options)

    made = torch.empty
    monkeypatch.setattr(torch.cuda, "stream", stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: inside())
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda _, stream: noted.append(stream))
    monkeypatch.setattr(torch, "empty", empty)
    decoder.decode([(demo_folder / "h264.mp4", [0, 5])])
    assert noted == [allocations, consumer]


def test_a_file_that_the_cpu_decodes_is_not_read_whole(decoder, demo_folder, monkeypatch):
    path = demo_folder / "av1.mp4"
    with open_source(path) as source:
        read = source.read

        def read_part(offset, size):
            assert size < source.size, "it is read whole"
            return read(offset, size)

        monkeypatch.setattr(source, "read", read_part)
        batch = decoder.decode([vl.ClipRequest(source, [3], index=index_video(path))])
    assert numbers(batch) == [[3]]


def test_nothing_is_begun_where_threads_cannot_be_had(decoder, consumer, demo_folder, monkeypatch):
    begun = []
    threads = decoder._gpu._pool._threads
    start = threads.submit

    def fail_later(work):
        if begun:
            raise RuntimeError("no thread to be had")
        begun.append(start(work))

    with monkeypatch.context() as patch:
        patch.setattr(threads, "submit", fail_later)
        with pytest.raises(RuntimeError, match="no thread"):
            decoder.decode(requests(demo_folder))
    begun[0].result(20)
    assert decoder.stats()["gpu"]["packets"] == 0
    assert numbers(decoder.decode(requests(demo_folder))) == list(CLIPS.values())


def test_masked_clips_are_of_the_form_of_the_batch_if_no_video_opens(decoder, tmp_path):
    missing = [(tmp_path / name, [0, 1]) for name in ("a.mp4", "b.mp4")]
    options = {"dtype": "uint16", "layout": "FCHW", "size": 32, "on_error": "mask"}
    batch = decoder.decode(missing, **options)
    assert (batch.frames.dtype, batch.frames.shape) == (torch.uint16, (2, 2, 3, 32, 32))
    assert len(batch.failures) == 2
