"""Packets in one piece of memory, and how they are read."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.demo.videos import encode_video
from videoloader.indexing import index_video, open_source
from videoloader.indexing.packing import PacketLayout
from videoloader.indexing.payloads import PacketReader, Packets


@given(st.lists(st.binary(max_size=9), max_size=12), st.randoms(use_true_random=False))
def test_packets_are_the_bytes_that_they_were_made_of(payloads, random):
    packets = Packets.of(payloads)
    assert [*packets] == payloads
    assert [packets[number] for number in range(len(packets))] == payloads
    keep = [random.random() < 0.5 for _ in payloads]
    kept = packets.some(np.array(keep, dtype=np.bool_))
    assert [*kept] == [one for one, is_kept in zip(payloads, keep, strict=True) if is_kept]
    start, stop = sorted(random.choices(range(len(payloads) + 1), k=2))
    assert [*packets.some(slice(start, stop))] == payloads[start:stop]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return index_video(encode_video(tmp_path_factory.mktemp("video") / "a.mp4", frames=30))


@given(data=st.data())
def test_packets_with_anything_between_them_are_read(index, data):
    """Also far apart, and in another order in the file, where one read does not do."""
    gaps = data.draw(
        st.lists(st.sampled_from([0, 1, 500, 1 << 16, 70_000]), min_size=6, max_size=6)
    )
    sizes = data.draw(st.lists(st.integers(1, 300), min_size=6, max_size=6))
    order = data.draw(st.permutations(range(6)))
    rng = np.random.default_rng(1)
    content, table = b"", index.packets[:6].copy()
    for place in order:
        content += bytes(gaps[place])
        table["offset"][place], table["size"][place] = len(content), sizes[place]
        content += rng.bytes(sizes[place])
    prefix = data.draw(st.sampled_from([b"", b"\0\0\1"]))
    packing = PacketLayout(prefix)
    wanted = sorted(data.draw(st.sets(st.integers(0, 5))))
    reader = PacketReader(replace(index, packets=table, packing=packing), open_source(content))
    found = reader.read(np.array(wanted, dtype=np.int64))
    begins = table["offset"].tolist()
    expected = [prefix + content[begins[n] : begins[n] + sizes[n]] for n in wanted]
    assert [*found] == expected
