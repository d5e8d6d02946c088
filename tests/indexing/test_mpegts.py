"""Transport streams: the same frames as FFmpeg's demuxer finds, and its bytes, without it."""

import contextlib
import io
import random
import tracemalloc
from fractions import Fraction

import av
import numpy as np
import pytest
from corpus_files import corpus_files, has_reference, md5_of
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import MILLION, at_most_steps
from remuxing import remux_bytes
from transport_files import check_sum

import videoloader as vl
from videoloader.codecs.h264 import sequence as h264
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.indexing.containers.mpegts.stream import index_mpegts
from videoloader.indexing.payloads import PacketReader, read_packets
from videoloader.indexing.video import index_video

PACKET = 188
TRANSPORT = corpus_files(
    lambda file: (
        file.facts["container"] == "mpegts" and has_reference(file) and file.reference["frames"]
    )
)


def remux(path, **options):
    """The video of a file in a transport stream, as FFmpeg writes it."""
    return remux_bytes(path, "mpegts", **options)


def demuxed(data, stream=0):
    with av.open(io.BytesIO(data)) as container:
        video = container.streams[stream]
        return [(p.pts, p.dts, p.is_keyframe, bytes(p)) for p in container.demux(video) if p.size]


def native(data, oracle=None, **choice):
    """The index, read natively, checked to be that of FFmpeg's packets, from `oracle` if given."""
    source = open_source(data)
    found = index_mpegts(source, **choice)
    assert found is not None
    index, is_told = found
    packets = demuxed(data if oracle is None else oracle, index.stream)
    assert index.exactness == "tables"
    assert index.packets["pts"].tolist() == [pts for pts, _, _, _ in packets]
    assert index.packets["dts"].tolist() == [dts for _, dts, _, _ in packets]
    assert ((index.packets["flags"] & 1) != 0).tolist() == [key for _, _, key, _ in packets]
    assert list(read_packets(index, source)) == [payload for _, _, _, payload in packets]
    return index, is_told


def packets_of(data):
    return [data[at : at + PACKET] for at in range(0, len(data), PACKET)]


def pid_of(packet):
    return (packet[1] & 0x1F) << 8 | packet[2]


def table(pid, section, counter=0):
    """A transport packet with one section, its check sum added."""
    section = section + check_sum(section)
    head = bytes([0x47, 0x40 | pid >> 8, pid & 0xFF, 0x10 | counter, 0])
    return (head + section).ljust(PACKET, b"\xff")


CODECS = {
    "B-frames": ("libx264", {"g": "12", "bf": "2"}),
    "open GOP": ("libx264", {"x264-params": "open-gop=1:keyint=10:bframes=3:no-scenecut=1"}),
    "no B-frames": ("libx264", {"g": "7", "bf": "0"}),
    "slices": ("libx264", {"x264-params": "slices=4:keyint=10:aud=1"}),
    "interlaced": ("libx264", {"x264-params": "tff=1:keyint=10"}),
    "HEVC": ("libx265", {"x265-params": "log-level=none:keyint=10:pools=none"}),
    "HEVC closed": ("libx265", {"x265-params": "log-level=none:keyint=9:open-gop=0"}),
    "MPEG-2": ("mpeg2video", {"g": "9", "bf": "2"}),
    "MPEG-1": ("mpeg1video", {"g": "9", "bf": "0"}),
}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    paths = {}
    for name, (encoder, options) in CODECS.items():
        paths[name] = folder / f"{name}.mp4"
        encode_video(paths[name], frames=40, size=(160, 96), codec=encoder, options=options)
    return paths


@pytest.fixture(scope="module")
def stream(clips):
    return remux(clips["B-frames"])


@pytest.mark.parametrize("file", TRANSPORT)
def test_packets_are_ffmpegs_byte_for_byte(file):
    data = file.path.read_bytes()
    index, is_told = native(data)
    with av.open(str(file.path)) as container:
        places = [p.pos for p in container.demux(container.streams[index.stream]) if p.size]
    if index.packing.transport.phase is None:  # packets begin with PES packets
        assert index.packets["offset"].tolist() == places
    assert is_told == (not file.is_damaged)


@pytest.mark.parametrize("name", CODECS)
def test_a_remuxed_stream_has_the_frames_of_the_original(clips, name):
    original = vl.index_video(clips[name])
    index, _ = native(remux(clips[name]))
    assert index.num_frames == original.num_frames
    assert index.keyframes.tolist() == original.keyframes.tolist()
    assert (index.codec, index.width, index.height) == (original.codec, 160, 96)
    assert index.pixel_format == original.pixel_format
    every = np.arange(index.num_frames)
    shift = index.seconds(every) - original.seconds(every)
    assert np.ptp(shift) <= 2 / 90000


@pytest.mark.parametrize("name", CODECS)
def test_single_frames_of_a_remuxed_stream_are_those_of_the_original(clips, name):
    data = remux(clips[name])
    with vl.Video(clips[name]) as video:
        expected = {number: md5_of(surface) for number, surface in video.decode(range(40))}
    for number in (39, 0, 11, 23, 10, 31):
        with vl.Video(data) as video:
            assert video.index.packing.transport is not None
            assert {n: md5_of(s) for n, s in video.decode([number])} == {number: expected[number]}


def test_a_variable_rate_keeps_its_times(tmp_path):
    ticks = np.cumsum([20, 50, 25, 120, 300] * 6)
    path = encode_video(
        tmp_path / "clip.mp4",
        frames=30,
        size=(96, 64),
        pts=ticks.tolist(),
        time_base=Fraction(1, 600),
    )
    index, is_told = native(remux(path))
    assert is_told
    assert np.diff(index.pts).tolist() == (np.diff(ticks) * 150).tolist()


@pytest.mark.parametrize("name", ["B-frames", "HEVC", "MPEG-2"])
def test_what_a_stream_says_is_what_ffmpeg_says(clips, name):
    data = remux(clips[name])
    index = vl.index_video(data)
    with av.open(io.BytesIO(data)) as container:
        context = container.streams.video[0].codec_context
        # Start codes have three bytes or four, as FFmpeg's versions have it.
        ours, theirs = (
            data.split(b"\0\0\1") for data in (index.extradata_of(0), context.extradata)
        )
        assert [unit.rstrip(b"\0") for unit in ours] == [unit.rstrip(b"\0") for unit in theirs]
        assert index.codec == context.codec.canonical_name
    assert str(index.packing) == "mpegts:188:0x100"
    assert index.container == "mpegts"


@pytest.mark.parametrize("name", ["B-frames", "HEVC", "open GOP"])
def test_disposable_packets_are_known_from_the_start(clips, name):
    original = vl.index_video(clips[name], headers=True)
    index = vl.index_video(remux(clips[name]))
    assert index.has_headers
    assert index.disposable.tolist() == original.disposable.tolist()
    assert index.disposable.any()


def test_packets_of_192_and_204_bytes_are_the_same_video(stream):
    expected = native(stream)[0]
    disc = b"".join(b"\x12\x34\x47\x78" + packet for packet in packets_of(stream))
    received = b"".join(packet + b"\x47" * 16 for packet in packets_of(stream))
    for data, step, lead in ((disc, 192, 4), (received, 204, 0)):
        index, is_told = native(data, stream)  # FFmpeg 7 opens no short file of 192-byte packets
        assert is_told
        assert str(index.packing) == f"mpegts:{step}:0x100"
        assert index.pts.tolist() == expected.pts.tolist()
        assert (index.packets["offset"] == expected.packets["offset"] // PACKET * step + lead).all()


def test_times_go_on_behind_33_bits(stream):
    """The wrap-around: the first time is a second before it, then just over a minute before."""
    for seconds, negative in ((1, True), (59, True), (61, False), (5000, False)):
        data = shifted(stream, (1 << 33) - 90000 * seconds - int(vl.index_video(stream).pts[0]))
        index, is_told = native(data)
        assert is_told
        assert (index.pts[0] < 0) == negative
        assert (np.diff(index.pts) == 3000).all()


def shifted(data, ticks):
    """The stream with other times in its PES headers."""
    changed = bytearray(data)
    for at in range(0, len(data), PACKET):
        packet = data[at : at + PACKET]
        if pid_of(packet) != 0x100 or not packet[1] & 0x40:
            continue
        start = at + 4 + (packet[4] + 1 if packet[3] & 0x20 else 0)
        for field in (9, 14)[: 1 + (data[start + 7] >> 6 == 3)]:
            a, b, c, d, e = data[start + field : start + field + 5]
            value = (a >> 1 & 7) << 30 | b << 22 | c >> 1 << 15 | d << 7 | e >> 1
            value = (value + ticks) % (1 << 33)
            changed[start + field : start + field + 5] = bytes(
                [
                    a & 0xF1 | value >> 30 << 1,
                    value >> 22 & 255,
                    value >> 14 & 254 | 1,
                    value >> 7 & 255,
                    value << 1 & 254 | 1,
                ]
            )
    return bytes(changed)


def test_tables_in_the_middle_of_the_file(stream):
    packets = packets_of(stream)
    tables = [packet for packet in packets if pid_of(packet) in (0, 0x1000)][:2]
    rest = [packet for packet in packets if pid_of(packet) not in (0, 0x11, 0x1000)]
    index, is_told = native(b"".join(rest[:20] + tables + rest[20:]))
    assert is_told
    assert index.pts.tolist() == vl.index_video(stream).pts.tolist()


def test_tables_that_change_are_left_to_the_demuxer(stream):
    packets = packets_of(stream)
    other = table(0, bytes.fromhex("00b00d0001c300000001f000"))
    data = b"".join([*packets[:40], other, *packets[40:]])
    assert index_mpegts(open_source(data)) is None
    assert vl.index_video(data).num_frames == 40


def test_the_stream_of_each_program_can_be_had(clips):
    """Two programs of one stream each, made of two files by hand."""
    first, second = packets_of(remux(clips["B-frames"])), packets_of(remux(clips["HEVC"]))
    movie = [packet for packet in first if pid_of(packet) == 0x100]
    other = [
        packet[:1] + bytes([packet[1] & 0xE0 | 2, 0]) + packet[3:]
        for packet in second
        if pid_of(packet) == 0x100
    ]
    tables = [
        table(0, bytes.fromhex("00b0110001c1000000 01f0000002f001".replace(" ", ""))),
        table(0x1000, bytes.fromhex("02b0120001c10000e100f0001be100f000")),
        table(0x1001, bytes.fromhex("02b0120002c10000e200f00024e200f000")),
    ]
    data = b"".join(tables + movie + other)
    with av.open(io.BytesIO(data)) as container:
        assert [stream.codec_context.name for stream in container.streams] == ["h264", "hevc"]
        best = container.streams.best("video").index
    assert vl.index_video(data).stream == best
    for number, name in enumerate(("B-frames", "HEVC")):
        index, is_told = native(data, stream=number)
        assert is_told
        assert index.stream == number
        assert index.keyframes.tolist() == vl.index_video(clips[name]).keyframes.tolist()


@pytest.mark.parametrize("payload", ["0", "1", "1000000"])
def test_pes_packets_with_and_without_a_length(clips, payload):
    data = remux(clips["B-frames"], omit_video_pes_length=payload[:1], pes_payload_size=payload)
    assert native(data)[1]


def test_a_pes_packet_of_several_frames_is_left_to_the_demuxer(stream):
    """Every second PES header is taken out, as if two frames had been written as one."""
    data = merged(stream)
    assert index_mpegts(open_source(data)) is None
    index = vl.index_video(data)
    assert index.exactness != "tables"
    assert index.num_frames == 40


def merged(data):
    packets, number, written = [], 0, 0
    for packet in packets_of(data):
        if pid_of(packet) == 0x100 and packet[1] & 0x40:
            number += 1
            if number % 2 == 0:
                start = 4 + (packet[4] + 1 if packet[3] & 0x20 else 0)
                payload = packet[start + 9 + packet[start + 8] :]
                lead = PACKET - len(payload) - 5
                head = bytes([packet[0], packet[1] & 0xBF, packet[2], packet[3] | 0x20])
                packet = head + bytes([lead, 0]) + b"\xff" * (lead - 1) + payload
                assert len(packet) == PACKET
            elif not written:
                written = 1
            if packet[1] & 0x40:
                start = 4 + (packet[4] + 1 if packet[3] & 0x20 else 0)
                packet = packet[: start + 4] + b"\0\0" + packet[start + 6 :]
        packets.append(packet)
    return b"".join(packets)


def test_field_pairs_are_one_frame(clips):
    """Pictures with the headers of fields, top and bottom in turn, in PES packets of their own."""
    data = remux(clips["interlaced"])
    index = vl.index_video(data)
    sets = index.extradata_of(0)
    found = h264.parse_sequence(sets[sets.find(b"\0\0\1\x67") + 3 :])
    bits = found.picture.frame_number_bits
    assert bits
    written = io.BytesIO()
    with (
        av.open(io.BytesIO(data)) as source,
        av.open(written, "w", format="mpegts") as target,
    ):
        stream = target.add_stream_from_template(source.streams.video[0])
        for field in range(20):
            # First macroblock 0, a slice of type I, parameter set 0, frame number, field, bottom.
            header = f"100010001{field // 2 % (1 << bits):0{bits}b}1{field % 2}" + "1" * 240
            header = int(header[: len(header) // 8 * 8], 2).to_bytes(len(header) // 8, "big")
            octet = b"\x65" if field == 0 else b"\x61"
            payload = b"\0\0\0\1\x09\xf0" + (sets if field == 0 else b"")
            packet = av.Packet(payload + b"\0\0\0\1" + octet + header)
            packet.stream, packet.time_base = stream, index.time_base
            packet.pts = packet.dts = 1800 * field
            target.mux(packet)
    fields = demuxed(written.getvalue())
    assert len(fields) == 20
    found = index_mpegts(open_source(written.getvalue()))
    assert found is not None
    index, is_told = found
    assert is_told
    assert index.num_frames == 10
    assert index.pts.tolist() == [pts for pts, _, _, _ in fields[::2]]
    pairs = [a[3] + b[3] for a, b in zip(fields[::2], fields[1::2], strict=True)]
    assert list(read_packets(index, open_source(written.getvalue()))) == pairs


def test_a_lost_packet_makes_for_a_decode_scan(stream):
    packets = packets_of(stream)
    video = [n for n, packet in enumerate(packets) if pid_of(packet) == 0x100]
    lost = next(n for n in video[30:] if not packets[n][1] & 0x40)
    data = b"".join(packet for n, packet in enumerate(packets) if n != lost)
    assert not native(data)[1]
    assert vl.index_video(data).exactness == "decode"


def test_a_stream_that_begins_without_a_keyframe_is_scanned(stream):
    packets = packets_of(stream)
    begun = [n for n, p in enumerate(packets) if pid_of(p) == 0x100 and p[1] & 0x40]
    data = b"".join(packets[: begun[0]] + packets[begun[3] :])
    index = vl.index_video(data)
    assert index.exactness == "decode"
    assert index.num_frames <= 37


def test_a_scrambled_stream_is_refused(stream):
    data = bytearray(stream)
    for at in range(0, len(data), PACKET):
        if pid_of(data[at : at + PACKET]) == 0x100:
            data[at + 3] |= 0x80
    with pytest.raises(vl.VideoError, match="scrambled"):
        vl.index_video(bytes(data))


def test_one_packet_is_read_without_those_before(stream):
    class Counting(io.BytesIO):
        count = 0

        def read(self, size=-1):
            data = super().read(size)
            self.count += len(data)
            return data

    index = vl.index_video(stream)
    file = Counting(stream)
    source = open_source(file)
    payloads = list(read_packets(index, source))
    for number in (0, 17, 38):
        file.count = 0
        assert PacketReader(index, source).read(np.array([number]))[0] == payloads[number]
        assert file.count <= index.packets["size"][number] * 188 / 150 + 1000


def test_a_changed_file_is_found_out(stream):
    index = vl.index_video(stream)
    for other in (stream[: len(stream) // 2], stream[::-1], b"\0" * len(stream)):
        with pytest.raises(vl.errors.SourceError):
            list(read_packets(index, open_source(other)))


@settings(max_examples=60)
@given(st.floats(0, 1))
def test_a_truncated_stream_gives_a_result_or_our_error(stream, share):
    with contextlib.suppress(vl.VideoError):
        vl.index_video(stream[: max(int(len(stream) * share), 1)])


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_mutated_streams_give_a_result_or_our_error(stream, seed):
    rng = random.Random(seed)
    data = bytearray(stream)
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(len(data) // PACKET) * PACKET + rng.choice((0, rng.randrange(40)))
        data[place] = rng.choice([0, 1, 0x40, 0x47, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    source = open_source(bytes(data))
    try:
        found = index_mpegts(source)
        if found is not None:
            index = found[0]
            index.pts, index.keyframes, index.seek_packets, index.duration  # noqa: B018
            list(read_packets(index, source))
    except vl.VideoError:
        pass


@pytest.mark.parametrize(
    "filler", [b"\0", b"\0\0\1\x09\xf0", b"\0\0\1\x65\x88", b"\x47\x41\x00\x10"]
)
def test_a_hostile_megabyte_costs_little(stream, filler):
    """Headers of a real stream, then packets that all begin PES packets full of start codes."""
    head = b"".join(packets_of(stream)[:4])
    first = next(p for p in packets_of(stream) if pid_of(p) == 0x100 and p[1] & 0x40)
    hostile = (first[:60] + filler * PACKET)[:PACKET]
    data = head + first + hostile * (1_000_000 // PACKET)
    tracemalloc.start()
    with at_most_steps(400 * MILLION), contextlib.suppress(vl.VideoError):
        index_mpegts(open_source(data))
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


def test_opening_and_reading_agree_for_every_kind_of_source(stream, tmp_path):
    path = tmp_path / "clip.ts"
    path.write_bytes(stream)
    expected = native(stream)[0]
    index = index_video(path)
    assert (index.packets == expected.packets).all()
    with open_source(path) as source:
        assert list(read_packets(index, source)) == list(
            read_packets(expected, open_source(stream))
        )


def test_frames_last_until_the_next_where_the_stream_states_its_clock(tmp_path):
    path = tmp_path / "clock.ts"
    encode_video(path, frames=9, pts=range(0, 27000, 3000), time_base=Fraction(1, 90000))
    index = vl.index_video(path)
    assert np.abs(np.diff(index.boundaries) - 1 / 30).max() < 1e-9
    assert index.average_fps == pytest.approx(30)
