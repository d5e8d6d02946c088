"""Files that cost more to index than their size lets expect, or once did: by name, in any size."""

import os
import struct
import zlib

from matroska_files import element, matroska
from matroska_files import track as matroska_track
from mp4_files import box, full, ints, movie, read_clip

import videoloader as vl
from videoloader.demo.videos import encode_video

__all__ = ["HOSTILE", "make"]

_TABLES = (b"stsz", b"stco", b"stts", b"ctts", b"stsc", b"stss")


def make(name, folder, size):
    """A hostile file of about so many bytes, or claims so much."""
    path = folder / name.replace(" ", "-")
    HOSTILE[name](path, size)
    return path


def _samples_of(path):
    """An encoded clip, its packets and its extradata."""
    clip = encode_video(path.with_suffix(".clip.mp4"), frames=8, size=(64, 48))
    index, data = vl.index_video(clip), clip.read_bytes()
    packets = [data[row["offset"] : row["offset"] + row["size"]] for row in index.packets]
    return clip, packets, index.extradata_of(0)


# -- MP4: tables --


def _entry(kind, extra=b"", size=(64, 48)):
    content = (
        bytes(6) + ints("H", 1) + bytes(16) + ints("HH", *size) + ints("II", 72 << 16, 72 << 16)
    )
    return box(kind, content, bytes(4), ints("H", 1), bytes(32), ints("Hh", 24, -1), extra)


def _sparse(path, tables, hole_in, rows, *, edits=b"", size=0):
    """A movie of no bytes but tables, of which one has `rows` of 4 bytes of nothing behind it."""

    def around(kind, inside, hole):
        return ints("I", 8 + len(inside) + hole) + kind + inside

    hole = 4 * rows if hole_in else 0
    last = tables.pop(hole_in) if hole_in in tables else b""
    inside = b"".join(full(kind, 0, 0, content) for kind, content in tables.items())
    inside = full(b"stsd", 0, 0, ints("I", 1), _entry(b"jpeg")) + inside
    if hole_in in _TABLES:
        inside += ints("I", 12 + len(last) + hole) + hole_in + bytes(4) + last
    media = around(b"stbl", inside, hole)
    media = around(b"minf", full(b"vmhd", 0, 1, bytes(8)) + media, hole)
    head = full(b"mdhd", 0, 0, ints("IIIII", 0, 0, 15360, 512, 0))
    head += full(b"hdlr", 0, 0, bytes(4), b"vide", bytes(12), b"\0")
    media = around(b"mdia", head + media, hole)
    matrix = ints("9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    head = full(b"tkhd", 0, 3, ints("IIIII", 0, 0, 1, 0, 1000), bytes(16), matrix, bytes(8))
    media = around(b"trak", head + edits + media, hole)
    head = full(b"mvhd", 0, 0, ints("IIIIIH", 0, 0, 1000, 0, 1 << 16, 256), bytes(10), matrix)
    data = box(b"ftyp", b"isom", bytes(4)) + around(b"moov", head + bytes(0) + media, hole)
    path.write_bytes(data)
    os.truncate(path, max(len(data) + hole + 16, size))


def _tables(count, common=1000):
    return {
        b"stts": ints("III", 1, count, 512),
        b"stsc": ints("IIII", 1, 1, count, 1),
        b"stsz": ints("II", common, count),
        b"stco": ints("II", 1, 0),
    }


def _hole(kind):
    def write(path, size):
        rows, count = size // 4, 1000
        tables = _tables(count)
        each = {b"stts": 2, b"ctts": 2, b"stsc": 3}.get(kind, 1)
        tables[kind] = ints("I", rows // each)
        if kind == b"stsz":
            tables = _tables(rows) | {kind: ints("II", 0, rows)}
        if kind == b"stco":
            tables[b"stsc"] = ints("IIII", 1, 1, 1, 1)
        _sparse(path, tables, kind, rows, size=count * 1000)

    return write


def _claim(common):
    """Samples of one size, as many as fit into a sparse file."""
    return lambda path, size: _sparse(path, _tables(size // common, common), None, 0, size=size)


def _long_edits(path, size):
    rows = ints("IiI", 1000, 0, 1 << 16) * (size // 12)
    edits = box(b"edts", full(b"elst", 0, 0, ints("I", size // 12), rows))
    _sparse(path, _tables(1000), None, 0, edits=edits, size=1_000_000)


def _repeating_edits(path, size):
    """Each edit plays all of the media again."""
    rows = ints("IiI", 1 << 30, 0, 1 << 16) * 60
    edits = box(b"edts", full(b"elst", 0, 0, ints("I", 60), rows))
    _sparse(path, _tables(size // 8, 8), None, 0, edits=edits, size=size)


def _tracks_and_fragments(path, size):
    """Many tracks, each of which has to look for its samples in many fragments."""
    clip = read_clip(_samples_of(path)[0])
    whole = movie(clip, clip.samples)
    at = whole.find(b"trak") - 4
    (length,) = struct.unpack_from(">I", whole, at)
    tracks = whole[at : at + length] * (size // 2 // length)
    moov = whole.find(b"moov") - 4
    (inside,) = struct.unpack_from(">I", whole, moov)
    data = whole[:moov] + ints("I", inside + len(tracks)) + b"moov" + whole[moov + 8 : at] + tracks
    data += whole[at : moov + inside] + box(b"mdat", bytes(1 << 16))
    part = box(b"traf", full(b"tfhd", 0, 0, ints("I", 99)), full(b"trun", 0, 0, ints("I", 1)))
    path.write_bytes(
        data + box(b"moof", full(b"mfhd", 0, 0, ints("I", 1)), part) * (size // 2 // 72)
    )


def _overlapping(codec):
    """Samples that all lie over one another."""

    def write(path, size):
        clip = encode_video(path.with_suffix(".clip.mp4"), codec=codec, frames=2, size=(64, 48))
        data = clip.read_bytes()
        at = data.find(b"stsd") - 4
        (length,) = struct.unpack_from(">I", data, at)
        index = vl.index_video(clip)
        first = data[int(index.packets["offset"][0]) :][: int(index.packets["size"][0])]
        count = size // 2 // 8
        sample = first.ljust(size // 2, b"\xff")
        stbl = box(
            b"stbl",
            data[at : at + length],
            full(b"stts", 0, 0, ints("III", 1, count, 512)),
            full(b"stsc", 0, 0, ints("IIII", 1, 1, 1, 1)),
            full(b"stsz", 0, 0, ints("II", 0, count), ints("I", len(sample)) * count),
            full(b"stco", 0, 0, ints("I", count), ints("I", 40) * count),
        )
        head = full(b"mdhd", 0, 0, ints("IIIII", 0, 0, 15360, 512 * count, 0))
        head += full(b"hdlr", 0, 0, bytes(4), b"vide", bytes(12), b"\0")
        media = box(b"mdia", head, box(b"minf", full(b"vmhd", 0, 1, bytes(8)), stbl))
        matrix = ints("9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
        track = full(b"tkhd", 0, 3, ints("IIIII", 0, 0, 1, 0, 1000), bytes(16), matrix, bytes(8))
        head = full(b"mvhd", 0, 0, ints("IIIIIH", 0, 0, 1000, 0, 1 << 16, 256), bytes(10), matrix)
        data = box(b"ftyp", b"isom", bytes(4)) + box(b"free", bytes(8)) + box(b"mdat", sample)
        path.write_bytes(data + box(b"moov", head, box(b"trak", track, media)))

    return write


def _huge_picture(path, size):
    """A PNG of a few hundred bytes that claims `size` pixels of 64 bits."""

    def chunk(kind, data):
        return ints("I", len(data)) + kind + data + ints("I", zlib.crc32(kind + data))

    side = int(size**0.5)
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ints("IIBBBBB", side, side, 16, 6, 0, 0, 0))
    picture += chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    tables = _tables(1, len(picture)) | {b"stco": ints("II", 1, 0)}
    _sparse(path, tables, None, 0)
    data = path.read_bytes().replace(b"jpeg", b"png ")
    at = data.find(b"stco") + 12
    place = ints("I", len(data) + 8)
    path.write_bytes(data[:at] + place + data[at + 4 :] + box(b"mdat", picture))


# -- Set-up data without end --


def _flv_setups(*, different):
    def write(path, size):
        _, packets, setup = _samples_of(path)

        def tag(body, time):
            head = b"\x09" + ints("I", len(body))[1:] + ints("I", time)[1:] + bytes(4)
            return head + body + ints("I", len(head) + len(body))

        parts, left, number = [b"FLV\x01\x01\0\0\0\x09\0\0\0\0"], size, 0
        while left > 0:
            own = setup + ints("I", number) if different else setup
            parts.append(tag(b"\x17\0\0\0\0" + own, number) + tag(b"\x27\1\0\0\0abcd", number))
            left, number = left - len(parts[-1]), number + 1
        path.write_bytes(b"".join(parts) + tag(b"\x17\1\0\0\0" + packets[0], number))

    return write


def _sets(codec, each):
    """A raw stream with parameter sets of `each` bytes, no two of them equal, in front."""

    def write(path, size):
        suffix = "hevc" if codec == "libx265" else "h264"
        options = {"x265-params": "log-level=none"} if codec == "libx265" else {}
        clip = path.with_suffix(f".{suffix}")
        encode_video(clip, codec=codec, frames=4, size=(64, 48), options=options)
        data = clip.read_bytes()
        first = vl.index_video(data).extradata_of(0)
        kind = 33 if codec == "libx265" else 7
        units = first.split(b"\0\0\1")[1:]
        mask = (lambda octet: octet >> 1) if codec == "libx265" else (lambda octet: octet & 31)
        sequence = next(unit for unit in units if mask(unit[0]) == kind)
        made = [b"\0\0\1".join([b"", *units])]
        for number in range(size // each):
            filler = bytes([0x80 | number & 63]) * (each - len(sequence) - 7)
            made.append(b"\0\0\1" + sequence[:-2] + filler + ints("I", number | 0x80808080))
        path.write_bytes(b"".join(made) + data)

    return write


def _changing_sets(path, size):
    """Each keyframe has a set of its own, and all that came before still hold."""
    clip = encode_video(path.with_suffix(".h264"), frames=1, size=(64, 48))
    data = clip.read_bytes()
    units = [unit for unit in data.split(b"\0\0\1") if unit]
    picture_set = next(unit.rstrip(b"\0") for unit in units if unit[0] & 31 == 8)
    made, left, number = [data], size, 0
    while left > 0:
        filler = picture_set + bytes([0x80 | number & 63, 0x80 | number >> 6 & 63]) * 100
        made += [b"\0\0\1" + filler, data]
        left, number = left - len(filler) - len(data), number + 1
    path.write_bytes(b"".join(made))


def _descriptions(path, size):
    """Sample descriptions, each with a record of its own."""
    clip = read_clip(_samples_of(path)[0])
    entry = clip.description[16:]
    content = b"".join(entry[:-4] + ints("I", n) for n in range(size // len(entry)))
    description = full(b"stsd", 0, 0, ints("I", size // len(entry)), content)
    path.write_bytes(movie(type(clip)(clip.samples, description), clip.samples))


# -- Others --


def _overlapping_avi(path, size):
    """Packets that are one and the same."""
    clip = encode_video(path.with_suffix(".clip.avi"), codec="mpeg4", frames=2, size=(64, 48))
    data = clip.read_bytes()
    movie_at, table = data.find(b"movi"), data.find(b"idx1")
    large = data[movie_at + 4 :][:8]
    filler = size // 2
    (length,) = struct.unpack_from("<I", large, 4)
    packet = data[movie_at + 12 :][:length] + bytes(filler + (length + filler) % 2)
    chunk = large[:4] + struct.pack("<I", len(packet)) + packet
    entry = data[table + 8 :][:12] + struct.pack("<I", len(packet))
    movie = struct.pack("<4sI4s", b"LIST", 4 + len(chunk), b"movi") + chunk
    rows = entry * (size // 2 // 16)
    inside = data[12 : movie_at - 8] + movie + struct.pack("<4sI", b"idx1", len(rows)) + rows
    path.write_bytes(struct.pack("<4sI4s", b"RIFF", 4 + len(inside), b"AVI ") + inside)


def _laces(path, size):
    """Blocks of 256 frames of one byte each."""
    setup = _samples_of(path)[2]
    lace = element(0xA3, b"\x81\0\0\x84\xff" + bytes(256))
    cluster = element(0x1F43B675, element(0xE7, 0), lace * (size // len(lace)))
    path.write_bytes(matroska([matroska_track(element(0x23E383, 1 << 30), private=setup)], cluster))


def _empty_boxes(path, size):
    clip = read_clip(_samples_of(path)[0])
    path.write_bytes(movie(clip, clip.samples) + box(b"moof") * (size // 8))


def _start_codes(path, size):
    """A raw stream of nothing but beginnings of units."""
    data = encode_video(path.with_suffix(".h264"), frames=2, size=(64, 48)).read_bytes()
    path.write_bytes(data + b"\0\0\1\x06" * (size // 4) + data)


HOSTILE = {
    **{f"sparse {kind.decode()}.mp4": _hole(kind) for kind in _TABLES},
    "sparse samples of 1 byte.mp4": _claim(1),
    "sparse samples of 8 bytes.mp4": _claim(8),
    "edits without end.mp4": _long_edits,
    "edits that repeat.mp4": _repeating_edits,
    "tracks and fragments.mp4": _tracks_and_fragments,
    "samples over one another, h264.mp4": _overlapping("libx264"),
    "samples over one another, mpeg4.mp4": _overlapping("mpeg4"),
    "a huge picture.mp4": _huge_picture,
    "descriptions.mp4": _descriptions,
    "empty boxes.mp4": _empty_boxes,
    "equal set-up packets.flv": _flv_setups(different=False),
    "set-up packets.flv": _flv_setups(different=True),
    "parameter sets.hevc": _sets("libx265", 200),
    "long parameter sets.hevc": _sets("libx265", 60_000),
    "parameter sets.h264": _sets("libx264", 200),
    "changing sets.h264": _changing_sets,
    "start codes.h264": _start_codes,
    "laces.mkv": _laces,
    "packets over one another.avi": _overlapping_avi,
}
"""Writes a file of a name at a path, of about so many bytes, or that claims so many."""
