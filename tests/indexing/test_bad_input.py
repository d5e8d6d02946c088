"""What is no video, or only part of one: one clear error of ours each, and never another."""

import contextlib
import io
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import videoloader as vl
from videoloader.demo.videos import encode_video


@pytest.fixture(scope="module")
def mp4(tmp_path_factory):
    """A small MP4 with B-frames, `moov` in front and with every kind of table."""
    path = tmp_path_factory.mktemp("bad") / "clip.mp4"
    encode_video(path, frames=30, size=(64, 48), container_options={"movflags": "+faststart"})
    return path


@pytest.fixture(scope="module")
def mp4_bytes(mp4):
    return mp4.read_bytes()


def refused(source, *words, kind=vl.VideoError):
    with pytest.raises(kind) as caught:
        vl.index_video(source)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def boundaries(data, start=0, stop=None):
    """Where every box of a file begins and ends, containers entered."""
    position, stop = start, len(data) if stop is None else stop
    while position + 8 <= stop:
        size, kind = struct.unpack_from(">I4s", data, position)
        if size < 8:
            return
        yield position
        yield position + 8
        if kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"udta"):
            yield from boundaries(data, position + 8, position + size)
        position += size
        yield position


def test_a_missing_file(tmp_path):
    refused(tmp_path / "none.mp4", "none.mp4", "No such file", kind=vl.errors.SourceError)
    with pytest.raises(OSError, match="No such file"):
        vl.index_video(tmp_path / "none.mp4")


@pytest.mark.parametrize(
    "read", [vl.index_video, vl.Video, lambda path: vl.decode_batch([(path, [0])])]
)
def test_an_empty_path(read):
    with pytest.raises(vl.errors.SourceError, match=r"^'': the path is empty; name a video file"):
        read("")


def test_a_directory(tmp_path):
    refused(tmp_path, "directory", kind=vl.errors.SourceError)


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.mp4").touch()
    refused(tmp_path / "empty.mp4", "empty.mp4", "empty", kind=vl.errors.FormatError)
    refused(b"", "empty", kind=vl.errors.FormatError)


@pytest.mark.parametrize("name", ["notes.txt", "clip.mp4", "list.m3u8"])
def test_a_text_file(tmp_path, name):
    path = tmp_path / name
    path.write_text("not a video at all\n" * 50)
    refused(path, name, kind=vl.errors.FormatError)


def test_a_url_of_a_kind_that_is_not_read():
    refused("rtsp://camera/1", "rtsp", "s3", kind=vl.errors.UnsupportedError)


def test_a_file_that_cannot_seek():
    class Pipe:
        name = "pipe"

        def seek(self, *_):
            raise io.UnsupportedOperation("underlying stream is not seekable")

    refused(Pipe(), "pipe", "seekable", kind=vl.errors.SourceError)


@pytest.mark.parametrize("source", [5, None, ["a.mp4"]])
def test_what_is_no_source_is_told_with_the_argument(source):
    kind = type(source).__name__
    message = rf"^source must be a path, a URL, bytes or .* file, got {kind} "
    for read in (vl.Video, vl.index_video):
        with pytest.raises(vl.errors.ArgumentTypeError, match=message):
            read(source)


def test_truncation_at_every_box_boundary(mp4_bytes):
    cuts = sorted(set(boundaries(mp4_bytes)) - {len(mp4_bytes)})
    assert len(cuts) > 40
    for cut in cuts:
        refused(mp4_bytes[:cut])


def test_truncation_with_the_tables_at_the_end(tmp_path):
    path = tmp_path / "last.mp4"
    encode_video(path, frames=30, size=(64, 48))
    data = path.read_bytes()
    assert data.find(b"moov") > data.find(b"mdat")
    for cut in sorted(set(boundaries(data)) - {len(data)}):
        refused(data[:cut])


def test_the_error_names_packet_and_byte(mp4, mp4_bytes, tmp_path):
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(mp4_bytes[: len(mp4_bytes) * 2 // 3])
    refused(cut, "cut.mp4", "truncated: packet", "ends at", kind=vl.errors.FormatError)


def test_a_stream_number_that_is_no_video(mp4):
    with pytest.raises(vl.errors.FormatError, match="stream 7"):
        vl.index_video(mp4, stream=7)


def test_a_lying_table_costs_no_memory(mp4_bytes):
    for box in (b"stsz", b"stts", b"ctts", b"stco", b"stsc", b"stss"):
        at = mp4_bytes.find(box)
        header = 8 if box == b"stsz" else 4
        place = at + 4 + header
        lying = bytearray(mp4_bytes)
        lying[place : place + 4] = b"\xff\xff\xff\xff"
        refused(bytes(lying), kind=vl.errors.FormatError)


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_mutated_tables_give_a_result_or_our_error(mp4_bytes, seed):
    rng = random.Random(seed)
    data = bytearray(mp4_bytes)
    moov = mp4_bytes.find(b"moov")
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(moov, moov + 1600)
        data[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    try:
        index = vl.index_video(bytes(data))
        index.pts, index.keyframes, index.seek_packets, index.duration  # noqa: B018
    except vl.VideoError:
        pass


def patched(data, kind, offset, value):
    """The file with bytes behind the first box of a kind replaced."""
    at = data.find(kind) + 4 + offset
    return data[:at] + value + data[at + len(value) :]


def test_sums_that_would_overflow_are_refused(mp4_bytes):
    elst = mp4_bytes.find(b"elst")
    assert elst > 0
    huge = patched(mp4_bytes, b"elst", 4 + 4, b"\x7f\xff\xff\xff")  # a long edit is none too long
    assert vl.index_video(huge).num_frames == 30
    # 32-bit chunk offsets made 64-bit ones near the limit.
    stco = mp4_bytes.find(b"stco")
    (count,) = struct.unpack_from(">I", mp4_bytes, stco + 8)
    assert count == 1
    wide = mp4_bytes[: stco + 4] + bytes(4) + struct.pack(">I", 0) + mp4_bytes[stco + 12 :]
    refused(wide)


def test_a_file_in_text_mode_is_refused(mp4):
    with open(mp4, encoding="latin-1") as opened:
        refused(opened, "binary", kind=vl.errors.SourceError)


def test_many_tracks_are_not_all_expanded(mp4_bytes):
    """Two hundred tracks, each claiming as many samples as the file has bytes."""
    import resource

    moov = mp4_bytes.find(b"moov") - 4
    (size,) = struct.unpack_from(">I", mp4_bytes, moov)
    trak = mp4_bytes.find(b"trak") - 4
    (trak_size,) = struct.unpack_from(">I", mp4_bytes, trak)
    one = bytearray(mp4_bytes[trak : trak + trak_size])
    stsz = one.find(b"stsz") + 4
    padding = 400_000
    one[stsz + 4 : stsz + 12] = struct.pack(">II", 1, padding)
    body = mp4_bytes[moov + 8 : moov + size] + bytes(one) * 200
    data = mp4_bytes[:moov] + struct.pack(">I4s", len(body) + 8, b"moov") + body
    data += struct.pack(">I4s", padding + 8, b"free") + bytes(padding)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.suppress(vl.VideoError):
        vl.index_video(data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
