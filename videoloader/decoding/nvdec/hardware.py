"""Capabilities of the video decoders of a GPU, and the requirements of streams."""

from __future__ import annotations

import math
import operator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from videoloader.codecs.buffering import Buffering
from videoloader.codecs.registry import codec_of
from videoloader.decoding.nvdec.elementary import first_sequence
from videoloader.decoding.pictures.matrix import MATRICES
from videoloader.errors import UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import PacketFlags
from videoloader.sampling.plan import Run

MAX_CALL = 128
"""Maximum packets of one call. Of small pictures many: each return from a call waits for the
interpreter lock."""
MAX_CALL_BYTES = 25 << 20
"""Maximum bytes of the surfaces that one call may return; 8 pictures of 1080p."""
MAX_READ_BYTES = 50 << 20
"""The same where a video is read from end to end: a chunk of 100 MB of RGB in one call."""

_CHROMA = {"yuv420p": "420", "yuvj420p": "420", "yuv444p": "444", "yuvj444p": "444"}

# Decoders are created for rounded-up maximum sizes, so that videos of many sizes share them, if
# `ElementaryStream` detects size changes within a stream, which such decoders would hide.
_SIDES = (256, 480, 864, 1088, 1280, 1920, 2560, 4096, 8192, 16384)
# For the memory budget: minimum surfaces of a decoder, and surfaces beyond the stream's DPB.
_SURFACES, _MORE_SURFACES = 16, 8
_ALIGNMENT = 64  # largest side of a block that coded sizes are multiples of


class Capabilities(NamedTuple):
    """Limits of a GPU for one codec, chroma format and bit depth, in pixels."""

    engines: int
    least: tuple[int, int]
    most: tuple[int, int]


class DecoderKind(NamedTuple):
    """Parameters that a decoder is created with."""

    codec: str
    chroma: str
    depth: int
    width: int
    height: int

    def memory(self, needs: StreamNeeds) -> int:
        """Approximate GPU memory in bytes of a decoder created for a stream."""
        samples = self.width * self.height * (3 if self.chroma == "444" else 1.5)
        surfaces = max(_SURFACES, max(needs.pictures or Buffering()) + _MORE_SURFACES)
        surface = math.ceil(samples) * (2 if self.depth > 8 else 1)
        return surface * surfaces + min(MAX_CALL * surface, MAX_READ_BYTES)


class StreamNeeds(NamedTuple):
    """Requirements of a stream for a decoder of its kind.

    Attributes:
        size: width and height of its coded pictures.
        pictures: size of its decoded picture buffer; None if its headers are not known yet.
    """

    size: tuple[int, int]
    pictures: Buffering | None


class Excess(NamedTuple):
    """The cost of reusing a decoder for a stream: a size change, and unused surfaces."""

    is_other_size: bool
    pictures: int


class DecoderRoom:
    """Decides which streams a decoder has enough surfaces for, from one stream to the next.

    PyNvVideoCodec sets the number of surfaces for the first stream. When the coded size changes,
    it resets the number, presumably up to the original one. When the size is unchanged, it keeps
    the number even if the stream needs more, and pictures without a surface are lost. Which fields
    of a parameter set NVIDIA's parser uses is undocumented, so none of them may be larger.
    """

    def __init__(self, needs: StreamNeeds) -> None:
        self._most = self._now = needs.pictures or Buffering()
        self._size = needs.size

    def fits(self, needs: StreamNeeds) -> bool:
        """Whether the decoder may decode a stream next."""
        if needs.pictures is None:
            return False
        # The library may round up the coded size.
        is_other = _rounded_up(needs.size) != _rounded_up(self._size)
        return needs.pictures.within(self._most if is_other else self._now)

    def take(self, needs: StreamNeeds) -> None:
        """Record that a stream, which fits, is decoded next."""
        if needs.size != self._size:
            self._size, self._now = needs.size, needs.pictures or Buffering()

    def excess(self, needs: StreamNeeds) -> Excess:
        """Cost of decoding a stream with it: of two decoders that fit, use the lower."""
        is_other = needs.size != self._size
        return Excess(is_other, sum(self._most if is_other else self._now))


def _rounded_up(size: tuple[int, int]) -> tuple[int, int]:
    return -(-size[0] // _ALIGNMENT), -(-size[1] // _ALIGNMENT)


@cache
def capabilities(gpu: int, codec: str, chroma: str, bit_depth: int) -> Capabilities | None:
    """Limits of a GPU for a codec (FFmpeg's name), None if it is unsupported."""
    nvc = library()
    found = nvc.GetDecoderCaps(
        gpu,
        getattr(nvc.cudaVideoCodec, codec_of(codec).nvdec or ""),
        getattr(nvc.cudaVideoChromaFormat, chroma),
        bit_depth,
    )
    if not found["supported"]:
        return None
    return Capabilities(
        max(found["num_decoder_engines"], 1),
        (found["height_min"], found["width_min"]),
        (found["height_max"], found["width_max"]),
    )


@cache
def gpu_memory(gpu: int) -> int:
    """Total memory of a GPU in bytes."""
    import torch

    return int(torch.cuda.get_device_properties(gpu).total_memory)


def unsupported_reason(index: VideoIndex, gpu: int) -> str | None:
    """Why a GPU cannot decode a video; None if it can, judging by the index."""
    if codec_of(index.codec).nvdec is None or index.pixel_format is None:
        return f"NVDEC does not decode {index.codec} ({_picture(index)})"
    chroma, depth = _format(index)
    found = capabilities(gpu, index.codec, chroma, depth) if chroma else None
    if found is None:
        return f"this GPU does not decode {index.codec} of {index.pixel_format}"
    sides = (index.height, index.width)
    if not all(map(operator.le, found.least, sides)) or not all(
        map(operator.le, sides, found.most)
    ):
        return f"this GPU decodes {index.codec} from {found.least} to {found.most}, not {sides}"
    if chroma == "420" and (index.width % 2 or index.height % 2):
        return f"NVDEC cuts chroma of odd sizes ({_picture(index)})"
    if index.color.matrix is not None and index.color.matrix not in MATRICES:
        return f"there is no conversion to RGB from its matrix {index.color.matrix}"
    if index.packing.is_demuxed:
        return "its packets are put together by a demuxer"
    if index.frame_parts.any():
        return "its packets hold several frames"
    return None


def unfit_reason(run: Run, index: VideoIndex) -> str | None:
    """Why the GPU cannot decode a run; None if it can."""
    first = int(run.packets[0])
    if not index.packets["flags"][first] & np.uint16(PacketFlags.KEY):
        return "the run begins at no keyframe"
    if (index.end_packets[run.frames] != run.frame_packets).any():
        return "frames come in several packets"
    if index.damaged[run.packets].any():
        return "some of its packets are damaged, which NVDEC does not tell"
    return None


def _picture(index: VideoIndex) -> str:
    return f"{index.width}x{index.height} {index.pixel_format}"


def decoder_kind(index: VideoIndex, gpu: int) -> DecoderKind:
    """The kind of decoder for a video, on a GPU that supports it."""
    chroma, depth = _format(index)
    kind = _decoder_kind(index.codec, chroma, depth, (index.height, index.width), gpu)
    if kind is None:
        raise UnsupportedError(f'{index.name}: {unsupported_reason(index, gpu)}; use device="cpu"')
    return kind


@lru_cache(maxsize=1024)
def _decoder_kind(
    name: str, chroma: str, depth: int, size: tuple[int, int], gpu: int
) -> DecoderKind | None:
    found = capabilities(gpu, name, chroma, depth)
    if found is None:
        return None
    height, width = size
    codec = codec_of(name)
    if codec.nal is not None or codec.stated_sizes is not None:
        height, width = (
            min(next(step for step in _SIDES if step >= side), most)
            for side, most in zip(size, found.most, strict=True)
        )
    return DecoderKind(name, chroma, depth, width, height)


def stream_needs(index: VideoIndex, packet: int) -> StreamNeeds:
    """Requirements for decoding from `packet` on."""
    size = (index.width, index.height)
    if codec_of(index.codec).nal is None:
        return StreamNeeds(size, Buffering())
    return _stated_needs(index.codec, index.extradata_of(packet)) or StreamNeeds(size, None)


@lru_cache(maxsize=256)  # encoders of one kind write few different ones
def _stated_needs(codec: str, setup: bytes) -> StreamNeeds | None:
    """The requirements in the extradata of a stream of NAL units; None if they state none."""
    nal = codec_of(codec).nal
    sequence = first_sequence(nal, setup) if nal is not None else None
    return None if sequence is None else StreamNeeds(sequence.coded, sequence.buffering)


def _format(index: VideoIndex) -> tuple[str, int]:
    """Chroma format and bits a sample; an empty chroma format if NVDEC has none for it."""
    return _chroma(index.pixel_format or ""), index.bit_depth or 8


@cache
def _chroma(name: str) -> str:
    """Chroma format of a pixel format."""
    return _CHROMA.get(name.split("p1")[0] + "p" if "p1" in name else name, "")


def surface_shape(index: VideoIndex) -> tuple[int, int]:
    """Rows and columns of samples of a surface, with its planes stacked vertically."""
    rows = 3 * index.height
    return (rows if _format(index)[0] == "444" else rows // 2, index.width)


def surface_bytes(index: VideoIndex) -> int:
    """Size of a surface in memory."""
    rows, columns = surface_shape(index)
    return rows * columns * (2 if _format(index)[1] > 8 else 1)


@cache
def library() -> Any:
    """PyNvVideoCodec, which needs the driver's libraries to be imported."""
    try:
        import PyNvVideoCodec
    except ImportError as error:
        raise UnsupportedError(
            f'decoding on a GPU needs PyNvVideoCodec; install "videoloader[cuda]" ({error})'
        ) from error
    return PyNvVideoCodec
