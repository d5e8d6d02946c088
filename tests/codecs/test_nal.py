"""Disposable packets: the form for packets in memory against the one for windows of a file."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.codecs.nal import disposable_in_memory, disposable_packets, walk_units
from videoloader.codecs.registry import codec_of
from videoloader.sources.source import rows_at

# First bytes of units: slices that others refer to or not, parameter sets, messages.
OCTETS = {"h264": [0x41, 0x01, 0x61, 0x65, 0x67, 0x06, 0x09], "hevc": [0, 2, 4, 38, 64, 78]}

units = st.tuples(st.integers(0, 6), st.integers(0, 3), st.binary(max_size=4), st.integers(-2, 2))
packets = st.lists(st.lists(units, max_size=4), min_size=1, max_size=6)


def packed(codec, described, length_size):
    """Packets one after another, some of whose lengths are wrong, and where each lies."""
    memory, places = b"", []
    for units in described:
        begin = len(memory)
        for kind, layer, rest, wrong in units:
            unit = bytes([OCTETS[codec][kind % len(OCTETS[codec])], layer]) + rest
            length = len(unit) + (wrong if abs(wrong) == 2 else 0)
            memory += length.to_bytes(length_size, "big") + unit
        places.append((begin, len(memory)))
    return memory, places


@pytest.mark.parametrize("codec", OCTETS)
@given(described=packets, length_size=st.sampled_from([1, 2, 4]), sub_layers=st.integers(1, 3))
def test_packets_in_memory_are_as_disposable_as_in_a_file(
    codec, described, length_size, sub_layers
):
    nal = codec_of(codec).nal
    memory, places = packed(codec, described, length_size)
    starts, ends = np.array(places, dtype=np.int64).reshape(-1, 2).T
    read = partial(rows_at, np.frombuffer(memory, dtype=np.uint8))
    walked = walk_units(read, starts, ends - starts, length_size)
    expected = disposable_packets(nal, walked, len(places), sub_layers=sub_layers)
    found = disposable_in_memory(nal, memory, places, length_size, sub_layers=sub_layers)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("codec", "units", "expected"),
    [
        ("h264", [b"\x01\x88"], True),  # nal_ref_idc 0
        ("h264", [b"\x41\x88"], False),
        ("h264", [b"\x06\x05", b"\x01\x88", b"\x01\x88"], True),
        ("h264", [b"\x01\x88", b"\x41\x88"], False),
        ("h264", [b"\x67\x42", b"\x01\x88"], False),  # a parameter set
        ("h264", [b"\x06\x05"], False),  # no slice
        ("h264", [], False),
        ("hevc", [b"\x00\x01"], True),  # TRAIL_N
        ("hevc", [b"\x02\x01"], False),  # TRAIL_R
        ("hevc", [b"\x00\x02"], False),  # of a layer that is not the highest
    ],
)
@pytest.mark.parametrize("length_size", [0, 4])
def test_a_packet_is_disposable_by_all_its_units(codec, units, expected, length_size):
    """The standards: nal_ref_idc (H.264, 7.4.1), sub-layer non-reference pictures (HEVC, 7.4.2)."""
    starts = [len(unit).to_bytes(4, "big") if length_size else b"\0\0\1" for unit in units]
    packet = b"".join(part for pair in zip(starts, units, strict=True) for part in pair)
    memory, place = b"\xff\0\0\1\x65" + packet + b"\0\0\1\x65", (5, 5 + len(packet))
    nal = codec_of(codec).nal
    assert disposable_in_memory(nal, memory, [place], length_size).tolist() == [expected]
