"""What a decoder learns from the first packet alone: every frame is right from a cold start."""

import itertools
import random
import re
from fractions import Fraction
from types import SimpleNamespace

import av
import numpy as np
import pytest
from av.video.frame import PictureType

import videoloader as vl
from videoloader.codecs.nal import annexb_units
from videoloader.codecs.registry import CODECS
from videoloader.decoding.nvdec.hardware_decoder import Feeder
from videoloader.decoding.packets.preamble import has_film_grain, preamble
from videoloader.demo.videos import encode_video
from videoloader.errors import UnsupportedError
from videoloader.indexing.payloads import PacketReader, Packets
from videoloader.sampling import plan_decode
from videoloader.sources.opening import open_source

FRAMES, KEYINT = 24, 8
START = b"\0\0\0\1"


def edited(path, codec, edit, *, options, pixel_format="yuv420p", size=(128, 96), **settings):
    """Encode moving pictures, and write the packets as `edit` changes them (number, bytes)."""
    with av.open(str(path), "w", container_options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(codec, rate=Fraction(25), options=options)
        stream.width, stream.height, stream.pix_fmt = *size, pixel_format
        stream.codec_context.gop_size = KEYINT
        for name, value in settings.items():
            setattr(stream.codec_context, name, value)
        packets = []
        for number in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(picture(number, size), format="rgb24")
            frame = frame.reformat(format=pixel_format)
            frame.pts, frame.pict_type = number, PictureType.NONE
            packets += stream.encode(frame)
        packets += stream.encode()
        for number, packet in enumerate(packets):
            changed = av.Packet(edit(number, bytes(packet)))
            changed.pts, changed.dts, changed.time_base = packet.pts, packet.dts, packet.time_base
            changed.duration, changed.is_keyframe = packet.duration, packet.is_keyframe
            changed.stream = stream
            container.mux(changed)
    return path


def picture(number, size):
    """Noise and edges that move: whatever a decoder does differently shows."""
    width, height = size
    still = np.random.default_rng(1).integers(0, 256, (height, width + 64, 3), dtype=np.uint8)
    moved = still[:, number : number + width].copy()
    moved[20:60, 10 + number : 50 + number] = (255, 16, 64)
    moved[60:90, 64 - number : 100 - number] //= 4
    return moved


def sequential(path):
    """All frames as FFmpeg decodes them from the first packet on."""
    with av.open(str(path)) as container:
        return [frame.to_ndarray().ravel() for frame in container.decode(video=0)]


def planes(surface):
    return np.concatenate([plane.ravel() for plane in surface.planes])


def wrong_frames(path):
    """Frames that differ from FFmpeg's: each decoded alone and cold, then all in random order."""
    expected = sequential(path)
    index = vl.index_video(path)
    assert len(expected) == index.num_frames == FRAMES
    assert len(index.keyframes) > 2 or index.codec == "mjpeg"
    wrong = set()
    for number in range(FRAMES):
        with vl.Video(path, index=index) as video:
            ((_, surface),) = video.decode([number])
            wrong |= {number} if not np.array_equal(planes(surface), expected[number]) else set()
    order = list(range(FRAMES)) * 2
    random.Random(5).shuffle(order)
    with vl.Video(path, index=index) as video:
        for number in order:
            for _, surface in video.decode([number]):
                if not np.array_equal(planes(surface), expected[number]):
                    wrong.add(number)
    return sorted(wrong)


def differs_from(path, plain):
    """Whether what was put into the first packet changes pictures behind the second keyframe."""
    return any(
        not np.array_equal(one, other)
        for one, other in zip(sequential(path)[KEYINT:], sequential(plain)[KEYINT:], strict=True)
    )


# Lossless and CAVLC: what older builds did differently changes pixels there and breaks nothing.
LOSSLESS = "threads=1:qp=0:cabac=0:keyint=8:min-keyint=8:scenecut=0"


def old_x264(path, core=b"142"):
    """A stream of 4:4:4 whose writer says in its first packet that it is another x264."""
    encode_video(
        path,
        size=(128, 96),
        frames=FRAMES,
        pixel_format="yuv444p",
        options={"x264-params": LOSSLESS},
        picture="gradients=seed=7:n=4:speed=0.06",
    )
    changed, count = re.subn(rb"x264 - core \d+", b"x264 - core " + core, path.read_bytes())
    assert count == 1
    path.write_bytes(changed)
    return path


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "avi", "flv", "ts", "h264"])
def test_the_build_of_x264_is_known_at_every_keyframe(tmp_path, suffix):
    path = old_x264(tmp_path / f"old.{suffix}")
    new = old_x264(tmp_path / f"new.{suffix}", core=b"165")
    assert differs_from(path, new)
    assert wrong_frames(path) == []
    assert wrong_frames(new) == []


def user_data(text):
    return b"\0\0\1\xb2" + text


def once_mpeg4(path, text):
    """MPEG-4 part 2 whose first packet alone says who wrote it."""
    return edited(
        path,
        "mpeg4",
        lambda number, data: user_data(text) + data if not number and text else data,
        options={"flags": "+qpel+bitexact", "bf": "2"},
        bit_rate=300_000,
    )


@pytest.mark.parametrize("text", [b"XviD0001", b"XviD0050", b"DivX501b0413", b"FFmpeg0.4.6b4600"])
@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_the_writer_of_mpeg4_is_known_at_every_keyframe(tmp_path, suffix, text):
    path = once_mpeg4(tmp_path / f"once.{suffix}", text)
    assert differs_from(path, once_mpeg4(tmp_path / f"plain.{suffix}", b""))
    assert wrong_frames(path) == []


PICTURE = b"\0\0\1\xb6"


def packed_mpeg4(path):
    """B-frames in the packets before their own, as DivX did, which the first packet alone says."""
    options = {"flags": "+bitexact", "bf": "1", "b_strategy": "0"}
    packets = []
    edited(
        path,
        "mpeg4",
        lambda _, data: packets.append(data) or data,
        options=options,
        bit_rate=300_000,
    )
    kinds = [data[data.find(PICTURE) + 4] >> 6 for data in packets]
    assert kinds[:4] == [0, 1, 2, 1]

    def pack(number, data):
        if kinds[number] == 2:  # an empty picture of the time of the one before, not coded
            before = packets[number - 1]
            at = before.find(PICTURE) + 4
            bits = f"{int.from_bytes(before[at : at + 4], 'big'):032b}"
            ticks = bits.index("0", 2) + 2  # behind the seconds and a marker
            empty = "01" + bits[2 : ticks + 5] + "10"  # 25 ticks a second are 5 bits
            empty += "0".ljust(8 - len(empty) % 8, "1")
            return PICTURE + int(empty, 2).to_bytes(len(empty) // 8, "big")
        behind = packets[number + 1] if kinds[number + 1 : number + 2] == [2] else b""
        return (b"" if number else user_data(b"DivX503b1393p")) + data + behind

    return edited(path, "mpeg4", pack, options=options, bit_rate=300_000)


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "avi"])
def test_packed_pictures_are_found_from_every_keyframe(tmp_path, suffix):
    assert wrong_frames(packed_mpeg4(tmp_path / f"packed.{suffix}")) == []


def bits_of(*fields):
    """Fields (value, width) as bytes; a width of 0 is a signed Exp-Golomb code."""
    text = ""
    for value, width in fields:
        code = f"{2 * value if value > 0 else 1 - 2 * value:b}"
        text += f"{value:0{width}b}" if width else "0" * (len(code) - 1) + code
    text += "0" * (-len(text) % 8)
    return bytes(int(text[at : at + 8], 2) for at in range(0, len(text), 8))


# ITU-T H.265, section D.2.20: one model of luma for all intensities, which stays.
FILM_GRAIN = bits_of(
    *[(0, 1), (0, 2), (0, 1), (0, 2), (2, 4), (0b100, 3), (0, 8), (2, 3), (0, 8), (255, 8)],
    *[(100, 0), (8, 0), (8, 0), (1, 1), (1, 1)],
)


def once_grain(path, grain=True):
    """HEVC with a message in front that asks for film grain from there on."""
    options = {
        "preset": "superfast",
        "x265-params": "log-level=none:pools=none:frame-threads=1:keyint=8:min-keyint=8:scenecut=0",
    }
    message = bytes([39 << 1, 1, 19, len(FILM_GRAIN)]) + FILM_GRAIN + b"\x80"
    assert not re.search(rb"\0\0[\0-\3]", message)

    def edit(number, data):
        if number or not grain:
            return data
        slices = next(at for at in annexb_units(data) if data[at] >> 1 < 32)
        return data[: slices - 3].removesuffix(b"\0") + START + message + START + data[slices:]

    return edited(path, "libx265", edit, options=options, size=(320, 240))


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "hevc"])
def test_film_grain_that_was_asked_for_once_is_on_every_frame(tmp_path, suffix):
    path = once_grain(tmp_path / f"once.{suffix}")
    assert differs_from(path, once_grain(tmp_path / f"plain.{suffix}", grain=False))
    assert wrong_frames(path) == []


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_parameter_sets_of_the_first_packet_replace_those_of_the_container(tmp_path, suffix):
    sets = {}
    for name, offset in {"plain": 0, "other": -1}.items():
        path = tmp_path / f"{name}.h264"
        params = f"threads=1:keyint=8:min-keyint=8:scenecut=0:chroma-qp-offset={offset}"
        encode_video(path, size=(128, 96), frames=1, options={"x264-params": params})
        units = path.read_bytes().split(b"\0\0\1")
        sets[name] = next(unit.rstrip(b"\0") for unit in units if unit[:1] == b"\x68")
    assert len(sets["plain"]) == len(sets["other"])
    assert sets["plain"] != sets["other"]

    def made(name, first):
        path = edited(
            tmp_path / f"{name}.{suffix}",
            "libx264",
            lambda number, data: first + data if not number else data,
            options={"x264-params": "threads=1:keyint=8:min-keyint=8:scenecut=0"},
        )
        data = path.read_bytes()
        for at in [found.start() for found in re.finditer(re.escape(sets["plain"]), data)]:
            size = int.from_bytes(data[at - 2 : at], "big")
            if size == len(sets["plain"]) and data[at - 4 : at - 2] != b"\0\0":  # in the record
                data = data[:at] + sets["other"] + data[at + size :]
        assert sets["other"] in data
        path.write_bytes(data)
        return path

    path = made("once", START + sets["plain"])
    assert differs_from(path, made("never", b""))
    assert wrong_frames(path) == []


def without_segments(data, *kinds):
    """A JPEG without the segments of some kinds in front of its scan."""
    kept, at = data[:2], 2
    while data[at + 1] != 0xDA:
        after = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        kept += b"" if data[at + 1] in kinds else data[at:after]
        at = after
    return kept + data[at:]


@pytest.mark.parametrize("kinds", [(0xDB,), (0xC4,), (0xDB, 0xC4)])
@pytest.mark.parametrize("suffix", ["avi", "mkv", "mov"])
def test_tables_of_the_first_jpeg_serve_those_that_have_none(tmp_path, suffix, kinds):
    path = edited(
        tmp_path / f"once.{suffix}",
        "mjpeg",
        lambda number, data: without_segments(data, *kinds) if number else data,
        pixel_format="yuvj420p",
        options={"huffman": "default", "flags": "+bitexact"},
        bit_rate=300_000,
    )
    assert wrong_frames(path) == []


def without_sequence(data):
    """A packet of MPEG-1 or MPEG-2 from its group or picture header on."""
    return data[min(at for code in (b"\0\0\1\xb8", b"\0\0\1\0") if (at := data.find(code)) >= 0) :]


@pytest.mark.parametrize("codec", ["mpeg1video", "mpeg2video"])
@pytest.mark.parametrize("suffix", ["mkv", "mp4", "ts", "mpg"])
def test_the_only_sequence_header_serves_every_keyframe(tmp_path, suffix, codec):
    if suffix == "ts" and codec == "mpeg1video":
        pytest.skip("not carried by transport streams")
    path = edited(
        tmp_path / f"once.{suffix}",
        codec,
        lambda number, data: without_sequence(data) if number else data,
        options={"intra_matrix": ",".join(["8"] + ["40"] * 63), "flags": "+bitexact", "bf": "2"},
        bit_rate=400_000,
    )
    assert wrong_frames(path) == []


# ISO/IEC 13818-2, section 6.2.3.2: an intra quantiser matrix for the pictures from here on.
MATRIX = b"\0\0\1\xb5" + bits_of((3, 4), (1, 1), (8, 8), *[(60, 8)] * 63, (0, 3))
FROM_HERE_ON = {"quantiser matrix": MATRIX, "writer": user_data(b"\0TMPGEXS\0")}


@pytest.mark.parametrize(
    ("codec", "told"), [("mpeg2video", "quantiser matrix"), ("mpeg1video", "writer")]
)
def test_what_stands_before_the_first_mpeg_picture_holds_for_all(tmp_path, codec, told):
    def made(name, unit):
        def edit(number, data):
            at = data.find(b"\0\0\1\1")  # the first slice
            return without_sequence(data) if number else data[:at] + unit + data[at:]

        options = {"flags": "+bitexact", "bf": "2"}
        return edited(tmp_path / f"{name}.mkv", codec, edit, options=options, bit_rate=400_000)

    path = made("once", FROM_HERE_ON[told])
    assert differs_from(path, made("never", b""))
    assert wrong_frames(path) == []


def test_a_batch_decoded_in_a_worker_has_the_same_pictures(tmp_path):
    path = old_x264(tmp_path / "old.mp4")
    order = [20, 3, 17, 9]
    with vl.Video(path) as video:
        expected = [frame for _, frame in zip(range(FRAMES), video, strict=True)]
    batch = vl.decode_batch([vl.ClipRequest(path, [number]) for number in order])
    for number, clip in zip(order, batch.frames, strict=True):
        assert (clip[0] == expected[number]).all()


def test_nothing_is_fed_that_a_packet_says_itself(demo_folder):
    for name in ("h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "hevc_10bit.mkv"):
        index = vl.index_video(demo_folder / name)
        with open_source(demo_folder / name) as source:
            first, last = PacketReader(index, source).read(
                np.array([0, int(index.seek_packets[-1])])
            )
        assert preamble(index, last, first, first) == b""


HOSTILE = [
    b"",
    b"\0\0\1",
    b"\0\0\1\x06",
    b"\0\0\1\x06x264 - core" + b" " * 300 + b"7",
    b"\0\0\1\x06x264 - core " + b"9" * 5000,
    b"\0\0\1\x4e\1" + b"\xff" * 5000,
    b"\0\0\1\xb2\0\0\1\x20\0\0\1\xb5",
    b"\xff\xd8" + b"\xff" * 100,
    b"\xff\xd8\xff\xdb\xff\xff\0",
    b"\xff\xd8\xff\xdb\0\0\0\0",
]


@pytest.mark.parametrize("length_size", [0, 1, 4])
@pytest.mark.parametrize("codec", [name for name in CODECS if CODECS[name].learns])
def test_damaged_packets_are_no_other_error(codec, length_size):
    index = SimpleNamespace(codec=codec, length_size=length_size, extradata=((0, b"\1\2"),))
    for head, payload in itertools.product(HOSTILE, HOSTILE):
        fed = preamble(index, payload, head, head)
        assert len(fed) <= len(head) + 64


def test_film_grain_is_left_to_the_cpu(tmp_path):
    path = once_grain(tmp_path / "once.mp4")
    index = vl.index_video(path)
    with open_source(path) as source:
        for number in (0, FRAMES - 1):
            (run,) = plan_decode(index, [number])
            with pytest.raises(UnsupportedError, match="film grain"):
                list(Feeder(SimpleNamespace(runs=1), index, run).feed(run, source))


def test_the_film_grain_of_aom_is_known():
    message = bytes([4, 6]) + b"\xb5\x58\x90\0\1\x40"
    unit = bytes([39 << 1, 1, 137, 0]) + message + b"\x80"
    index = SimpleNamespace(codec="hevc", length_size=0)
    assert has_film_grain(index, Packets.of([START + unit]))
    other = unit.replace(b"\xb5\x58", b"\xb5\x3c")
    assert not has_film_grain(index, Packets.of([START + other]))
