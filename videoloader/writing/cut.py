"""`cut`: a part of a video as a file of its own, exact to the frame."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from videoloader.decoding.opening.videos import open_any, source_name
from videoloader.errors import ArgumentError, FrameRangeError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.video import index_video
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.machinery.system.faults import blamed_on
from videoloader.machinery.system.spelling import suggests_names
from videoloader.machinery.system.writing import written_whole
from videoloader.sampling.times import frames_between
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource
from videoloader.writing.copying import CopyPlan, copy_packets, plan_copy
from videoloader.writing.encoding import Encoding, Quality
from videoloader.writing.formats import Muxer, codecs_here, find_encoder, muxer_of
from videoloader.writing.reencoding import encode_part

Method = Literal["auto", "copy", "encode"]


@dataclass(frozen=True, slots=True)
class Cut:
    """The result of `cut`.

    Attributes:
        path: of the file.
        start: first frame of the source that is in it.
        stop: the frame behind the last.
        method: `copy` or `encode`.
        num_packets: packets in the file; with `copy` more than frames where some are hidden.
        reason: why packets were not copied, with `encode`.
    """

    path: Path
    start: int
    stop: int
    method: Literal["copy", "encode"]
    num_packets: int
    reason: str = ""


@suggests_names
def cut(
    source: VideoSource | Source | Item,
    path: str | os.PathLike[str],
    start: int | None = None,
    stop: int | None = None,
    *,
    times: Sequence[float] | None = None,
    method: Method = "auto",
    index: VideoIndex | None = None,
    codec: str | None = None,
    quality: Quality = None,
    gop: int | None = None,
    options: Mapping[str, str] | None = None,
    audio: bool = True,
) -> Cut:
    """Write the frames from `start` to before `stop` to a file that has just these frames.

    The first frame of the file is at time 0; the times from frame to frame are those of the source.
    The file appears under its name when it is complete.

    Args:
        source: path, URL, bytes, a seekable file, or an item of a data set.
        path: of the file; its suffix chooses the container: .mp4, .m4v, .mov, .mkv or .webm.
        start: first frame; 0 by default.
        stop: end, exclusive; the end of the video by default.
        times: (begin, end) in seconds in place of frame numbers, on the clock of `Clip.times`: the
            frames on screen from `begin` to before `end`, which may be rounded to 4 digits.
        method: `copy` takes the packets as they are, without loss: MP4 and MOV get an edit list
            that hides what is needed for decoding only, Matroska and WebM take cuts between closed
            groups of pictures. `encode` decodes and encodes the frames. `auto` copies where that
            gives the exact frames, and encodes elsewhere.
        index: of the source, to save making one.
        codec: of frames that are encoded; by default that of the source where FFmpeg encodes it and
            the container takes it, else H.264, or VP9 in WebM and for odd sides.
        quality: of frames that are encoded, as for `write_video`.
        gop: of frames that are encoded, likewise.
        options: of FFmpeg's encoder, likewise.
        audio: write the sound of these frames too. MP4 and MOV copy its packets, trimmed by an edit
            list; elsewhere it is decoded, trimmed and encoded, without loss in Matroska.

    Raises:
        FrameRangeError: no frame lies in the range, or it reaches outside the video.
        ArgumentError: arguments that contradict each other, or another suffix.
        UnsupportedError: `copy`, and that does not give the exact frames; or FFmpeg lacks the
            encoder, or the container does not take the codec.
        VideoError: the source cannot be read or decoded.

    >>> cut("clip.mp4", "part.mp4", 30, 50).method
    'copy'
    >>> from videoloader import Video
    >>> (Video("part.mp4")[:] == Video("clip.mp4")[30:50]).all()
    tensor(True)
    """
    target = Path(path)
    muxer = muxer_of(target)
    one_of("method", method, get_args(Method))
    if codec is not None:
        Encoding(codec=codec, quality=quality, gop=gop)  # also wrong where packets are copied
    with blamed_on(source_name(source)):
        opened = open_any(source)
    try:
        if index is None:
            index = index_video(opened)
        else:
            index.check(opened)
        first, end = _range(index, start, stop, times)
        if opened.path is not None and target.exists() and os.path.samefile(opened.path, target):
            raise ArgumentError(f"{target}: is the source itself; write to another file")
        reason = ""
        if method != "encode":
            try:
                return _copy(index, opened, plan_copy(index, first, end, muxer), target, audio)
            except UnsupportedError as error:
                reason = str(error).removeprefix(f"{target}: ")
                if method == "copy":
                    raise UnsupportedError(
                        f"{index.name}: frames {first} to {end - 1} cannot be copied to {target}: "
                        f'{reason}; use method="encode"'
                    ) from error
        with written_whole(target) as partial:
            encode_part(
                index,
                opened,
                first,
                end,
                partial,
                target,
                encoding=Encoding(
                    codec=codec or _usual_codec(index, muxer),
                    quality=quality,
                    gop=gop,
                    options=options or {},
                ),
                audio=audio,
            )
        return Cut(target, first, end, "encode", end - first, reason)
    finally:
        if opened is not source:
            opened.close()


def _copy(index: VideoIndex, source: Source, plan: CopyPlan, target: Path, audio: bool) -> Cut:
    with written_whole(target) as partial:
        copy_packets(index, source, plan, partial, target, audio=audio)
    frames = plan.frames
    return Cut(target, int(frames[0]), int(frames[-1]) + 1, "copy", len(plan.packets))


def _usual_codec(index: VideoIndex, muxer: Muxer) -> str:
    """The codec of the source, else the container's usual one, else any that it can hold."""
    known = codecs_here()
    is_odd = index.width % 2 or index.height % 2
    for codec in (index.codec, muxer.codec, *known):
        if codec in known and muxer.takes(codec) and (not is_odd or find_encoder(codec).odd_sides):
            return codec
    return muxer.codec


def _range(
    index: VideoIndex, start: int | None, stop: int | None, times: Sequence[float] | None
) -> tuple[int, int]:
    """The first frame and the end of a cut."""
    count = index.num_frames
    if times is None:
        first = 0 if start is None else whole_number("start", start, least=None)
        end = count if stop is None else whole_number("stop", stop, least=None)
        if 0 <= end <= first:
            raise FrameRangeError(f"{index.name}: stop {end} is not after start {first}")
        if not 0 <= first < end <= count:
            raise FrameRangeError(
                f"{index.name}: frames {first} to {end - 1} requested, the video has {count} "
                f"(0-{count - 1})"
            )
        return first, end
    if start is not None or stop is not None:
        raise ArgumentError("give start= and stop=, or times=, not both")
    if len(times) != 2 or not times[0] < times[1]:
        raise ArgumentError(f"times is (begin, end) in seconds with begin before end, got {times}")
    return frames_between(float(times[0]), float(times[1]), index, name=index.name)
