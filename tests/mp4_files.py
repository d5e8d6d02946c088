"""MP4 files built by hand around the packets of one encoded clip, and FFmpeg's view of them."""

import io
import struct
from dataclasses import dataclass, field

import av

from videoloader.indexing import open_source
from videoloader.indexing.containers.mp4.movie import index_mp4

__all__ = [
    "Clip",
    "Part",
    "Run",
    "Sample",
    "box",
    "demuxed",
    "full",
    "indexed",
    "movie",
    "read_clip",
]

NOT_KEY, KEY = 0x01010000, 0x02000000
TIMESCALE, MOVIE_TIMESCALE = 15360, 1000


def box(kind, *content):
    body = b"".join(content)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def full(kind, version, flags, *content):
    return box(kind, struct.pack(">I", version << 24 | flags), *content)


def ints(layout, *values):
    return struct.pack(f">{layout}", *values)


@dataclass(frozen=True)
class Sample:
    """A packet, and what the tables say of it."""

    data: bytes = field(repr=False)
    duration: int
    composition: int
    key: bool


@dataclass(frozen=True)
class Clip:
    """Packets in decode order and the `stsd` box that describes them."""

    samples: list = field(repr=False)
    description: bytes = field(repr=False)


def read_clip(path):
    """The packets of an MP4 file, and its description."""
    data = path.read_bytes()
    with open_source(path) as source:
        index = index_mp4(source)[0]
    table = index.packets
    samples = [
        Sample(
            data[row["offset"] : row["offset"] + row["size"]],
            int(row["duration"]),
            int(row["pts"] - row["dts"]),
            bool(row["flags"] & 1),
        )
        for row in table
    ]
    at = data.find(b"stsd") - 4
    (size,) = struct.unpack_from(">I", data, at)
    return Clip(samples, data[at : at + size])


@dataclass(frozen=True)
class Run:
    """A `trun` box: samples, and which fields each of them has."""

    samples: list
    fields: int = 0xF00
    first_flags: bool = False
    has_offset: bool = True


@dataclass(frozen=True)
class Part:
    """A `traf` box."""

    runs: list
    time: int | None = 0
    base: str = "moof"  # moof | bytes | none
    track: int = 1
    entry: int | None = None


def sample_flags(sample):
    return KEY if sample.key else NOT_KEY


def _run_box(run, offset):
    flags = run.fields | run.has_offset | (4 * run.first_flags)
    content = [ints("I", len(run.samples))]
    if run.has_offset:
        content.append(ints("i", offset))
    if run.first_flags:
        content.append(ints("I", sample_flags(run.samples[0])))
    for sample in run.samples:
        values = {
            0x100: sample.duration,
            0x200: len(sample.data),
            0x400: sample_flags(sample),
            0x800: sample.composition & 0xFFFFFFFF,
        }
        content += [ints("I", value) for flag, value in values.items() if run.fields & flag]
    return full(b"trun", 1, flags, *content)


def fragment(parts, position):
    """A `moof` and its `mdat`, the data in the order of the runs."""

    def boxes(header):
        at, content = position + header + 8, []
        behind = position
        for part in parts:
            flags, fields = 0x20 | 0x10 | 0x08, b""
            origin = position
            if part.base == "bytes":
                flags, origin = flags | 1, at - 5
                fields += ints("Q", origin)
            elif part.base == "moof":
                flags |= 0x20000
            else:
                origin = behind
            if part.entry is not None:
                flags |= 2
                fields += ints("I", part.entry)
            first = part.runs[0].samples[0] if part.runs and part.runs[0].samples else None
            usual = (first.duration, len(first.data)) if first else (1, 1)
            fields += ints("III", *usual, NOT_KEY)
            inside = [full(b"tfhd", 0, flags, ints("I", part.track), fields)]
            if part.time is not None:
                inside.append(full(b"tfdt", 1, 0, ints("Q", part.time)))
            for run in part.runs:
                inside.append(_run_box(run, at - origin))
                at += sum(len(sample.data) for sample in run.samples)
                behind = at if run.samples else behind
            content.append(box(b"traf", *inside))
        return box(b"moof", full(b"mfhd", 0, 0, ints("I", 1)), *content)

    moof = boxes(len(boxes(0)))
    samples = [s.data for part in parts for run in part.runs for s in run.samples]
    return moof + box(b"mdat", *samples)


def table(samples, description, offset):
    """An `stbl` box whose samples lie one behind the other from `offset` on."""
    content = [description]
    content.append(
        full(b"stts", 0, 0, ints("I", len(samples)), *[ints("II", 1, s.duration) for s in samples])
    )
    if any(s.composition for s in samples):
        rows = [ints("Ii", 1, s.composition) for s in samples]
        content.append(full(b"ctts", 1, 0, ints("I", len(samples)), *rows))
    if samples and not all(s.key for s in samples):
        keys = [n + 1 for n, s in enumerate(samples) if s.key]
        content.append(full(b"stss", 0, 0, ints(f"I{len(keys)}I", len(keys), *keys)))
    chunks = ints("IIII", 1, 1, len(samples), 1) if samples else ints("I", 0)
    sizes = [len(s.data) for s in samples]
    content.append(full(b"stsc", 0, 0, chunks))
    content.append(full(b"stsz", 0, 0, ints(f"II{len(sizes)}I", 0, len(sizes), *sizes)))
    content.append(full(b"stco", 0, 0, ints("II", 1, offset) if samples else ints("I", 0)))
    return box(b"stbl", *content)


def track(
    samples, description, offset, *, number=1, edits=None, handler=b"vide", elst=None, boxes=(),
    timescale=TIMESCALE,
):  # fmt: skip
    """A `trak` box; `edits` are (duration in movie ticks, media time, rate) each."""
    duration = sum(s.duration for s in samples)
    content = [
        full(
            b"tkhd", 0, 3, ints("IIIII8xhhhxx", 0, 0, number, 0, 1000, 0, 0, 0),
            ints("9iII", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30, 64 << 16, 48 << 16),
        )
    ]  # fmt: skip
    if edits is not None:
        rows = [ints("IiI", time, start, int(rate * 65536)) for time, start, rate in edits]
        elst = full(b"elst", 0, 0, ints("I", len(rows)), *rows)
    if elst is not None:
        content.append(box(b"edts", elst))
    media = [full(b"mdhd", 0, 0, ints("IIIIHH", 0, 0, timescale, duration, 0x55C4, 0))]
    if handler is not None:
        media.append(full(b"hdlr", 0, 0, ints("I4s12x", 0, handler), b"x\0"))
    reference = full(b"dref", 0, 0, ints("I", 1), full(b"url ", 0, 1))
    media.append(
        box(
            b"minf",
            full(b"vmhd", 0, 1, bytes(8)),
            box(b"dinf", reference),
            table(samples, description, offset),
        )
    )
    return box(b"trak", *content, box(b"mdia", *media), *boxes)


def movie(
    clip, samples=(), fragments=(), *, before=(), defaults=(1, 0, 0, 0), between=(), **options
):
    """A whole file: samples of the `moov` box, then fragments (lists of `Part`s).

    Args:
        before: `trak` boxes in front.
        defaults: of the `trex` box, None for no `mvex`.
        between: boxes in front of each `moof`.
        options: of `track`.
    """

    def head(offset):
        tracks = [*before, track(list(samples), clip.description, offset, **options)]
        content = [
            full(
                b"mvhd", 0, 0, ints("IIIIIHH8x", 0, 0, MOVIE_TIMESCALE, 0, 0x10000, 0x100, 0),
                ints("9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30), bytes(24), ints("I", 9),
            ),
            *tracks,
        ]  # fmt: skip
        if fragments and defaults is not None:
            extends = [full(b"trex", 0, 0, ints("5I", n, *defaults)) for n in (1, 2)]
            content.append(box(b"mvex", *extends))
        return box(b"ftyp", b"isom", ints("I", 0), b"isom") + box(b"moov", *content)

    start = len(head(0)) + 8
    data = head(start) + box(b"mdat", *[s.data for s in samples])
    for parts in fragments:
        data += b"".join(between)
        data += fragment(parts, len(data))
    return data


def demuxed(data, stream=None, **options):
    """FFmpeg's packets: place, size, times, key and discard flags.

    Its parsers take keyframes from the pictures instead, unless `fflags="noparse"`.
    """
    with av.open(io.BytesIO(data), options=options) as container:
        video = container.streams.video[0] if stream is None else container.streams[stream]
        return [
            (p.pos, p.size, p.pts, p.dts, p.is_keyframe, p.is_discard)
            for p in container.demux(video)
            if p.size
        ]


def indexed(data):
    """Ours, in the same form; None where a demuxer is needed."""
    with open_source(data) as source:
        found = index_mp4(source)
    if found is None:
        return None
    table = found[0].packets
    columns = [table[name].tolist() for name in ("offset", "size", "pts", "dts")]
    columns += [((table["flags"] & flag) > 0).tolist() for flag in (1, 2)]
    return list(zip(*columns, strict=True))
