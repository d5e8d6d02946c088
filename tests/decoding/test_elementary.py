"""Elementary streams: what FFmpeg's bitstream filters make of the same packets."""

import re
from dataclasses import replace

import av
import pytest
from av.bitstream import BitStreamFilterContext
from hypothesis import example, given
from hypothesis import strategies as st

from videoloader.decoding.elementary import ElementaryStream, parameter_sets
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


def test_a_record_cut_short_is_an_error_at_every_place(video):
    _, index, _ = video
    record = index.extradata_of(0)
    whole = parameter_sets(index.codec, record)
    for size in range(1, len(record)):
        try:
            assert parameter_sets(index.codec, record[:size]) == whole  # what follows is no unit
        except FormatError:
            continue
    with pytest.raises(FormatError, match="too short"):
        parameter_sets(index.codec, record[:20])
    assert parameter_sets(index.codec, b"\0\0\0\1" + record) is None
    assert len(whole) >= 2
