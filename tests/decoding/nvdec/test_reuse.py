"""NVDEC decoders for one stream after another: each fits what the stream asks for."""

import itertools
import random

import av
import pytest
from fake_gpu import decode, fake_gpu  # noqa: F401  (fake_gpu is a fixture)
from sequence_headers import read_sequence

import videoloader as vl
from videoloader.codecs.buffering import Buffering
from videoloader.codecs.records import setup_units
from videoloader.codecs.registry import nal_syntax
from videoloader.decoding.nvdec import sessions
from videoloader.decoding.nvdec.elementary import first_sequence
from videoloader.decoding.nvdec.hardware import DecoderKind, DecoderRoom, StreamNeeds, stream_needs
from videoloader.decoding.nvdec.pool import NvdecPool
from videoloader.demo.videos import encode_video
from videoloader.errors import DecodeError

# Sizes that share decoders, and what streams ask for: the last two ask for less of one thing and
# more of another.
SIZES = {"wide": (256, 144), "narrow": (192, 128)}
X264 = {
    "few": "bframes=0:ref=1:level=11",
    "some": "bframes=3:ref=3:level=11",
    "many": "bframes=8:ref=8:b-pyramid=normal:b-adapt=0:level=11",
    "high level": "bframes=0:ref=1:level=51",
}
FORMULAS = {
    "references": lambda header: header.references,
    "buffered": lambda header: header.buffered,
    "level": lambda header: header.level,
    "reordered": lambda header: header.reordered,
    "sum": lambda header: header.references + header.reordered,
}
FRAMES = 30


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    return {
        (size, kind): encode_video(
            folder / f"{size} {kind}.mp4",
            size=SIZES[size],
            frames=FRAMES,
            options={
                "preset": "ultrafast",
                "x264-params": f"threads=1:keyint=15:min-keyint=15:scenecut=0:{X264[kind]}",
            },
        )
        for size, kind in itertools.product(SIZES, X264)
    }


def test_the_streams_differ_in_what_they_ask_for(streams):
    needs = {kind: stream_needs(vl.index_video(streams["wide", kind]), 0).pictures for kind in X264}
    assert needs["few"].within(needs["many"])
    assert not needs["many"].within(needs["few"])
    assert len(set(needs.values())) == len(X264)
    for one, other in itertools.permutations(("many", "high level")):
        assert not needs[one].within(needs[other])


def test_the_machine_loses_pictures_of_a_stream_that_asks_for_more(
    fake_gpu,
    streams,
    monkeypatch,
):
    """The fault itself, so that the tests below can fail."""
    monkeypatch.setattr(DecoderRoom, "fits", lambda room, needs: True)
    pool = NvdecPool(0, threads=1)
    frames = list(range(FRAMES))
    assert decode(pool, streams["wide", "few"], [frames]) == [frames]
    with pytest.raises(DecodeError, match="NVDEC gave no frame"):
        decode(pool, streams["wide", "many"], [frames])
    pool.close()


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_stream_gets_a_decoder_that_is_too_small_for_it(
    fake_gpu,
    streams,
    formula,
):
    fake_gpu.count_surfaces = FORMULAS[formula]
    rng = random.Random(formula)
    pool = NvdecPool(0, threads=2)
    for _ in range(24):
        wanted = [[rng.randrange(FRAMES), FRAMES - 1]]
        assert decode(pool, rng.choice(list(streams.values())), wanted) == wanted
    pool.close()


def test_a_decoder_for_much_takes_streams_that_ask_for_less(fake_gpu, streams):
    pool = NvdecPool(0, threads=1)
    frames = list(range(FRAMES))
    for kind in ("many", "few", "some", "many", "few", "many"):
        assert decode(pool, streams["wide", kind], [frames]) == [frames]
    assert pool.stats.decoders == 1
    pool.close()


def test_streams_that_take_turns_keep_their_decoders(fake_gpu, streams):
    pool = NvdecPool(0, threads=1)
    for kind, size in itertools.product(("few", "many", "some", "few", "many") * 3, SIZES):
        assert decode(pool, streams[size, kind], [[FRAMES - 1]]) == [[FRAMES - 1]]
    assert pool.stats.decoders <= 4
    pool.close()


def test_decoders_that_no_memory_is_left_for_go(fake_gpu, streams):
    one = next(iter(streams.values()))
    pool = NvdecPool(0, threads=1)
    decode(pool, one, [[0]])
    memory = pool._sessions.idle[0].decoder.memory
    small = NvdecPool(0, threads=1, memory=2 * memory)
    pool.close()
    del pool
    for path in [*streams.values()] * 2:
        assert decode(small, path, [[FRAMES - 1]]) == [[FRAMES - 1]]
        assert fake_gpu.alive <= 2
    small.close()


def test_the_decoder_that_loses_least_is_chosen():
    small, large = Buffering(4, 1, 1, 0), Buffering(4, 4, 4, 2)
    wide, narrow = (1920, 1088), (1856, 1024)
    rooms = [DecoderRoom(StreamNeeds(wide, pictures)) for pictures in (large, small)]
    chosen = [
        min((room for room in rooms if room.fits(needs)), key=lambda room: room.excess(needs))
        for needs in (
            StreamNeeds(wide, small),
            StreamNeeds(wide, large),
            StreamNeeds(narrow, small),
            StreamNeeds(narrow, large),
        )
    ]
    assert [rooms.index(room) for room in chosen] == [1, 0, 1, 0]


def test_room_follows_what_the_library_does_when_the_size_changes():
    small, large = Buffering(4, 1, 1, 0), Buffering(4, 4, 4, 2)
    room = DecoderRoom(StreamNeeds((1920, 1088), large))
    room.take(StreamNeeds((1280, 720), small))
    assert not room.fits(StreamNeeds((1280, 720), large))  # it would keep its few surfaces
    assert not room.fits(StreamNeeds((1280, 712), large))  # as large, if sizes are rounded up
    assert room.fits(StreamNeeds((1920, 1088), large))
    room.take(StreamNeeds((1920, 1088), large))
    assert room.fits(StreamNeeds((1920, 1088), large))
    assert not room.fits(StreamNeeds((1280, 720), Buffering(9, 4, 4, 2)))
    assert not room.fits(StreamNeeds((1920, 1088), None))


def test_a_decoder_of_a_stream_that_tells_nothing_is_not_used_again():
    unknown = StreamNeeds((64, 64), None)
    room = DecoderRoom(unknown)
    assert not room.fits(unknown)
    assert not room.fits(StreamNeeds((64, 64), Buffering(1, 0, 0, 0)))
    kind = DecoderKind("h264", "420", 8, 256, 256)
    assert kind.memory(unknown) < kind.memory(StreamNeeds((64, 64), Buffering(16, 16, 16, 16)))


@pytest.mark.parametrize("kind", X264)
def test_what_an_h264_stream_asks_for_is_read_as_written(streams, kind):
    path = streams["narrow", kind]
    index = vl.index_video(path)
    sequence = first_sequence(nal_syntax("h264"), index.extradata_of(0))
    units = setup_units(nal_syntax("h264"), index.extradata_of(0))
    (header,) = read_sequence("h264", b"".join(b"\0\0\0\1" + unit for unit in units))
    assert sequence.coded == (header.width, header.height) == SIZES["narrow"]
    assert sequence.buffering == header[2:]
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.has_b_frames == (header.reordered > 0)
    written = int(path.read_bytes().partition(b" ref=")[2].split()[0])
    assert written <= sequence.buffering.references <= written + 1  # one more for pyramids


@pytest.mark.parametrize("params", ["bframes=0:ref=1", "bframes=4:ref=4", "bframes=3:ref=5"])
def test_what_an_hevc_stream_asks_for_is_read_as_written(tmp_path, params):
    options = {"preset": "ultrafast", "x265-params": f"log-level=none:pools=none:{params}"}
    path = encode_video(tmp_path / "a.mkv", codec="libx265", frames=20, options=options)
    index = vl.index_video(path)
    units = setup_units(nal_syntax("hevc"), index.extradata_of(0))
    (header,) = read_sequence("hevc", b"".join(b"\0\0\0\1" + unit for unit in units))
    needs = stream_needs(index, 0)
    assert needs.size == (header.width, header.height)
    assert needs.pictures == Buffering(needs.pictures.level, 0, header.buffered, header.reordered)
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.has_b_frames == (header.reordered > 0)


@pytest.mark.parametrize(
    ("constraints", "level", "kept"),
    [(0, 30, 16), (0, 11, 9), (0x10, 11, 4), (0, 9, 4), (0, 77, 16)],
)
def test_without_limits_a_stream_may_keep_what_its_level_allows(constraints, level, kept):
    # Baseline, order counts of type 2, a reference, 176x144, no usability information.
    fields = "1101101000001011000100111001"
    payload = int(fields.ljust(32, "0"), 2).to_bytes(4, "big")
    sequence = first_sequence(
        nal_syntax("h264"), b"\0\0\1\x67" + bytes([66, constraints, level]) + payload
    )
    assert sequence.coded == (176, 144)
    assert sequence.buffering == Buffering(kept, 1, kept, kept)


@pytest.fixture(scope="module")
def vp9(tmp_path_factory):
    """A stream of each size; all VP9 asks for the same."""
    folder = tmp_path_factory.mktemp("vp9")
    options = {"deadline": "realtime", "cpu-used": "8"}
    return [
        encode_video(
            folder / f"{size}.webm", codec="libvpx-vp9", size=SIZES[size], frames=9, options=options
        )
        for size in ("wide", "narrow")
    ]


def test_a_size_that_comes_again_gets_a_session_of_its_own(fake_gpu, vp9):
    pool = NvdecPool(0, threads=1)
    made = []
    for path in vp9 * 3:
        assert decode(pool, path, [[0, 8]]) == [[0, 8]]
        made.append(pool.stats.decoders)
    # The second takes over the session of the first, and so does the third, which was there before.
    assert made == [1, 1, 1, 2, 2, 2]
    pool.close()


def test_sizes_take_turns_where_there_is_no_room_for_all(fake_gpu, vp9, monkeypatch):
    monkeypatch.setattr(sessions, "_MOST_SESSIONS", 1)
    pool = NvdecPool(0, threads=1)
    for path in vp9 * 3:
        assert decode(pool, path, [[0, 8]]) == [[0, 8]]
    assert (pool.stats.decoders, pool._sessions.count) == (1, 1)
    pool.close()


def test_other_codecs_share_decoders_by_size_alone(demo_folder):
    index = vl.index_video(demo_folder / "vp9.webm")
    assert stream_needs(index, 0) == StreamNeeds((index.width, index.height), Buffering())
