"""Elementary streams: what FFmpeg's bitstream filters make of the same packets."""

import re
from dataclasses import replace

import av
import pytest
from av.bitstream import BitStreamFilterContext
from hypothesis import example, given
from hypothesis import strategies as st

from videoloader.codecs.records import parameter_sets
from videoloader.codecs.registry import nal_syntax
from videoloader.decoding.nvdec.elementary import ElementaryStream
from videoloader.demo.videos import encode_video
from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing import index_video

FILTERS = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}


@pytest.fixture(scope="module", params=["h264.mp4", "h264_open_gop.mp4", "hevc.mp4"])
def video(request, demo_folder):
    """A video and the payloads of its packets."""
    path = demo_folder / request.param
    data, index = path.read_bytes(), index_video(path)
    places = zip(index.packets["offset"].tolist(), index.packets["size"].tolist(), strict=True)
    return path, index, [data[offset : offset + size] for offset, size in places]


def units(stream):
    """NAL units of an Annex B stream, whatever the length of its start codes."""
    return [unit.rstrip(b"\0") for unit in re.split(b"\0\0\1", stream)[1:]]


def with_length_size(payload, size):
    """A packet whose lengths of four bytes have another number of bytes."""
    parts, position = [], 0
    while position < len(payload):
        length = int.from_bytes(payload[position : position + 4], "big")
        begin, position = position + 4, position + 4 + length
        parts += [length.to_bytes(size, "big"), payload[begin:position]]
    return b"".join(parts)


def framed(unit, size):
    """A unit behind a length of so many bytes, or behind a start code."""
    return (len(unit).to_bytes(size, "big") if size else b"\0\0\0\1") + unit


def test_streams_are_those_of_ffmpeg_filters(video):
    path, index, payloads = video
    made = ElementaryStream(index)
    ours = made.head(0) + made.join(payloads)
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        change = BitStreamFilterContext(FILTERS[index.codec], in_stream=stream)
        packets = [packet for packet in file.demux(stream) if packet.size]
        theirs = b"".join(bytes(out) for packet in packets for out in change.filter(packet))
    # FFmpeg repeats the parameter sets at each keyframe, behind messages that come before it.
    sets = units(made.head(0))
    assert units(ours)[: len(sets)] == sets
    assert [unit for unit in units(theirs) if unit in sets][: len(sets)] == sets
    pictures = [unit for unit in units(theirs) if unit not in sets]
    assert [unit for unit in units(ours) if unit not in sets] == pictures
    assert len(pictures) >= len(payloads)


@pytest.mark.parametrize("size", [2, 3])
def test_every_length_size_gives_the_same_stream(video, size):
    _, index, payloads = video
    payloads = [payload for payload in payloads if len(payload) < 65000]
    short = [with_length_size(payload, size) for payload in payloads]
    expected = ElementaryStream(index).join(payloads)
    assert ElementaryStream(replace(index, length_size=size)).join(short) == expected


def test_lengths_of_one_byte(video):
    _, index, _ = video
    payloads = [b"\3\1ab\2\1c", b"\0\1\1"]
    stream = ElementaryStream(replace(index, length_size=1)).join(payloads)
    code = b"\0\0\0\1"
    assert stream == code + b"\1ab" + code + b"\1c" + code + code + b"\1"


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_all_units_of_all_packets_come_in_order(video, size):
    _, index, _ = video
    pictures = [[b"\1ab", b"\2"], [b"\2c"], [b"\1" + bytes([9]) * 200]]
    packets = [b"".join(framed(unit, size) for unit in packet) for packet in pictures]
    whole = b"".join(framed(unit, 0) for packet in pictures for unit in packet)
    made = ElementaryStream(replace(index, length_size=size))
    assert made.join(packets) == whole
    assert made.join([]) == b""


@pytest.mark.parametrize("size", [2, 3, 4])
def test_what_is_too_short_for_a_length_stays_within_its_packet(video, size):
    _, index, _ = video
    unit = (3).to_bytes(size, "big") + b"\1ab"
    stream = ElementaryStream(replace(index, length_size=size)).join([unit + b"\0", unit, unit])
    assert units(bytes(stream)) == [b"\1ab"] * 3


def test_start_codes_stay_as_they_are(video):
    _, index, payloads = video
    stream = ElementaryStream(index).join(payloads[:3])
    bare = ElementaryStream(replace(index, length_size=0))
    assert bare.join([stream[:50], stream[50:]]) == stream


@given(
    payload=st.binary(max_size=40),
    size=st.sampled_from([1, 2, 4]),
    codec=st.sampled_from(["h264", "hevc"]),
)
@example(payload=bytes(1), size=1, codec="h264")
@example(payload=bytes(4), size=4, codec="hevc")
@example(payload=b"\0\1\1\0\0", size=2, codec="h264")
def test_damaged_lengths_are_an_error_and_never_read_outside(index, payload, size, codec):
    made = ElementaryStream(replace(index, length_size=size, codec=codec))
    try:
        stream = made.join([payload])
    except (UnsupportedError, FormatError):
        return
    # Sound: every length lies inside, so units are the payload without its lengths.
    position, expected = 0, b""
    while position + size < len(payload):
        length = int.from_bytes(payload[position : position + size], "big")
        position += size
        assert position + length <= len(payload)
        expected += b"\0\0\0\1" + payload[position : position + length]
        position += length
    assert stream[: len(expected)] == expected
    assert len(stream) - len(expected) <= size


@pytest.fixture(scope="module")
def index(demo_folder):
    return index_video(demo_folder / "h264.mp4")


@pytest.mark.parametrize("size", [2, 4])
def test_a_unit_that_ends_outside_its_packet_is_left_to_the_cpu(index, size):
    made = ElementaryStream(replace(index, length_size=size))
    unit = (3).to_bytes(size, "big") + b"\1ab"
    assert made.join([unit]) == b"\0\0\0\1\1ab"
    with pytest.raises(UnsupportedError, match=r"h264\.mp4: a NAL unit ends outside its packet"):
        made.join([unit[:-1], unit])


def test_another_size_or_sequence_on_the_way_is_refused(video):
    _, index, payloads = video
    other = ElementaryStream(replace(index, width=index.width + 2))
    with pytest.raises(UnsupportedError, match="where the index says"):
        other.head(0)
    made = ElementaryStream(index)
    head = made.head(0)
    assert made.join([payloads[0]])
    (sequence,) = [unit for unit in units(head) if made._is_sequence(unit[0])]
    code = len(sequence).to_bytes(4, "big")
    assert made.join([code + sequence, code + sequence])  # the same one again
    changed = sequence[:-1] + bytes([sequence[-1] ^ 64])
    with pytest.raises(UnsupportedError, match="changes on the way"):
        made.join([code + changed])
    begun = ElementaryStream(replace(index, length_size=0))
    begun.head(0)
    with pytest.raises(UnsupportedError, match="changes on the way"):
        begun.join([b"\0\0\1" + changed + b"\0\0\0\1\x41"])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_changed_sequence_is_found_wherever_it_stands(video, size, place):
    _, index, _ = video
    made = ElementaryStream(replace(index, length_size=size))
    head = made.head(0)
    (sequence,) = [unit for unit in units(head) if made._is_sequence(unit[0])]
    changed = sequence[:-1] + bytes([sequence[-1] ^ 64])
    for parts, refused in ((sequence, False), (changed, True)):
        pictures = [b"\1ab"] * 4
        pictures.insert(1 + place, parts)
        one, two, three, four, five = (framed(unit, size) for unit in pictures)
        packets = [one + two, three, four + five]
        if refused:
            with pytest.raises(UnsupportedError, match="changes on the way"):
                made.join(packets)
        else:
            assert units(head + made.join(packets)) == [*units(head), *pictures]


def test_a_byte_stream_of_another_size_is_refused(video):
    _, index, _ = video
    head = ElementaryStream(index).head(0)
    for stream in (head, head[1:], b"\0\0\1\x41ab" + head):
        assert ElementaryStream(replace(index, length_size=0)).join([stream]) == stream
        other = ElementaryStream(replace(index, length_size=0, height=index.height + 2))
        with pytest.raises(UnsupportedError, match="where the index says"):
            other.join([stream])


def test_types_of_units_are_where_the_standards_say(index):
    for octet in range(256):
        bits = f"{octet:08b}"  # H.264: 1, 2, 5 bits; HEVC: 1, 6, and the first of the layer
        for codec, kind, sequence in (("h264", bits[3:], 7), ("hevc", bits[1:7], 33)):
            made = ElementaryStream(replace(index, codec=codec))
            assert made._is_sequence(octet) == (int(kind, 2) == sequence)


def avc_record(sequences, pictures):
    """An `avcC` of these parameter sets."""
    parts = [b"\1\x64\0\x1e\xff", bytes([0xE0 | len(sequences)])]
    parts += [len(unit).to_bytes(2, "big") + unit for unit in sequences]
    parts += [bytes([len(pictures)])]
    return b"".join(parts + [len(unit).to_bytes(2, "big") + unit for unit in pictures])


def hevc_record(arrays):
    """An `hvcC` of arrays of parameter sets."""
    parts = [b"\1", bytes(21), bytes([len(arrays)])]
    for units_ in arrays:
        parts += [units_[0][:1], len(units_).to_bytes(2, "big")]
        parts += [len(unit).to_bytes(2, "big") + unit for unit in units_]
    return b"".join(parts)


def test_all_parameter_sets_of_a_record_come_in_their_order():
    one, two, long = b"\x67ab", b"\x67abc", b"\x68" + bytes(range(1, 250)) * 2
    for sequences in ([one], [one, two], [two, one, one]):
        for pictures in ([], [long], [b"\x68x", long, b"\x68y"], [b"\x68z"] * 40):
            record = avc_record(sequences, pictures)
            assert parameter_sets(nal_syntax("h264"), record) == sequences + pictures
            extended = record + b"\xfd\xf8\xf8\0"  # as of High profiles
            assert parameter_sets(nal_syntax("h264"), extended) == sequences + pictures
    arrays = [[b"\x40\1v"], [b"\x42\1s", b"\x42\1t"], [long, b"\x44\1p"] * 150]
    assert parameter_sets(nal_syntax("hevc"), hevc_record(arrays)) == [
        unit for row in arrays for unit in row
    ]
    assert parameter_sets(nal_syntax("hevc"), hevc_record([])) == []


def test_a_record_of_several_sequences_is_left_to_the_cpu(video):
    _, index, _ = video
    sets = parameter_sets(nal_syntax(index.codec), index.extradata_of(0))
    made = ElementaryStream(index)
    (sequence,) = [unit for unit in sets if made._is_sequence(unit[0])]
    others = [unit for unit in sets if unit != sequence]
    changed = sequence[:-1] + bytes([sequence[-1] ^ 64])
    for second, refused in ((sequence, False), (changed, True)):
        if index.codec == "h264":
            record = avc_record([sequence, second], [*others, others[0]])
        else:
            record = hevc_record([[others[0]], [sequence, second], others[1:]])
        stream = ElementaryStream(replace(index, extradata=((0, record),)))
        if refused:
            with pytest.raises(UnsupportedError, match="changes on the way"):
                stream.head(0)
        else:
            assert units(stream.head(0)) == parameter_sets(nal_syntax(index.codec), record)


def test_a_record_cut_short_is_an_error_at_every_place(video):
    _, index, _ = video
    record = index.extradata_of(0)
    whole = parameter_sets(nal_syntax(index.codec), record)
    for size in range(1, len(record)):
        try:
            assert (
                parameter_sets(nal_syntax(index.codec), record[:size]) == whole
            )  # what follows is no unit
        except FormatError:
            continue
    with pytest.raises(FormatError, match="too short"):
        parameter_sets(nal_syntax(index.codec), record[:20])
    assert parameter_sets(nal_syntax(index.codec), b"\0\0\0\1" + record) is None
    assert len(whole) >= 2


@pytest.mark.parametrize("codec", ["vp8", "vp9"])
def test_frames_of_another_size_are_refused(tmp_path, codec):
    """The decoder, which is made for larger ones as well, would scale them."""
    paths = [
        encode_video(tmp_path / f"{width}.webm", codec=f"libvpx{name}", size=(width, 96), frames=3)
        for width in (128, 160)
        for name in ("" if codec == "vp8" else "-vp9",)
    ]
    one, other = (index_video(path) for path in paths)
    packets = [
        [path.read_bytes()[p["offset"] : p["offset"] + p["size"]] for p in index.packets]
        for path, index in zip(paths, (one, other), strict=True)
    ]
    stream = ElementaryStream(one)
    for packet in (*packets[0], *packets[1][1:]):  # the latter state no size
        assert stream.join([packet]) == packet
    with pytest.raises(UnsupportedError, match="frames of 160x96"):
        stream.join([packets[0][0], packets[1][0]])
    with pytest.raises(UnsupportedError, match=r"128\.webm"):
        stream.join([b"\x82\x49" if codec == "vp9" else b"\x10\0\0\x9d\x01\x2a\x10\0\x10\0"])
