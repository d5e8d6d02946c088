"""Frames that FFmpeg or the container marks as damaged are errors, and no others are."""

import dataclasses
import random

import av
import numpy as np
import pytest
from corpus_files import corpus_files, has_reference
from marked_damage import CLIPS, PACKET, WAYS, decode_by_ffmpeg, make_clip, mutate, read_all
from sequential import digest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.decoding.nvdec.hardware import unfit_reason
from videoloader.indexing import PacketFlags
from videoloader.sampling import plan_decode

# One for each decoder, and for each way in which containers tell damage.
TRIED = [
    *("mpeg1.mkv", "mpeg1.mpg", "mpeg2.ts", "mpeg2.avi", "mpeg4.ts", "mpeg4.mp4", "h263.3gp"),
    *("sorenson.flv", "jpeg.avi", "wmv1.asf", "wmv2.avi", "msmpeg4.mkv", "rv20.rm"),
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder, paths = tmp_path_factory.mktemp("marked"), {}

    def make(name):
        if name not in paths:
            paths[name] = make_clip(folder, name)
        return paths[name]

    return make


def own_packets(data):
    """Which packets of a transport stream are those of its video."""
    return [at // PACKET for at in range(0, len(data), PACKET) if data[at + 1] & 31 == 1]


def without_packet(data, number):
    """A transport stream without one of the packets of its video."""
    place = own_packets(data)[number] * PACKET
    return data[:place] + data[place + PACKET :]


@pytest.mark.parametrize("name", CLIPS)
def test_healthy_files_have_no_errors(clip, name):
    data = clip(name).read_bytes()
    found = read_all(data)
    assert not found.failed
    assert [found.given[n] for n in range(40)] == decode_by_ffmpeg(data).hashes
    assert not found.index.damaged.any()
    assert found.index.warnings == ()


@pytest.mark.parametrize("name", TRIED)
def test_no_frame_that_ffmpeg_marks_is_given_in_silence(clip, name):
    data = clip(name).read_bytes()
    healthy = decode_by_ffmpeg(data)
    told = 0
    for way in WAYS:
        for seed in range(4):
            changed = mutate(name, data, way, seed)
            decode = None if changed is None else decode_by_ffmpeg(changed)
            found = None if decode is None else read_all(changed)
            if found is not None:
                assert not found.silent(healthy, decode), (way, seed)
                told += decode.is_told
    assert told or name.startswith("jpeg")  # whose decoder marks nothing


def test_broken_jpeg_is_an_error_where_a_strict_decoder_refuses_it(clip):
    data = clip("jpeg.avi").read_bytes()
    refused = 0
    for seed in range(12):
        changed = mutate("jpeg.avi", data, "noise", seed)
        index = vl.index_video(changed)
        decoder = av.CodecContext.create("mjpeg", "r")
        decoder.options = {"err_detect": "explode"}
        failed = set()
        for number, row in enumerate(index.packets):
            packet = av.Packet(changed[row["offset"] : row["offset"] + row["size"]])
            try:
                decoder.decode(packet)
            except av.error.FFmpegError:
                failed.add(number)
        assert read_all(changed).failed == failed
        refused += len(failed)
    assert refused > 3


@pytest.mark.parametrize("name", ["mpeg2.ts", "mpeg4.ts", "h264.ts", "hevc.ts"])
@pytest.mark.parametrize("number", [30, 75])
def test_a_lost_transport_packet_is_told_by_its_counter(clip, tmp_path, name, number):
    path = tmp_path / name
    path.write_bytes(without_packet(clip(name).read_bytes(), number))
    index = vl.index_video(path)
    first, *_, packet = np.flatnonzero(index.damaged)[[0, -1]]  # FFmpeg also marks the one before
    assert packet - first <= 1
    assert f"{path}: damaged: " in index.warnings[0]
    assert f"packet {first}" in index.warnings[0]
    with pytest.raises(vl.errors.FormatError, match="damaged"):
        vl.index_video(path, strict=True)
    frame = int(index.packet_frames[packet])
    with vl.Video(path) as video:
        with pytest.raises(vl.errors.DecodeError, match=r"packet \d+, which it needs, is damaged"):
            video[frame]
        with pytest.raises(vl.errors.DecodeError):
            video[:]
        last = len(video) - 1
        assert index.seek_packets[last] > packet
        assert video[last].shape == (144, 176, 3)  # of another group of pictures
    batch = vl.decode_batch([vl.ClipRequest(path, [frame, last])], on_error="mask", workers=0)
    assert batch.clips[0].mask.tolist() == [False, True]


def test_marks_of_packets_are_stored_with_the_index(clip, tmp_path):
    data = without_packet(clip("mpeg2.ts").read_bytes(), 30)
    index = vl.index_video(data)
    index.save(tmp_path / "a.index")
    loaded = vl.VideoIndex.load(tmp_path / "a.index")
    assert (loaded.damaged == index.damaged).all()
    assert loaded.damaged.any()


def test_a_packet_received_with_errors_is_damaged(clip):
    data = bytearray(clip("mpeg2.ts").read_bytes())
    place = own_packets(data)[40] * PACKET
    data[place + 1] |= 0x80  # transport_error_indicator
    index = vl.index_video(bytes(data))
    (packet,) = np.flatnonzero(index.damaged)
    begin = int(index.packets["offset"][packet])
    assert begin <= place < int(index.packets["offset"][packet + 1])


def test_check_lists_frames_of_damaged_packets(clip, tmp_path):
    path = tmp_path / "lost.ts"
    path.write_bytes(without_packet(clip("mpeg2.ts").read_bytes(), 30))
    vl.index_dataset([path], tmp_path / "set.parquet", workers=0).close()
    done = CliRunner().invoke(app, ["check", str(tmp_path / "set.parquet"), "--workers", "0"])
    assert done.exit_code == 1, done.output
    assert "damaged" in done.output
    found = read_all(path.read_bytes())
    assert found.failed


def test_the_gpu_leaves_damaged_packets_to_the_cpu(clip):
    index = vl.index_video(without_packet(clip("h264.ts").read_bytes(), 30))
    (packet,) = np.flatnonzero(index.damaged)
    frame = int(index.packet_frames[packet])
    (bad,) = plan_decode(index, [frame])
    (good,) = plan_decode(index, [index.num_frames - 1])
    assert "damaged" in unfit_reason(bad, index)
    assert unfit_reason(good, index) is None


def test_a_cut_does_not_copy_damaged_packets(clip, tmp_path):
    path = tmp_path / "lost.ts"
    path.write_bytes(without_packet(clip("h264.ts").read_bytes(), 30))
    index = vl.index_video(path)
    frame = int(index.packet_frames[np.flatnonzero(index.damaged)[0]])
    with pytest.raises(vl.VideoError, match="damaged"):
        vl.cut(path, tmp_path / "a.mp4", start=frame, stop=frame + 2)


@pytest.mark.parametrize("name", ["wmv2.avi", "msmpeg4.avi", "h263_plus.avi", "mpeg2.avi"])
def test_frames_of_an_avi_without_its_index_are_those_of_the_whole_file(clip, name):
    """Its demuxer then marks all packets as keyframes."""
    data = clip(name).read_bytes()
    healthy = decode_by_ffmpeg(data).hashes
    found = read_all(data[: len(data) * 3 // 4])
    count = found.index.num_frames
    assert found.failed <= {count - 1, count - 2}  # and a B-frame
    assert found.given == {n: healthy[n] for n in range(count) if n not in found.failed}


@pytest.mark.parametrize(
    "file", corpus_files(lambda f: f.facts["codec"] == "mpeg1video" and has_reference(f))
)
def test_gaps_that_an_encoder_leaves_are_no_damage(file):
    """One of these files has gaps between slices, which FFmpeg marks in most of its frames."""
    data = file.path.read_bytes()
    decode, found = decode_by_ffmpeg(data), read_all(data)
    assert not found.failed
    assert [found.given[n] for n in range(len(decode.hashes))] == decode.hashes
    with vl.Video(data) as video:  # read on from frame to frame
        numbers = [n for frame in range(8) for n, _ in video.decode([frame])]
    assert numbers == list(range(8))


@pytest.mark.parametrize("file", corpus_files(lambda f: f.path.name.endswith("bear.mpeg")))
def test_damage_beside_such_gaps_is_told(file):
    data = file.path.read_bytes()
    told = 0
    for seed in range(6):
        changed = mutate("bear.mpeg", data, "noise", seed)
        told += bool(read_all(changed).failed)
    assert told >= 4  # noise may also leave valid slices with other gaps


@pytest.mark.parametrize("name", ["mpeg2.mkv", "mpeg4.mkv", "mpeg1.mkv"])
def test_reading_on_tells_damage_too(clip, name):
    """Call after call, the decoder is not emptied, and gives marked frames late."""
    data = clip(name).read_bytes()
    with vl.Video(data) as video:
        healthy = [digest(frame.numpy().tobytes()) for frame in video]
    told = 0
    for seed in range(6):
        changed = mutate(name, data, "zeros", seed)
        if not any(decode_by_ffmpeg(changed).marked):
            continue
        failed = read_all(changed).failed
        frames = random.Random(seed).choice([range(40), range(0, 40, 2)])
        with vl.Video(changed) as video:
            for number in frames:
                try:
                    found = digest(video[number].numpy().tobytes())
                except vl.errors.DecodeError:
                    assert number in failed
                    told += 1
                else:
                    assert found == healthy[number]
    assert told


def test_flags_of_packets_are_public():
    assert PacketFlags.DAMAGED == 16


@pytest.mark.parametrize("name", ["mpeg2.mkv", "mpeg4.mkv"])
def test_frames_behind_one_that_the_decoder_left_out_are_errors(clip, name):
    """Its packet has no picture any more, which decoders do not report."""
    path = clip(name)
    index = vl.index_video(path)
    frame = int(index.keyframes[1]) + 3
    packet = index.packets[index.frame_packets[frame]]
    data = bytearray(path.read_bytes())
    begin = int(packet["offset"])
    data[begin : begin + int(packet["size"])] = bytes(int(packet["size"]))
    stop = int(index.keyframes[2])
    with vl.Video(bytes(data), index=index_of(bytes(data), index)) as video:
        for step in (1, 2):
            for number in range(frame - 1, stop - 1, step):
                needs = index.frame_packets[number] >= index.frame_packets[frame]
                if number == frame or needs:
                    with pytest.raises(vl.errors.DecodeError):
                        video[number]
                else:
                    video[number]
        video[stop]


def index_of(data, index):
    """The index of a healthy file for one with other bytes."""
    return dataclasses.replace(index, fingerprint=vl.index_video(data).fingerprint)


@pytest.mark.parametrize("file", corpus_files(lambda f: f.facts["codec"] == "vc1"))
def test_damaged_vc1_is_told(file):
    """A codec that nothing here encodes; the beginning of a file."""
    data = file.path.read_bytes()[:150_000]
    healthy = decode_by_ffmpeg(data)
    told = 0
    for seed in range(4):
        changed = mutate(file.path.name, data, "noise", seed)
        decode, found = decode_by_ffmpeg(changed), read_all(changed)
        assert not found.silent(healthy, decode)
        told += sum(decode.marked) > 1  # the last frame is cut
        assert len(found.given) > 5
    assert told
