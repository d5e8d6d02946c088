"""Makes NVDEC jobs of runs: which slots of which clips each decoded surface fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from videoloader.codecs.registry import codec_of
from videoloader.decoding.nvdec.convert import Converter
from videoloader.decoding.nvdec.descriptor import SURFACE_DTYPE, MemoryFormat, Picture, describe
from videoloader.decoding.nvdec.session import NvdecJob
from videoloader.decoding.output import OutputFormat, View
from videoloader.decoding.pictures.color import chroma_siting, resolve
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.packets import Orientation
from videoloader.sampling.plan import MergedRun
from videoloader.sources.source import Source


@dataclass(frozen=True, slots=True)
class GpuClip:
    """Memory of a clip on a GPU.

    `strides` are in elements, between consecutive frames, rows, columns and channels.
    """

    address: int
    strides: tuple[int, int, int, int]
    view: View


def nvdec_job(
    merged: MergedRun,
    clips: Mapping[int, GpuClip],
    *,
    index: VideoIndex,
    source: Source,
    output: OutputFormat,
    orientation: Orientation,
    converter: Converter,
) -> NvdecJob:
    """The job that decodes a run into the clips that want its frames.

    Args:
        merged: the run.
        clips: memory of the clips that want frames of the run, by number in the batch.
        index: of the video.
        source: its bytes.
        output: format of the batch.
        orientation: rotation and flips for display.
        converter: for this format.
    """
    frames, owners, positions = np.array(merged.wants, dtype=np.int64).T
    picture = picture_of(index, orientation, output)
    rows = np.empty(len(frames), dtype=SURFACE_DTYPE)
    for number in {*owners.tolist()}:
        clip = clips[number]
        record = describe(picture, clip.view, output, strides=clip.strides[1:], name=index.name)
        mine = owners == number
        rows[mine] = record
        step = clip.strides[0] * output.numpy_dtype.itemsize
        rows["destination"][mine] = clip.address + positions[mine] * step
    places: dict[int, list[int]] = {}
    for row, packet in enumerate(index.frame_packets[frames].tolist()):
        places.setdefault(packet, []).append(row)
    return NvdecJob(index, source, merged.run, rows, places, converter)


def picture_of(index: VideoIndex, orientation: Orientation, output: OutputFormat) -> Picture:
    """Layout of the surfaces of a video on NVDEC: planes stacked, pitch equal to the width."""
    name = index.pixel_format or ""
    wide = (index.bit_depth or 8) > 8
    form: MemoryFormat = (
        ("yuv444p16" if wide else "yuv444") if "444" in name else ("p016" if wide else "nv12")
    )
    matrix, color_range = resolve(
        index.color.matrix or codec_of(index.codec).matrix,
        index.color.range,
        pixel_format=name,
        height=index.height,
        output=output,
    )
    return Picture(
        format=form,
        pitch=index.width * (2 if wide else 1),
        rows=index.height,
        width=index.width,
        height=index.height,
        bit_depth=index.bit_depth or 8,
        matrix=matrix,
        range=color_range,
        transfer=index.color.transfer,
        siting=chroma_siting(index.codec, output),
        orientation=orientation,
    )
