"""Hashes and frames are the same on every processor; others are emulated by the libraries."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import videoloader as vl
from videoloader.datasets import hash_video, hashes, picture_hash
from videoloader.demo.shots import draw_shot, encode_pictures

# What the libraries find on a processor: variables for numpy, OpenCV and torch, flags for FFmpeg.
PROCESSORS = {
    "AVX2": (
        {
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": "AVX512F,AVX512CD,AVX512_SKX,AVX512_ICL,X86_V4",
            "OPENCV_CPU_DISABLE": "AVX512-SKX",
            "ATEN_CPU_CAPABILITY": "avx2",
        },
        ~0x300000,  # AVX512 and AVX512ICL
    ),
    "SSE": (
        {
            "OPENBLAS_CORETYPE": "Nehalem",
            "NPY_DISABLE_CPU_FEATURES": "AVX2,FMA3,AVX512F,AVX512CD,AVX512_SKX,AVX512_ICL,X86_V3,"
            "X86_V4",
            "OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FP16,AVX",
            "ATEN_CPU_CAPABILITY": "default",
        },
        0x1B,  # MMX to SSE2, which every x86-64 has
    ),
}
PROGRAM = """
import ctypes, hashlib, sys
import av.video.reformatter
import numpy as np
import videoloader as vl
from videoloader.datasets import hash_video, picture_hash

flags, pictures, path = sys.argv[1:]
ffmpeg = ctypes.CDLL(av.video.reformatter.__file__)  # which is linked with FFmpeg's libraries
ffmpeg.av_force_cpu_flags(ffmpeg.av_get_cpu_flags() & int(flags))
print(*picture_hash(np.load(pictures)))
print(*hash_video(path).hashes)
with vl.Video(path) as video:
    print(hashlib.md5(video.get_frames().frames.numpy().tobytes()).hexdigest())
"""


def pictures_of_every_kind():
    """Flat ones, ramps and bars, whose frequencies are 0 but for rounding; shapes; noise."""
    rows, columns = np.mgrid[0:32, 0:32]
    regular = [
        *[np.full((32, 32), level) for level in (0, 1, 128, 255)],
        *[rows * 8, columns * 5, rows + columns, (rows * 32 + columns) % 256],
        *[255 * (columns // width % 2) for width in (1, 2, 4, 8, 16)],
        *[255 * ((rows // width + columns // width) % 2) for width in (1, 4, 16)],
        255 * ((rows - 16) ** 2 + (columns - 16) ** 2 < 90),
    ]
    noise = np.random.default_rng(0).integers(0, 256, (6, 32, 32))
    return np.concatenate([regular, noise, noise // 3]).astype(np.uint8)


def bits_of(pictures):
    places = np.arange(63, -1, -1).astype(np.uint64)
    return ((picture_hash(pictures)[..., None] >> places) & np.uint64(1)).reshape(-1, 8, 8)


PICTURES = pictures_of_every_kind()


@pytest.fixture(scope="module")
def given_files(tmp_path_factory):
    """The pictures, and a video whose luma is shrunk to be hashed."""
    folder = tmp_path_factory.mktemp("processors")
    np.save(folder / "pictures.npy", PICTURES)
    pictures = draw_shot(6, seed=1, size=(160, 90))
    return folder / "pictures.npy", encode_pictures(folder / "a.mp4", pictures, size=(160, 90))


@pytest.mark.parametrize("processor", PROCESSORS)
def test_hashes_and_frames_are_the_same_on_another_processor(given_files, processor):
    variables, flags = PROCESSORS[processor]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(flags), *given_files],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pictures, video, frames = done.stdout.splitlines()
    _, path = given_files
    with vl.Video(path) as opened:
        here = opened.get_frames().frames.numpy()
    assert [int(each) for each in pictures.split()] == picture_hash(PICTURES).tolist()
    assert [int(each) for each in video.split()] == hash_video(path).hashes.tolist()
    assert frames == hashlib.md5(here.tobytes()).hexdigest()


def test_hashes_are_those_of_whole_numbers():
    """Where float64 rounds nothing, int64 gives the same bits, for the largest sums as well."""
    waves = hashes._cosines()
    whole = waves.astype(np.int64)
    assert (whole == waves).all()
    brightest = (255 * (whole[:, :, None] * whole[:, None] > 0)).astype(np.uint8)
    for picture in [*PICTURES, *brightest]:
        low = whole @ picture.astype(np.int64) @ whole.T
        middle = np.sort(low, axis=None)[31:33].sum()  # twice the median
        assert (bits_of(picture)[0] == (2 * low > middle)).all()


@given(st.integers(0, len(PICTURES) - 1), st.sampled_from([2, 3, 5, 7]))
def test_a_brighter_picture_has_the_same_hash(number, factor):
    dark = PICTURES[number] // factor
    assert picture_hash(dark * np.uint8(factor)) == picture_hash(dark)


def test_a_transposed_picture_has_the_transposed_bits():
    transposed = bits_of(PICTURES.transpose(0, 2, 1))
    assert (transposed == bits_of(PICTURES).transpose(0, 2, 1)).all()


def test_frequencies_that_are_absent_are_not_above_the_median():
    *flat, down, across = bits_of(PICTURES[:6])
    assert not np.delete(flat, 0, axis=1).any()
    assert not np.delete(flat, 0, axis=2).any()
    assert not down[:, 1:].any()
    assert not across[1:].any()


@pytest.mark.parametrize("axis", [0, 1])
def test_stripes_have_no_hash(tmp_path, axis):
    """Few of their bits say anything: other stripes would be near copies of them."""
    levels = np.random.default_rng(axis).integers(20, 235, (3, 6, 1, 1))
    stripes = levels.repeat(16, 1).repeat(96, 2).repeat(3, 3).astype(np.uint8)
    pictures = stripes if axis == 0 else stripes.transpose(0, 2, 1, 3)
    path = encode_pictures(tmp_path / "a.mp4", [*pictures], size=(96, 96))
    assert len(hash_video(path, count=3).hashes) == 0
