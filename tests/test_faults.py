"""Whatever goes wrong with a sample costs that sample, and mistakes of a program pass nobody."""

import errno
import struct

import av
import numpy as np
import pytest
import torch
from fake_gpu import fake_gpu  # noqa: F401  (a fixture)
from gpu_decoder import consumer, decoder  # noqa: F401  (fixtures)
from misbehaving import Misbehaving

import videoloader as vl
from videoloader.decoding import assembly, memory
from videoloader.decoding.cpu import frame_decoder
from videoloader.decoding.cpu.local import LocalEngine
from videoloader.decoding.cpu.rgb import RgbConverter
from videoloader.decoding.opening import videos as opening
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing import video as indexing
from videoloader.machinery.workers import shared_memory as shared
from videoloader.sources import local
from videoloader.sources.items import Item

pytestmark = pytest.mark.usefixtures("forked_workers")

KINDS = [
    OSError(errno.EPERM, "Operation not permitted"),
    av.error.InvalidDataError(1094995529, "Invalid data found"),
    av.error.PermissionError(1, "Operation not permitted"),
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
    RuntimeError("generator raised StopIteration"),
    OSError(errno.EIO, "Input/output error", "/data/CUDA/clip.mp4"),
    ValueError("not a parser's day"),
    OverflowError("int too large to convert"),
    struct.error("unpack requires a buffer of 8 bytes"),
    KeyError("a table"),
    EOFError(),
]
MISTAKES = [TypeError("a mistake"), AttributeError("a mistake"), KeyboardInterrupt()]
BAD = "bad.mp4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    for name in ("a.mp4", BAD, "c.mp4"):
        encode_video(folder / name, frames=12, size=(64, 64))
    return folder


def inject(monkeypatch, owner, name, error, *, only=lambda *arguments: True):
    """Have a function raise an error for the bad video."""
    original = getattr(owner, name)

    def failing(*arguments, **options):
        if only(*arguments):
            raise error
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, failing)


def is_bad(what, *_):
    return BAD in str(getattr(what, "name", what))


# Where a batch, and a `Video` in a data set, may meet trouble.
PLACES = {
    "open": [(opening, "open_source", is_bad), (Item, "open", is_bad)],
    "fingerprint": [(vl.VideoIndex, "check", lambda index, source: is_bad(source))],
    "index": [(indexing, "_index", is_bad)],
    "read": [(local.LocalSource, "_read", is_bad)],
    "plan": [
        (assembly, "merge_runs", is_bad),
        (frame_decoder, "PacketFeed", is_bad),
    ],
    "start": [(frame_decoder, "open_decoder", None)],
    "decode": [(frame_decoder.CpuDecoder, "_decode_run", lambda it, run: is_bad(it._index))],
    "convert": [(RgbConverter, "write", None)],
}


def apply(monkeypatch, place, error):
    """Inject an error at a place; where the place does not know the video, while it is decoded."""
    current = []
    for owner, name, only in PLACES[place]:
        inject(monkeypatch, owner, name, error, only=only or (lambda *_: bool(current)))
    original = frame_decoder.CpuDecoder.decode

    def decode(self, plan, **options):
        if is_bad(self._index):
            current.append(None)
        try:
            yield from original(self, plan, **options)
        finally:
            current.clear()

    monkeypatch.setattr(frame_decoder.CpuDecoder, "decode", decode)


def numbers(clip):
    return [read_frame_number(frame.numpy()) for frame in clip.frames]


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", PLACES)
def test_an_error_of_any_kind_anywhere_costs_its_clip_of_a_batch(folder, monkeypatch, place, error):
    requests = [(folder / name, [3, 5]) for name in ("a.mp4", BAD, "c.mp4")]
    apply(monkeypatch, place, error)
    with vl.BatchDecoder(workers=0) as batches:
        if place == "fingerprint":
            indexes = [vl.index_video(folder / name) for name in ("a.mp4", BAD, "c.mp4")]
            requests = [
                vl.ClipRequest(path, frames, index)
                for (path, frames), index in zip(requests, indexes, strict=True)
            ]
        batch = batches.decode(requests, on_error="skip")
        assert batch.requests.tolist() == [0, 2]
        assert [numbers(clip) for clip in batch.clips] == [[3, 5], [3, 5]]
        (failure, *more) = batch.failures
        assert {other.request for other in more} <= {1}
        assert BAD in str(failure.error)
        assert isinstance(failure.error, vl.VideoError)
        assert failure.error.__cause__ is error
        masked = batches.decode(requests, on_error="mask")
        assert [clip.mask.all() for clip in masked.clips] == [True, False, True]
        with pytest.raises(vl.VideoError, match=BAD):
            batches.decode(requests)


@pytest.mark.parametrize("error", KINDS[::4], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", [p for p in PLACES if p != "fingerprint"])
def test_an_error_of_any_kind_anywhere_costs_its_sample_of_a_data_set(
    folder, monkeypatch, place, error
):
    apply(monkeypatch, place, error)
    dataset = vl.ClipDataset(folder, vl.UniformClip(count=2), on_error="replace")
    assert [dataset[number]["sample"] for number in range(3)] == [0, 2, 2]
    assert BAD in dataset[1]["error"]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", PLACES)
def test_mistakes_and_interrupts_pass(folder, monkeypatch, place, mistake):
    requests = [vl.ClipRequest(folder / BAD, [3], vl.index_video(folder / BAD))]
    if place == "index":
        requests = [(folder / BAD, [3])]
    apply(monkeypatch, place, mistake)
    with vl.BatchDecoder(workers=0) as batches, pytest.raises(type(mistake)):
        batches.decode(requests, on_error="skip")
    dataset = vl.ClipDataset(folder, vl.UniformClip(count=2), on_error="replace")
    if place != "fingerprint":
        with pytest.raises(type(mistake)):
            dataset[1]


@pytest.mark.parametrize("error", [e for e in KINDS if not isinstance(e, KeyError)], ids=repr)
def test_memory_that_cannot_be_had_costs_the_clip_that_needs_it(folder, monkeypatch, error):
    large = (500, 500)

    def too_large(_, shape, *__):
        return np.prod(shape) > 2 * 300 * 300 * 3

    inject(monkeypatch, LocalEngine, "allocate", error, only=too_large)
    requests = [(folder / "a.mp4", [1]), vl.ClipRequest(folder / BAD, [2], size=large)]
    requests.append((folder / "c.mp4", [3]))
    with vl.BatchDecoder(workers=0) as batches:
        batch = batches.decode(requests, on_error="skip", size=300)
        assert batch.requests.tolist() == [0, 2]
        assert [failure.request for failure in batch.failures] == [1]
        # One block for all clips is too much, but not each of them.
        whole = batches.decode([(folder / "a.mp4", [1, 2])] * 3, size=300, on_error="skip")
        assert not whole.failures


def test_files_that_run_out_while_a_batch_gets_its_memory(folder, monkeypatch):
    calls = []

    def failing(name):
        calls.append(name)
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(shared.os, "memfd_create", failing)
    with (
        vl.BatchDecoder(workers=1) as batches,
        pytest.raises(vl.errors.ResourceError, match="ulimit -n"),
    ):
        batches.decode([(folder / "a.mp4", [1])], on_error="skip")
    assert calls


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
def test_memory_that_torch_does_not_give_costs_the_sample(folder, monkeypatch, error):
    inject(monkeypatch, memory.Recycler, "empty", error)
    with vl.Video(folder / "a.mp4") as video, pytest.raises(vl.VideoError, match=r"a\.mp4") as told:
        video.get_frames([1])
    assert told.value.__cause__ is error
    if "allocate" in str(error) or isinstance(error, MemoryError):
        assert isinstance(told.value, MemoryError)


def test_errors_of_a_transform_or_sampler_are_raised(folder):
    def transform(frames):
        raise ValueError("a transform's own")

    class Sampler:
        def frames(self, *arguments, **options):
            raise OSError("a sampler's own")

    dataset = vl.ClipDataset(folder, vl.UniformClip(count=2), transform, on_error="replace")
    with pytest.raises(ValueError, match="a transform's own"):
        dataset[0]
    with pytest.raises(OSError, match="a sampler's own"):
        vl.ClipDataset(folder, Sampler(), on_error="replace")[0]


def test_errors_in_a_worker_process_cost_their_clip(folder):
    requests = [(Misbehaving(str(folder / BAD), "raise", number), [1]) for number in (1, 2, 3)]
    with vl.BatchDecoder(workers=1) as batches:
        batch = batches.decode([*requests, (folder / "a.mp4", [2])], on_error="skip")
    assert batch.requests.tolist() == [3]
    errors = [failure.error for failure in batch.failures]
    assert all(BAD in str(error) for error in errors)
    assert [isinstance(error, MemoryError) for error in errors] == [False, True, False]


def test_mistakes_in_a_worker_process_are_raised_where_the_batch_is(folder):
    good = (folder / "a.mp4", [2])
    with vl.BatchDecoder(workers=1) as batches:
        with pytest.raises(TypeError) as told:
            batches.decode(
                [(Misbehaving(str(folder / BAD), "raise", 0), [1]), good], on_error="skip"
            )
        assert "misbehave" in told.value.__notes__[0]
        with pytest.raises(AssertionError, match="misbehave"):  # the error itself does not travel
            batches.decode(
                [(Misbehaving(str(folder / BAD), "raise", 4), [1]), good], on_error="skip"
            )
        batch = batches.decode([good])
    assert numbers(batch.clips[0]) == [2]


@pytest.mark.parametrize("place", ["read", "plan", "index", "open"])
@pytest.mark.parametrize("error", KINDS[1:5:3], ids=lambda error: type(error).__name__)
def test_errors_cost_their_clip_on_a_gpu_as_well(
    decoder,
    folder,
    monkeypatch,
    place,
    error,
):
    requests = [(folder / name, [3, 5]) for name in ("a.mp4", BAD, "c.mp4")]
    apply(monkeypatch, place, error)
    batch = decoder.decode(requests, on_error="skip")
    assert batch.requests.tolist() == [0, 2]
    assert [numbers(clip) for clip in batch.clips] == [[3, 5], [3, 5]]
    assert all(failure.request == 1 for failure in batch.failures)


def test_a_gpu_without_memory_costs_the_clips_that_need_it(decoder, folder, monkeypatch):
    engine = type(decoder._gpu_engine())
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
    inject(monkeypatch, engine, "allocate", error, only=lambda _, shape, *__: max(shape) > 300)
    requests = [(folder / "a.mp4", [1]), vl.ClipRequest(folder / BAD, [2], size=400)]
    batch = decoder.decode(requests, on_error="skip", size=100)
    assert batch.requests.tolist() == [0]
    assert isinstance(batch.failures[0].error, vl.errors.OutOfMemoryError)
    lost = RuntimeError("CUDA error: an illegal memory access was encountered")
    inject(monkeypatch, engine, "allocate", lost)
    with pytest.raises(RuntimeError, match="illegal"):
        decoder.decode(requests, on_error="skip", size=100)


def test_a_file_name_makes_no_error_one_of_the_gpu(folder, tmp_path):
    path = tmp_path / "CUDA error.mp4"
    path.write_bytes((folder / BAD).read_bytes())
    bad = vl.ClipRequest(Misbehaving(str(path), "raise", 3), [1], vl.index_video(path))
    with vl.BatchDecoder(workers=1) as batches:
        batch = batches.decode([bad, (folder / "a.mp4", [2])], on_error="skip")
    assert batch.requests.tolist() == [1]
    assert "CUDA error.mp4" in str(batch.failures[0].error)
