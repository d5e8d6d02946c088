"""How kernels of operators are launched: tables by value, compiled functions, calls of Python."""

import ctypes
import itertools
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from videoloader.dali.operators import applying, kernels
from videoloader.dali.operators.arguments import PerSample
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import Kernel, Launch, are_frames, row_type, rows_of
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors.batch import Batch
from videoloader.machinery.cuda import launching
from videoloader.machinery.cuda.launching import TABLE_SIZES, launch_kernel
from videoloader.machinery.cuda.streams import current_device

KERNEL = Kernel("fills/fills.cu", "erase", row_type(("more", "f4", 20)))


class Driver:
    """Takes the place of the GPU: what was launched, compiled and made current."""

    def __init__(self, monkeypatch):
        self.launches, self.compiled, self.switches, self.device = [], Counter(), [], 0
        cupy = SimpleNamespace(RawKernel=self._raw_kernel)
        monkeypatch.setitem(sys.modules, "cupy", cupy)
        monkeypatch.setattr(kernels, "has_cupy", lambda: True)
        monkeypatch.setattr(kernels, "_functions", {})
        monkeypatch.setattr(launching, "_launch_kernel", lambda: self._launch)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: self.device)
        monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: self.device, raising=False)
        monkeypatch.setattr(torch.cuda, "device", self._on)
        monkeypatch.setattr(kernels, "_index", lambda device: int("0" + device[5:]))
        monkeypatch.setattr(
            torch._C, "_cuda_getCurrentRawStream", lambda index: 70 + index, raising=False
        )

    def _raw_kernel(self, source, name, options):
        self.compiled[name, "TABLE_BYTES" in str(options)] += 1
        self.options = [each for each in options if "TABLE" in each]
        return SimpleNamespace(kernel=SimpleNamespace(ptr=sum(self.compiled.values())))

    @contextmanager
    def _on(self, index):
        self.switches.append(index)
        before, self.device = self.device, index
        yield
        self.device = before

    def _launch(self, function, across, rows, _, threads, *more):
        stream, places = more[-3:-1]
        table = ctypes.string_at(places[0], TABLE_SIZES[-1])
        start = ctypes.c_uint64.from_address(places[1]).value
        made = SimpleNamespace(
            function=function, grid=(across, rows), stream=stream, table=table, start=start
        )
        made.device = self.device
        self.launches.append(made)
        return 0


@pytest.fixture
def driver(monkeypatch):
    return Driver(monkeypatch)


def clips(count=8, layout="FHWC", shape=(2, 9, 12, 3)):
    return Batch(torch.zeros(count, *shape, dtype=torch.uint8), layout)


def test_a_small_table_and_its_values_are_parameters_of_the_launch(driver):
    source, target = clips(), clips()
    rows, samples = rows_of(KERNEL.row, source, target)
    assert samples.tolist() == list(range(8))
    values = np.arange(5, dtype=np.float32)
    Launch(target, KERNEL, rows, np.full(8, 3), {"CHANNELS": 3}, "cuda:0", values).queue()
    (made,) = driver.launches
    assert (made.grid, made.stream) == ((3, 8), 70)
    taken = np.frombuffer(made.table, KERNEL.row, count=8)
    for name, batch in (("source", source), ("target", target)):
        assert taken[name]["address"].tolist() == [each.data_ptr() for each in batch]
        assert taken[name]["sizes"].tolist() == [[2, 9, 12, 3]] * 8
        assert taken[name]["strides"].tolist() == [[324, 36, 3, 1]] * 8
    assert made.start % 16 == 0
    assert np.frombuffer(made.table, np.float32, 5, made.start).tolist() == values.tolist()
    assert driver.compiled == {("erase", True): 1}


@pytest.mark.parametrize(
    ("compiler", "supported", "capability", "largest"),
    [
        ((13, 0), 13000, (9, 0), 32000),
        ((12, 1), 12010, (7, 0), 32000),
        ((12, 0), 13000, (9, 0), 4000),
        ((13, 0), 12000, (9, 0), 4000),
        ((13, 0), 13000, (6, 1), 4000),
    ],
)
def test_large_tables_are_parameters_where_everything_takes_them(
    driver, monkeypatch, compiler, supported, capability, largest
):
    nvrtc = SimpleNamespace(getVersion=lambda: compiler)
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(nvrtc=nvrtc))
    monkeypatch.setattr(kernels, "driver_version", lambda: supported)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda gpu: capability)
    monkeypatch.setattr(kernels, "_takes_large_tables", kernels._takes_large_tables.__wrapped__)
    for size in (1, 4000, 4001, 16000, 16001, 32000, 32001):
        fitting = [each for each in (4000, 16000, 32000) if size <= each <= largest]
        assert kernels._table_size(size, 0) == (fitting[0] if fitting else 0)


@pytest.mark.parametrize("is_there", [True, False])
def test_the_current_gpu_is_known_with_or_without_a_private_function_of_torch(
    driver, monkeypatch, is_there
):
    if not is_there:
        monkeypatch.delattr(torch._C, "_cuda_getDevice")
    for driver.device in (0, 3):
        assert current_device() == driver.device


def test_a_large_table_arrives_whole(driver, monkeypatch):
    monkeypatch.setattr(kernels, "_takes_large_tables", lambda gpu: True)
    source, target = clips(80), clips(80)
    rows, _ = rows_of(KERNEL.row, source, target)
    Launch(target, KERNEL, rows, np.full(80, 3), {"CHANNELS": 3}, "cuda:0").queue()
    (made,) = driver.launches
    assert 4000 < rows.nbytes <= 16000
    assert driver.options == ["-DTABLE_BYTES=16000"]
    assert made.table[: rows.nbytes] == rows.tobytes()


def test_a_kernel_is_compiled_once_for_its_macros_and_gpu(driver):
    rows, _ = rows_of(KERNEL.row, clips(), clips())
    for channels, device in itertools.product((1, 3, np.int32(3), 1), (0, 1)):
        macros = {"CHANNELS": channels}
        Launch(clips(), KERNEL, rows, np.full(8, 3), macros, f"cuda:{device}").queue()
    assert driver.compiled == {("erase", True): 4}
    assert driver.switches == [1] * 4  # and not where the GPU is the current one
    assert [each.stream for each in driver.launches] == [70, 71] * 4
    assert [each.function for each in driver.launches] == [1, 2, 3, 4, 3, 4, 1, 2]


@pytest.mark.parametrize("layout", ["FHWC", "FCHW", "CFHW", "HW"])
@pytest.mark.parametrize("kind", ["dense", "views", "slices"])
def test_rows_of_blocks_are_those_of_their_samples(layout, kind):
    named = {"F": 3, "H": 5, "W": 8, "C": 2}
    shape = [named[letter] for letter in layout]
    block = torch.zeros(6, *(2 * side for side in shape), dtype=torch.int16)
    if kind == "views":
        block = block[(slice(None), *(slice(1, 1 + side) for side in shape))]
    if kind == "slices":
        block = block[1::2]
    for _ in range(2):  # the second time from what was kept
        other = torch.zeros(block.shape)
        made, _ = rows_of(row_type(), Batch(block, layout), Batch(other, layout))
        wanted, _ = rows_of(row_type(), Batch(list(block), layout), Batch(list(other), layout))
        assert made.tobytes() == wanted.tobytes()
        made["source"]["sizes"] = 0  # it is the caller's


def test_every_thread_has_arguments_of_its_own(driver):
    step, failed = threading.Barrier(2), []

    def queue(value):
        table = memoryview(bytes([value]) * 384)
        for _ in range(20):
            launching._arguments.table[:384] = table
            step.wait(10)
            failed.extend([value] * (launching._arguments.table[:384] != table))
            step.wait(10)

    threads = [threading.Thread(target=queue, args=(value,), daemon=True) for value in (1, 2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)
        assert not each.is_alive()
    assert not failed


def test_pointers_are_arguments_in_their_order(driver):
    driver._launch = lambda *given: driver.launches.append(given) or 0
    launch_kernel(11, (5, 6), 128, 9, 1 << 40, 77)
    (given,) = driver.launches
    assert given[:9] == (11, 5, 6, 1, 128, 1, 1, 0, 9)
    values = [ctypes.c_uint64.from_address(given[9][at]).value for at in range(2)]
    assert values == [1 << 40, 77]


def test_a_launch_that_fails_is_an_error(driver):
    driver._launch = lambda *_: 700
    with pytest.raises(RuntimeError, match=r"grid of \(1, 2\).*700"):
        launch_kernel(11, (1, 2), 128, 9)


@pytest.mark.parametrize(
    ("tiles", "rows"), [(1, 1), (784, 8), (32400, 2), (32400, 32), (5, 65535), (4097, 1)]
)
def test_blocks_of_a_launch_have_equal_work(tiles, rows):
    across, count = kernels._grid(tiles, rows)
    assert count == rows
    assert 1 <= across <= tiles
    assert across * rows <= max(kernels.BLOCKS, rows)
    pieces = -(-tiles // across)
    assert across * pieces - tiles < pieces  # fewer idle than one round of a block
    if tiles * rows >= kernels.BLOCKS and rows < 1000:
        assert across * rows > 0.4 * kernels.BLOCKS


def calls_of(function):
    """Calls of Python functions, and of functions in C."""
    counts = Counter()

    def count(_frame, event, _argument):
        counts[event] += 1

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return counts["call"], counts["c_call"]


def test_a_warm_launch_takes_few_calls(driver):
    def queue():
        assert are_frames(source, target)
        rows, _ = rows_of(KERNEL.row, source, target)
        macros = {"SOURCE": 0, "TARGET": 0, "CHANNELS": 3}
        Launch(target, KERNEL, rows, tiles, macros, "cuda:0").queue()

    tiles = np.full(8, 784)
    source, target = clips(), clips()
    queue()
    source, target = clips(), clips()
    called, in_c = calls_of(queue)
    assert called <= 30
    assert in_c <= 60
    assert len(driver.launches) == 2


WARM = {  # calls of Python and of C that a batch of clips takes, those of its launch included
    "rotate": ({"angle": 10.0, "keep_size": True, "fill_value": 0}, 52, 65),
    "warp_affine": ({"matrix": [1.1, 0.1, -10.0, -0.1, 0.9, 5.0], "fill_value": 0}, 52, 65),
    "experimental.warp_perspective": ({"matrix": [1, 0, 2, 0, 1, 3, 0, 0, 1]}, 52, 75),
    "erase": ({"anchor": [2, 3], "shape": [6, 4], "axis_names": "HW"}, 72, 135),
    "grid_mask": ({"tile": 30}, 44, 70),
}


@pytest.mark.parametrize("name", WARM)
def test_an_operator_works_out_once_what_its_arguments_say(driver, name):
    given, most_calls, most_in_c = WARM[name]
    declared = OPERATORS[name]
    arguments = declared.bind(given)
    for each in declared.per_sample:
        if not isinstance(arguments[each], PerSample):
            arguments[each] = PerSample((arguments[each],) * 8)
    frames = clips()
    known = applying._infer(declared, Context(8), [frames], (frames.spec,), arguments)
    context = Context(8, outputs=known.outputs)

    def run():
        declared.kernels["cuda"](context, frames, **known.taken).queue()

    run()
    frames = clips()
    assert frames.spec
    called, in_c = calls_of(run)
    assert len(driver.launches) == 2
    assert called <= most_calls
    assert in_c <= most_in_c
