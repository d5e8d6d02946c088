"""Where the conversion kernel runs in tests: compiled as C++ for this machine, or on the GPU."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from videoloader.decoding.nvdec.convert import Converter, compile_options, grid, kernel_source
from videoloader.decoding.output import OutputFormat

# What CUDA brings along. Blocks run one after another, a block's threads as threads.
CUDA_IN_CPP = r"""
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
using std::max, std::min;
#define __device__
#define __global__
#define __noinline__
#define __shared__ static
#define __launch_bounds__(threads)
struct Place { unsigned x, y, z; };
static Place blockIdx, gridDim, blockDim;
static thread_local Place threadIdx;
static std::barrier<>* block_barrier;
static void __syncthreads() { if (blockDim.x > 1) block_barrier->arrive_and_wait(); }
static unsigned __float_as_uint(float value) {
    unsigned bits; std::memcpy(&bits, &value, 4); return bits;
}
static float __uint_as_float(unsigned bits) {
    float value; std::memcpy(&value, &bits, 4); return value;
}
"""
LAUNCH_IN_CPP = r"""
extern "C" void launch(const Surface* table, int across, int count, int threads) {
    gridDim = {(unsigned)across, (unsigned)count, 1};
    blockDim = {(unsigned)threads, 1, 1};
    for (unsigned y = 0; y < gridDim.y; y++)
        for (unsigned x = 0; x < gridDim.x; x++) {
            blockIdx = {x, y, 0};
            if (threads == 1) { threadIdx = {0, 0, 0}; convert(table); continue; }
            std::barrier<> barrier(threads);
            block_barrier = &barrier;
            std::vector<std::thread> team;
            for (int t = 0; t < threads; t++)
                team.emplace_back([=] { threadIdx = {(unsigned)t, 0, 0}; convert(table); });
            for (auto& thread : team) thread.join();
        }
}
"""


class Compiled:
    """The kernel as C++; memory is numpy's."""

    def __init__(self, threads=1):
        if not shutil.which("g++"):
            pytest.skip("needs g++")
        self._threads = threads
        compiled(compile_options(OutputFormat()))  # what does not compile fails once, here

    def put(self, array):
        return array

    def get(self, memory):
        return memory

    def address(self, memory):
        return memory.ctypes.data

    def convert(self, table, output):
        launch = compiled(compile_options(output)).launch
        launch(ctypes.c_void_p(table.ctypes.data), *grid(table), self._threads)


@functools.cache
def compiled(options):
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "convert.cpp"), Path(folder, "convert.so")
        source.write_text(CUDA_IN_CPP + kernel_source() + LAUNCH_IN_CPP)
        flags = ["-O2", "-shared", "-fPIC", "-pthread", "-fno-strict-aliasing", *options]
        # A misaligned access, which a GPU refuses, or one outside shared memory is a trap here.
        flags += ["-fsanitize=alignment,bounds", "-fsanitize-undefined-trap-on-error"]
        flags += ["-std=c++20", "-Wall", "-Wno-unknown-pragmas", "-Werror"]
        done = subprocess.run(
            ["g++", *flags, source, "-o", library], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(library))


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


def empty_clip(shape, dtype, margin=64):
    """Memory of a clip with a margin on both sides, all of one byte."""
    size = int(np.prod(shape)) + 2 * margin
    return np.full(size * np.dtype(dtype).itemsize, 0xA5, dtype=np.uint8).view(dtype)
