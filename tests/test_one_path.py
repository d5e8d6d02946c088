"""Clips of one file that overlap cost no more through a pipeline or a loader than in a batch."""

import threading
from types import SimpleNamespace

import pytest

import videoloader as vl
from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.readers.video import media
from videoloader.decoding.cpu import frame_decoder
from videoloader.training import loader

CLIPS = [list(range(first, first + 16)) for first in range(0, 80, 10)]


class CountingDecoder:
    """A decoder of this process that notes for each batch how much it took.

    `costs` has (contexts opened, packets fed) of every batch.
    """

    def __init__(self, monkeypatch):
        self.costs = []
        self._decoder = vl.BatchDecoder(workers=0)
        self._lock = threading.Lock()
        self._counts = {"open_decoder": 0, "make_packet": 0}
        for name in self._counts:
            monkeypatch.setattr(frame_decoder, name, self._counted(name))

    def _counted(self, name):
        original = getattr(frame_decoder, name)

        def call(*arguments, **options):
            self._counts[name] += 1
            return original(*arguments, **options)

        return call

    def open(self, sources, indexes):
        return self._decoder.open(sources, indexes)

    def decode(self, requests):
        return self._count(self._decoder.decode, requests)

    def begin(self, *arguments, **options):
        begun = self._decoder.begin(*arguments, **options)
        return SimpleNamespace(finish=lambda: self._count(begun.finish))

    def _count(self, decode, *arguments, **options):
        with self._lock:
            before = list(self._counts.values())
            batch = decode(*arguments, **options)
            after = self._counts.values()
            self.costs.append(tuple(b - a for a, b in zip(before, after, strict=True)))
            return batch

    def cost(self, *requests):
        """Of a batch of its own, by a decoder that has decoded nothing before."""
        self._decoder.close()
        self.decode(requests)
        return self.costs.pop()


@pytest.fixture
def counting(monkeypatch):
    counting = CountingDecoder(monkeypatch)
    yield counting
    counting._decoder.close()


def test_overlapping_clips_through_a_pipeline_cost_what_a_batch_costs(
    demo_folder, counting, monkeypatch
):
    path = str(demo_folder / "h264.mp4")
    batch = counting.cost(*((path, frames) for frames in CLIPS))
    alone = [counting.cost((path, frames)) for frames in CLIPS]
    assert batch[0] == 1
    assert batch[1] < sum(packets for _, packets in alone) / 1.3
    monkeypatch.setattr(media, "clip_decoder", lambda *_, **__: counting)

    @pipeline_def(batch_size=len(CLIPS), num_threads=1, prefetch_queue_depth=1)
    def definition():
        clips, numbers = fn.readers.video(
            filenames=[path], sequence_length=16, step=10, enable_frame_num="sequence"
        )
        return fn.resize(clips, size=(90, 160)), numbers

    with definition() as pipe:
        _, numbers = pipe.run()
        assert [each.tolist() for each in numbers] == CLIPS
    assert {packets for _, packets in counting.costs} == {batch[1]}
    assert counting.costs[0][0] <= batch[0]


def test_overlapping_clips_through_a_loader_cost_what_a_batch_costs(
    demo_folder, counting, monkeypatch
):
    path = str(demo_folder / "h264.mp4")
    monkeypatch.setattr(loader, "shared_decoder", lambda *_, **__: counting)
    with vl.Loader([path] * 8, vl.RandomClip(16), batch_size=8, size=(90, 160)) as batches:
        (got,) = batches
    numbers = got["frame_numbers"].tolist()
    assert len({tuple(frames) for frames in numbers}) > 1
    (cost,) = counting.costs
    assert cost == counting.cost(*((path, frames) for frames in numbers))
    assert cost[0] == 1
