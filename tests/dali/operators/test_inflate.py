"""Decompression of LZ4, whole samples and chunks."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.tensors import TensorList
from videoloader.errors import VideoError


def packed(array):
    data = pa.Codec("lz4_raw").compress(array.tobytes(), asbytes=True)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def frames():
    return np.arange(3 * 40 * 50, dtype=np.int16).reshape(3, 40, 50) // 7


def test_a_sample_is_decompressed():
    array = frames()[0]
    out = fn.decoders.inflate(packed(array), shape=[40, 50], dtype=types.INT16)
    assert out.dtype == torch.int16
    assert np.array_equal(out.numpy(), array)


@pytest.mark.parametrize(
    "given", [("chunk_sizes",), ("chunk_offsets",), ("chunk_sizes", "chunk_offsets")]
)
def test_chunks_are_frames(given):
    pieces = [packed(frame) for frame in frames()]
    sizes = [len(piece) for piece in pieces]
    offsets = [0, sizes[0], sizes[0] + sizes[1]]
    chunks = {"chunk_sizes": sizes, "chunk_offsets": offsets}
    out = fn.decoders.inflate(
        TensorList([torch.cat(pieces)]),
        shape=[40, 50],
        dtype=types.INT16,
        layout="HW",
        **{name: chunks[name] for name in given},
    )
    assert out.layout() == "FHW"
    assert np.array_equal(out[0].numpy(), frames())


@pytest.mark.parametrize(
    "arguments",
    [
        {"shape": [41, 50]},
        {"shape": [40, 49]},
        {"shape": [4000, 5000]},
        {"shape": [40, 50], "chunk_sizes": [10**6]},
        {"shape": [40, 50], "chunk_offsets": [5, 3]},
        {"shape": [40, 50], "chunk_offsets": [0], "chunk_sizes": [1, 2]},
        {"shape": [40, 50], "algorithm": "zip"},
        {"shape": [40, 50], "layout": "FW", "chunk_sizes": [4]},
        {},
    ],
)
def test_what_does_not_fit_is_an_error(arguments):
    with pytest.raises(VideoError):
        fn.decoders.inflate(packed(frames()[0]), dtype=types.INT16, **arguments)


def test_damaged_bytes_are_an_error_or_other_values():
    data = packed(np.random.default_rng(0).integers(0, 4, (40, 50), dtype=np.int16))
    rng = np.random.default_rng(1)
    for _ in range(60):
        damaged = data.clone()
        damaged[rng.integers(0, len(data), 3)] = torch.from_numpy(rng.integers(0, 256, 3, np.uint8))
        try:
            out = fn.decoders.inflate(damaged, shape=[40, 50], dtype=types.INT16)
        except VideoError:
            continue
        assert out.shape == (40, 50)
