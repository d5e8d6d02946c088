"""Formats that name other files or addresses: refused by name, and nothing they name is opened."""

import ctypes
import os
import socket
import struct
import threading
from contextlib import contextmanager

import av
import pytest
from object_server import serve

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.sources.formats import CONFINED

_IN_OPEN = 0x20
_EVENT = struct.Struct("iIII")

SEGMENTS = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n{url}/a.ts\n#EXT-X-ENDLIST\n"
SESSION = (
    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    "m=video {port} RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
)
VOBSUB = (
    "# VobSub index file, v7 (do not modify this line!)\nsize: 720x576\nid: en, index: 0\n"
    "timestamp: 00:00:01:000, filepos: 000000000\n"
)
DASH = (
    '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
    'profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><BaseURL>{url}/</BaseURL></MPD>'
)
SMOOTH = '<SmoothStreamingMedia MajorVersion="2"><StreamIndex Url="{url}"/></SmoothStreamingMedia>'
IMF = (
    '<?xml version="1.0"?>\n<cpl:CompositionPlaylist '
    'xmlns:cpl="http://www.smpte-ra.org/schemas/2067-3/2016"></cpl:CompositionPlaylist>'
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><image href="{url}/a.png"/></svg>'

REFERRING = [
    ("x.m3u8", SEGMENTS, "HLS"),
    ("x.mp4", SEGMENTS, "HLS"),
    ("x.ts", "\ufeff" + SEGMENTS, "HLS"),
    ("x.mp4", SESSION, "sdp"),
    ("x.sdp", "\r\n\r\n" + SESSION, "sdp"),
    ("x.mp4", "ffconcat version 1.0\nfile a.ts\n", "ffconcat"),
    ("x.ffconcat", "ffconcat version 1.0\nfile {url}/a.ts\n", "ffconcat"),
    ("x.idx", VOBSUB, "VobSub"),
    ("x.mp4", VOBSUB, "VobSub"),
    ("x.mpd", DASH, "DASH"),
    ("x.ism", SMOOTH, "Smooth Streaming"),
    ("x.xml", IMF, "IMF"),
    ("x.svg", SVG, "SVG"),
    ("x.mlv", "MLVI" + "\0" * 200, "Magic Lantern"),
]


@contextmanager
def opened_in(folder):
    """The names of the files that this process opens in a folder, known when the block ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(watch, os.fsencode(folder), _IN_OPEN) >= 0
    names = set()
    try:
        yield names
        events = os.read(watch, 1 << 16)
    except BlockingIOError:
        events = b""
    finally:
        os.close(watch)
    while events:
        size = _EVENT.unpack_from(events)[3]
        names.add(events[_EVENT.size : _EVENT.size + size].rstrip(b"\0").decode())
        events = events[_EVENT.size + size :]


@contextmanager
def bound_ports(port):
    """Whether somebody binds a UDP port, looked at all the time; known when the block ends."""
    seen, is_over = [], threading.Event()

    def look():
        while not is_over.is_set():
            with open("/proc/net/udp") as table:
                seen.extend(line for line in table if f":{port:04X} " in line)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory):
    return encode_video(tmp_path_factory.mktemp("neighbour") / "a.ts", frames=4, size=(64, 48))


NAMES = [f"{word}-{name}".replace(" ", "") for name, _, word in REFERRING]


@pytest.mark.parametrize(("name", "content", "word"), REFERRING, ids=NAMES)
def test_what_names_others_is_refused_by_name_before_anything_is_opened(
    tmp_path, neighbour, name, content, word
):
    port = free_port()
    for other in ("a.ts", "x.sub", "x.M00", "a.png"):
        (tmp_path / other).write_bytes(neighbour.read_bytes())
    with serve(objects={"/a.ts": neighbour.read_bytes()}) as server:
        path = tmp_path / name
        path.write_text(content.replace("{url}", server.url).replace("{port}", str(port)))
        for source in (path, path.read_bytes()):
            with (
                opened_in(tmp_path) as names,
                bound_ports(port) as ports,
                pytest.raises(vl.errors.UnsupportedError) as caught,
            ):
                vl.index_video(source)
            assert word in str(caught.value)
            assert "pass the video files themselves" in str(caught.value)
            assert not ports
            if source is path:
                assert str(caught.value).startswith(str(path))
                assert names == {name}
            else:
                assert not names
        assert not server.requests


@pytest.mark.parametrize(("name", "content", "word"), REFERRING, ids=NAMES)
def test_libav_by_itself_opens_none_of_them(tmp_path, neighbour, name, content, word):
    """The lists hold where `refuse_references` does not know the format, or its beginning."""
    port = free_port()
    (tmp_path / "a.ts").write_bytes(neighbour.read_bytes())
    (tmp_path / "x.sub").write_bytes(neighbour.read_bytes())
    with serve(objects={"/a.ts": neighbour.read_bytes()}) as server:
        path = tmp_path / name
        path.write_text(content.replace("{url}", server.url).replace("{port}", str(port)))
        with (
            open(path, "rb") as file,
            opened_in(tmp_path) as names,
            bound_ports(port) as ports,
            pytest.raises((av.error.FFmpegError, ValueError)),
        ):
            av.open(file, options=dict(CONFINED))
        assert not names
        assert not ports
        assert not server.requests


def test_no_format_of_devices_and_sequences_is_listed():
    no_file = 1  # AVFMT_NOFILE: opens what it likes by itself
    listed = CONFINED["format_whitelist"].split(",")
    assert len(listed) == len(set(listed)) > 150
    for name in av.formats_available:
        try:
            offered = av.format.ContainerFormat(name, "r")
        except ValueError:
            continue
        if offered.is_input and offered.flags & no_file:
            assert name not in listed
    assert not {"hls", "dash", "concat", "sdp", "rtsp", "rtp", "sap", "vobsub", "imf"} & {*listed}
    assert not {"image2", "lavfi", "mlv", "svg_pipe", "webvtt", "webm_dash_manifest"} & {*listed}


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".mpg", ".mxf", ".nut", ".ogv", ".wmv", ".gif"])
def test_formats_that_hold_their_own_video_open_whatever_they_are_called(tmp_path, suffix):
    codecs = {
        ".png": ("png", "image2pipe"),
        ".jpg": ("mjpeg", "image2pipe"),
        ".mpg": ("mpeg2video", "mpeg"),
        ".mxf": ("mpeg2video", "mxf"),
        ".nut": ("mpeg4", "nut"),
        ".ogv": ("libvpx", "ogg"),
        ".wmv": ("wmv2", "asf"),
        ".gif": ("gif", "gif"),
    }
    codec, container = codecs[suffix]
    if codec not in av.codecs_available:
        pytest.skip(f"this FFmpeg has no {codec}")
    path = tmp_path / f"%03d{suffix}"
    formats = {"png": "rgb24", "mjpeg": "yuvj420p", "gif": "rgb8"}
    count = 1 if container == "image2pipe" else 5
    with av.open(str(path), "w", format=container) as out:
        stream = out.add_stream(codec, rate=25)
        stream.width, stream.height = 64, 48
        stream.pix_fmt = formats.get(codec, "yuv420p")
        for _ in range(count):
            frame = av.VideoFrame(64, 48, "gray").reformat(format=stream.pix_fmt)
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
    (tmp_path / f"001{suffix}").write_bytes(b"of a sequence")
    with opened_in(tmp_path) as names:
        index = vl.index_video(path)
    assert index.num_frames == count
    assert names == {path.name}


def test_text_is_called_so(tmp_path):
    path = tmp_path / "clip.mp4"
    path.write_text("not a video at all, \x1b[31mthough in colour\n" * 50)
    with pytest.raises(vl.errors.FormatError, match="it is text"):
        vl.index_video(path)
    path.write_bytes(b"garbage in front of a sound " * 1000 + bytes(1000))
    with pytest.raises(vl.errors.FormatError, match=r"opens \((?!it is text)"):
        vl.index_video(path)
