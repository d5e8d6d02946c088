"""Sizes in the headers of VP8 and VP9 frames, written field by field as the standards list them."""

from fractions import Fraction
from itertools import product

import av
import pytest
from vp9_streams import with_hidden_frames

from videoloader.codecs.vpx import (
    count_joinable,
    count_shown,
    join_frames,
    shows_earlier,
    stated_sizes,
)
from videoloader.errors import FormatError

SIZE = f"{319:016b}{239:016b}"
SYNC = f"{0x498342:024b}"
FRAMES = {
    # marker, profile, show_existing_frame, frame_type, show_frame, error_resilient_mode, ...
    "key": ("10 00 0 0 1 0" + SYNC + "001 0" + SIZE, (320, 240)),
    "key of profile 1": ("10 10 0 0 1 0" + SYNC + "001 0 00 0" + SIZE, (320, 240)),
    "key of profile 1, 4:4:0": ("10 10 0 0 1 0" + SYNC + "001 0 01 0" + SIZE, (320, 240)),
    "key of profile 2": ("10 01 0 0 1 0" + SYNC + "1 001 0" + SIZE, (320, 240)),
    "key of profile 3, RGB": ("10 11 0 0 0 1 0" + SYNC + "0 111 0" + SIZE, (320, 240)),
    "intra only": ("10 00 0 1 0 0 1 00" + SYNC + "11111111" + SIZE, (320, 240)),
    "intra only, resilient": ("10 00 0 1 0 1 1" + SYNC + "11111111" + SIZE, (320, 240)),
    "intra only of profile 2": (
        "10 01 0 1 0 0 1 00" + SYNC + "0 001 0" + "11111111" + SIZE,
        (320, 240),
    ),
    "of its own size": ("10 00 0 1 1 0 00 00000001 000 0 001 0 010 1 000" + SIZE, (320, 240)),
    "hidden, of its own size": (
        "10 00 0 1 0 0 0 00 00000001 000 0 001 0 010 1 000" + SIZE,
        (320, 240),
    ),
    "as the first reference": ("10 00 0 1 1 0 00 00000001 000 0 001 0 010 1 1", None),
    "as the third reference": ("10 00 0 1 1 1 00000001 000 0 001 0 010 1 001", None),
    "shown again": ("10 00 1 010", None),
}


def packed(fields):
    bits = fields.replace(" ", "")
    return int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")


@pytest.mark.parametrize("kind", FRAMES)
def test_what_the_header_of_a_vp9_frame_states(kind):
    fields, size = FRAMES[kind]
    frame = packed(fields)
    assert stated_sizes("vp9", frame + bytes(20)) == ([] if size is None else [size])
    for stop in range(1, len(frame) - (size is None)):
        with pytest.raises(FormatError):
            stated_sizes("vp9", frame[:stop])


@pytest.mark.parametrize("profile", ["00", "10", "01", "110"])
def test_an_inter_frame_states_its_size_if_it_takes_that_of_no_reference(profile):
    flags = product("01", "01", ("00", "11"), (0, 0xFFFFF), range(8))
    for shown, resilient, reset, names, found in flags:
        fields = f"10 {profile} 0 1 {shown} {resilient}" + ("" if shown == "1" else " 0")
        fields += " " if resilient == "1" else f" {reset} "
        fields += f"{names:020b}"  # what it replaces, and its references
        taken = next((place for place in range(3) if found >> (2 - place) & 1), None)
        frame = packed(fields + ("000" + SIZE if taken is None else "0" * taken + "1"))
        expected = [(320, 240)] if taken is None else []
        assert stated_sizes("vp9", frame + bytes(20)) == expected


def test_every_frame_of_a_superframe_counts():
    frames = [packed(FRAMES[kind][0]) + bytes(8) for kind in ("key", "shown again", "intra only")]
    sizes = b"".join(bytes([len(frame)]) for frame in frames)
    marker = bytes([0b110_00_010])
    superframe = b"".join(frames) + marker + sizes + marker
    assert stated_sizes("vp9", superframe) == [(320, 240)] * 2


def test_packets_of_one_superframe_decode_as_one_by_one(tmp_path):
    packets = with_hidden_frames(tmp_path / "hidden.ivf")

    def decoded(parts):
        context = av.CodecContext.create("vp9", "r")
        pictures = [p for part in [*map(av.Packet, parts), None] for p in context.decode(part)]
        return [picture.to_ndarray().tobytes() for picture in pictures]

    joined, left = [], packets
    while left:
        count = count_joinable(packet[-1] for packet in left)
        joined.append(join_frames(left[:count]))
        left = left[count:]
    assert len(joined) < len(packets) / 5
    assert sum(map(shows_earlier, packets)) == sum(map(shows_earlier, joined)) == 6
    assert count_shown(joined[0]) == 7
    assert decoded(joined) == decoded(packets)
    assert join_frames(packets[:1]) == packets[0]


def test_vp8_states_its_size_in_key_frames():
    key = b"\x10\0\0\x9d\x01\x2a" + (320 | 1 << 14).to_bytes(2, "little")
    assert stated_sizes("vp8", key + (240).to_bytes(2, "little")) == [(320, 240)]
    assert stated_sizes("vp8", b"\x11\0\0") == []


def test_what_is_no_vp9_frame_is_refused():
    for packet in (b"\x42\0\0\0", packed("10 00 0 0 1 0" + "0" * 60)):
        with pytest.raises(FormatError):
            stated_sizes("vp9", packet)


@pytest.mark.parametrize("codec", ["libvpx", "libvpx-vp9"])
def test_an_encoder_states_the_size_in_key_frames_and_no_other(codec):
    encoder = av.CodecContext.create(codec, "w")
    encoder.width, encoder.height, encoder.pix_fmt = 160, 96, "yuv420p"
    encoder.options = {"g": "4", "deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0"}
    encoder.time_base = Fraction(1, 25)
    packets = [
        bytes(packet)
        for number in range(9)
        for packet in encoder.encode(av.VideoFrame(160, 96, "yuv420p"))
    ]
    name = "vp8" if codec == "libvpx" else "vp9"
    sizes = [stated_sizes(name, packet) for packet in packets]
    assert sizes[0] == [(160, 96)]
    assert {size for each in sizes for size in each} == {(160, 96)}
    assert [] in sizes
