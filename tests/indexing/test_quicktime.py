"""Boxes that QuickTime and others write: sample groups, shifts, handlers, sizes of any form."""

import io
import struct
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pytest
from mp4_files import box, demuxed, full, indexed, ints, movie, read_clip, track

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing.containers.mp4 import entry

FRAMES = 36
X264 = {"x264-params": "keyint=12:bframes=2:scenecut=0:threads=1"}
TABLE = (b"moov", b"trak", b"mdia", b"minf", b"stbl")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file with its `moov` box behind the media, so that it may grow."""
    path = tmp_path_factory.mktemp("quicktime") / "clip.mp4"
    return encode_video(path, frames=FRAMES, size=(64, 48), options=X264)


@pytest.fixture(scope="module")
def data(path):
    data = path.read_bytes()
    assert data.find(b"mdat") < data.find(b"moov")
    return data


@pytest.fixture(scope="module")
def clip(path):
    return read_clip(path)


def find(data, *path, start=0):
    """Where the first box at a path begins, and ends."""
    stop = len(data)
    for kind in path:
        while True:
            size, found = struct.unpack_from(">I4s", data, start)
            if found == kind:
                break
            start += size
            assert start < stop, kind
        place, stop, start = start, start + size, start + 8
    return place, stop


def replaced(data, path, content):
    """The file with the box at a path replaced, and those around it made to fit."""
    start, stop = find(data, *path)
    changed = bytearray(data[:start] + content + data[stop:])
    for depth in range(1, len(path)):
        place, end = find(data, *path[:depth])
        struct.pack_into(">I", changed, place, end - place + len(content) - (stop - start))
    return bytes(changed)


def with_boxes(data, path, *boxes):
    """The file with boxes added at the end of the box at a path."""
    start, stop = find(data, *path)
    kind, body = data[start + 4 : start + 8], data[start + 8 : stop]
    return replaced(data, path, box(kind, body, *boxes))


def agree(data, frames=FRAMES):
    """Ours is what FFmpeg demuxes and decodes; gives the packets that are keyframes."""
    found = indexed(data)
    assert found is not None
    assert found == demuxed(data, vl.index_video(data).stream, fflags="noparse")
    index = vl.index_video(data)
    assert index.exactness == "tables"
    assert index.num_frames == frames
    with av.open(io.BytesIO(data)) as container:
        video = container.streams[index.stream]
        decoded = [frame.pts for frame in container.decode(video)]
    assert index.pts.tolist() == decoded
    return [number for number, packet in enumerate(found) if packet[4]]


def group(kind, rows, version=0):
    parameter = b"" if version == 0 else ints("I", 0)
    return full(
        b"sbgp", version, 0, kind, parameter, ints("I", len(rows)), *(ints("II", *r) for r in rows)
    )


def described(kind, *entries):
    return full(b"sgpd", 1, 0, kind, ints("II", len(entries[0]), len(entries)), *entries)


ROLL = described(b"roll", struct.pack(">h", -3))
RANDOM = described(b"rap ", b"\0")


@pytest.mark.parametrize("version", [0, 1])
def test_a_random_access_group_makes_keyframes(data, version):
    rows = [(6, 0), (1, 1), (29, 0)]
    changed = with_boxes(data, TABLE, RANDOM, group(b"rap ", rows, version))
    assert agree(changed) == [0, 6, 12, 24]


def test_a_random_access_group_may_end_early(data):
    rows = [(15, 0), (2, 1)]
    assert agree(with_boxes(data, TABLE, RANDOM, group(b"rap ", rows))) == [0, 12, 15, 16, 24]


def test_a_roll_group_makes_no_keyframes(data):
    """Decoding may begin in it only with pictures to throw away, which a keyframe has none of."""
    rows = [(6, 0), (1, 1), (29, 0)]
    changed = with_boxes(data, TABLE, ROLL, group(b"roll", rows))
    assert agree(changed) == [0, 12, 24]
    both = with_boxes(changed, TABLE, RANDOM, group(b"rap ", [(15, 0), (1, 1), (20, 0)]))
    assert agree(both) == [0, 12, 15, 24]


INTER = {
    "h264": ("libx264", X264),
    "hevc": ("libx265", {"x265-params": "log-level=none:keyint=12:bframes=2:pools=none"}),
    "vp9": ("libvpx-vp9", {"g": "12", "deadline": "realtime", "cpu-used": "8"}),
    "mpeg4": ("mpeg4", {"g": "12"}),
}


@pytest.mark.parametrize("name", INTER)
def test_a_missing_list_of_keyframes_is_made_from_the_pictures(tmp_path, name):
    codec, options = INTER[name]
    path = encode_video(
        tmp_path / "clip.mp4", codec=codec, frames=FRAMES, size=(128, 96), options=options
    )
    data = path.read_bytes()
    changed = data.replace(b"stss", b"free")
    assert changed != data
    assert vl.index_video(changed).keyframes.tolist() == vl.index_video(data).keyframes.tolist()
    for number in (1, 7, 20, FRAMES - 1):
        with vl.Video(changed) as video:
            assert read_frame_number(video[number].numpy()) == number


def test_a_stream_without_references_has_no_list_of_keyframes(tmp_path):
    path = encode_video(
        tmp_path / "intra.mp4", frames=FRAMES, size=(64, 48), options={"x264-params": "keyint=1"}
    )
    assert b"stss" not in path.read_bytes()
    assert vl.index_video(path).keyframes.tolist() == list(range(FRAMES))


@pytest.mark.parametrize("flags", ["+negative_cts_offsets", "+negative_cts_offsets+faststart"])
@pytest.mark.parametrize("has_edits", [True, False])
def test_shifts_of_composition_leave_times_as_ffmpeg_has_them(tmp_path, flags, has_edits):
    path = tmp_path / "shifted.mp4"
    options = {"movflags": flags, "use_editlist": str(int(has_edits))}
    encode_video(path, frames=FRAMES, size=(64, 48), options=X264, container_options=options)
    data = path.read_bytes()
    assert data[find(data, *TABLE, b"ctts")[0] + 8] == 1  # the version
    agree(data)
    if data.find(b"mdat") < data.find(b"moov"):
        shift = full(b"cslg", 0, 0, ints("5i", 512, -512, 1024, 0, 512 * FRAMES))
        agree(with_boxes(data, TABLE, shift))


@pytest.mark.parametrize("has_shift", [False, True])
def test_offsets_are_signed_whatever_the_version_says(data, has_shift):
    start, stop = find(data, *TABLE, b"ctts")
    rows = np.frombuffer(data[start + 16 : stop], ">i4").reshape(-1, 2).copy()
    rows[:, 1] -= 1024
    table = full(b"ctts", 0, 0, ints("I", len(rows)), rows.astype(">i4").tobytes())
    changed = replaced(data, (*TABLE, b"ctts"), table).replace(b"edts", b"free")
    if has_shift:
        shift = full(b"cslg", 0, 0, ints("5i", 1024, -1024, 1024, -1024, 512 * FRAMES))
        changed = with_boxes(changed, TABLE, shift)
    agree(changed)


@pytest.mark.parametrize(
    "name", [b"\x0cVideoHandler", b"\x13Apple Video Media Handler", b"", b"no end", b"x" * 40]
)
def test_names_of_handlers_mean_nothing(data, name):
    handler = full(b"hdlr", 0, 0, b"mhlr", b"vide", b"appl", bytes(8), name)
    agree(replaced(data, (b"moov", b"trak", b"mdia", b"hdlr"), handler))


@pytest.mark.parametrize("kind", [b"alis", b"url ", b"vide"])
def test_a_handler_of_the_data_stands_beside_that_of_the_media(data, kind):
    handler = full(b"hdlr", 0, 0, b"dhlr", kind, b"appl", bytes(8), b"\x12Apple Alias Data Handler")
    agree(with_boxes(data, TABLE[:4], handler))


def test_a_handler_too_short_for_its_type(data):
    short = box(b"hdlr", bytes(8))
    agree(replaced(data, (b"moov", b"trak", b"mdia", b"hdlr"), short))


def test_mov_files_of_ffmpeg_are_read(tmp_path):
    path = encode_video(tmp_path / "clip.mov", frames=FRAMES, size=(64, 48), options=X264)
    assert b"dhlr" in path.read_bytes()
    agree(path.read_bytes())


def test_wide_boxes_stand_anywhere(data):
    movie_at, _ = find(data, b"moov")
    wide = box(b"wide")
    agree(with_boxes(data[:movie_at] + wide + data[movie_at:], (b"moov",), wide))


def long_size(data, kind, *, start=0):
    """The file with the size of a top-level box in 64 bits."""
    at, stop = find(data, kind, start=start)
    size = stop - at + 8
    return data[:at] + ints("I", 1) + kind + ints("Q", size) + data[at + 8 :]


def test_a_movie_with_a_size_in_64_bits(data):
    agree(long_size(data, b"moov"))


def test_media_with_a_size_in_64_bits(data):
    at, _ = find(data, b"mdat")
    free = at - 8
    assert data[free + 4 : free + 8] == b"free"  # room that FFmpeg leaves for just that
    (size,) = struct.unpack_from(">I", data, at)
    changed = data[:free] + ints("I", 1) + b"mdat" + ints("Q", size + 8) + data[at + 8 :]
    assert len(changed) == len(data)
    agree(changed)


@pytest.mark.parametrize("depth", range(2, 6))
def test_inner_boxes_with_sizes_in_64_bits(data, depth):
    path = TABLE[:depth]
    start, stop = find(data, *path)
    body = data[start + 8 : stop]
    agree(replaced(data, path, ints("I", 1) + path[-1] + ints("Q", len(body) + 16) + body))


def described(description, *children):
    """A table of one sample description, with these boxes in place of its bit rate."""
    (size,) = struct.unpack_from(">I", description, 16)
    kind, content = description[20:24], description[24 : 16 + size]
    content = content[: content.index(b"btrt") - 4] if b"btrt" in content else content
    return full(b"stsd", 0, 0, ints("I", 1), box(kind, content, *children))


def test_descriptions_that_differ_by_their_bit_rates_are_read_once(clip):
    rates = [box(b"btrt", ints("III", 0, rate, rate)) for rate in (1000, 2000, 3000)]
    long = ints("I4sQIII", 1, b"btrt", 28, 0, 4000, 4000)
    aspect = box(b"pasp", ints("II", 4, 3))
    given = [(), *((rate,) for rate in rates), (long,), (aspect, rates[0]), (rates[0], aspect)]
    found = []
    entry._entry_alone.cache_clear()
    for children in given:
        made = replace(clip, description=described(clip.description, *children))
        with vl.Video(movie(made, made.samples)) as video:
            index = video.index
            found.append((index.extradata, index.color, index.width, index.traits.aspect))
    assert found[1:5] == found[:1] * 4
    assert found[5] == found[6] == (*found[0][:-1], Fraction(4, 3))
    # Without a rate, or with a short one behind all else; long; with an aspect; not behind all.
    assert entry._entry_alone.cache_info().misses == 4


def test_a_movie_that_goes_on_to_the_end_of_the_file(data):
    at, stop = find(data, b"moov")
    assert stop == len(data)
    agree(data[:at] + ints("I", 0) + data[at + 4 :])


def test_of_several_video_tracks_the_one_that_ffmpeg_calls_best(clip):
    few = clip.samples[:3]
    for first in (few, clip.samples):
        for rest in (few, clip.samples):
            before = [track(list(first), clip.description, 0, number=2)]
            data = movie(clip, rest, before=before) + box(b"free", bytes(10_000))
            with av.open(io.BytesIO(data)) as container:
                best = container.streams.best("video").index
            assert vl.index_video(data).stream == best
            assert indexed(data) == demuxed(data, best, fflags="noparse")


def cover(picture):
    """A `udta` box with cover art as iTunes writes it."""
    item = box(b"covr", box(b"data", ints("II", 13, 0), picture))
    handler = full(b"hdlr", 0, 0, ints("I4s12x", 0, b"mdir"), b"\0")
    return box(b"udta", full(b"meta", 0, 0, handler, box(b"ilst", item)))


def jpeg():
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = 320, 240, "yuvj420p"
    encoder.time_base = Fraction(1, 25)
    packets = encoder.encode(av.VideoFrame(320, 240, "yuvj420p"))
    return b"".join(bytes(packet) for packet in [*packets, *encoder.encode(None)])


def test_cover_art_is_no_video(data):
    changed = with_boxes(data, (b"moov",), cover(jpeg()))
    with av.open(io.BytesIO(changed)) as container:
        assert len(container.streams.video) == 2  # FFmpeg makes a stream of it
        assert container.streams.best("video").index == 0
    agree(changed)


def test_a_file_of_cover_art_alone_is_that_picture(data):
    """Sound with cover art: to FFmpeg, a video of one frame."""
    changed = with_boxes(data, (b"moov",), cover(jpeg()))
    sound = full(b"hdlr", 0, 0, ints("I4s12x", 0, b"soun"), b"\0")
    changed = replaced(changed, (b"moov", b"trak", b"mdia", b"hdlr"), sound)
    index = vl.index_video(changed)
    assert (index.codec, index.num_frames, index.width) == ("mjpeg", 1, 320)
    with vl.Video(changed) as video:
        assert video[0].shape == (240, 320, 3)
