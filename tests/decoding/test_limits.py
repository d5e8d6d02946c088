"""Files that claim more than a machine has: they cost their clip, and no memory."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.decoding import batch_decoder as batches
from videoloader.decoding import limits
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.machinery.workers.processors import machine_memory
from videoloader.sources.opening import open_source

HUGE = (16000, 16000)
LARGE = (4000, 4000)  # below the limit, 48 MB a frame


def claim(path, size):
    """Have a VP9 video say that its pictures are of (width, height); it does not decode then."""
    data = bytearray(path.read_bytes())
    place = int(vl.index_video(path).packets["offset"][0])
    header = int.from_bytes(data[place : place + 16], "big")
    for position, side in zip((36, 52), size, strict=True):  # bits, in the first keyframe
        shift = 128 - position - 16
        header = header & ~(0xFFFF << shift) | side - 1 << shift
    data[place : place + 16] = header.to_bytes(16, "big")
    return bytes(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    options = {"g": "100", "deadline": "realtime"}
    for name in ("a.webm", "d.webm"):
        encode_video(folder / name, codec="libvpx-vp9", frames=12, size=(64, 64), options=options)
    (folder / "b_huge.webm").write_bytes(claim(folder / "a.webm", HUGE))
    (folder / "c_large.webm").write_bytes(claim(folder / "a.webm", LARGE))
    return folder


def resident():
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def numbers_of(clip):
    return [read_frame_number(frame.numpy()) for frame in clip.frames]


def numbers(batch):
    return [number for clip in batch.clips for number in numbers_of(clip)]


def reader(path, **options):
    @vl.dali.pipeline_def(batch_size=1, num_threads=1)
    def pipe():
        return vl.dali.fn.readers.video(filenames=[str(path)], sequence_length=1, **options)

    return pipe()


def decoders(path, **options):
    @vl.dali.pipeline_def(batch_size=1, num_threads=1)
    def pipe():
        data = np.frombuffer(path.read_bytes(), np.uint8)
        encoded = vl.dali.fn.external_source(lambda: [data], batch=True)
        return vl.dali.fn.decoders.video(encoded, **options)

    return pipe()


def test_a_claim_is_believed_where_nothing_is_decoded(folder):
    index = vl.index_video(folder / "b_huge.webm")
    assert (index.width, index.height) == HUGE


@pytest.mark.parametrize(
    "use",
    [
        lambda path, **options: vl.Video(path, **options).close(),
        lambda path, **options: vl.Video(path, index=vl.index_video(path), **options).close(),
        lambda path, **options: vl.decode_batch([(path, [0])], workers=0, **options),
        lambda path, **options: vl.BatchDecoder(workers=0).decode([(path, [0])], **options),
        lambda path, **options: vl.ClipDataset([path], vl.UniformClip(count=2), **options)[0],
    ],
    ids=["video", "index", "decode_batch", "decoder", "dataset"],
)
def test_pictures_over_the_limit_are_refused_by_name_size_and_argument(folder, use):
    path = folder / "b_huge.webm"
    with pytest.raises(
        vl.errors.UnsupportedError, match=r"b_huge\.webm.*16000x16000.*max_pixels=134"
    ):
        use(path)
    with pytest.raises(vl.errors.UnsupportedError, match=r"a\.webm.*64x64.*max_pixels=4095"):
        use(folder / "a.webm", max_pixels=64 * 64 - 1)
    use(folder / "a.webm", max_pixels=64 * 64)
    for wrong in (0, -1, 1.5, "many", True, None):
        with pytest.raises(vl.errors.ArgumentError, match="max_pixels"):
            use(path, max_pixels=wrong)


@pytest.mark.parametrize("pipe", [reader, decoders])
def test_pictures_over_the_limit_are_refused_by_pipelines(folder, pipe):
    with pytest.raises(vl.errors.OperatorError, match=r"16000x16000.*max_pixels=134"):
        pipe(folder / "b_huge.webm").run()
    with pytest.raises(vl.errors.OperatorError, match=r"64x64.*max_pixels=4095"):
        pipe(folder / "a.webm", max_pixels=64 * 64 - 1).run()
    pipe(folder / "a.webm", max_pixels=64 * 64).run()


def test_a_decoder_is_held_to_the_limit_whatever_the_container_says(folder, tmp_path):
    """The container says 64x64, the stream 640x480."""
    path = encode_video(tmp_path / "large.mp4", frames=3, size=(640, 480))
    index = replace(vl.index_video(path), width=64, height=64)
    for limit, text in ((64 * 64, "damaged"), (640 * 480, "640x480")):
        request = vl.ClipRequest(path, [0], index)
        with pytest.raises(vl.errors.DecodeError, match=text):
            vl.decode_batch([request], workers=0, max_pixels=limit)
        with (
            vl.Video(path, index=index, max_pixels=limit) as video,
            pytest.raises(vl.errors.DecodeError, match=text),
        ):
            video[0]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("on_error", ["skip", "replace", "raise"])
def test_memory_of_clips_that_are_left_out_is_never_touched(folder, on_error, workers):
    # The clip in the middle would take 384 MB.
    wanted = [
        (folder / "a.webm", [1, 2]),
        (folder / "c_large.webm", [0] * 8),
        (folder / "d.webm", [3, 4]),
    ]
    with vl.BatchDecoder(workers=workers) as decoder:
        decoder.decode(wanted[:1])
        before = resident()
        if on_error == "raise":
            with pytest.raises(vl.errors.DecodeError, match=r"c_large\.webm: frame 0"):
                decoder.decode(wanted)
        else:
            batch = decoder.decode(wanted, on_error=on_error)
            replaced = [3, 4] * (on_error == "replace")
            assert numbers(batch) == [1, 2, *replaced, 3, 4]
        assert resident() - before < 100 << 20


def test_clips_that_no_machine_has_room_for_fail_and_the_largest_is_named(folder, monkeypatch):
    monkeypatch.setattr(batches, "machine_memory", lambda: 10_000_000)
    wanted = [
        (folder / "a.webm", [1]),
        vl.ClipRequest(folder / "d.webm", [2] * 40, size=(300, 400)),  # 14.4 MB
        (folder / "a.webm", [5]),
    ]
    with vl.BatchDecoder(workers=0) as decoder:
        batch = decoder.decode(wanted, on_error="skip")
        assert numbers(batch) == [1, 5]
        (failure,) = batch.failures
        assert isinstance(failure.error, vl.errors.OutOfMemoryError)
        assert isinstance(failure.error, MemoryError)
        text = str(failure.error)
        assert all(part in text for part in ("d.webm", "40 frames", "400x300", "0.0 GB"))
        with pytest.raises(vl.errors.OutOfMemoryError, match=r"d\.webm"):
            decoder.decode(wanted)
        with pytest.raises(vl.errors.OutOfMemoryError, match=r"d\.webm"):
            decoder.decode(wanted, on_error="mask")  # a masked clip of that size has no room either
        masked = decoder.decode([*wanted[::2]], on_error="mask", size=64)
        assert not masked.failures
    told = pytest.raises(vl.errors.OutOfMemoryError, match=r"d\.webm: 40 frames of 400x300")
    with vl.Video(folder / "d.webm") as video:
        with told:
            video.get_frames([2] * 40, size=(300, 400))
        assert numbers_of(video.get_frames([2])) == [2]


@pytest.mark.parametrize("on_error", ["raise", "skip", "replace", "mask"])
def test_a_batch_that_no_machine_has_room_for_is_the_fault_of_no_clip(
    folder, monkeypatch, on_error
):
    monkeypatch.setattr(batches, "machine_memory", lambda: 10_000_000)
    clip = vl.ClipRequest(folder / "a.webm", [0] * 6, size=512)  # 4.7 MB
    told = r"^the batch of 3 clips takes 0\.0 GB, .* \(0\.0 GB of memory\); use a smaller batch"
    with vl.BatchDecoder(workers=0) as decoder:
        assert len(decoder.decode([clip] * 2, on_error=on_error).clips) == 2
        with pytest.raises(vl.errors.ResourceError, match=told):
            decoder.decode([clip] * 3, on_error=on_error)
    options = {"size": 512, "workers": 0, "on_error": on_error}
    loader = vl.Loader([folder / "a.webm"] * 3, vl.RandomClip(6), batch_size=3, **options)
    with loader, pytest.raises(vl.errors.ResourceError, match=told):
        next(iter(loader))
    assert not loader.failures


def test_masked_clips_of_a_refused_file_have_the_form_of_the_others(folder):
    wanted = [(folder / "a.webm", [1, 2]), (folder / "b_huge.webm", [3, 4])]
    with vl.BatchDecoder(workers=0) as decoder:
        batch = decoder.decode(wanted, on_error="mask")
    assert isinstance(batch.frames, torch.Tensor)
    assert [mask.tolist() for mask in batch.masks] == [[True, True], [False, False]]
    assert not batch.frames[1].any()


def test_the_memory_of_the_machine_is_at_most_what_its_control_group_allows(tmp_path):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    (tmp_path / "memory").mkdir()
    for group in ("memory.max", "memory/memory.limit_in_bytes"):
        for text, expected in (("max\n", total), ("10000\n", 10_000), (f"{1 << 62}\n", total)):
            (tmp_path / group).write_text(text)
            machine_memory.cache_clear()
            assert machine_memory(tmp_path) == expected
        (tmp_path / group).unlink()
    machine_memory.cache_clear()


def test_a_worker_may_use_a_share_of_the_machine_by_default(monkeypatch):
    for memory, expected in ((64 << 30, 16 << 30), (1 << 30, 2 << 30)):
        monkeypatch.setattr(limits, "machine_memory", lambda memory=memory: memory)
        assert limits.worker_limit("auto") == expected
    assert limits.worker_limit(None) is None
    assert limits.worker_limit(5) == 5


@pytest.mark.parametrize("workers", [0, 1])
def test_a_file_object_is_read_whole_once_for_workers_and_never_here(folder, monkeypatch, workers):
    reads = []
    with open(folder / "a.webm", "rb") as file, open_source(file) as source:
        whole = source.size
        original = type(source).read

        def read(self, offset, size):
            reads.append(size)
            return original(self, offset, size)

        monkeypatch.setattr(type(source), "read", read)
        with vl.BatchDecoder(workers=workers) as decoder:
            batch = decoder.decode([(source, [1, 11]), (source, [6])])
    assert numbers(batch) == [1, 11, 6]
    assert reads.count(whole) == workers
    assert np.all(batch.requests == [0, 1])
