"""Frames of a video decoded and encoded again, with their times and sound."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np

from videoloader.decoding.cpu.frame_decoder import CpuDecoder
from videoloader.decoding.framing import shorter_resized
from videoloader.decoding.pictures.surface import Surface
from videoloader.errors import DecodeError, FormatError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import read_stream_header
from videoloader.machinery.workers.processors import usable_processors
from videoloader.sampling import plan_decode
from videoloader.sources.source import Source
from videoloader.writing.copying import end_of
from videoloader.writing.edits import write_edits
from videoloader.writing.encoding import Encoding
from videoloader.writing.formats import muxer_of
from videoloader.writing.output import VideoOutput
from videoloader.writing.pictures import Form, SurfacePictures, form_of, is_rgb_name
from videoloader.writing.sound import sound_of_span

_MOST_DENOMINATOR = 1001  # of the average rate


def encode_part(
    index: VideoIndex,
    source: Source,
    start: int,
    stop: int,
    path: Path,
    target: Path,
    *,
    encoding: Encoding,
    audio: bool,
    resize_shorter: int | None = None,
    threads: int | None = None,
) -> None:
    """Encode the frames from `start` to before `stop`; the first is at time 0.

    Args:
        index: of the video.
        source: its bytes.
        start: first frame.
        stop: end, exclusive.
        path: of the file that is written.
        target: its final name.
        encoding: how to encode.
        audio: write the sound of the span too.
        resize_shorter: most pixels of the shorter side. Larger pictures are scaled, and those of
            odd sides or another size than the first where that is needed. None: none is scaled.
        threads: that decode.

    Raises:
        VideoError: frames do not decode, or cannot be encoded so.
    """
    muxer = muxer_of(target)
    if start >= stop:
        raise FormatError(f"{index.name}: there is no frame in it")
    pts = index.pts[start:stop]
    pts = np.maximum.accumulate(pts - np.arange(len(pts))) + np.arange(len(pts))  # ascending
    end = max(end_of(index, stop), int(pts[-1]) + 1)
    durations = np.diff(pts, append=end).tolist()
    begin, duration = int(pts[0]) * index.time_base, (end - int(pts[0])) * index.time_base
    ticks = (pts - pts[0]).tolist()
    with ExitStack() as stack:
        sound = sound_of_span(source, begin, begin + duration, muxer) if audio else None
        if sound is not None:
            stack.callback(sound.close)
        decoder = CpuDecoder(index, source, threads=threads or usable_processors())
        stack.callback(decoder.close)
        given = decoder.decode(plan_decode(index, np.arange(start, stop)))
        begun = next(given)
        first = begun[1]
        form = _form(index, first, encoding, resize_shorter)
        pictures = SurfacePictures(form, index.orientation)
        aspect = read_stream_header(source, index.stream).pixel_aspect_ratio
        with VideoOutput(
            path,
            target,
            encoding,
            form,
            time_base=index.time_base,
            rate=(Fraction(len(pts)) / duration).limit_denominator(_MOST_DENOMINATOR),
            sound=sound,
            pixel_aspect=1 / aspect if aspect and index.orientation.transpose else aspect,
        ) as output:
            for place, (number, surface) in enumerate(chain([begun], given)):
                if number != start + place:
                    raise DecodeError(
                        f"{index.name}: frame {number} was decoded where {start + place} follows"
                    )
                size, wanted = (surface.width, surface.height), (first.width, first.height)
                if resize_shorter is None and size != wanted:
                    raise UnsupportedError(
                        f"{index.name}: frame {number} is {size[0]}x{size[1]}, frame {start} is "
                        f"{wanted[0]}x{wanted[1]}; write parts of one size"
                    )
                output.add(pictures.frame(surface), ticks[place], durations[place])
        if muxer.has_edit_lists and sound is not None:
            write_edits(path, [None, sound.shown(duration)])


def _form(
    index: VideoIndex, surface: Surface, encoding: Encoding, resize_shorter: int | None
) -> Form:
    """The form in which the frames of a video are encoded."""
    is_rgb = encoding.is_lossless and surface.frame.format.is_rgb
    encoder = encoding.encoder(is_rgb=is_rgb)
    formats = encoder.pixel_formats(is_rgb=is_rgb)
    if not is_rgb:
        formats = [name for name in formats if not is_rgb_name(name)]
    size = index.orientation.displayed((surface.height, surface.width))
    if resize_shorter is not None:
        if resize_shorter < min(size):
            size = shorter_resized(size, resize_shorter)
        if not encoder.odd_sides:
            size = (max(size[0] // 2 * 2, 2), max(size[1] // 2 * 2, 2))
    return form_of(surface, index.color, formats, size)
