"""Stored indexes: every one is read back as it was, and no bytes cost more than their number."""

import json
import struct
import zlib
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from bounded import run_bounded
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from processor_time import MILLION, at_most_steps

import videoloader as vl
from videoloader.codecs.color import Color
from videoloader.demo.videos import encode_video
from videoloader.indexing import Fingerprint
from videoloader.indexing.columns import FREE_PACKETS, MAX_PACKETS
from videoloader.indexing.dataset.rows import make_row
from videoloader.indexing.index import decode_index, encode_index
from videoloader.indexing.packets import PACKET_DTYPE, Orientation
from videoloader.indexing.packing import PacketLayout, TransportLayout
from videoloader.sources.items import Item

INT = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.text(max_size=8)


def same(one, other):
    """Whether two indexes are equal in every stored field, and in what is made of them."""
    stored = [field.name for field in fields(vl.VideoIndex) if field.name != "traits"]
    for name in (*stored, "frame_packets", "pts"):
        ours, theirs = getattr(one, name), getattr(other, name)
        if isinstance(ours, np.ndarray):
            if ours.dtype != theirs.dtype or ours.tobytes() != theirs.tobytes():
                return False
        elif ours != theirs:
            return False
    return True


@st.composite
def tables(draw, count):
    table = np.zeros(count, dtype=PACKET_DTYPE)
    table["size"] = draw(arrays.arrays("i4", count, elements=st.integers(0, (1 << 31) - 1)))
    table["flags"] = draw(arrays.arrays("u2", count, elements=st.integers(0, 15)))
    offsets = st.integers(-1, 1 << 62)
    table["offset"] = draw(arrays.arrays("i8", count, elements=offsets))
    for name in ("pts", "dts", "duration"):
        table[name] = draw(arrays.arrays("i8", count, elements=INT))
    return table


LAYOUTS = [PacketLayout(), PacketLayout(b"\0\1"), PacketLayout(is_demuxed=True)]
LAYOUTS += [PacketLayout(transport=TransportLayout(188, 256, phase)) for phase in (None, 0, 4)]


def test_the_text_of_a_layout_says_all_of_it():
    texts = [str(layout) for layout in LAYOUTS]
    assert texts[:3] == ["plain", "prefix:0001", "demuxed"]
    assert texts[3:] == ["mpegts:188:0x100", "mpegts:188:0x100@0", "mpegts:188:0x100@4"]
    assert [PacketLayout.parse(text) for text in texts] == LAYOUTS


@st.composite
def indexes(draw):
    count = draw(st.integers(0, 20))
    order = None
    if count:
        numbers = arrays.arrays("i8", st.integers(0, 50), elements=st.integers(0, count - 1))
        order = draw(st.none() | numbers)
    extradata = draw(st.lists(st.tuples(st.integers(0, 30), st.binary(max_size=9)), max_size=4))
    some = st.none() | TEXT
    return vl.VideoIndex(
        packets=draw(tables(count)),
        time_base=Fraction(draw(st.integers(1, 1 << 64)), draw(st.integers(1, 1 << 64))),
        codec=draw(TEXT),
        width=draw(st.integers(0, (1 << 31) - 1)),
        height=draw(st.integers(0, (1 << 31) - 1)),
        exactness=draw(st.sampled_from(["tables", "demux", "decode"])),
        stream=draw(st.integers(0, 1 << 20)),
        container=draw(TEXT),
        pixel_format=draw(some),
        bit_depth=draw(st.none() | st.integers(0, 64)),
        color=Color(*(draw(some) for _ in range(4))),
        orientation=Orientation(*(draw(st.booleans()) for _ in range(3))),
        codec_tag=draw(TEXT),
        extradata=tuple(sorted(extradata, key=lambda pair: pair[0])),
        length_size=draw(st.integers(0, 4)),
        sub_layers=draw(st.integers(0, 8)),
        packing=draw(st.sampled_from(LAYOUTS)),
        has_headers=draw(st.booleans()),
        order=order,
        name=draw(TEXT),
        fingerprint=Fingerprint(draw(st.integers(0, 1 << 62)), draw(st.none() | INT), draw(some)),
        warnings=tuple(draw(st.lists(TEXT, max_size=2))),
    )


@given(indexes())
def test_every_index_is_read_back_as_it_was(index):
    assert same(decode_index(encode_index(index)), index)


@st.composite
def changes(draw, index):
    """Fields in place of some of those of an index, within their types but not their bounds."""
    count = len(index.packets)
    packets = index.packets.copy()
    name, kind, low, high = draw(
        st.sampled_from(
            [
                ("offset", "i8", -3, 1 << 62),
                ("size", "i4", -3, 9),
                ("flags", "u2", 10, 20),
                ("pts", "i8", -(1 << 63), (1 << 63) - 1),
            ]
        )
    )
    packets[name] = draw(arrays.arrays(kind, count, elements=st.integers(low, high)))
    order = draw(arrays.arrays("i8", st.integers(0, 9), elements=st.integers(-2, count + 1)))
    number = st.integers(-2, 70)
    found = {
        "packets": packets,
        "order": order,
        "width": draw(number),
        "bit_depth": draw(number),
        "sub_layers": draw(number),
        "time_base": Fraction(draw(number), 25),
        "stated_rate": Fraction(draw(number), 7),
        "extradata": tuple(draw(st.lists(st.tuples(number, st.binary(max_size=3)), max_size=3))),
        "codec": draw(TEXT | st.just("x" * 300) | st.just(7)),
        "packing": draw(st.sampled_from([PacketLayout(), "prefix:", "mpegts:1", "no"])),
        "warnings": tuple(draw(st.lists(TEXT | st.just(1), max_size=2))),
    }
    return {name: found[name] for name in draw(st.sets(st.sampled_from(sorted(found)), max_size=2))}


@settings(max_examples=50)
@given(st.data(), indexes())
def test_an_index_is_refused_or_read_back_as_it_was(data, index):
    changed = replace(index, **data.draw(changes(index)))
    try:
        stored = encode_index(changed)
    except vl.errors.UnsupportedError:
        return
    assert same(decode_index(stored), changed)


def table_of(count, size=1000):
    """Packets of one size, one behind the other, a tick of time apart."""
    table = np.zeros(count, dtype=PACKET_DTYPE)
    table["size"], table["duration"], table["flags"] = size, 1, 1
    table["offset"] = np.arange(count) * size
    table["pts"] = table["dts"] = np.arange(count)
    return table


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return encode_video(tmp_path_factory.mktemp("storage") / "clip.mp4", frames=20, size=(64, 48))


@pytest.fixture(scope="module")
def index(clip):
    return vl.index_video(clip)


@pytest.mark.parametrize("count", [FREE_PACKETS, FREE_PACKETS + 1, FREE_PACKETS + (1 << 16)])
def test_long_videos_of_packets_of_one_size_are_stored(index, tmp_path, count):
    index = replace(index, packets=table_of(count))
    index.save(tmp_path / "long.index")
    assert (tmp_path / "long.index").stat().st_size < 1.01 * count
    assert same(vl.VideoIndex.load(tmp_path / "long.index"), index)


def test_more_frames_than_packets_are_stored(index, tmp_path):
    count = len(index.packets)
    for order in (np.zeros(5 * count), np.repeat(np.arange(count), 3), np.arange(count) // 2):
        changed = replace(index, order=order.astype(np.int64))
        changed.save(tmp_path / "clip.index")
        assert same(vl.VideoIndex.load(tmp_path / "clip.index"), changed)


@pytest.mark.parametrize(
    "changes",
    [
        {"packets": table_of(3, size=-1)},
        {"packets": table_of(3)[["offset", "size"]]},
        {"warnings": (1,)},
        {"time_base": Fraction(0)},
        {"time_base": Fraction(-1, 25)},
        {"time_base": Fraction(1, 10**70)},
        {"width": -1},
        {"width": np.int64(64)},
        {"length_size": 5},
        {"exactness": "nearly"},
        {"order": np.array([20])},
        {"extradata": ((4, b""), (2, b""))},
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_refused_before_it_is_written(index, tmp_path, changes):
    with pytest.raises(vl.errors.UnsupportedError, match="cannot be stored"):
        replace(index, **changes).save(tmp_path / "clip.index")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [True, 1.0, [1]])
def test_a_field_of_another_type_is_refused_though_it_equals_a_sound_one(index, wrong):
    """Fields that were found sound are not checked again for the next index."""
    encode_index(replace(index, stream=1))
    with pytest.raises(vl.errors.UnsupportedError, match="cannot be stored"):
        encode_index(replace(index, stream=wrong))


def test_a_row_whose_index_cannot_be_stored_is_one_with_an_error(clip, index, monkeypatch):
    odd = replace(index, width=-1)
    monkeypatch.setattr("videoloader.indexing.dataset.rows.index_video", lambda *_: odd)
    row = make_row(Item(str(clip)), headers=False)
    assert row.index == b""
    assert "clip.mp4: this index cannot be stored (width cannot be -1)" in row.error


# -- What is not made by us. --


def parts_of(data):
    """Head, extradata and columns."""
    _, *lengths = struct.unpack_from("<4I", data)
    ends = 16 + np.cumsum(lengths)
    return json.loads(data[16 : ends[0]]), data[ends[0] : ends[1]], data[ends[1] :]


def sealed(head, setup=b"", columns=b""):
    """Stored bytes with a check sum that holds."""
    text = json.dumps(head).encode()
    body = text + setup + columns
    return struct.pack("<4I", zlib.crc32(body), len(text), len(setup), len(columns)) + body


def used(index):
    """Go through what an index is asked for."""
    names = ("pts", "keyframes", "leading", "seek_packets", "end_packets", "duration")
    for name in (*names, "average_fps", "rotation", "disposable"):
        getattr(index, name)
    index.seconds(np.arange(index.num_frames))
    index.extradata_of(3)
    assert len(repr(index)) < 1000 + len(index.name)
    if index.num_frames:
        vl.sampling.plan_decode(index, [0, index.num_frames - 1])


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else inside:
        yield from places(part, (*path, key))


def put(value, path, part):
    """A copy of a JSON value with another part at a place."""
    if not path:
        return part
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], part)
    return copy


NUMBERS = st.integers(-300, 300) | st.integers(-(1 << 80), 1 << 80) | st.floats()
NUMBERS |= st.sampled_from([1 << n for n in range(0, 80, 3)])
STRINGS = st.sampled_from(
    ["1e99999999", "1/0", "9" * 4000, "1/" + "9" * 4000, "0x10", "1.5", "plain"]
)
SCALARS = st.none() | st.booleans() | NUMBERS | STRINGS | st.text(max_size=6)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def stored(index, tmp_path_factory):
    """Stored indexes of several kinds."""
    transport = encode_video(tmp_path_factory.mktemp("stored") / "c.ts", frames=8, size=(64, 48))
    kinds = [index, vl.index_video(transport), replace(index, packets=table_of(9))]
    kinds.append(replace(index, order=np.arange(20).repeat(2)))
    return [parts_of(encode_index(kind)) for kind in kinds]


@settings(max_examples=250)
@given(st.data())
def test_tampered_indexes_are_refused_or_usable_and_soon(stored, data):
    head, setup, columns = data.draw(st.sampled_from(stored))
    everywhere = list(places(head))
    for _ in range(data.draw(st.integers(0, 3))):
        path = data.draw(st.sampled_from(everywhere))
        try:
            head = put(head, path, data.draw(JSON))
        except (AttributeError, LookupError, TypeError):
            break  # the place is gone
    if columns and data.draw(st.booleans()):
        columns = bytearray(columns)
        for _ in range(data.draw(st.integers(1, 3))):
            columns[data.draw(st.integers(0, len(columns) - 1))] = data.draw(st.integers(0, 255))
    with at_most_steps(200 * MILLION):
        try:
            used(decode_index(sealed(head, setup, bytes(columns))))
        except vl.errors.FormatError as error:
            assert len(str(error)) < 1000


BASE = {"color": dict.fromkeys(["matrix", "primaries", "transfer", "range"])}
BASE |= {"orientation": dict.fromkeys(["transpose", "flip_x", "flip_y"], False)}
BASE |= {"fingerprint": {"size": 1 << 40, "mtime_ns": None, "etag": None}, "extradata": []}
BASE |= {"codec": "h264", "width": 64, "height": 48, "exactness": "tables", "stream": 0}
BASE |= {"container": "mp4", "pixel_format": None, "bit_depth": None, "codec_tag": ""}
BASE |= {"length_size": 4, "sub_layers": 1, "packing": "plain", "has_headers": False}
BASE |= {"name": "crafted", "time_base": "1/25"}


def constant(count, frames=None):
    """Columns that take no room, of so many packets, and frames if given."""
    columns = [count, 0, *([value, 1, 0, count] for value in (0, 1000, 0, 1, 0, 1))]
    return columns if frames is None else [*columns, [0, 1, 0, frames]]


CRAFTED = {
    "a time base beyond all numbers": {"time_base": "1e99999999", "columns": constant(8)},
    "a time base of many digits": {"time_base": "1/" + "9" * 4000, "columns": constant(8)},
    "packets that take no room": {"columns": constant(134_000_000)},
    "as many as can be": {"columns": constant(MAX_PACKETS)},
    "a number of packets that is none": {"columns": constant(8.0)},
    "frames that take no room": {"columns": constant(8, 1 << 40)},
    "more columns than there are": {"columns": [*constant(8), *constant(8)[2:]]},
    "nothing but depth": {"columns": json.loads("[" * 900 + "]" * 900)},
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_few_hundred_bytes_are_refused_at_once(tmp_path, name):
    data = sealed(BASE | CRAFTED[name])
    with at_most_steps(200 * MILLION):
        with pytest.raises(vl.errors.FormatError):
            decode_index(data)
        (tmp_path / "crafted.index").write_bytes(b"VLINDEX3" + zlib.compress(data))
        with pytest.raises(vl.errors.FormatError, match=r"crafted\.index"):
            vl.VideoIndex.load(tmp_path / "crafted.index")


def test_bytes_that_deflate_further_than_ours_are_refused(tmp_path):
    """40 KB that would be an index of 40 million packets."""
    count = 40 << 20
    columns = constant(count)
    columns[2] = [0, 1, 1, count]
    data = sealed(BASE | {"columns": columns}, columns=bytes(count))
    packed = zlib.compress(data, 9)
    assert len(packed) < 50_000
    (tmp_path / "crafted.index").write_bytes(b"VLINDEX3" + packed)
    (cost,) = run_bounded("vl.VideoIndex.load(argument)", tmp_path / "crafted.index")
    assert cost.told.startswith("FormatError")
    assert cost.steps < 200 * MILLION
    assert cost.memory < 32 << 20


def test_the_most_that_few_bytes_may_stand_for_is_read_soon(tmp_path):
    data = sealed(BASE | {"columns": constant(FREE_PACKETS)})
    (tmp_path / "crafted.index").write_bytes(b"VLINDEX3" + zlib.compress(data))
    (cost,) = run_bounded("vl.VideoIndex.load(argument)", tmp_path / "crafted.index")
    assert f"{FREE_PACKETS} frames" in cost.told
    assert cost.steps < 200 * MILLION
    assert cost.memory < 128 * FREE_PACKETS
