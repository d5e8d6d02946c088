"""MP4 files that bend the rules: what FFmpeg makes of them is what the index says."""

import struct
from dataclasses import replace

import pytest
from mp4_files import Part, Run, box, demuxed, indexed, movie, read_clip
from pyav_versions import IS_BEFORE_16

import videoloader as vl
from videoloader.demo.videos import encode_video

FRAMES = 36


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("oddities") / "clip.mp4"
    options = {"x264-params": "keyint=12:bframes=2:scenecut=0:threads=1"}
    encode_video(path, frames=FRAMES, size=(64, 48), options=options)
    return read_clip(path)


def patched(data, kind, offset, value):
    changed = bytearray(data)
    struct.pack_into(">I", changed, data.rfind(kind) + 4 + offset, value)
    return bytes(changed)


def agree(data):
    found = indexed(data)
    assert found == demuxed(data)
    assert len(found) == FRAMES


@pytest.mark.parametrize(
    "handler", [None, b"mhlr", b"\0\0\0\0", b"pict", b"auxv", b"VIDE", b"vide"]
)
def test_any_handler_but_sound_will_do_for_a_codec_of_video(clip, handler):
    agree(movie(clip, clip.samples, handler=handler))


def test_a_sound_handler_makes_no_video(clip):
    with pytest.raises(vl.errors.FormatError, match="no video stream"):
        vl.index_video(movie(clip, clip.samples, handler=b"soun"))


def test_tables_that_fall_short(clip):
    data = movie(clip, clip.samples)
    agree(patched(data, b"ctts", 4, 10))
    agree(patched(movie(clip, clip.samples, edits=[(900, 1024, 1)]), b"ctts", 4, 10))
    if not IS_BEFORE_16:  # ours is that of later versions whatever is installed
        agree(patched(data, b"stts", 4, 10))


def test_what_may_follow_the_last_box(clip):
    data = movie(clip, clip.samples)
    movie_box = data[data.find(b"moov") - 4 : data.rfind(b"mdat") - 4]
    tails = [bytes(64), b"\1\2\3", b"\0\0\0\3abcd" + bytes(20), box(b"wide"), movie_box]
    for tail in tails:
        agree(data + tail)
    agree(patched(data, b"mdat", -8, 0))  # a box up to the end of the file
    agree(movie(clip, clip.samples, boxes=[bytes(4)]))  # QuickTime's end of a list


def test_several_descriptions(clip):
    entry = clip.description[16:]
    two = struct.pack(">I4sII", 16 + 2 * len(entry), b"stsd", 0, 2) + 2 * entry
    double = replace(clip, description=two)
    agree(movie(double, clip.samples))
    agree(patched(movie(double, clip.samples), b"stsc", 16, 2))
    agree(movie(double, fragments=[[Part([Run(clip.samples)], entry=2)]]))
    agree(patched(movie(clip, clip.samples), b"stsc", 16, 0))
    index = vl.index_video(patched(movie(double, clip.samples), b"stsc", 16, 2))
    assert [packet for packet, _ in index.extradata] == [0]
    with pytest.raises(vl.errors.FormatError, match="description 3 of 2"):
        vl.index_video(patched(movie(double, clip.samples), b"stsc", 16, 3))


@pytest.mark.parametrize("rows", [[3, 14], [13]])
def test_partial_sync_samples_are_keyframes_too(clip, rows):
    samples = [replace(sample, key=number == 0) for number, sample in enumerate(clip.samples)]
    data = movie(clip, samples)
    content = struct.pack(f">II{len(rows)}I", 0, len(rows), *rows)
    # In place of the stss box, which leaves all as keyframes that stps does not name otherwise.
    at = data.find(b"stsc") - 4
    stps = box(b"stps", content)
    grown = data[:at] + stps + data[at:]
    for kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl"):
        place = grown.find(kind) - 4
        (size,) = struct.unpack_from(">I", grown, place)
        grown = grown[:place] + struct.pack(">I", size + len(stps)) + grown[place + 4 :]
    (offset,) = struct.unpack_from(">I", grown, grown.find(b"stco") + 12)
    index = vl.index_video(patched(grown, b"stco", 8, offset + len(stps)))
    keys = [number for number, row in enumerate(index.packets) if row["flags"] & 1]
    assert keys == [0, *[row - 1 for row in rows]]
