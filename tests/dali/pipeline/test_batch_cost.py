"""What a batch costs where a pipeline gives a GPU what was fed last, again and again.

The GPU is the CPU here: what is counted is the work of Python, which is the same.
"""

import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from operators.test_launches import Driver
from torch.overrides import TorchFunctionMode

from videoloader.dali import fn, pipeline_def
from videoloader.dali.fn.function import Function
from videoloader.dali.operators.arguments import INT, Argument
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.pipeline import pipeline
from videoloader.dali.pipeline.run import program
from videoloader.dali.tensors.batch import Spec
from videoloader.errors import OperatorError
from videoloader.machinery.cuda import streams

pytestmark = [pytest.mark.usefixtures("no_threads_left", "gpu"), pytest.mark.timeout(60)]

MOST = 155
"""Calls of functions for a batch of one operator. Measured: 146; each takes 0.1 to 0.3 us."""

MOST_WITH_KERNEL = 170
"""The same for an operator with a kernel, its launch included. Measured: 160."""

BATCH = 8
CLIPS = np.random.default_rng(0).integers(0, 256, (BATCH, 2, 4, 6, 3), np.uint8)


class FakeStream:
    device = torch.device("cuda", 0)
    cuda_stream = 70

    def __init__(self):
        self.waited = 0

    def wait_event(self, event):
        self.waited += 1

    def record_event(self):
        return self


@pytest.fixture
def gpu(monkeypatch):
    """The CPU in the place of a GPU."""
    stream = FakeStream()
    monkeypatch.setattr(program.media, "check_gpu", lambda *what: None)
    monkeypatch.setattr(torch.cuda, "Stream", FakeStream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: stream)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 0, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda gpu: 70, raising=False)
    streams._here.cache_clear()
    made = pipeline.Program
    monkeypatch.setattr(
        pipeline,
        "Program",
        lambda graph, options, pool: made(graph, replace(options, gpu="cpu"), pool),
    )
    yield
    streams._here.cache_clear()


@pytest.fixture
def noted():
    """An operator that notes the threads it runs in, and fails where a sample begins with 0."""
    threads = []

    @declare("noted", inputs=(Input("values"),), devices=("gpu",))
    def noted(context, values):
        """Add one."""
        threads.append(threading.current_thread())
        for value in values:
            if not int(value.flatten()[0]):
                raise ValueError("it begins with 0")
        return values.each(lambda value: value + 1)

    yield threads
    del OPERATORS["noted"]


@pytest.fixture
def plain():
    """An operator with an argument, that costs next to nothing itself."""

    @declare(
        "plain",
        inputs=(Input("frames", FRAMES),),
        arguments=(Argument("amount", INT, 1, per_sample=True),),
    )
    def plain(context, frames, *, amount):
        """Add the amount for the first sample."""
        return frames.each(lambda values: values + amount[0])

    yield Function("plain")
    del OPERATORS["plain"]


def pipe_of(operator, data=CLIPS, layout="FHWC"):
    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=0)
    def graph():
        clips = fn.external_source(name="clips", device="gpu", layout=layout, repeat_last=True)
        return operator(clips)

    pipe = graph()
    pipe.build()
    if data is not None:
        pipe.feed_input("clips", data)
    return pipe


def calls_of(pipe):
    """Calls of functions that a warm batch takes, in all threads; the pipeline has not started.

    The fewest of several batches: a thread that is woken too early asks once more.
    """
    events, counts = [], []

    def note(_frame, event, _argument):
        events.append(event)

    threading.setprofile(note)  # the threads of the pipeline begin with its first batch
    sys.setprofile(note)
    try:
        for _ in range(4):
            events.clear()
            pipe.run()
            counts.append(sum(event in ("call", "c_call") for event in [*events]))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return min(counts[1:])


def test_a_warm_batch_makes_few_calls(plain):
    with pipe_of(plain) as pipe:
        assert 100 < calls_of(pipe) < MOST


KERNELS = {
    "brightness_contrast": {"brightness": 1.2, "contrast": 0.8},
    "crop_mirror_normalize": {"crop": (3, 4), "mirror": 1, "mean": [9.0, 8.0, 7.0]},
    "erase": {"anchor": [1.0, 2.0], "shape": [2.0, 3.0], "axis_names": "HW"},
    "flip": {},
    "gaussian_blur": {"sigma": 1.5},
    "resize": {"size": (5, 5)},
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_warm_batch_of_an_operator_with_a_kernel_makes_few_calls(monkeypatch, name):
    driver = Driver(monkeypatch)
    with pipe_of(lambda clips: Function(name)(clips, **KERNELS[name])) as pipe:
        evaluator = pipe._run.program._evaluator
        evaluator._options = replace(evaluator._options, gpu="cuda:0")
        assert calls_of(pipe) < MOST_WITH_KERNEL
        launched = len(driver.launches)
        assert launched == (5 if name == "resize" else 4)  # its weights once


def test_more_samples_take_no_more_calls(plain):
    counts = []
    for size in (1, BATCH):
        with pipe_of(plain, CLIPS[:size]) as pipe:
            counts.append(calls_of(pipe))
    assert counts[0] == counts[1]


def test_what_is_only_queued_is_queued_by_the_thread_that_takes_it(noted):
    with pipe_of(Function("noted")) as pipe:
        for _ in range(3):
            (out,) = pipe.run()
            assert np.array_equal(out.as_tensor().numpy(), CLIPS + 1)
    assert set(noted) == {threading.current_thread()}


def test_memory_that_comes_again_is_held_once_for_each_stream(noted, monkeypatch):
    held, handles = [], [70, 71]
    streams_there = {handle: FakeStream() for handle in handles}

    def note(stream, tensors):
        held.extend((stream, tensor.data_ptr()) for tensor in tensors)

    def current(device=None):
        return streams_there[handles[0]]

    monkeypatch.setattr("videoloader.dali.pipeline.run.batch_state.keep_for", note)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda gpu: handles[0])
    monkeypatch.setattr(torch.cuda, "current_stream", current)
    with pipe_of(Function("noted"), CLIPS | 1) as pipe:
        counts = []
        for step in range(8):
            if step == 2:
                pipe.feed_input("clips", CLIPS | 2)
            if step in (4, 6):
                handles.reverse()
            pipe.run()
            counts.append(len(held))
    assert counts == [1, 1, 2, 2, 3, 3, 4, 4]
    (first, fed), (_, other), (second, again), _ = held
    assert first is not second
    assert fed != other == again


@contextmanager
def autocast():
    """Without a GPU, torch.autocast("cuda") does nothing."""
    torch.set_autocast_enabled("cuda", True)  # noqa: FBT003
    try:
        yield
    finally:
        torch.set_autocast_enabled("cuda", False)  # noqa: FBT003


class Nothing(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "mode",
    [torch.inference_mode, autocast, Nothing],
    ids=["inference", "autocast", "function mode"],
)
def test_a_mode_of_torch_in_the_thread_that_takes_a_batch_does_not_reach_operators(noted, mode):
    with pipe_of(Function("noted")) as pipe:
        with mode():
            (there,) = pipe.run()
        (here,) = pipe.run()
    assert [thread is threading.current_thread() for thread in noted] == [False, True]
    for out in (there, here):
        assert not out.as_tensor().is_inference()
        assert np.array_equal(out.as_tensor().numpy(), CLIPS + 1)


def test_with_another_device_current_the_thread_of_the_stage_works(noted, monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 1, raising=False)
    with pipe_of(Function("noted")) as pipe:
        pipe.run()
    assert noted[0] is not threading.current_thread()


@pytest.mark.parametrize(
    "operator",
    [
        lambda clips: clips,
        fn.copy,
        lambda clips: fn.flip(clips, horizontal=0),
        lambda clips: fn.reshape(clips, layout="FHWC"),
        lambda clips: fn.crop(clips, crop=(4, 6)),
    ],
    ids=["itself", "copy", "flip", "reshape", "crop"],
)
def test_who_writes_to_an_output_does_not_write_to_what_was_fed(operator):
    with pipe_of(lambda clips: (operator(clips), fn.flip(clips, horizontal=1))) as pipe:
        for _ in range(3):
            same, flipped = pipe.run()
            assert np.array_equal(same.as_tensor().numpy(), CLIPS)
            assert np.array_equal(flipped.as_tensor().numpy(), CLIPS[:, :, :, ::-1])
            same.as_tensor().zero_()
            flipped.as_tensor().zero_()


def test_ragged_samples_that_were_fed_stay_as_they_are():
    clips = [np.full((1 + at, 2), at, np.uint8) for at in range(BATCH)]
    with pipe_of(lambda each: each, clips, layout="HW") as pipe:
        for _ in range(3):
            (out,) = pipe.run()
            for mine, theirs in zip(out, clips, strict=True):
                assert np.array_equal(mine.numpy(), theirs)
                mine.zero_()


def test_an_error_costs_one_batch_and_names_the_sample(noted):
    wrong = CLIPS | 1
    wrong[3, 0, 0, 0, 0] = 0
    with pipe_of(Function("noted"), CLIPS | 1) as pipe:
        pipe.run()
        pipe.feed_input("clips", wrong)
        with pytest.raises(OperatorError, match=r"fn\.noted .* sample 3 of batch 1.*begins with 0"):
            pipe.run()
        pipe.feed_input("clips", CLIPS | 1)
        assert np.array_equal(pipe.run()[0].as_tensor().numpy(), (CLIPS | 1) + 1)
        assert pipe.next_batch == 3


def test_batches_made_here_and_there_are_counted_alike(noted):
    with pipe_of(Function("noted"), None) as pipe:
        for number in range(6):
            pipe.feed_input("clips", np.roll(CLIPS | 1, number, axis=0))
            with torch.inference_mode(mode=number in (1, 2, 4)):
                (out,) = pipe.run()
            assert np.array_equal(out.as_tensor().numpy(), np.roll((CLIPS | 1) + 1, number, axis=0))
        stats = pipe.stats()
        assert [stage.items for stage in stats.stages] == [6, 6]
        assert stats.operators["noted_1"].samples == 6 * BATCH


def test_an_infer_that_is_remembered_follows_what_is_fed():
    seen = []

    def infer(context, values):
        seen.append(values.shapes[0])
        return Spec.alike(len(values), (values.shapes[0][0] + 1,), values.dtype)

    @declare("longer", inputs=(Input("values"),), infer=infer)
    def longer(context, values):
        """One element more, a 7."""
        out = context.empty()
        for value, made in zip(values, out, strict=True):
            made[:-1], made[-1] = value, 7
        return out

    try:
        with pipe_of(Function("longer"), None, layout=None) as pipe:
            for length in (3, 3, 5, 5, 3):
                pipe.feed_input("clips", np.zeros((BATCH, length), np.uint8))
                (out,) = pipe.run()
                assert out.as_tensor().shape == (BATCH, length + 1)
                assert (out.as_tensor()[:, -1] == 7).all()
        assert seen == [(3,), (5,), (3,)]
    finally:
        del OPERATORS["longer"]
