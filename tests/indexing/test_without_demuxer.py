"""Files out of the ordinary that need neither a demuxer nor a decode scan."""

import io
from dataclasses import replace

import av
import numpy as np
import pytest
from coded_clips import Coded, with_start_codes
from matroska_files import block, cluster, element, matroska, track
from mp4_files import box, demuxed, indexed, movie, read_clip
from sequential import agrees, sequential
from transport_files import transport

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.indexing.payloads import PacketReader, read_packets

SIZE = (64, 48)
TAGS = {"h264": "V_MPEG4/ISO/AVC", "hevc": "V_MPEGH/ISO/HEVC"}
X264 = "threads=1:keyint=12:scenecut=0"
X265 = "log-level=none:pools=none:keyint=12:bframes=2"
CODECS = {
    "h264": ("libx264", {"x264-params": f"{X264}:bframes=2"}),
    "h264 slices": ("libx264", {"x264-params": f"{X264}:bframes=2:slices=3"}),
    "h264 open GOP": ("libx264", {"x264-params": f"{X264}:bframes=2:open-gop=1"}),
    "h264 no B-frames": ("libx264", {"x264-params": f"{X264}:bframes=0"}),
    "hevc": ("libx265", {"x265-params": X265}),
}


@pytest.fixture(scope="module", params=CODECS)
def coded(request, tmp_path_factory):
    encoder, options = CODECS[request.param]
    path = tmp_path_factory.mktemp("coded") / "clip.mp4"
    return Coded(encode_video(path, codec=encoder, frames=30, size=SIZE, fps=25, options=options))


def blocks(payloads, times, keys):
    return [block(p, t, key=k) for p, t, k in zip(payloads, times, keys, strict=True)]


def is_told_by_tables(data):
    index = vl.index_video(data)
    assert index.exactness == "tables"
    assert index.warnings == ()
    assert agrees(data, index)
    return index


# --- Matroska


def test_tracks_behind_the_clusters(coded):
    entry = element(0x1654AE6B, track(private=coded.record, codec=TAGS[coded.codec]))
    info = element(0x1549A966, element(0x2AD7B1, 1_000_000))
    body = cluster(0, *blocks(coded.payloads, coded.times, coded.keys))

    def seek_head(*places):
        entries = [
            element(0x4DBB, element(0x53AB, kind), element(0x53AC, place.to_bytes(8, "big")))
            for kind, place in places
        ]
        return element(0x114D9B74, *entries)

    at = len(seek_head((0x1549A966, 0), (0x1654AE6B, 0))) + len(body)
    head = seek_head((0x1549A966, at), (0x1654AE6B, at + len(info)))
    begin = element(0x1A45DFA3, element(0x4282, "matroska"))
    index = is_told_by_tables(begin + element(0x18538067, head, body, info, entry))
    assert index.num_frames == 30
    with pytest.raises(vl.VideoError):  # nothing leads to the tracks
        vl.index_video(begin + element(0x18538067, body, info, entry))


@pytest.mark.parametrize("has_private", [True, False])
def test_start_codes_in_blocks(coded, has_private):
    entry = track(private=coded.sets if has_private else b"", codec=TAGS[coded.codec])
    data = matroska([entry], cluster(0, *blocks(coded.stream, coded.times, coded.keys)))
    index = is_told_by_tables(data)
    assert index.length_size == 0
    assert index.keyframes.tolist() == [n for n, t in enumerate(sorted(coded.times)) if t in {
        time for time, key in zip(coded.times, coded.keys, strict=True) if key
    }]  # fmt: skip


def test_start_codes_with_parameter_sets_in_front_alone(coded):
    plain = [with_start_codes(payload) for payload in coded.payloads]
    entry = track(private=coded.sets, codec=TAGS[coded.codec])
    is_told_by_tables(matroska([entry], cluster(0, *blocks(plain, coded.times, coded.keys))))


def test_times_of_decoding_in_place_of_those_of_showing(coded):
    """Pictures say what is shown when; the times stay what the file says."""
    times = [40 * number for number in range(len(coded.times))]
    entry = track(private=coded.record, codec=TAGS[coded.codec])
    index = is_told_by_tables(
        matroska([entry], cluster(0, *blocks(coded.payloads, times, coded.keys)))
    )
    assert sorted(index.pts.tolist()) == times


def test_a_stream_that_ends_and_begins_anew_is_decoded_to_be_known(coded):
    if coded.codec != "hevc":
        pytest.skip("only HEVC says so")
    middle = coded.keys.index(True, 1)
    stream = list(coded.stream)
    stream[middle - 1] += b"\0\0\1\x48\1"  # end of sequence
    entry = track(private=coded.sets, codec=TAGS[coded.codec])
    data = matroska([entry], cluster(0, *blocks(stream, coded.times, coded.keys)))
    index = vl.index_video(data)
    assert index.exactness == "decode"
    assert agrees(data, index)


def test_a_single_frame(coded):
    entry = track(private=coded.record, codec=TAGS[coded.codec])
    assert is_told_by_tables(matroska([entry], cluster(0, block(coded.payloads[0], 0, key=True))))


# --- transport streams


def pes_packets(coded):
    pts = [90 * time + 90_000 for time in coded.times]
    ordered = sorted(pts)
    return [
        (time, ordered[number] - 18_000, data)
        for number, (time, data) in enumerate(zip(pts, coded.stream, strict=True))
    ]


@pytest.mark.parametrize("before", [b"", b"\1\2\3\4"])
@pytest.mark.parametrize("moved", [1, 30, 400])
def test_pictures_that_end_in_the_next_pes_packet(coded, moved, before):
    """All but the first 8 bytes of a picture may be behind; each PES packet begins one."""
    packets, rest, cut = pes_packets(coded), b"", []
    for number, (pts, dts, data) in enumerate(packets):
        size = 0 if number == len(packets) - 1 else min(moved, len(data) - 8)
        cut.append((pts, dts, rest + data[: len(data) - size]))
        rest = data[len(data) - size :] if size else b""
    data = transport(cut, kind=0x24 if coded.codec == "hevc" else 0x1B, before=before)
    index = is_told_by_tables(data)
    with open_source(data) as source, av.open(io.BytesIO(data)) as container:
        payloads = list(read_packets(index, source))
        assert payloads == [bytes(p) for p in container.demux(video=0) if p.size]
        reader = PacketReader(index, source)
        for number in (29, 0, 17, 16):
            assert reader.read(np.array([number]))[0] == payloads[number]
        assert [*reader.read(np.array([2, 3, 9, 29]))] == [payloads[n] for n in (2, 3, 9, 29)]


@pytest.mark.parametrize("moved", [1, 30])
def test_pes_packets_of_two_pictures_and_of_none_take_the_demuxer(coded, moved):
    packets, rest, cut = pes_packets(coded), b"", []
    for number, (pts, dts, data) in enumerate(packets):
        end = len(data) - (moved if number < len(packets) - 1 else 0)
        if number == 7:  # begins in the packet of the one before
            cut[-1] = (*cut[-1][:2], cut[-1][2] + rest + data[: end // 2])
            cut.append((pts, dts, data[end // 2 : end]))
        else:
            cut.append((pts, dts, rest + data[:end]))
        rest = data[end:]
    data = transport(cut, kind=0x24 if coded.codec == "hevc" else 0x1B)
    index = vl.index_video(data)
    assert index.exactness != "tables"
    assert agrees(data, index)


def test_a_transport_stream_whose_times_are_all_those_of_decoding(coded):
    packets = [
        (90_000 + 3600 * number, 90_000 + 3600 * number, data)
        for number, data in enumerate(coded.stream)
    ]
    is_told_by_tables(transport(packets, kind=0x24 if coded.codec == "hevc" else 0x1B))


# --- MP4


@pytest.mark.parametrize("start", [None, 1, 4, 9])
@pytest.mark.parametrize("dropped", [1, 4, 11])
@pytest.mark.parametrize("name", ["h264", "h264 slices", "h264 no B-frames"])
def test_h264_without_a_keyframe_before_the_first_frames(tmp_path, name, dropped, start):
    """The decoder shows nothing before the first keyframe, edit list or not."""
    encoder, options = CODECS[name]
    path = encode_video(tmp_path / "clip.mp4", codec=encoder, frames=36, size=SIZE, options=options)
    clip = read_clip(path)
    edits = None if start is None else [(900, start * 512, 1)]
    data = movie(clip, clip.samples[dropped:], edits=edits)
    index = is_told_by_tables(data)
    assert 0 < index.num_frames < 36
    with av.open(io.BytesIO(data)) as container:
        assert index.pts.tolist() == [frame.pts for frame in container.decode(video=0)]
    assert len(sequential(data)) == index.num_frames


@pytest.mark.parametrize("dropped", [1, 4])
@pytest.mark.parametrize("unlisted", [0, 1])
@pytest.mark.parametrize("name", ["h264", "h264 open GOP"])
def test_other_pictures_that_a_decoder_may_show_first(tmp_path, name, dropped, unlisted):
    """A recovery point, or a keyframe that the table leaves out."""
    encoder, options = CODECS[name]
    path = encode_video(tmp_path / "clip.mp4", codec=encoder, frames=36, size=SIZE, options=options)
    clip = read_clip(path)
    samples = list(clip.samples[dropped:])
    for number in [n for n, sample in enumerate(samples) if sample.key][:unlisted]:
        samples[number] = replace(samples[number], key=False)
    data = movie(clip, samples)
    index = vl.index_video(data)
    assert index.exactness == ("tables" if (name, unlisted) == ("h264", 0) else "decode")
    assert agrees(data, index)


RECORDS = {
    "none": lambda coded: None,
    "empty": lambda coded: b"",
    "zeros": lambda coded: bytes(20),
    "start codes": lambda coded: coded.sets,
}


def described(clip, coded, record):
    """The description with another set-up record, or none."""
    kind = b"avcC" if coded.codec == "h264" else b"hvcC"
    at = clip.description.find(kind) - 4
    size = int.from_bytes(clip.description[at : at + 4], "big")
    made = b"" if record is None else box(kind, record)
    entry = clip.description[16:at] + made + clip.description[at + size :]
    entry = len(entry).to_bytes(4, "big") + entry[4:]
    return box(b"stsd", clip.description[8:16], entry)


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("composed", [True, False])
def test_mp4_samples_with_start_codes(coded, record, composed):
    clip = read_clip(coded.path)
    samples = [
        replace(sample, data=data, composition=composed * sample.composition)
        for sample, data in zip(clip.samples, coded.stream, strict=True)
    ]
    description = described(clip, coded, RECORDS[record](coded))
    data = movie(replace(clip, description=description), samples)
    index = is_told_by_tables(data)
    assert index.num_frames == 30
    with av.open(io.BytesIO(data)) as container:
        keys = [n for n, frame in enumerate(container.decode(video=0)) if frame.key_frame]
    assert index.keyframes.tolist() == keys


@pytest.mark.parametrize("timescale", [0, 1, 1 << 31, (1 << 32) - 1])
@pytest.mark.parametrize("edits", [None, [(900, 1024, 1)]])
def test_a_track_without_a_timescale_has_ticks_of_a_second(coded, timescale, edits):
    clip = read_clip(coded.path)
    data = movie(clip, clip.samples, timescale=timescale, edits=edits)
    index = is_told_by_tables(data)
    assert index.time_base == 1
    assert [row[:4] for row in indexed(data)] == [row[:4] for row in demuxed(data)]
    with av.open(io.BytesIO(data)) as container:
        assert index.pts.tolist() == [frame.pts for frame in container.decode(video=0)]
