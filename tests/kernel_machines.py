"""Where CUDA kernels run in tests: compiled as C++ for this machine, or on the GPU."""

import ctypes
import dataclasses
import functools
import hashlib
import operator
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from videoloader.dali import fn
from videoloader.dali.operators import kernels
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import packed
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.decoding.nvdec.convert import Converter, compile_options, grid, kernel_source
from videoloader.decoding.output import OutputFormat
from videoloader.machinery.cuda import launching
from videoloader.sampling import generator

# What CUDA brings along. Blocks run one after another, a block's threads as threads if TEAM.
CUDA_IN_CPP = r"""
#include <cstdlib>
#include <cstring>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS  // of <cmath>, which compiles twice as fast without them
#include <cmath>
template <typename T> static T min(T a, T b) { return b < a ? b : a; }
template <typename T> static T max(T a, T b) { return a < b ? b : a; }
#define __device__
#define __global__
#define __noinline__
#define __forceinline__ inline
#define __grid_constant__
#define __builtin_assume(...)
#define __shared__ static
#define __launch_bounds__(...)
struct Dimensions { unsigned x, y, z; };
static Dimensions blockIdx, gridDim, blockDim;
static thread_local Dimensions threadIdx;
#if TEAM
#include <pthread.h>  // compiles in a tenth of the time of <thread> and <barrier>
static pthread_barrier_t block_barrier;
static void __syncthreads() { pthread_barrier_wait(&block_barrier); }
#else
static void __syncthreads() {}
#endif
static unsigned __float_as_uint(float value) {
    unsigned bits; std::memcpy(&bits, &value, 4); return bits;
}
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
static float __fadd_rz(float a, float b) {
    double sum = (double)a + b;  // exact for what the kernels add
    float near = (float)sum;
    return std::fabs(near) > std::fabs(sum) ? std::nextafter(near, 0.0f) : near;
}
#define __expf std::exp  // glibc declares functions of these names, which are its own
#define __sinf std::sin
#define __cosf std::cos
static float __fdividef(float a, float b) { return a / b; }
static float __uint_as_float(unsigned bits) {
    float value; std::memcpy(&value, &bits, 4); return value;
}
static unsigned __byte_perm(unsigned low, unsigned high, unsigned places) {
    unsigned long long both = (unsigned long long)high << 32 | low;
    unsigned bytes = 0;
    for (int k = 0; k < 4; k++)
        bytes |= (unsigned)(both >> 8 * (places >> 4 * k & 7) & 255) << 8 * k;
    return bytes;
}
static float __fadd_rd(float one, float other) {  // rounded down
    double sum = (double)one + other;
    float nearest = (float)sum;
    return nearest > sum ? std::nextafter(nearest, -HUGE_VALF) : nearest;
}
"""
RUN_IN_CPP = r"""
template <typename Kernel>
static void run_block(Kernel kernel, const void* rows, const void* values, int threads) {
#if TEAM
    struct Member { Kernel* kernel; const void *rows, *values; unsigned number; pthread_t thread; };
    static Member team[1024];  // the most that a block has
    auto run = [](void* given) -> void* {
        auto member = (Member*)given;
        threadIdx = {member->number, 0, 0};
        (*member->kernel)(member->rows, member->values);
        return nullptr;
    };
    pthread_barrier_init(&block_barrier, nullptr, threads);
    for (int t = 0; t < threads; t++) {
        team[t] = {&kernel, rows, values, (unsigned)t, {}};
        if (pthread_create(&team[t].thread, nullptr, run, &team[t])) std::abort();
    }
    for (int t = 0; t < threads; t++) pthread_join(team[t].thread, nullptr);
    pthread_barrier_destroy(&block_barrier);
#else
    threadIdx = {0, 0, 0};
    kernel(rows, values);
#endif
}
"""
LAUNCH_IN_CPP = r"""
template <typename Kernel>
static void launch(
    Kernel kernel, const void* rows, const void* values, int across, int count, int threads
) {
    gridDim = {(unsigned)across, (unsigned)count, 1};
    blockDim = {(unsigned)threads, 1, 1};
    for (unsigned y = 0; y < gridDim.y; y++)
        for (unsigned x = 0; x < gridDim.x; x++) {
            blockIdx = {x, y, 0};
            run_block(kernel, rows, values, threads);
        }
}
"""
ENTRY_IN_CPP = r"""
extern "C" void launch_NAME(
    const void* rows, const void* values, int start, int across, int count, int threads
) {
    (void)start;
    launch([=](auto rows, auto values) { CALL; }, rows, values, across, count, threads);
}
"""


class Compiled:
    """The kernel as C++; memory is numpy's."""

    def __init__(self, threads=1):
        if not shutil.which("g++"):
            pytest.skip("needs g++")
        self._threads = threads
        self._kernel(OutputFormat())  # what does not compile fails once, here

    def put(self, array):
        return array

    def get(self, memory):
        return memory

    def address(self, memory):
        return memory.ctypes.data

    def convert(self, table, output):
        table_at = ctypes.c_void_p(table.ctypes.data)
        self._kernel(output)(table_at, None, 0, *grid(table), self._threads)

    def _kernel(self, output):
        return compiled(kernel_source(), compile_options(output), self._threads > 1)["convert"]


class OperatorKernels:
    """Runs the CUDA kernels of operators as C++, on batches in the memory of the CPU.

    `launched` counts launches by the name of the kernel, `uploaded` those whose table is too large
    to be passed by value.
    """

    def __init__(self, monkeypatch, threads=1):
        if not shutil.which("g++"):
            pytest.skip("needs g++")
        self._threads = threads
        self.launched, self.uploaded = Counter(), Counter()
        self._inferred = {}  # by operator and arguments
        monkeypatch.setattr(kernels, "has_cupy", lambda: True)
        monkeypatch.setattr(kernels, "queue", self._queue)
        monkeypatch.setattr(kernels, "_takes_large_tables", lambda gpu: False)

    def _queue(self, kernel, macros, rows, values, grid, device):
        assert device == "cpu"
        assert rows.dtype == kernel.row
        memory, start = packed(rows, values)
        size = kernels._table_size(len(memory), 0)
        table = aligned(max(len(memory), size))
        table[: len(memory)] = np.frombuffer(memory, np.uint8)
        options = kernel.options(macros, size)
        launch = compiled(kernel.source, options, self._threads > 1)[kernel.name]
        address = table.ctypes.data
        places = [ctypes.c_void_p(each) for each in (address, address + start)]
        launch(*places, start, *grid, self._threads)
        self.launched[kernel.name] += 1
        self.uploaded[kernel.name] += not size

    def run(self, name, inputs, arguments):
        """The outputs of an operator by its kernel for GPUs, as `TensorList`s."""
        declared = OPERATORS[name]
        replaced = dataclasses.replace(declared, kernels={"cpu": declared.kernels["cuda"]})
        batches = [
            Batch(each.tensors if each.block is None else each.block, each.layout())
            for each in inputs
        ]
        given = dict(arguments)
        context = Context(len(batches[0]))
        if not declared.draws:
            context.inferred = self._inferred.setdefault((name, repr(arguments)), {})
        if "seed" in given:
            seed = given.pop("seed")
            context.random = lambda at, into=None: generator(seed, sample=at, into=into)
        bound = {k: v for k, v in declared.bind(given).items() if k != "seed"}
        made = apply_operator(replaced, context, batches, bound)
        return [TensorList(each.samples, each.layout) for each in made]


class CompiledDriver:
    """The driver of a GPU whose memory is that of the CPU: launches run kernels as C++."""

    def __init__(self, monkeypatch):
        if not shutil.which("g++"):
            pytest.skip("needs g++")
        self._functions = []
        monkeypatch.setattr(kernels, "has_cupy", lambda: True)
        monkeypatch.setattr(kernels, "_function", self._function)
        monkeypatch.setattr(kernels, "_index", lambda device: 0)
        monkeypatch.setattr(launching, "_launch_kernel", lambda: self._launch)
        stream = SimpleNamespace(cuda_stream=0)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 0, raising=False)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
        monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda gpu: 0, raising=False)

    def _function(self, kernel, macros, table_bytes, index):
        assert table_bytes
        made = compiled(kernel.source, kernel.options(macros, table_bytes), with_team=False)
        self._functions.append((made[kernel.name], table_bytes))
        return SimpleNamespace(ptr=len(self._functions) - 1)

    def _launch(self, function, across, rows, _, threads, *more):
        launch, size = self._functions[function]
        places = more[-2]
        table, start = aligned(size), ctypes.c_uint64.from_address(places[1]).value
        ctypes.memmove(table.ctypes.data, places[0], size)
        addresses = [ctypes.c_void_p(table.ctypes.data + at) for at in (0, start)]
        launch(*addresses, start, across, rows, 1)
        return 0


class OperatorKernelsOnGpu:
    """Runs operators on a GPU, and counts launches like `OperatorKernels`."""

    def __init__(self, monkeypatch):
        import videoloader.dali.operators.kernels

        self.launched, self.uploaded = Counter(), Counter()
        self._begun = set()  # functions that have forgotten the calls of other tests
        queue = videoloader.dali.operators.kernels.queue
        launch = videoloader.dali.operators.kernels.launch_kernel

        def counted(kernel, *arguments):
            self.launched[kernel.name] += 1
            return queue(kernel, *arguments)

        def counted_upload(*arguments):
            launch(*arguments)
            self.uploaded["all"] += 1

        monkeypatch.setattr("videoloader.dali.operators.kernels.queue", counted)
        monkeypatch.setattr("videoloader.dali.operators.kernels.launch_kernel", counted_upload)
        # Launches that a plan keeps are repeated without `queue`, and would not be counted.
        monkeypatch.setattr("videoloader.dali.operators.launches.Launches.of", lambda *_: None)

    def run(self, name, inputs, arguments):
        function = operator.attrgetter(name)(fn)
        if name not in self._begun:
            self._begun.add(name)
            function._known.clear()
        made = function(*map(self._put, inputs), **arguments)
        made = made if isinstance(made, tuple) else (made,)
        return [each.as_cpu() for each in made]

    @staticmethod
    def _put(batch):
        """The batch on the GPU; what is part of a larger tensor here is so there."""
        if all(sample.is_contiguous() for sample in batch.tensors):
            return batch.gpu()
        samples = []
        for sample in batch.tensors:
            letters = batch.layout() or "H" * sample.ndim
            margins = [2 * (letter in "HW") for letter in letters]
            sides = [(at, at + side) for at, side in zip(margins, sample.shape, strict=True)]
            whole = sample.new_zeros([stop + start for start, stop in sides]).cuda()
            samples.append(whole[tuple(slice(*each) for each in sides)])
            samples[-1].copy_(sample)
        return TensorList(samples, batch.layout())


@functools.cache
def compiled(source, options, with_team):
    """What launches each of the kernels in a source, by their names."""
    kernels = dict(re.findall(r"__global__ .*?(\w+)\(const (\w+)\*", source))
    calls = {
        name: f"{name}((const {row}*)rows{', (const u8*)values' if row == 'Row' else ''})"
        for name, row in kernels.items()
        if name != "name"  # of the macro
    }
    has_table = any(each.startswith("-DTABLE_BYTES") for each in options)
    own = "*(const Table*)rows, start" if has_table else "(const Row*)rows, (const u8*)values"
    for name in re.findall(r"^KERNEL\((\w+)", source, re.MULTILINE):
        calls[name] = f"{name}({own})"
    entries = [
        ENTRY_IN_CPP.replace("NAME", name).replace("CALL", call) for name, call in calls.items()
    ]
    text = "".join([CUDA_IN_CPP, source, RUN_IN_CPP, LAUNCH_IN_CPP, *entries])
    options = [each for each in options if not each.startswith("--fmad")]
    flags = ["-O1", "-shared", "-fPIC", "-pthread", "-fno-strict-aliasing", *options]
    flags += ["-ffp-contract=off", f"-DTEAM={int(with_team)}", "-Wno-unused-function"]
    # A misaligned access, which a GPU refuses, or one outside shared memory is a trap here.
    flags += ["-fsanitize=alignment,bounds", "-fsanitize-undefined-trap-on-error"]
    flags += ["-std=c++17", "-Wall", "-Wno-unknown-pragmas", "-Werror"]
    flags += ["-nodefaultlibs"]  # Python has loaded them; not linking them saves a sixth
    made = ctypes.CDLL(str(shared_library(text, flags)))
    return {name: getattr(made, f"launch_{name}") for name in calls}


@functools.cache
def compiler():
    return subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout


def shared_library(text, flags):
    """C++ as a library, compiled once for all workers and later runs; see conftest.py."""
    key = hashlib.sha256("\0".join([compiler(), text, *flags]).encode()).hexdigest()
    library = Path(os.environ["VIDEOLOADER_TEST_KERNELS"], f"{key}.so")
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            file, part = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
            file.write_text(text)
            done = subprocess.run(["g++", *flags, file, "-o", part], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            part.replace(library)  # another worker sees all of it or nothing
    return library


class Gpu:
    """The kernel through CuPy."""

    def __init__(self):
        import cupy

        self._cupy = cupy
        self._converter = functools.cache(Converter)

    def put(self, array):
        return self._cupy.asarray(array)

    def get(self, memory):
        return memory.get()

    def address(self, memory):
        return memory.data.ptr

    def convert(self, table, output):
        from videoloader.decoding.nvdec.convert import pinned_table

        pinned = pinned_table(len(table))
        pinned[:] = table
        stream = self._cupy.cuda.Stream(non_blocking=True)
        self._cupy.cuda.Device().synchronize()
        self._converter(output).launch(pinned, stream)
        stream.synchronize()


def aligned(size):
    """Memory as the driver and torch give it."""
    memory = np.zeros(size + 15, np.uint8)
    start = -memory.ctypes.data % 16
    return memory[start : start + size]


def empty_clip(shape, dtype, margin=64):
    """Memory of a clip with a margin on both sides, all of one byte."""
    size = int(np.prod(shape)) + 2 * margin
    return np.full(size * np.dtype(dtype).itemsize, 0xA5, dtype=np.uint8).view(dtype)
