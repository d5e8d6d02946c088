"""Matroska from its headers alone: the same frames as any demuxer, whatever the layout."""

import contextlib
import io
import itertools
import random
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matroska_files import block, cluster, demuxed, element, laced, matroska, track, unknown
from processor_time import MILLION, at_most_steps
from remuxing import remux_bytes

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing import PacketFlags, open_source
from videoloader.indexing.containers.matroska.file import index_matroska
from videoloader.indexing.payloads import read_packets

SIZE = (64, 48)
FRAME_NS = 40_000_000


def remux(source, **options):
    """The packets of a file in a Matroska file in memory."""
    return remux_bytes(source, "matroska", **options)


def native(data, stream=None):
    """The index of the native reader, which must take the file, and the packets behind it."""
    with open_source(data) as source:
        found = index_matroska(source, stream=stream)
        assert found is not None
        return found[0], list(read_packets(found[0], source))


def packets_of(data):
    index, payloads = native(data)
    return list(zip(index.packets["pts"].tolist(), payloads, strict=True))


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A small MP4 with B-frames."""
    path = tmp_path_factory.mktemp("matroska") / "clip.mp4"
    return encode_video(path, frames=24, size=SIZE, fps=25, options={"g": "8"})


@pytest.fixture(scope="module")
def remuxed(clip):
    return remux(clip)


@pytest.fixture(scope="module")
def coded(clip):
    """Set-up data, and (pts in ms, payload, is a keyframe) of every packet of the clip."""
    index = vl.index_video(clip)
    with open_source(clip) as source:
        payloads = list(read_packets(index, source))
    times = (index.packets["pts"] * 1000 * index.time_base).astype(int).tolist()
    keys = (index.packets["flags"] & PacketFlags.KEY > 0).tolist()
    return index.extradata_of(0), list(zip(times, payloads, keys, strict=True))


def blocks_of(coded, **more):
    return [block(payload, pts, key=key, **more) for pts, payload, key in coded[1]]


# --- the same streams in another container


@settings(max_examples=25)
@given(data=st.data())
def test_a_remuxed_stream_has_the_frames_it_had_in_mp4(tmp_path_factory, data):
    frames = data.draw(st.integers(1, 40))
    bframes = data.draw(st.integers(0, 3))
    settings_ = {
        "g": str(data.draw(st.integers(1, 15))),
        "bf": str(bframes),
        "x264-params": f"open-gop={data.draw(st.integers(0, 1))}:scenecut=0",
    }
    steps = data.draw(st.lists(st.integers(1, 9), min_size=frames, max_size=frames))
    start = data.draw(st.sampled_from([0, 17]))
    pts = [start + before for before in itertools.accumulate([0, *steps[1:]])]
    path = tmp_path_factory.mktemp("remux") / "a.mp4"
    encode_video(
        path, frames=frames, size=SIZE, options=settings_, pts=pts, time_base=Fraction(1, 100)
    )
    options = data.draw(
        st.sampled_from(
            [
                {},
                {"live": "1"},
                {"cluster_time_limit": "30"},
                {"cluster_size_limit": "500"},
                {"reserve_index_space": "4096"},
                {"cluster_time_limit": "10", "write_crc32": "0"},
            ]
        )
    )
    tables, (index, payloads) = vl.index_video(path), native(remux(path, **options))
    assert index.exactness == "tables"
    assert index.num_frames == tables.num_frames
    assert index.keyframes.tolist() == tables.keyframes.tolist()
    assert index.leading.tolist() == tables.leading.tolist()
    everything = np.arange(frames)
    ours, theirs = index.seconds(everything), tables.seconds(everything)
    assert np.abs((ours - ours[0]) - (theirs - theirs[0])).max() <= 0.00101
    with open_source(path) as source:
        assert payloads == list(read_packets(tables, source))
    assert (index.packets["dts"] <= index.packets["pts"]).all()
    assert (np.diff(index.packets["dts"]) >= 0).all()


@pytest.mark.parametrize(
    ("codec", "options", "pixel_format"),
    [
        ("libx265", {"x265-params": "log-level=none:keyint=10:pools=1"}, "yuv420p10le"),
        ("libvpx", {"g": "10", "auto-alt-ref": "1", "lag-in-frames": "10"}, "yuv420p"),
        ("libvpx-vp9", {"g": "10", "auto-alt-ref": "1", "lag-in-frames": "10"}, "yuv420p"),
        ("libvpx-vp9", {"g": "10"}, "yuv420p"),
        ("libvpx-vp9", {"g": "10", "profile": "1"}, "yuv444p"),
        ("libvpx-vp9", {"g": "10", "profile": "1"}, "yuv422p"),
        ("libsvtav1", {"g": "10", "svtav1-params": "lp=1", "preset": "12"}, "yuv420p10le"),
    ],
)
def test_other_codecs_give_what_a_full_decode_gives(tmp_path, codec, options, pixel_format):
    try:
        av.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:
        pytest.skip(f"no {codec}")
    path = encode_video(
        tmp_path / "a.mkv",
        codec=codec,
        frames=40,
        size=SIZE,
        options=options,
        pixel_format=pixel_format,
    )
    index, _ = native(path.read_bytes())
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
        context = container.streams.video[0].codec_context
        assert index.codec == context.codec.canonical_name
    assert index.pts.tolist() == [frame.pts for frame in frames]
    keys = [number for number, frame in enumerate(frames) if frame.key_frame]
    assert index.keyframes.tolist() == keys
    assert (index.width, index.height) == SIZE
    assert index.pixel_format == pixel_format == frames[0].format.name


# --- layouts by hand, beside FFmpeg's demuxer


def test_sizes_that_are_not_told(coded):
    half = len(coded[1]) // 2
    blocks = blocks_of(coded)
    parts = cluster(0, *blocks[:half], head=unknown), cluster(0, *blocks[half:], head=unknown)
    data = matroska([track(private=coded[0])], *parts, head=unknown)
    assert packets_of(data) == demuxed(data)
    assert len(demuxed(data)) == len(coded[1])


def test_groups_tell_durations_and_what_refers_to_nothing(coded):
    reference = element(0xFB, b"\xff")
    blocks = [
        block(payload, pts, group=[element(0x9B, 33), *([] if key else [reference])])
        for pts, payload, key in coded[1]
    ]
    data = matroska([track(private=coded[0])], cluster(0, *blocks))
    index, _ = native(data)
    assert packets_of(data) == demuxed(data)
    assert set(index.packets["duration"].tolist()) == {33}
    assert (index.packets["flags"] & 1).tolist() == [int(key) for *_, key in coded[1]]


@pytest.mark.parametrize("kind", ["xiph", "ebml", "fixed"])
def test_a_laced_block_holds_several_packets(coded, kind):
    frames = [payload for _, payload, _ in coded[1][:5]]
    if kind == "fixed":
        longest = max(map(len, frames))
        frames = [frame.ljust(longest, b"\0") for frame in frames]
    flags, payload = laced(frames, kind)
    entry = track(element(0x23E383, FRAME_NS), private=coded[0])
    data = matroska([entry], cluster(80, block(payload, 0, key=True, flags=flags)))
    assert packets_of(data) == demuxed(data)
    assert [pts for pts, _ in packets_of(data)] == [80, 120, 160, 200, 240]
    with_duration = block(payload, 0, flags=flags, group=[element(0x9B, 101)])
    data = matroska([track(private=coded[0])], cluster(7, with_duration, blocks_of(coded)[6]))
    assert packets_of(data) == demuxed(data)


def test_a_stripped_header_is_put_back(coded, tmp_path):
    # The length in front of the first unit: its upper bytes are the same in every packet.
    prefix = coded[1][0][1][:1]
    assert all(payload[:1] == prefix for _, payload, _ in coded[1])
    stripping = element(
        0x6D80,
        element(0x6240, element(0x5034, element(0x4254, 3), element(0x4255, prefix))),
    )
    blocks = [block(payload[1:], pts, key=key) for pts, payload, key in coded[1]]
    data = matroska([track(stripping, private=coded[0])], cluster(0, *blocks))
    index, payloads = native(data)
    assert str(index.packing) == f"prefix:{prefix.hex()}"
    assert payloads == [payload for _, payload, _ in coded[1]]
    assert packets_of(data) == demuxed(data)
    index.save(tmp_path / "index")
    with vl.Video(data, index=vl.VideoIndex.load(tmp_path / "index")) as video:
        whole = matroska([track(private=coded[0])], cluster(0, *blocks_of(coded)))
        with vl.Video(whole) as plain:
            assert (video[:].numpy() == plain[:].numpy()).all()
    plain = vl.index_video(whole, headers=True)
    assert vl.index_video(data, headers=True).disposable.tolist() == plain.disposable.tolist()


def test_other_tracks_lie_between_and_far_track_numbers_are_read(coded):
    sound = block(b"\x01" * 70_000, 0, number=2), block(b"\x02" * 7, 0, number=2, key=True)
    blocks = [part for one in blocks_of(coded) for part in (one, *sound)]
    tracks = [track(number=2, codec="A_MPEG/L3", kind=2), track(private=coded[0])]
    data = matroska(tracks, cluster(0, element(0xAB, 5), *blocks, element(0xEC, b"void")))
    index, _ = native(data)
    assert index.stream == 1
    assert packets_of(data) == demuxed(data, stream=1)
    far = matroska(
        [track(number=0x1234, private=coded[0])],
        cluster(
            0,
            *(
                element(0xA3, 0x5234, pts.to_bytes(2, "big"), bytes([0x80 * key]), payload)
                for pts, payload, key in coded[1]
            ),
        ),
    )
    assert packets_of(far) == demuxed(far)


def test_many_clusters_at_once_are_as_one_after_the_other(coded):
    blocks = blocks_of(coded)
    parts = [
        cluster(40 * number, element(0xAB, 1), *blocks[: 3 + number % 5], *(
            [block(b"group", 1, group=[element(0x9B, 3)]), *blocks[3:5]] if number % 3 == 0 else []
        ))
        for number in range(40)
    ]  # fmt: skip
    data = matroska([track(private=coded[0])], *parts, element(0x1254C367, b""))
    assert packets_of(data) == demuxed(data)
    index, _ = native(data)
    with open_source(io.BytesIO(data)) as source:  # by pieces, nothing mapped
        found = index_matroska(source)
        assert found is not None
        assert (found[0].packets == index.packets).all()


@pytest.mark.parametrize("scale", [1, 100_000, 1_000_000, 41_666_667])
def test_ticks_are_what_the_file_says(coded, scale):
    blocks = [block(p, n, key=k) for n, (_, p, k) in enumerate(coded[1])]
    data = matroska([track(private=coded[0])], cluster(5, *blocks), scale=scale)
    index, _ = native(data)
    with av.open(io.BytesIO(data)) as container:
        assert index.time_base == Fraction(container.streams.video[0].time_base)
    assert packets_of(data) == demuxed(data)


@pytest.mark.parametrize("yaw", [0.0, 180.0])
@pytest.mark.parametrize("roll", [-180.0, -90.0, 0.0, 90.0, 180.0, 10.0])
@pytest.mark.parametrize("private", [None, b"\0", b"\0\1\2\3", b"\1\0\0\0"])
def test_a_rolled_projection_turns_the_picture(coded, roll, yaw, private):
    more = [] if private is None else [element(0x7672, private)]
    projection = element(0x7670, *more, element(0x7673, yaw), element(0x7675, roll))
    video = element(0xE0, element(0xB0, 64), element(0xBA, 48), projection)
    data = matroska([track(video, private=coded[0])], cluster(0, *blocks_of(coded)))
    index, _ = native(data)
    with av.open(io.BytesIO(data)) as container:
        frame = next(container.decode(video=0))
    matrix = frame.side_data.get("DISPLAYMATRIX")
    expected = vl.indexing.Orientation()
    if matrix is not None:
        values = np.frombuffer(bytes(matrix), dtype="<i4")[[0, 1, 3, 4]].tolist()
        expected = vl.indexing.Orientation.from_matrix(*values)
    assert index.orientation == expected
    is_flat = private is None or private[0] == 0
    assert (matrix is not None) == (is_flat and (roll != 0 or yaw != 0))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 8)), min_size=1, max_size=4))
def test_the_track_taken_is_the_one_ffmpeg_calls_best(coded, wishes):
    tracks, blocks = [], []
    for number, (is_default, is_impaired, count) in enumerate(wishes, 1):
        flags = element(0x88, int(is_default)), element(0x55AC, int(is_impaired))
        tracks.append(track(*flags, number=number, private=coded[0]))
        blocks += [
            (pts, block(payload, pts, number=number, key=key))
            for pts, payload, key in coded[1][:count]
        ]
    blocks.sort(key=lambda timed: timed[0])
    data = matroska(tracks, cluster(0, *(one for _, one in blocks)))
    with av.open(io.BytesIO(data)) as container:
        best = container.streams.best("video").index
        ranks = {
            (is_default + (not is_impaired), min(count, 5)): None
            for is_default, is_impaired, count in wishes
        }
    if len(ranks) == len(wishes):  # FFmpeg breaks ties by how far it happened to look
        assert vl.index_video(data).stream == best
    for number in range(len(wishes)):
        assert len(vl.index_video(data, stream=number).packets) == wishes[number][2]


# --- what only decoding or FFmpeg can tell


def test_frames_whose_times_say_nothing_are_found_by_decoding(coded):
    entry = track(private=coded[0])
    same = [block(p, 0, key=k) for _, p, k in coded[1]]
    no_key = blocks_of(coded)[2:]
    for blocks in (same, no_key):
        data = matroska([entry], cluster(0, *blocks))
        index = vl.index_video(data)
        assert index.exactness == "decode"
        with av.open(io.BytesIO(data)) as container:
            container.streams.video[0].thread_count = 1
            assert index.num_frames == sum(1 for _ in container.decode(video=0))


@pytest.mark.parametrize(
    "build",
    [
        lambda entry, blocks: matroska([entry], cluster(0, element(0xD0, b"?"), *blocks)),
        lambda entry, blocks: matroska([entry], cluster(0, *blocks), element(0x2233, b"")),
        lambda entry, blocks: matroska([entry], cluster(0, *blocks)) + b"more behind the end",
        lambda entry, blocks: matroska([entry], cluster(0, block(b"x", 0, number=9), *blocks)),
        lambda entry, blocks: matroska([entry], cluster(0, *blocks), doctype="other"),
        lambda entry, blocks: matroska([entry], cluster(0, block(b"x", -9), *blocks)),
    ],
    ids=["unknown in a cluster", "in the segment", "behind", "no track", "doctype", "before 0"],
)
def test_what_is_odd_is_left_to_ffmpeg(coded, build):
    data = build(track(private=coded[0]), blocks_of(coded))
    with open_source(data) as source:
        assert index_matroska(source) is None
    try:
        index = vl.index_video(data)
    except vl.VideoError:
        return
    assert index.exactness != "tables"


def test_an_encrypted_track_is_refused(coded):
    locked = element(0x6D80, element(0x6240, element(0x5033, 1), element(0x5035, b"")))
    data = matroska([track(locked, private=coded[0])], cluster(0, *blocks_of(coded)))
    with pytest.raises(vl.errors.UnsupportedError, match="encrypted"):
        vl.index_video(data)


# --- damage


def boundaries(data, start=0, stop=None):
    """Where the elements of a file begin and end, those that hold others entered."""
    position, stop = start, len(data) if stop is None else stop
    while position < stop:
        wide = 9 - data[position].bit_length()
        long = 9 - data[position + wide].bit_length()
        size = int.from_bytes(data[position + wide : position + wide + long], "big")
        size &= (1 << 7 * long) - 1
        body = position + wide + long
        yield from (position, body)
        kind = int.from_bytes(data[position : position + wide], "big")
        if kind in (0x18538067, 0x1654AE6B, 0xAE, 0xE0, 0x1F43B675, 0xA0):
            yield from boundaries(data, body, body + size)
        position = body + size
        yield position


def test_truncation_gives_the_complete_packets_that_ffmpeg_gives(remuxed):
    edges = sorted(set(boundaries(remuxed)))
    assert len(edges) > 100
    cuts = {cut + more for cut in edges for more in (-1, 0, 1)} - {0}
    first = remuxed.find(b"\x1f\x43\xb6\x75")
    compared = 0
    for cut in sorted(cuts):
        data = remuxed[:cut]
        try:
            index = vl.index_video(data)
        except vl.VideoError as error:
            assert len(str(error).splitlines()) == 1
            if cut > first + 1000:
                raise
            continue
        if index.exactness == "tables":
            assert packets_of(data) == demuxed(data)
            compared += cut < len(remuxed)
    assert compared > 50


def test_a_file_cut_before_its_frames_says_where(remuxed):
    with pytest.raises(vl.errors.FormatError, match=r"truncated.*first cluster"):
        vl.index_video(remuxed[: remuxed.find(b"\x1f\x43\xb6\x75")])


@settings(max_examples=400)
@given(st.integers(0, 1 << 32))
def test_mutations_give_a_result_or_our_error(remuxed, seed):
    rng = random.Random(seed)
    data = bytearray(remuxed)
    edges = [edge for edge in set(boundaries(remuxed)) if edge < len(data)]
    for _ in range(rng.randint(1, 4)):
        place = min(rng.choice(edges) + rng.randrange(12), len(data) - 1)
        data[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    if rng.random() < 0.2:
        del data[rng.randrange(len(data)) :]
    with (
        at_most_steps(400 * MILLION),
        contextlib.suppress(vl.VideoError),
        open_source(bytes(data)) as source,
    ):
        found = index_matroska(source)
        if found is not None:
            index = found[0]
            index.pts, index.keyframes, index.seek_packets, index.duration  # noqa: B018
            assert (index.packets["offset"] >= 0).all()
            ends = index.packets["offset"] + index.packets["size"]
            assert (ends <= len(data)).all()


@pytest.mark.parametrize(
    "filling",
    [
        element(0xEC, b"")[:1] + b"\x80",
        b"\xa3\x80",
        b"\xa3\x84\x81\0\0\0",
        b"\xa0\x80",
        b"\xa0\x86\xa1\x84\x81\0\0\0",
        b"\xa3\x85\x81\0\0\x04\xff",
        b"\x1f\x43\xb6\x75\x01" + b"\xff" * 7,
        b"\x1f\x43\xb6\x75\x83\xe7\x81\x01",
        b"\x1f\x43\xb6\x75\x80",
        b"\x1c\x53\xbb\x6b\x01" + b"\xff" * 7,
    ],
)
def test_half_a_megabyte_of_tiny_elements_takes_no_time(coded, filling):
    many = filling * (500_000 // len(filling))
    for wrap in (lambda: cluster(0, many, head=unknown), lambda: cluster(0, many), lambda: many):
        data = matroska([track(private=coded[0])], wrap())
        with (
            at_most_steps(500 * MILLION),
            contextlib.suppress(vl.VideoError),
            open_source(data) as source,
        ):
            index_matroska(source)
