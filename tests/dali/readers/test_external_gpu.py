"""External sources and Python functions on a GPU."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("no_threads_left")]

PAIR = np.array([[1, 2, 3], [4, 5, 6]], np.int16)


def pipe_of(**arguments):
    definition = pipeline_def(lambda: fn.external_source(name="in", device="gpu", **arguments))
    return definition(batch_size=2, device_id=0)


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        lambda data: torch.tensor(data, device="cuda"),
        lambda data: [torch.tensor(row, device="cuda") for row in data],
        lambda data: pytest.importorskip("cupy").asarray(data),
    ],
)
def test_batches_come_out_on_the_gpu(form):
    with pipe_of() as pipe:
        pipe.feed_input("in", form(PAIR))
        (out,) = pipe.run()
        assert out.device.type == "cuda"
        assert out.as_cpu().as_array().tolist() == PAIR.tolist()


@pytest.mark.parametrize("is_told", [False, True])
def test_what_is_fed_on_a_stream_is_copied_behind_it(is_told):
    stream = torch.cuda.Stream()
    data = torch.zeros(2, 1 << 20, device="cuda")
    torch.cuda.synchronize()
    with pipe_of() as pipe:
        for number in range(1, 9):
            with torch.cuda.stream(stream):
                for _ in range(20):
                    data.mul_(0.5)
                data.fill_(number)
                if not is_told:
                    pipe.feed_input("in", data)
            if is_told:
                pipe.feed_input("in", data, cuda_stream=stream)
        stream.synchronize()
        for number in range(1, 9):
            assert (pipe.run()[0].as_tensor() == number).all()


def test_a_source_on_the_gpu_feeds_operators_there():
    @pipeline_def(batch_size=2, device_id=0)
    def definition():
        frames = fn.external_source(
            lambda number: torch.full((2, 8, 8, 3), number, dtype=torch.uint8, device="cuda"),
            device="gpu",
            layout="HWC",
        )
        return fn.flip(frames), frames.cpu()

    with definition() as pipe:
        for number in range(20):
            flipped, there = pipe.run()
            assert (flipped.as_tensor() == number).all()
            assert (there.as_tensor() == number).all()
            assert there.device.type == "cpu"


@pytest.mark.parametrize("name", ["python_function", "torch_python_function"])
def test_python_functions_run_on_the_gpu(name):
    if name == "python_function":
        pytest.importorskip("cupy")

    @pipeline_def(batch_size=2, device_id=0)
    def definition():
        data = fn.external_source(lambda number: PAIR + number).gpu()
        return getattr(fn, name)(data, function=lambda x: x * 2, device="gpu")

    with definition() as pipe:
        for number in range(20):
            assert pipe.run()[0].as_cpu().as_array().tolist() == ((PAIR + number) * 2).tolist()


def test_capsules_of_gpu_data_are_there_when_the_function_is_called():
    def add(batch):
        return [torch.utils.dlpack.from_dlpack(capsule) + 1 for capsule in batch]

    @pipeline_def(batch_size=2, device_id=0)
    def definition():
        data = fn.external_source(lambda number: PAIR + number).gpu()
        return fn.dl_tensor_python_function(data, function=add, device="gpu")

    with definition() as pipe:
        for number in range(20):
            assert pipe.run()[0].as_cpu().as_array().tolist() == (PAIR + number + 1).tolist()


@pytest.mark.parametrize("is_given", [False, True], ids=["current stream", "given stream"])
def test_what_was_fed_last_comes_again_on_whatever_stream_it_is_used(is_given):
    @pipeline_def(batch_size=2, device_id=0)
    def definition():
        data = fn.external_source(name="in", device="gpu", layout="HWC", repeat_last=True)
        return data, fn.flip(data, horizontal=1)

    streams = [torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.default_stream()]
    with definition() as pipe:
        for number in range(30):
            if number % 3 == 0:  # the memory of the last one is free for others
                pipe.feed_input("in", np.full((2, 512, 512, 3), number, np.uint8))
            stream = streams[number % len(streams)]
            if is_given:
                same, flipped = pipe.run(stream)
            else:
                with torch.cuda.stream(stream):
                    same, flipped = pipe.run()
            with torch.cuda.stream(stream):
                for out in (same, flipped):
                    assert (out.as_tensor() == number // 3 * 3).all()
                    out.as_tensor().zero_()  # the caller's


def test_the_stream_and_the_device_of_the_caller_stay_as_they_are():
    @pipeline_def(batch_size=2, device_id=0)
    def definition():
        data = fn.external_source(name="in", device="gpu", layout="HWC", repeat_last=True)
        return fn.brightness(data, brightness=2.0)

    stream = torch.cuda.Stream()
    with definition() as pipe, torch.cuda.stream(stream):
        pipe.feed_input("in", np.full((2, 8, 8, 3), 3, np.uint8))
        for _ in range(3):
            (out,) = pipe.run()
            assert torch.cuda.current_stream() == stream
            assert (out.as_tensor() == 6).all()
        with torch.autocast("cuda"):
            (out,) = pipe.run()
        assert (out.as_tensor() == 6).all()
