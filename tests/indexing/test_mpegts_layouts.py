"""Rare but rightful transport streams, and damaged ones: FFmpeg's packets, or its own work."""

import io
import random

import av
import numpy as np
import pytest
from transport_files import check_sum

import videoloader as vl
from videoloader.codecs.picture import PictureFormat
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.indexing.containers.mpegts import grid
from videoloader.indexing.containers.mpegts.pictures import read_pictures
from videoloader.indexing.containers.mpegts.stream import index_mpegts
from videoloader.indexing.containers.mpegts.units import HEADER, TransportUnits
from videoloader.indexing.payloads import read_packets

PACKET = 188
VIDEO, MAP = 0x100, 0x1000
IDR_W_RADL, IDR_N_LP = b"\0\0\1\x26", b"\0\0\1\x28"


@pytest.fixture(scope="module")
def packets(tmp_path_factory):
    """The transport packets of a clip with B-frames."""
    path = tmp_path_factory.mktemp("layouts") / "clip.ts"
    encode_video(path, frames=40, size=(160, 96), options={"g": "12", "bf": "2"})
    data = path.read_bytes()
    return [data[at : at + PACKET] for at in range(0, len(data), PACKET)]


def demuxed(data, stream=0):
    with av.open(io.BytesIO(data)) as container:
        video = container.streams[stream]
        return [(p.pts, p.dts, p.is_keyframe, bytes(p)) for p in container.demux(video) if p.size]


def native(packets):
    """The index, read natively, checked to be that of FFmpeg's packets."""
    data = b"".join(packets)
    with open_source(data) as source:
        found = index_mpegts(source)
        assert found is not None
        index, is_told = found
        payloads = list(read_packets(index, source))
    times = [index.packets[name].tolist() for name in ("pts", "dts")]
    keys = (index.packets["flags"] & 1 > 0).tolist()
    assert list(zip(*times, keys, payloads, strict=True)) == demuxed(data)
    return index, is_told


def left_to_the_demuxer(packets):
    data = b"".join(packets)
    with open_source(data) as source:
        assert index_mpegts(source) is None
    return vl.index_video(data)


def pid_of(packet):
    return (packet[1] & 0x1F) << 8 | packet[2]


def is_video(packet):
    return pid_of(packet) == VIDEO


def head(pid, counter, control, flags=0):
    return bytes([0x47, flags | pid >> 8, pid & 0xFF, control << 4 | counter])


def adaptation_only(pid, counter, fields=0):
    return head(pid, counter, 2) + bytes([183, fields]) + b"\xff" * 182


def program_map(version, *entries, told=b""):
    """A transport packet with a program map of (stream type, PID); `told` are descriptors."""
    body = b"".join(bytes([kind, 0xE0 | pid >> 8, pid & 255, 0xF0, 0]) for kind, pid in entries)
    length = 9 + len(told) + len(body) + 4
    section = bytes([2, 0xB0 | length >> 8, length & 255, 0, 1, 0xC1 | version << 1, 0, 0])
    section += bytes([0xE0 | VIDEO >> 8, VIDEO & 255, 0xF0, len(told)]) + told + body
    packet = head(MAP, 0, 1, 0x40) + b"\0" + section + check_sum(section)
    return packet.ljust(PACKET, b"\xff")


def test_packets_without_a_payload_count_for_nothing(packets):
    mixed = []
    for packet in packets:
        mixed.append(packet)
        if is_video(packet):
            mixed += [adaptation_only(VIDEO, packet[3] & 15), head(0x1FFF, 0, 1).ljust(PACKET)]
    index, is_told = native(mixed)
    assert is_told
    assert index.num_frames == 40


def test_an_announced_jump_of_the_counter_is_none(packets):
    """A packet without payload and with a discontinuity indicator, then another counter."""
    place = [n for n, packet in enumerate(packets) if is_video(packet)][30]
    rest = [
        packet[:3] + bytes([packet[3] & 0xF0 | (packet[3] + 5) & 15]) + packet[4:]
        if is_video(packet)
        else packet
        for packet in packets[place:]
    ]
    counter = rest[0][3] - 1 & 15
    jump = [adaptation_only(VIDEO, counter, fields) for fields in (0x80, 0)]
    assert native([*packets[:place], jump[0], *rest])[1]
    assert not native([*packets[:place], jump[1], *rest])[1]


@pytest.mark.parametrize("kind", ["doubled", "lost", "bad"])
def test_a_stream_with_what_should_not_be_is_decoded_to_be_known(packets, kind):
    places = [n for n, packet in enumerate(packets) if is_video(packet)]
    inner = [n for n in places if not packets[n][1] & 0x40]
    for place in (inner[3], inner[len(inner) // 2], inner[-2]):
        packet = packets[place]
        odd = {
            "doubled": [packet, packet],
            "lost": [],
            "bad": [packet[:1] + bytes([packet[1] | 0x80]) + packet[2:]],
        }[kind]
        data = [*packets[:place], *odd, *packets[place + 1 :]]
        with open_source(b"".join(data)) as source:
            found = index_mpegts(source)
        assert found is None or not found[1]
        index = vl.index_video(b"".join(data))
        assert index.exactness == "decode"
        with av.open(io.BytesIO(b"".join(data))) as container:
            container.streams.video[0].thread_count = 1
            assert index.num_frames == sum(1 for _ in container.decode(video=0))


def test_a_map_of_another_version_is_left_to_the_demuxer(packets):
    """The same streams under a new version, and other ones."""
    middle = len(packets) // 2
    maps = [packet for packet in packets if pid_of(packet) == MAP]
    same = program_map(1, (0x1B, VIDEO))
    for other in (same, program_map(1, (0x1B, 0x200)), program_map(1, (0x1B, VIDEO), (3, 0x201))):
        assert other not in maps
        index = left_to_the_demuxer([*packets[:middle], other, *packets[middle:]])
        assert index.exactness != "tables"
    assert left_to_the_demuxer([*packets[:middle], same, *packets[middle:]]).num_frames == 40


def test_a_map_with_a_wrong_check_sum_is_left_to_the_demuxer(packets):
    damaged = [
        packet[:20] + bytes([packet[20] ^ 1]) + packet[21:] if pid_of(packet) == MAP else packet
        for packet in packets
    ]
    with open_source(b"".join(damaged)) as source:
        assert index_mpegts(source) is None


def test_descriptors_of_the_program_are_passed_over(packets):
    for told in (b"\x05\x04HDMV", b"\x0e\x03\xc0\0\0" * 6):
        maps = program_map(0, (0x03, 0x300), (0x1B, VIDEO), told=told)
        mixed = [maps if pid_of(packet) == MAP else packet for packet in packets]
        index, is_told = native_of(mixed, stream=1)
        assert is_told
        assert (index.stream, index.num_frames) == (1, 40)


@pytest.mark.parametrize("kind", [16, 17, 18, 19, 20, 21])
def test_hevc_pictures_of_all_kinds_to_begin_at(tmp_path, kind):
    """The random-access pictures of a stream made another kind of such (table 7-1 of H.265)."""
    path = tmp_path / "clip.ts"
    options = {"x265-params": "log-level=none:keyint=10:open-gop=0:bframes=0:pools=none"}
    encode_video(path, frames=25, size=(160, 96), codec="libx265", options=options)
    data = path.read_bytes()
    found = [at for at in range(len(data) - 4) if data[at : at + 4] in (IDR_W_RADL, IDR_N_LP)]
    assert len(found) == 3
    changed = bytearray(data)
    for at in found[1:]:
        changed[at + 3] = kind << 1
    with open_source(bytes(changed)) as source:
        index = index_mpegts(source)[0]
    keys = (index.packets["flags"] & 1 > 0).tolist()
    assert keys == [key for _, _, key, _ in demuxed(bytes(changed))]
    assert sum(keys) == 3


def test_a_frame_without_a_time_is_left_to_the_demuxer(packets):
    begun = [n for n, packet in enumerate(packets) if is_video(packet) and packet[1] & 0x40]
    packet = bytearray(packets[begun[7]])
    start = 4 + (packet[4] + 1 if packet[3] & 0x20 else 0)
    packet[start + 7] &= 0x3F
    left_to_the_demuxer([*packets[: begun[7]], bytes(packet), *packets[begun[7] + 1 :]])


def test_fields_of_mpeg2_are_told_by_their_coding_extension():
    """Picture headers by hand (ISO/IEC 13818-2, sections 6.2.3 and 6.2.3.1)."""
    headers, kinds = [], [(1, 1), (2, 2), (3, 1), (1, 3), (2, 3), (3, 2)]
    for kind, structure in kinds:
        more = {1: "", 2: "0111", 3: "01110111"}[kind]
        bits = f"{37:010b}{kind:03b}{0xFFFF:016b}{more}0"
        bits = bits.ljust(-(-len(bits) // 8) * 8, "0")
        extension = bytes([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF4 | structure])
        header = b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big") + extension
        headers.append(list(header.ljust(HEADER, b"\xff")[:HEADER]))
    table, none = np.array(headers, dtype=np.uint8), np.zeros(len(kinds), dtype=np.bool_)
    picture = PictureFormat(width=64, height=48, pixel_format="yuv420p", bit_depth=8)
    found = read_pictures("mpeg2video", picture, None, None, TransportUnits(table, none, none))
    assert found.keys.tolist() == [kind == 1 for kind, _ in kinds]
    assert found.reordered.tolist() == [kind == 3 for kind, _ in kinds]
    assert found.is_field.tolist() == [structure < 3 for _, structure in kinds]
    assert found.parity.tolist() == [structure for _, structure in kinds]
    assert found.number.tolist() == [37] * len(kinds)


def test_a_map_over_two_packets_is_read(packets):
    """More streams than one packet can name; those that never come are there all the same."""
    entries = [(0x03, 0x300 + number) for number in range(40)]
    body = program_map(0, (0x1B, VIDEO))
    section = bytes([2, 0xB0, 0, 0, 1, 0xC1, 0, 0, 0xE1, 0, 0xF0, 0])
    for kind, pid in [*entries[:20], (0x1B, VIDEO), *entries[20:]]:
        section += bytes([kind, 0xE0 | pid >> 8, pid & 255, 0xF0, 0])
    section = section[:1] + (0xB000 | len(section) + 1).to_bytes(2, "big") + section[3:]
    section = b"\0" + section + check_sum(section)
    assert len(section) < 2 * 184
    parts = [
        head(MAP, 0, 1, 0x40) + section[:184],
        (head(MAP, 1, 1) + section[184:]).ljust(PACKET, b"\xff"),
    ]
    assert len(body) == len(parts[0]) == len(parts[1])
    mixed = []
    for packet in packets:
        mixed += parts if pid_of(packet) == MAP else [packet]
    index, is_told = native_of(mixed, stream=20)
    assert is_told
    assert index.stream == 20
    assert index.num_frames == 40


def native_of(packets, stream):
    data = b"".join(packets)
    with av.open(io.BytesIO(data)) as container:
        assert container.streams[stream].type == "video"
    with open_source(data) as source:
        found = index_mpegts(source)
        assert found is not None
        payloads = list(read_packets(found[0], source))
    assert payloads == [payload for *_, payload in demuxed(data, stream)]
    return found


def test_the_video_of_a_stream_is_taken_among_other_streams_packets(packets):
    """Packets of a sound stream of the same program, some scrambled, between those of video."""
    sound, count, mixed = b"\0\0\1\xc0\0\0\x80\0\0" + b"\x11" * 175, 0, []
    for packet in packets:
        if pid_of(packet) == MAP:
            packet = program_map(0, (0x03, 0x101), (0x1B, VIDEO))
        mixed.append(packet)
        if is_video(packet):
            mixed.append((head(0x101, count & 15, 1, 0x40) + sound).ljust(PACKET, b"\xff"))
            count += 1
    index, is_told = native_of(mixed, stream=1)
    assert is_told
    assert index.num_frames == 40
    scrambled = [
        packet[:3] + bytes([packet[3] | 0xC0]) + packet[4:] if pid_of(packet) == 0x101 else packet
        for packet in mixed
    ]
    assert (vl.index_video(b"".join(scrambled)).packets == index.packets).all()


@pytest.mark.parametrize("bits", [0x40, 0x80, 0xC0])
def test_one_scrambled_packet_is_enough(packets, bits):
    places = [n for n, packet in enumerate(packets) if is_video(packet)]
    changed = [*packets]
    packet = packets[places[50]]
    changed[places[50]] = packet[:3] + bytes([packet[3] | bits]) + packet[4:]
    with pytest.raises(vl.errors.UnsupportedError, match="scrambled"):
        vl.index_video(b"".join(changed))


def test_a_rest_of_a_packet_at_the_end_is_nothing(packets):
    whole = native(packets)[0]
    for left in (1, 100, 187):
        assert (native([*packets, packets[3][:left]])[0].packets == whole.packets).all()


def test_a_packet_lost_out_of_the_grid_is_left_to_the_demuxer(packets):
    """Bytes that are missing or too many in the middle of a file, as after a bad transmission."""
    rng = random.Random(1)
    for _ in range(8):
        place = rng.randrange(40, len(packets) - 40)
        cut = rng.randrange(1, PACKET)
        for odd in (packets[place][:cut], packets[place] + bytes(cut)):
            index = left_to_the_demuxer([*packets[:place], odd, *packets[place + 1 :]])
            assert 30 <= index.num_frames <= 40


def test_a_file_that_begins_in_the_middle_of_a_packet(packets):
    expected = native(packets)[0]
    for left in (1, 60, 187):
        index, is_told = native([packets[0][-left:].replace(b"G", b"g"), *packets])
        assert is_told
        assert (index.packets["offset"] == expected.packets["offset"] + left).all()


@pytest.mark.parametrize("kept", [0, 8])
def test_packets_that_are_not_kept_are_read_again(tmp_path, monkeypatch, kept):
    path = encode_video(tmp_path / "a.ts", frames=30, size=(96, 64), options={"g": "10"})
    expected = vl.index_video(path)
    with open_source(path) as source:
        assert len(grid.read_grid(source).begun_packets) > 30 * grid.PACKET
        monkeypatch.setattr(grid, "FREE_PACKETS", kept)
        monkeypatch.setattr(grid, "KEPT", 1 << 20)
        assert len(grid.read_grid(source).begun_packets) == 0
    assert vl.index_video(path) == expected
