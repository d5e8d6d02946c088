"""Small clips with motion, one per trait of real video files, encoded on the spot.

The demo runs on them, and so do the tests: each picture carries its frame number in two rows of
sixteen black and white blocks, the second row the negative of the first. So `read_frame_number`
says after any codec which frame a picture is, and never takes a blank picture for frame 0.
"""

from __future__ import annotations

import itertools
import os
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import av
import numpy as np
from av.codec.context import Flags
from av.filter import Graph
from av.video.frame import PictureType
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.indexing.containers.mp4.boxes import Box
from videoloader.machinery.system.scheduling import kept_scheduling

BLOCKS = 16  # blocks in a row, one bit each, the highest bit on the left
ROW_SHARE = 16  # a row of blocks is this part of the picture's height
PICTURE = "testsrc2"  # the default generated source
# These options give the same bytes on every machine: the output depends on the number of threads,
# and macroblock trees, which only affect quality, differ from call to call.
X264 = MappingProxyType({"x264-params": "threads=1:no-mbtree=1"})
BITEXACT = MappingProxyType({"fflags": "+bitexact"})  # no dates, versions or random identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoVideo:
    """One clip of the demo folder.

    Args:
        name: the file's name; its suffix chooses the container.
        trait: what this clip has that others lack, for people to read.
        encoders: FFmpeg's names of the encoders that can make it, each with its options; the
            first one at hand is used.
        size: width and height before rotation.
        fps: frames per second; only the mean for a clip with `ticks`.
        frames: number of frames.
        pixel_format: FFmpeg's name of a planar YUV format.
        picture: FFmpeg's name of a generated video source, with options of its own if it needs any.
        ticks: how long each frame is shown in 1/600 s, repeated as often as needed; empty when
            all are shown equally long.
        rotation: counter-clockwise degrees by which a player turns the picture.
    """

    name: str
    trait: str
    encoders: Mapping[str, Mapping[str, str]]
    size: tuple[int, int] = (480, 270)
    fps: int = 30
    frames: int = 75
    pixel_format: str = "yuv420p"
    picture: str = PICTURE
    ticks: tuple[int, ...] = ()
    rotation: int = 0


DEMO_VIDEOS = (
    DemoVideo(
        name="h264.mp4",
        trait="H.264, B-frames, one long GOP",
        encoders={"libx264": X264},
        size=(640, 360),
        frames=90,
    ),
    DemoVideo(
        name="h264_open_gop.mp4",
        trait="H.264, open GOPs",
        encoders={
            "libx264": {"x264-params": "threads=1:no-mbtree=1:open-gop=1:keyint=24:min-keyint=24"}
        },
        fps=25,
        picture="mandelbrot=maxiter=400:end_pts=120",
    ),
    DemoVideo(
        name="hevc.mp4",
        trait="HEVC",
        encoders={
            "libx265": {
                "preset": "superfast",
                "x265-params": "log-level=none:pools=none:frame-threads=1:keyint=48",
            }
        },
        picture="gradients=seed=7:n=4:c0=navy:c1=tomato:c2=gold:c3=teal:speed=0.06",
    ),
    DemoVideo(
        name="hevc_10bit.mkv",
        trait="HEVC, 10 bits a sample, Matroska",
        encoders={
            "libx265": {
                "preset": "superfast",
                "x265-params": "log-level=none:pools=none:frame-threads=1:keyint=48",
            }
        },
        frames=60,
        pixel_format="yuv420p10le",
        picture="zoneplate=kt2=1:kx2=14:ky2=14:kxt=1",
    ),
    DemoVideo(
        name="av1.mp4",
        trait="AV1, hidden frames",
        encoders={
            "libsvtav1": {"preset": "10", "crf": "30", "svtav1-params": "lp=1"},
            "libaom-av1": {"cpu-used": "8", "crf": "30", "usage": "realtime"},
        },
        picture="mandelbrot=start_x=-0.1011:start_y=0.9563:start_scale=0.5:end_pts=90:maxiter=500",
    ),
    DemoVideo(
        name="vp9.webm",
        trait="VP9, WebM",
        encoders={"libvpx-vp9": {"deadline": "good", "cpu-used": "5", "threads": "1"}},
        size=(320, 240),
        picture="gradients=seed=11:type=radial:n=4:c0=gold:c1=crimson:c2=indigo:c3=teal:speed=0.08",
    ),
    DemoVideo(
        name="variable_rate.mp4",
        trait="H.264, variable frame rate",
        encoders={"libx264": X264},
        size=(320, 240),
        picture="gradients=seed=3:type=spiral:n=4:c0=snow:c1=royalblue:c2=black:c3=orange:speed=0.05",
        ticks=(*[20] * 12, *[50] * 5, *[25] * 9, 120),
    ),
    DemoVideo(
        name="rotated.mp4",
        trait="H.264, held upright by a phone",
        encoders={"libx264": X264},
        picture="mandelbrot=start_x=-1.25:start_y=0.02:start_scale=0.6:end_pts=90:maxiter=300",
        frames=60,
        rotation=-90,
    ),
    DemoVideo(
        name="odd_size.mp4",
        trait="VP9, odd width and height, MP4",
        encoders={"libvpx-vp9": {"deadline": "good", "cpu-used": "5", "threads": "1"}},
        size=(321, 241),
        frames=60,
    ),
)


def make_videos(folder: str | os.PathLike[str]) -> list[Path]:
    """Encode the demo clips that `folder` does not have yet.

    A clip appears under its name only when it is complete, so a call that was interrupted, or two
    at once, leave no broken file. A clip whose encoder FFmpeg lacks is left out.

    Returns:
        The clips in the folder, in the order of `DEMO_VIDEOS`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    videos = [video for video in DEMO_VIDEOS if _first_encoder(video)]
    missing = [video for video in videos if not (folder / video.name).exists()]
    if missing:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".encoding-") as unfinished:
            for video in missing:
                encode(video, Path(unfinished) / video.name).replace(folder / video.name)
    return [folder / video.name for video in videos]


def make_classes(folder: str | os.PathLike[str]) -> Path:
    """Encode four small clips for each of two classes into `folder`, which has a folder for each.

    Clips that are there are kept. Several processes may do this at once.

    Returns:
        `folder`.
    """
    folder = Path(folder)
    for number in range(8):
        picture = ("mandelbrot", "testsrc2")[number % 2]
        path = folder / picture / f"{number}.mp4"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, prefix=".encoding-") as unfinished:
                made = Path(unfinished) / path.name
                encode_video(made, size=(160, 120), frames=90, picture=picture).replace(path)
    return folder


def encode(video: DemoVideo, path: str | os.PathLike[str]) -> Path:
    """Encode one demo clip into the file `path`, which is overwritten.

    Raises:
        UnsupportedError: FFmpeg has none of the clip's encoders.
    """
    codec = _first_encoder(video)
    if codec is None:
        raise UnsupportedError(
            f"{video.name}: this FFmpeg has no encoder {' or '.join(video.encoders)}"
        )
    shown = itertools.islice(itertools.cycle(video.ticks), video.frames - 1)
    return encode_video(
        path,
        codec=codec,
        size=video.size,
        fps=video.fps,
        frames=video.frames,
        pixel_format=video.pixel_format,
        options=video.encoders[codec],
        pts=[0, *itertools.accumulate(shown)] if video.ticks else None,
        time_base=Fraction(1, 600) if video.ticks else None,
        rotation=video.rotation,
        picture=video.picture,
    )


def encode_video(
    path: str | os.PathLike[str],
    *,
    codec: str = "libx264",
    size: tuple[int, int] = (320, 240),
    fps: int | Fraction = 30,
    frames: int = 60,
    pixel_format: str = "yuv420p",
    options: Mapping[str, str] | None = None,
    pts: Sequence[int] | None = None,
    time_base: Fraction | None = None,
    container_options: Mapping[str, str] | None = None,
    rotation: int = 0,
    picture: str = PICTURE,
) -> Path:
    """Encode a moving picture whose frames say their number.

    The same arguments give the same bytes, as long as `options` keep the encoder to one thread or
    to a fixed number of them; libx264 alone is kept to one thread by default.

    Args:
        path: the file to write; its suffix chooses the container.
        codec: FFmpeg's name of the encoder.
        size: width and height of the coded picture.
        fps: frames per second.
        frames: number of frames, at most 65536.
        pixel_format: FFmpeg's name of a planar YUV format.
        options: the encoder's options.
        pts: when each frame is shown, in units of `time_base`; every 1/fps seconds when None.
        time_base: seconds per tick of `pts`; 1/fps when None.
        container_options: the muxer's options, added to those that keep the file reproducible.
        rotation: counter-clockwise degrees by which a player turns the picture, a multiple of 90,
            kept in the header of an MP4 or QuickTime file; the frames are coded as they are.
        picture: a generated source of FFmpeg's `lavfi`, with its options: `testsrc2`,
            `mandelbrot=maxiter=200`.

    Returns:
        `path`.
    """
    if rotation % 90:
        raise ArgumentError(f"rotation must be a multiple of 90 degrees, got {rotation}")
    if not 1 <= frames <= 1 << BLOCKS:
        raise ArgumentError(f"frames must be 1 to {1 << BLOCKS}, got {frames}")
    if pts is not None and len(pts) != frames:
        raise ArgumentError(f"pts must have one value for each of {frames} frames, got {len(pts)}")
    if not _has_encoder(codec):
        raise UnsupportedError(f"this FFmpeg has no video encoder {codec!r}")
    if options is None:
        options = X264 if codec == "libx264" else {}
    if codec == "libsvtav1":  # its banner goes to stderr; only the environment disables it
        os.environ.setdefault("SVT_LOG", "1")
    time_base = time_base or 1 / Fraction(fps)
    with (
        kept_scheduling(),
        av.open(
            os.fspath(path), "w", container_options={**BITEXACT, **(container_options or {})}
        ) as container,
    ):
        stream = container.add_stream(codec, rate=Fraction(fps), options=dict(options))
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = pixel_format
        context = stream.codec_context
        context.time_base = time_base
        context.flags |= Flags.bitexact
        for number, frame in enumerate(_pictures(picture, size, pixel_format, frames)):
            _draw_frame_number(frame, number)
            frame.pts = number if pts is None else pts[number]
            frame.time_base = time_base
            frame.pict_type = PictureType.NONE  # the source's "intra" would force keyframes
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    if rotation:
        _write_rotation(path, rotation)
    return Path(path)


def _write_rotation(path: str | os.PathLike[str], degrees: int) -> None:
    """Set the matrix of the only track of an MP4 file; PyAV writes it from version 17 on alone."""
    cos, sin = ((1, 0), (0, 1), (-1, 0), (0, -1))[degrees // 90 % 4]
    data = Path(path).read_bytes()
    header = Box(b"file", data, 0, len(data)).need(b"moov", b"trak", b"tkhd")
    one = 1 << 16
    with open(path, "r+b") as file:
        file.seek(header.start + (52 if data[header.start] else 40))  # version 1 has 64-bit times
        file.write(
            struct.pack(">9i", cos * one, -sin * one, 0, sin * one, cos * one, 0, 0, 0, 1 << 30)
        )


def read_frame_number(rgb: ArrayLike) -> int:
    """Read the number that `encode_video` drew into a picture.

    Args:
        rgb: the picture as it was coded, not rotated or cropped; resized is fine, as long as a
            block keeps a few pixels. Shape (H, W, C) or (H, W), 0 black, 255 white.

    Raises:
        ArgumentError: the picture carries no number.

    >>> read_frame_number(np.zeros((240, 320, 3), np.uint8))
    Traceback (most recent call last):
    videoloader.errors.ArgumentError: the picture carries no frame number
    """
    picture = np.asarray(rgb, dtype=np.float64)
    if picture.ndim == 3:
        picture = picture.mean(axis=2)
    height, width = picture.shape
    row = height / ROW_SHARE
    number = _read_bits(picture, top=0.25 * row, bottom=0.75 * row, width=width)
    negative = _read_bits(picture, top=1.25 * row, bottom=1.75 * row, width=width)
    if number ^ negative != (1 << BLOCKS) - 1:
        raise ArgumentError("the picture carries no frame number")
    return number


def _read_bits(picture: NDArray[np.float64], *, top: float, bottom: float, width: int) -> int:
    """The bits of one row of blocks as a number, each judged by the middle of its block."""
    first = int(top)
    line = picture[first : max(int(bottom), first + 1)].mean(axis=0)
    bits = 0
    for block in range(BLOCKS):
        left = int((block + 0.25) * width / BLOCKS)
        right = max(int((block + 0.75) * width / BLOCKS), left + 1)
        bits = bits << 1 | int(line[left:right].mean() > 127.5)
    return bits


def _draw_frame_number(frame: av.VideoFrame, number: int) -> None:
    """Overwrite the top of the picture with the blocks that spell `number`."""
    bits = frame.format.components[0].bits
    dtype = np.dtype("<u2" if bits > 8 else "u1")
    black, grey, white = (level << (bits - 8) for level in (16, 128, 235))
    row = max(frame.height // ROW_SHARE, 1)
    shifts = BLOCKS - 1 - np.arange(frame.width) * BLOCKS // frame.width
    is_white = (number >> shifts & 1).astype(bool)
    luma, *chroma = (
        np.frombuffer(memoryview(plane), dtype).reshape(-1, plane.line_size // dtype.itemsize)[
            : plane.height, : plane.width
        ]
        for plane in frame.planes
    )
    luma[:row] = np.where(is_white, white, black)
    luma[row : 2 * row] = np.where(is_white, black, white)
    for plane in chroma:
        plane[: -(-2 * row * plane.shape[0] // frame.height)] = grey


def _pictures(
    picture: str, size: tuple[int, int], pixel_format: str, count: int
) -> Iterator[av.VideoFrame]:
    """The first `count` pictures of a generated source."""
    layout = av.VideoFormat(pixel_format)
    planes = {component.plane for component in layout.components}
    if layout.is_rgb or len(planes) < len(layout.components):
        raise ArgumentError(f"pixel_format must be planar YUV, got {pixel_format!r}")
    width, height = size
    name, _, options = picture.partition("=")
    graph = Graph()
    graph.link_nodes(
        graph.add(name, ":".join(filter(None, [options, f"size={width}x{height}"]))),
        graph.add("format", f"pix_fmts={pixel_format}"),
        graph.add("buffersink"),
    ).configure()
    for _ in range(count):
        yield graph.vpull()


def _first_encoder(video: DemoVideo) -> str | None:
    """The first of the clip's encoders that FFmpeg has."""
    return next((name for name in video.encoders if _has_encoder(name)), None)


def _has_encoder(name: str) -> bool:
    """Whether FFmpeg has a video encoder of that name."""
    try:
        return av.Codec(name, "w").type == "video"
    except av.codec.codec.UnknownCodecError:
        return False
