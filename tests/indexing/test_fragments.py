"""MP4 in fragments: packets, times and flags are FFmpeg's, whatever the boxes leave out."""

import random
import struct
import tracemalloc
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mp4_files import Part, Run, box, demuxed, full, indexed, ints, movie, read_clip, track
from processor_time import MILLION, at_most_steps

import videoloader as vl
from videoloader.demo.videos import encode_video

FRAMES = 36


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("fragments") / "clip.mp4"
    options = {"x264-params": "keyint=12:bframes=2:scenecut=0:threads=1"}
    encode_video(path, frames=FRAMES, size=(64, 48), options=options)
    return read_clip(path)


def parts_of(samples, **options):
    """The samples as one fragment a GOP."""
    starts = [n for n, sample in enumerate(samples) if sample.key] + [len(samples)]
    fragments, clock = [], 0
    for start, stop in pairwise(starts):
        group = samples[start:stop]
        fragments.append([Part([Run(group)], time=clock, **options)])
        clock += sum(sample.duration for sample in group)
    return fragments


def same(data):
    expected = demuxed(data)
    assert expected
    assert indexed(data) == expected
    return expected


def test_one_fragment_a_group(clip):
    packets = same(movie(clip, fragments=parts_of(clip.samples)))
    assert len(packets) == FRAMES
    assert sum(key for *_, key, _ in packets) == FRAMES / 12


def arranged(rng, samples):
    """Fragments of several parts and runs each, with more or fewer fields."""
    position, clock, fragments = 0, 0, []
    while position < len(samples):
        parts = []
        for _ in range(rng.randint(1, 2)):
            runs, begin = [], clock
            for _ in range(rng.randint(0, 3)):
                group = samples[position : position + rng.randint(0, 7)]
                position += len(group)
                clock += sum(sample.duration for sample in group)
                fields = rng.choice([0xF00, 0xB00, 0x200, 0x600, 0xE00, 0xA00])
                # FFmpeg looks into the packets, so the flags have to be right.
                fields |= 0x400 if any(sample.key for sample in group[1:]) else 0
                first = bool(group) and (group[0].key or rng.random() < 0.3)
                runs.append(Run(group, fields, first_flags=first))
            begin += rng.choice([0, 0, 0, -700, 900])
            silent = not any(run.samples for run in runs)
            time = None if silent or rng.random() < 0.2 else max(begin, 0)
            parts.append(Part(runs, time, base=rng.choice(["moof", "bytes", "none"])))
        fragments.append(parts)
    return fragments


@settings(max_examples=250)
@given(st.integers(0, 1 << 32))
def test_any_arrangement_gives_ffmpegs_packets(clip, seed):
    rng = random.Random(seed)
    shift = rng.choice([0, 0, -512, -2000])
    samples = [replace(s, composition=s.composition + shift) for s in clip.samples]
    in_movie = rng.choice([0, 0, 5, 12])
    edits = rng.choice([None, None, [(0, 1024, 1)], [(400, -1, 1), (0, 512, 1)], [(300, -1, 1)]])
    fragments = arranged(rng, samples[in_movie:])
    file = movie(clip, samples[:in_movie], fragments, edits=edits)
    found = indexed(file)
    expected = demuxed(file)
    if found is None:
        assert not expected[0][4]  # an empty edit left the movie's keyframe out
        return
    if any(discard for *_, discard in expected):
        # Where decode times go back, FFmpeg makes others up.
        found, expected = ([(*p[:3], *p[4:]) for p in packets] for packets in (found, expected))
    assert found == expected


@settings(max_examples=250)
@given(st.integers(0, 1 << 32))
def test_many_fragments_of_a_few_shapes_give_ffmpegs_packets(clip, seed):
    rng = random.Random(seed)
    shapes = [
        {
            "fields": rng.choice([0xF00, 0xB00, 0xE00, 0xA00]),
            "first": rng.random() < 0.5,
            "base": rng.choice(["moof", "bytes", "none"]),
            "entry": rng.choice([None, None, 1]),
            "timed": rng.random() < 0.8,
        }
        for _ in range(rng.randint(1, 3))
    ]
    fragments, clock, position = [], 0, 0
    while position < FRAMES:
        shape = rng.choice(shapes)
        group = clip.samples[position : position + rng.randint(1, 3)]
        position += len(group)
        fields, first = shape["fields"], shape["first"] or group[0].key
        fields |= 0x400 if any(sample.key for sample in group[1:]) else 0
        runs = [Run(group, fields, first_flags=first)]
        if rng.random() < 0.1 and len(group) > 1:  # another form, which is read by itself
            runs = [Run(group[:1], 0xF00), Run(group[1:], 0xF00)]
        time = clock if shape["timed"] else None
        fragments.append([Part(runs, time, base=shape["base"], entry=shape["entry"])])
        clock += sum(sample.duration for sample in group)
    assert len(same(movie(clip, fragments=fragments))) == FRAMES


def test_boxes_between_fragments_are_passed_over(clip):
    between = [box(b"styp", b"msdh", bytes(4)), full(b"emsg", 0, 0, bytes(40)), box(b"free", b"x")]
    file = movie(clip, fragments=parts_of(clip.samples), between=between)
    assert len(same(file)) == FRAMES
    assert len(same(file + box(b"mfra", full(b"tfra", 0, 0, bytes(12))))) == FRAMES


def test_runs_without_offsets_follow_each_other(clip):
    """As the standard says; FFmpeg would read the first run's data again."""
    whole = movie(clip, fragments=[[Part([Run(clip.samples)])]])
    runs = [Run(clip.samples[:20]), Run(clip.samples[20:], has_offset=False)]
    split = movie(clip, fragments=[[Part(runs)]])
    sizes = [[size for _, size, *_ in indexed(file)] for file in (whole, split)]
    assert sizes[0] == sizes[1]
    data = [[file[o : o + size] for o, size, *_ in indexed(file)] for file in (whole, split)]
    assert data[0] == data[1] == [sample.data for sample in clip.samples]


def test_other_tracks_may_come_between(clip):
    """Without a base, the data of a part lie behind those of the part before, whose ever it is."""
    foreign = [replace(sample, data=b"sound" * 3) for sample in clip.samples[:4]]
    fragments = []
    for (part,) in parts_of(clip.samples):
        other = Part([Run(foreign)], track=2)
        fragments.append([replace(other, base="none"), replace(part, base="none"), other])
    audio = track([], clip.description, 0, number=2, handler=b"meta")
    data = movie(clip, fragments=fragments, before=[audio])
    assert indexed(data) == demuxed(data, stream=1)
    assert len(indexed(data)) == FRAMES


def test_an_entry_that_does_not_exist_has_no_samples(clip):
    fragments = parts_of(clip.samples)
    fragments.insert(1, [Part([Run(clip.samples[:6])], time=5000, entry=3)])
    assert len(same(movie(clip, fragments=fragments))) == FRAMES


def test_a_sidx_box_tells_the_time_where_the_fragment_does_not(clip):
    (part,) = parts_of(clip.samples)[0]
    moof = [[replace(part, time=None)]]
    plain = movie(clip, fragments=moof)
    size = len(plain) - plain.find(b"moof") + 4
    sidx = full(
        b"sidx", 0, 0, ints("IIII", 1, 7680, 5120, 0), ints("HHIII", 0, 1, size, 6144, 0x90000000)
    )  # fmt: skip
    packets = same(movie(clip, fragments=moof, between=[sidx]))
    assert packets[0][3] == 10240


def test_repeated_media_is_discarded(clip):
    first, second, third = parts_of(clip.samples)
    again = [replace(second[0], time=second[0].time - 1000)]
    packets = same(movie(clip, fragments=[first, again, third]))
    assert any(discard for *_, discard in packets)


def test_frames_are_those_of_the_plain_file(clip, tmp_path):
    path = tmp_path / "fragmented.mp4"
    path.write_bytes(movie(clip, clip.samples[:12], parts_of(clip.samples)[1:]))
    with vl.Video(path) as video:
        assert video.index.exactness == "tables"
        pictures = [surface for _, surface in video.decode(range(0, FRAMES, 5))]
    assert len(pictures) == len(range(0, FRAMES, 5))


# What is broken.


def refused(data, *words):
    with pytest.raises(vl.errors.FormatError) as caught:
        vl.index_video(data)
    for word in words:
        assert word in str(caught.value)


def test_truncation_at_every_byte_of_the_last_fragment(clip):
    data = movie(clip, fragments=parts_of(clip.samples))
    last = data.rfind(b"moof") - 4
    for cut in range(last + 1, len(data) - 1, 7):
        if cut - last >= 8:
            refused(data[:cut], "truncated")
    # A file that ends between two fragments is whole.
    assert vl.index_video(data[:last]).num_frames == 24


def patched(data, kind, offset, value, layout=">I"):
    """The file with one field of the first box of a kind changed."""
    changed = bytearray(data)
    struct.pack_into(layout, changed, data.find(kind) + 4 + offset, value)
    return bytes(changed)


@pytest.mark.parametrize("value", [0xFFFFFFFF, 0x7FFFFFFF, 1 << 20, 0x10000])
@pytest.mark.parametrize("layout", [0x000, 0x200, 0xF00])
def test_a_lying_count_costs_no_memory(clip, layout, value):
    fragments = [[Part([Run(clip.samples, layout)])]]
    data = movie(clip, fragments=fragments)
    tracemalloc.start()
    refused(patched(data, b"trun", 4, value))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_lying_times_and_places(clip):
    data = movie(clip, fragments=[[Part([Run(clip.samples)], base="bytes")]])
    refused(patched(data, b"tfdt", 4, (1 << 64) - 1, ">Q"), "begins at time")
    refused(patched(data, b"tfhd", 8, 1 << 63, ">Q"), "truncated")
    refused(patched(data, b"trun", 8, 0x80000000), "before the file")
    refused(patched(data, b"trun", 8, 0x7FFFFFFF), "truncated")
    refused(patched(data, b"trun", 16, 0), "0 bytes")


def test_a_box_beyond_any_file_ends_the_walk(clip):
    data = movie(clip, fragments=parts_of(clip.samples))
    far = struct.pack(">I4sQ", 1, b"free", (1 << 64) - 1)
    assert vl.index_video(data + far).num_frames == FRAMES


def test_an_edit_list_over_a_movie_without_samples(clip):
    """Its `stts` has an entry, so that nothing says in time that fragments follow."""
    data = movie(clip, fragments=parts_of(clip.samples), edits=[(900, 1024, 1)])
    at = data.find(b"stts") + 8
    stts = full(b"stts", 0, 0, ints("III", 1, 0, 512))
    grown = data[: at - 12] + stts + data[at + 4 :]
    for kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl"):
        place = grown.find(kind) - 4
        size = struct.unpack_from(">I", grown, place)[0] + 8
        grown = grown[:place] + struct.pack(">I", size) + grown[place + 4 :]
    assert [p[2:] for p in indexed(grown)] == [p[2:] for p in demuxed(grown)]


def test_a_million_runs_of_one_default_sample_are_bounded(clip):
    run = full(b"trun", 0, 1, ints("II", 1 << 19, 8))
    head = full(b"tfhd", 0, 0x20010, ints("II", 1, 1))
    moof = box(b"moof", box(b"traf", head, run * 40_000))
    data = movie(clip, fragments=[[Part([])]]) + moof
    with at_most_steps(400 * MILLION):
        refused(data, "the file has room for")


@pytest.mark.parametrize(
    ("count", "size", "copies"),
    [(1_000_000, 1, 1), (100_000, 10, 1), (1, 10, 9000), (100, 10, 9000)],
)
def test_a_megabyte_of_lies_is_bounded(clip, count, size, copies):
    run = full(b"trun", 0, 5, ints("III", count, 0, 0))
    head = full(b"tfhd", 0, 0x20038, ints("IIII", 1, 512, size, 0x01010000))
    moof = box(b"moof", box(b"traf", head, run)) * copies
    data = movie(clip, fragments=[[Part([])]]) + moof
    data += bytes(max(1_000_000 - len(data), 0))
    with at_most_steps(400 * MILLION):
        outcome(data)
    tracemalloc.start()
    outcome(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6


def outcome(data):
    try:
        index = vl.index_video(data)
        index.pts, index.leading  # noqa: B018
    except vl.VideoError:
        pass


@settings(max_examples=400)
@given(st.integers(0, 1 << 32))
def test_mutated_fragments_give_a_result_or_our_error(clip, seed):
    rng = random.Random(seed)
    base = rng.choice(["moof", "bytes", "none"])
    data = bytearray(movie(clip, clip.samples[:5], parts_of(clip.samples, base=base)))
    boxes = [b"moof", b"traf", b"tfhd", b"tfdt", b"trun", b"trex", b"mdat", b"mfhd"]
    for _ in range(rng.randint(1, 5)):
        found = bytes(data).find(rng.choice(boxes), rng.randrange(len(data) // 2))
        place = (found if found >= 0 else 0) + rng.randrange(-4, 40)
        data[max(place, 0)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    if rng.random() < 0.3:
        del data[rng.randrange(len(data)) :]
    try:
        index = vl.index_video(bytes(data))
        index.pts, index.keyframes, index.seek_packets, index.duration  # noqa: B018
    except vl.VideoError:
        pass
