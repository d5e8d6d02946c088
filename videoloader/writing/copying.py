"""Cuts without encoding: packets are copied, and an edit list hides frames outside the cut.

Decoding of the first frame of a cut begins at a keyframe, which may lie before the cut; the last
frames may refer to pictures that are shown after its end. In MP4 and MOV all packets that decoding
needs are copied, and the edit list says which of their pictures are shown. Matroska and WebM have
no edit lists, so packets are copied only where they give the frames of the cut and no others.

What was written is indexed before it gets its name: a file whose tables do not give exactly these
frames at these times is not kept.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.packets.feed import PacketFeed
from videoloader.decoding.pictures.color import resolve
from videoloader.errors import UnsupportedError, VideoError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import open_stream
from videoloader.indexing.packets import PacketFlags
from videoloader.indexing.video import index_video
from videoloader.sampling import Run, plan_decode
from videoloader.sources.source import Source
from videoloader.writing.edits import Shown, write_edits
from videoloader.writing.formats import Muxer, muxer_of
from videoloader.writing.output import muxing
from videoloader.writing.sound import sound_of_span

_AT_ONCE = 64  # packets read together
_MOST_TICKS = (1 << 31) - 1  # a second
# FourCC that FFmpeg's muxers would replace by another: decoders take the form of ProRes from it,
# and players of Apple take no other for HEVC.
_KEPT_TAGS = ("hvc1", "apco", "apcs", "apcn", "apch", "ap4h", "ap4x")
# Seconds: rounding of floats, and of times to the milliseconds of Matroska.
_EXACT, _LATE = 1e-9, 0.00051


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The packets of a cut.

    Attributes:
        packets: numbers, in decode order, without gaps.
        frames: of the cut.
        pts: of the packets in ticks of the index; the first frame of the cut is at 0.
        dts: likewise.
        end: of the cut in ticks.
    """

    packets: NDArray[np.int64]
    frames: NDArray[np.int64]
    pts: NDArray[np.int64]
    dts: NDArray[np.int64]
    end: int


def end_of(index: VideoIndex, stop: int) -> int:
    """When the frame before `stop` ends, in ticks."""
    if stop < index.num_frames:
        return int(index.pts[stop])
    last = index.frame_packets[stop - 1]
    return int(index.pts[stop - 1]) + max(int(index.packets["duration"][last]), 1)


def plan_copy(index: VideoIndex, start: int, stop: int, muxer: Muxer) -> CopyPlan:
    """The packets of the frames from `start` to before `stop`.

    Raises:
        UnsupportedError: copying cannot give just these frames; says why.
    """
    frames = np.arange(start, stop)
    runs = plan_decode(index, frames).runs
    first = min(int(run.packets[0]) for run in runs)
    last = max(int(run.packets[-1]) for run in runs)
    packets = np.arange(first, last + 1)
    times = index.pts[start:stop]
    begin, end = int(times[0]), end_of(index, stop)
    pts = index.packets["pts"][packets]
    flags = index.packets["flags"][packets]
    if index.order is not None or (flags & PacketFlags.HIDDEN).any():
        raise UnsupportedError("its packets do not say which frames they show")
    if (flags & PacketFlags.DAMAGED).any():
        raise UnsupportedError("some of its packets are damaged, which copies would not tell")
    if not flags[0] & PacketFlags.KEY:
        raise UnsupportedError("it does not begin with a keyframe")
    changes = any(first < packet <= last for packet, _ in index.extradata)
    if changes or index.extradata_of(first) != index.extradata_of(0):
        raise UnsupportedError("its parameter sets change")
    shown = np.zeros(len(packets), np.bool_)
    shown[index.frame_packets[frames] - first] = True
    ordered = (np.diff(times) > 0).all() and end > times[-1]
    if not ordered or ((pts >= begin) & (pts < end) != shown).any():
        raise UnsupportedError("its timestamps do not tell the frames of the cut from others")
    if codec_of(index.codec).is_reparsed and not shown.all():
        raise UnsupportedError(f"FFmpeg does not hide frames of {index.codec}")
    if not muxer.has_edit_lists and not shown.all():
        raise UnsupportedError(
            f"{muxer.suffixes[0]} has no edit list, and the cut does not begin and end where "
            "packets can be parted"
        )
    # Decode times from the presentation times alone: ascending, and never after them.
    ascending = np.sort(pts)
    if (np.diff(ascending) <= 0).any():
        raise UnsupportedError("packets have the same timestamp")
    dts = ascending - int((ascending - pts).max())
    # In MP4 a frame lasts until the next decode time: that of the last one ends with the cut.
    behind = int(index.frame_packets[stop - 1]) - first + 1
    if behind < len(dts):
        late = int(dts[behind] - dts[behind - 1] - (end - times[-1]))
        dts[behind:] -= max(late, 0)
        dts[:behind] += min(late, 0)
    if index.time_base.denominator > _MOST_TICKS:
        raise UnsupportedError("its timestamps are finer than MP4 has them")
    return CopyPlan(packets, frames, pts - begin, dts - begin, end - begin)


def copy_packets(
    index: VideoIndex, source: Source, plan: CopyPlan, path: Path, target: Path, *, audio: bool
) -> None:
    """Write the packets of a plan to a file.

    Args:
        index: of the source.
        source: the video.
        plan: from `plan_copy`.
        path: of the file that is written.
        target: its final name.
        audio: write the sound of the span too.

    Raises:
        UnsupportedError: FFmpeg's muxer does not take the stream, or what it wrote does not give
            the frames of the plan.
    """
    import av

    muxer = muxer_of(target)
    begin = int(index.pts[plan.frames[0]]) * index.time_base
    end = begin + plan.end * index.time_base
    ticks = index.time_base.denominator
    options = {"avoid_negative_ts": "disabled", "fflags": "+bitexact", **muxer.options}
    if muxer.has_edit_lists:
        options |= {"video_track_timescale": str(ticks), "movie_timescale": str(ticks)}
    with ExitStack() as stack:
        stack.enter_context(muxing(target))
        given, video = stack.enter_context(open_stream(source, index.stream))
        del given
        made = stack.enter_context(
            av.open(str(path), "w", format=muxer.name, container_options=options)
        )
        stream = made.add_stream_from_template(video, opaque=True)
        stream.time_base = index.time_base
        tag = video.codec_context.codec_tag
        if tag in _KEPT_TAGS:
            stream.codec_context.codec_tag = tag
        sound = sound_of_span(source, begin, end, muxer) if audio else None
        if sound is not None:
            stack.callback(sound.close)
            sound.attach(made, muxer)
        table, last = index.packets, int(index.frame_packets[plan.frames[-1]])
        feed = PacketFeed(index, source, drop="nothing")
        stack.callback(feed.close)
        run = Run(plan.packets, plan.frames, index.frame_packets[plan.frames])
        for numbers, payloads in feed.chunks(run, _AT_ONCE):
            for number, payload in zip(numbers.tolist(), payloads, strict=True):
                place = number - int(plan.packets[0])
                packet = av.Packet(len(payload))
                packet.update(payload)
                packet.stream, packet.time_base = stream, index.time_base
                packet.pts, packet.dts = int(plan.pts[place]), int(plan.dts[place])
                packet.duration = max(int(table["duration"][number]), 0)
                if number == last:
                    packet.duration = plan.end - packet.pts
                packet.is_keyframe = bool(table["flags"][number] & PacketFlags.KEY)
                if sound is not None:
                    sound.write_until(packet.dts * index.time_base)
                made.mux(packet)
        if sound is not None:
            sound.write_until(None)
    if muxer.has_edit_lists:
        duration = plan.end * index.time_base
        skipped = -int(plan.dts[0]) * index.time_base
        heard = None if sound is None else sound.shown(duration)
        write_edits(path, [Shown(skipped, duration), heard])
    _check(index, plan, path, late=_EXACT if muxer.has_edit_lists else _LATE)


def _check(index: VideoIndex, plan: CopyPlan, path: Path, *, late: float) -> None:
    """Fail unless a file has the frames of a plan and shows them as the source does.

    `late` is by how many seconds their times may differ.
    """
    try:
        made = index_video(path)
    except VideoError as error:
        raise UnsupportedError(
            f"what FFmpeg's muxer makes of it cannot be read ({error})"
        ) from error
    wanted = (index.pts[plan.frames] - index.pts[plan.frames[0]]) * float(index.time_base)
    found = made.pts * float(made.time_base)
    if len(found) != len(wanted) or np.abs(found - wanted).max() > late:
        raise UnsupportedError(
            f"FFmpeg's muxer loses frames or times ({len(found)} of {len(wanted)} frames are there)"
        )
    for name in ("codec", "pixel_format", "width", "height", "orientation"):
        if getattr(made, name) != getattr(index, name):
            raise UnsupportedError(
                f"FFmpeg's muxer changes the {name} from {getattr(index, name)} to "
                f"{getattr(made, name)}"
            )
    if _colors(made) != _colors(index):
        raise UnsupportedError(f"FFmpeg's muxer loses the colour tags {index.color}")


def _colors(index: VideoIndex) -> tuple[str | None, ...]:
    """Colour tags of a video; some containers leave out tags that are the default."""
    color = index.color
    meaning = resolve(
        color.matrix,
        color.range,
        pixel_format=index.pixel_format or "",
        height=index.height,
        output=OutputFormat(),
    )
    return (*meaning, color.primaries, color.transfer)
