"""Data of frames besides their pictures: motion vectors and picture types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.errors import UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import plan_decode
from videoloader.sources.source import Source

_MOTION_VECTOR = np.dtype(
    [
        ("source", "<i4"),
        ("w", "u1"),
        ("h", "u1"),
        ("src_x", "<i2"),
        ("src_y", "<i2"),
        ("dst_x", "<i2"),
        ("dst_y", "<i2"),
        ("flags", "<u8"),
        ("motion_x", "<i4"),
        ("motion_y", "<i4"),
        ("motion_scale", "<u2"),
    ]
)
"""The fields of FFmpeg's `AVMotionVector`, in pixels of the coded picture."""

# What does not change the types of pictures, and takes most of the time.
_HEADERS_ONLY = {"skip_loop_filter": "all", "skip_idct": "all"}


def read_motion_vectors(
    index: VideoIndex, source: Source, frames: NDArray[np.int64], *, max_pixels: int | None
) -> dict[int, NDArray[Any]]:
    """The motion vectors of each distinct frame; none of frames that refer to no other.

    Raises:
        UnsupportedError: FFmpeg's decoder gives none for this codec.
        DecodeError: a frame does not decode.
    """
    if not codec_of(index.codec).has_motion_vectors:
        raise UnsupportedError(
            f"{index.name}: FFmpeg's decoder gives no motion vectors of {index.codec}"
        )
    options = {"flags2": "+export_mvs"}
    decoder = CpuDecoder(index, source, max_pixels=max_pixels, options=options)
    found = {}
    for number, surface in decoder.decode(plan_decode(index, frames)):
        data: Any = surface.frame.side_data.get("MOTION_VECTORS")
        vectors = np.empty(0, _MOTION_VECTOR) if data is None else data.to_ndarray()
        found[number] = vectors.astype(_MOTION_VECTOR)
    return found


def read_picture_types(
    index: VideoIndex,
    source: Source,
    *,
    threads: int,
    max_pixels: int | None,
    frames: NDArray[np.int64] | None = None,
) -> NDArray[np.str_]:
    """`I`, `P`, `B` and so on, as FFmpeg's decoder says of each frame.

    Args:
        index: of the video.
        source: its bytes.
        threads: of the decoder.
        max_pixels: of a picture.
        frames: of which frames; `?` stands for the others. All by default.
    """
    from av.video.frame import PictureType

    options = _HEADERS_ONLY if index.exactness == "tables" else {}
    decoder = CpuDecoder(index, source, threads=threads, max_pixels=max_pixels, options=options)
    types = np.full(index.num_frames, "?", dtype="<U1")
    wanted = np.arange(index.num_frames) if frames is None else frames
    for number, surface in decoder.decode(plan_decode(index, wanted)):
        types[number] = PictureType(surface.frame.pict_type).name[0]
    types.flags.writeable = False
    return types
