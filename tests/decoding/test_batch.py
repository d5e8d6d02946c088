"""Batches of clips: every place holds its frame, whatever is decoded together, where, and fails."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from contextlib import ExitStack

import av
import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.decoding.opening.index_cache import IndexCache, KeptIndexes
from videoloader.demo.videos import read_frame_number
from videoloader.indexing import open_source

CLIPS = {
    "h264.mp4": [0, 7, 7, 80, 3],
    "h264_open_gop.mp4": [50, 24, 23, 0, 1],
    "hevc.mp4": [1, 2, 3, 4, 5],
    "vp9.webm": [30, 20, 10, 0, 40],
    "av1.mp4": [10, 11, 12, 70, 71],
}


@pytest.fixture(scope="module", params=[0, 2], ids=["here", "processes"])
def decoder(request):
    with vl.BatchDecoder(workers=request.param) as decoder:
        yield decoder


def requests(folder, **options):
    return [vl.ClipRequest(folder / name, frames, **options) for name, frames in CLIPS.items()]


def numbers(clip):
    """The numbers that the frames (F, H, W, C) of a clip bear."""
    return [read_frame_number(frame.numpy()) for frame in clip.frames]


def test_clips_of_many_videos_hold_the_frames_that_were_asked_for(decoder, demo_folder):
    batch = decoder.decode(requests(demo_folder))
    assert [numbers(clip) for clip in batch.clips] == list(CLIPS.values())
    assert [clip.indices.tolist() for clip in batch.clips] == list(CLIPS.values())
    assert batch.requests.tolist() == [0, 1, 2, 3, 4]
    assert not batch.failures


def test_clips_of_one_shape_are_one_tensor_and_others_a_list(decoder, demo_folder):
    batch = decoder.decode(requests(demo_folder), size=(64, 96), dtype="float16", layout="FCHW")
    assert batch.frames.shape == (5, 5, 3, 64, 96)
    assert batch.frames.dtype == torch.float16
    assert batch.clips[1].frames.data_ptr() == batch.frames[1].data_ptr()
    ragged = decoder.decode([(demo_folder / "h264.mp4", [0]), (demo_folder / "hevc.mp4", [0])])
    assert [tuple(frames.shape) for frames in ragged.frames] == [(1, 360, 640, 3), (1, 270, 480, 3)]


def test_the_text_of_a_batch_is_one_line_without_pixels(decoder, demo_folder, tmp_path):
    same = [vl.ClipRequest(demo_folder / "h264.mp4", [start, start + 1]) for start in (0, 8)]
    batch = decoder.decode([*same, vl.ClipRequest(tmp_path / "none.mp4", [0])], on_error="skip")
    shape = tuple(batch.frames.shape)
    assert repr(batch) == f"<ClipBatch of 2, 1 failed: uint8 {shape} on cpu>"
    ragged = decoder.decode(
        [vl.ClipRequest(demo_folder / "h264.mp4", [0] * n) for n in (1, 2, 3, 4)]
    )
    shapes = ", ".join(str((n, *shape[2:])) for n in (1, 2, 3))
    assert repr(ragged) == f"<ClipBatch of 4: uint8 {shapes}, ... on cpu>"
    assert repr(decoder.decode([])).startswith("<ClipBatch of 0")


def test_frame_numbers_that_are_times_are_refused_with_the_argument_for_times(demo_folder):
    with (
        vl.Video(demo_folder / "h264.mp4") as video,
        pytest.raises(
            vl.errors.ArgumentError, match=r"integers, got float64; pass seconds as times="
        ),
    ):
        video.get_frames([0.5])


def test_a_batch_is_what_the_videos_give_one_by_one(decoder, demo_folder):
    options = {"dtype": "float32", "layout": "CFHW", "mean": (120, 110, 100), "std": 60}
    batch = decoder.decode(requests(demo_folder), size=80, interpolation="bilinear", **options)
    for name, clip in zip(CLIPS, batch.clips, strict=True):
        with vl.Video(demo_folder / name) as video:
            alone = video.get_frames(CLIPS[name], size=80, interpolation="bilinear", **options)
        assert torch.equal(clip.frames, alone.frames)
        assert np.array_equal(clip.times, alone.times)


def test_what_several_clips_want_is_decoded_once(demo_folder):
    path = demo_folder / "h264.mp4"
    with vl.BatchDecoder(workers=0) as decoder:
        batch = decoder.decode([(path, [60, 61]), (path, [61, 62]), (str(path), [59, 61])])
        assert decoder.stats()["cpu"]["tasks"] == 1
    assert [numbers(clip) for clip in batch.clips] == [[60, 61], [61, 62], [59, 61]]


def test_clips_of_one_video_may_differ_in_size_crop_and_flip(decoder, demo_folder):
    path = demo_folder / "h264.mp4"
    whole, cropped, flipped = decoder.decode(
        [
            vl.ClipRequest(path, [5, 9]),
            vl.ClipRequest(path, [9], crop=(10, 21, 100, 200)),
            vl.ClipRequest(path, [5], flip=True),
        ]
    ).clips
    assert torch.equal(cropped.frames[0], whole.frames[1, 10:110, 21:221])
    assert torch.equal(flipped.frames[0], whole.frames[0].flip(1))


@pytest.mark.parametrize("crop", [None, (10, 21, 200, 300)])
def test_a_window_is_that_part_of_the_resized_picture(decoder, demo_folder, crop):
    path, window = demo_folder / "h264.mp4", (7, 20, 60, 90)
    whole, part, mirrored = decoder.decode(
        [
            vl.ClipRequest(path, [9], crop=crop, size=(80, 120)),
            vl.ClipRequest(path, [9], crop=crop, size=(80, 120), window=window),
            vl.ClipRequest(path, [9], crop=crop, size=(80, 120), window=window, flip=True),
        ]
    ).clips
    assert torch.equal(part.frames, whole.frames[:, 7:67, 20:110])
    assert torch.equal(mirrored.frames, part.frames.flip(2))
    with pytest.raises(vl.VideoError, match=r"window \(30, 0, 60, 90\).* 80x120"):
        decoder.decode([vl.ClipRequest(path, [9], size=(80, 120), window=(30, 0, 60, 90))])


def test_a_crop_may_be_any_four_numbers(decoder, demo_folder):
    path, crop = demo_folder / "h264.mp4", (10, 20, 64, 96)
    whole = decoder.decode([(path, [3])]).frames
    for given in (crop, list(crop), np.array(crop)):
        batch = decoder.decode([vl.ClipRequest(path, [3], crop=given)])
        assert batch.frames.shape == (1, 1, 64, 96, 3)
        assert torch.equal(batch.frames, whole[:, :, 10:74, 20:116])


def test_videos_may_be_paths_bytes_files_and_items_of_a_data_set(decoder, demo_folder, tmp_path):
    path = demo_folder / "vp9.webm"
    dataset = vl.index_dataset([path], tmp_path / "set.parquet", workers=0)
    with open(path, "rb") as file:
        batch = decoder.decode(
            [
                (path.read_bytes(), [3]),
                (file, [4]),
                (dataset.item(0), [5]),
                vl.ClipRequest(path, [6], index=dataset[0]),
                (path.as_uri(), [7]),
            ]
        )
    assert [numbers(clip) for clip in batch.clips] == [[3], [4], [5], [6], [7]]


def test_an_index_of_another_file_fails_all_requests_that_bring_it(decoder, demo_folder):
    path, other = demo_folder / "hevc.mp4", vl.index_video(demo_folder / "h264.mp4")
    stale = vl.ClipRequest(path, [3], index=other)
    batch = decoder.decode([(path, [1]), stale, stale, (path, [2])], on_error="skip")
    assert [numbers(clip) for clip in batch.clips] == [[1], [2]]
    assert [failure.request for failure in batch.failures] == [1, 2]
    assert all(isinstance(failure.error, vl.errors.StaleIndexError) for failure in batch.failures)


def test_two_streams_of_one_file_are_two_videos(decoder, demo_folder, tmp_path):
    path = tmp_path / "two.mkv"
    with ExitStack() as files:
        out = files.enter_context(av.open(str(path), "w"))
        inputs = [
            files.enter_context(av.open(str(demo_folder / name)))
            for name in ("h264.mp4", "hevc.mp4")
        ]
        outputs = [out.add_stream_from_template(file.streams.video[0]) for file in inputs]
        for file, stream in zip(inputs, outputs, strict=True):
            for packet in file.demux(file.streams.video[0]):
                if packet.dts is not None:
                    packet.stream = stream
                    out.mux(packet)
    requests = [
        vl.ClipRequest(path, [stream + 4], index=vl.index_video(path, stream=stream))
        for stream in (0, 1)
    ]
    clips = decoder.decode(requests).clips
    assert [clip.frames.shape[1] for clip in clips] == [360, 270]
    assert [numbers(clip) for clip in clips] == [[4], [5]]


def test_members_of_two_archives_that_are_called_alike_are_two_videos(
    decoder, demo_folder, tmp_path
):
    paths = []
    for archive, name in (("a.tar", "h264.mp4"), ("b.tar", "hevc.mp4")):
        data = (demo_folder / name).read_bytes().ljust(1 << 20, b"\0")
        member = tarfile.TarInfo("clip.mp4")
        member.size = len(data)
        paths.append(tmp_path / archive)
        with tarfile.open(paths[-1], "w") as file:
            file.addfile(member, io.BytesIO(data))
        os.utime(paths[-1], ns=(0, 0))
    dataset = vl.index_dataset(paths, tmp_path / "set.parquet", workers=0)
    for _ in range(2):
        clips = decoder.decode([(dataset.item(0), [7]), (dataset.item(1), [8])]).clips
        assert [clip.frames.shape[1] for clip in clips] == [360, 270]
        assert [numbers(clip) for clip in clips] == [[7], [8]]


def test_a_file_that_another_took_the_place_of_is_indexed_again(decoder, demo_folder, tmp_path):
    path = tmp_path / "clip.mp4"
    for name, height in (("h264.mp4", 360), ("hevc.mp4", 270)):
        path.write_bytes((demo_folder / name).read_bytes())
        batch = decoder.decode([(path, [9])])
        assert (numbers(batch.clips[0]), batch.frames.shape[2]) == ([9], height)


def test_indexes_are_kept_while_files_stay_and_there_is_room(demo_folder, tmp_path):
    paths = [str(tmp_path / name) for name in ("a.mp4", "b.mp4")]
    for path in paths:
        shutil.copy(demo_folder / "h264.mp4", path)
    size = vl.index_video(paths[0]).packets.nbytes
    kept = IndexCache(limit=2 * size - 1)  # of one

    def find(path):
        with open_source(path) as source:
            return kept.find(path, source)

    for change in range(5):
        os.utime(paths[0], (change, change))
        found = find(paths[0])
        assert found.fingerprint.mtime_ns == change * 10**9
        assert find(paths[0]) is found
    other = find(paths[1])
    assert find(paths[1]) is other
    assert find(paths[0]) is not found


def test_what_is_learned_of_an_index_counts_for_the_limit_too(demo_folder):
    indexes = [vl.index_video(demo_folder / "h264.mp4") for _ in range(3)]
    kept = KeptIndexes(3 * indexes[0].packets.nbytes + 100_000)
    for place, index in enumerate(indexes):
        kept.add(place, index)
    assert [kept.get(place) for place in range(3)] == indexes
    for packet in range(10):
        indexes[2].learned.add_preamble(packet, bytes(15_000))
    assert kept.get(2) is indexes[2]  # counted again at this visit
    assert [kept.get(place) for place in range(3)] == [None] * 3


def test_what_is_worked_out_of_an_index_counts_for_the_limit_too(demo_folder):
    indexes = [vl.index_video(demo_folder / "h264.mp4") for _ in range(2)]
    kept = KeptIndexes(2 * indexes[0].packets.nbytes + 8 * len(indexes[0]))
    for place, index in enumerate(indexes):
        kept.add(place, index)
        assert index.seek_packets.nbytes + index.learned.disposable.nbytes > 8 * len(index)
    assert [kept.get(place) is not None for place in (1, 0)] == [True, False]


def test_clips_may_be_given_by_times(decoder, demo_folder):
    path = demo_folder / "variable_rate.mp4"
    with vl.Video(path) as video:
        every = np.float32(video.index.seconds(np.arange(len(video))))
        middle = (every[4:9] + every[5:10]) / 2 + 1e-3
        batch = decoder.decode(
            [
                vl.ClipRequest(path, times=every[[7, 3, 3, 20, 1]]),
                vl.ClipRequest(path, times=middle, nearest=True),
                vl.ClipRequest(path, times=middle, tolerance=10.0),
                vl.ClipRequest(path, times=[-1, 0, 99, 0, 0], pad_mode="constant"),
                (path, [0, 1, 2, 3, 4]),
            ]
        )
        assert [numbers(clip) for clip in (batch.clips[place] for place in (0, 1, 2, 4))] == [
            [7, 3, 3, 20, 1],
            [5, 6, 7, 8, 9],
            [4, 5, 6, 7, 8],
            [0, 1, 2, 3, 4],
        ]
        assert batch.clips[3].indices.tolist() == [-1, 0, -1, 0, 0]
        alone = video.get_frames_at_times(middle, nearest=True)
    assert torch.equal(batch.clips[1].frames, alone.frames)
    assert batch.clips[1].times.tolist() == alone.times.tolist()


def test_clips_given_by_times_fail_as_others_do(decoder, demo_folder, tmp_path):
    path = demo_folder / "h264.mp4"
    requests = [
        vl.ClipRequest(path, times=[0.0, 0.5]),
        vl.ClipRequest(tmp_path / "missing.mp4", times=[0.0, 0.5], fill_value=9),
        vl.ClipRequest(path, times=[0.0, 0.51], tolerance=1e-3),
        vl.ClipRequest(path, times=[0.0, 1e6]),
        vl.ClipRequest(path, times=[0.0, np.nan]),
    ]
    batch = decoder.decode(requests, on_error="mask", size=(90, 160))
    assert batch.frames.shape == (5, 2, 90, 160, 3)
    assert [clip.mask.tolist() for clip in batch.clips] == [[True] * 2] + [[False] * 2] * 4
    assert (batch.frames[1] == 9).all()
    assert [failure.request for failure in batch.failures] == [1, 2, 3, 4]
    kinds = (
        vl.errors.SourceError,
        vl.errors.FrameRangeError,
        vl.errors.FrameRangeError,
        vl.errors.ArgumentError,
    )
    assert [type(failure.error) for failure in batch.failures] == list(kinds)
    with pytest.raises(vl.errors.FrameRangeError, match=r"h264\.mp4: time 0\.51 s .* tolerance"):
        decoder.decode(requests[2:])


def test_a_request_has_frames_or_times():
    for wrong in ({"frames": [0], "times": [0]}, {"nearest": True}, {"tolerance": 1, "frames": []}):
        with pytest.raises(vl.errors.ArgumentError, match="times"):
            vl.ClipRequest("clip.mp4", **wrong)


def test_padding_fills_and_repeats(decoder, demo_folder):
    path = demo_folder / "hevc.mp4"
    count = vl.index_video(path).num_frames
    filled, repeated = decoder.decode(
        [
            vl.ClipRequest(path, [-1, 2], pad_mode="constant", fill_value=(10, 20, 30)),
            vl.ClipRequest(path, [count, 2], pad_mode="edge"),
        ],
        dtype="float32",
        mean=10,
        std=2,
    ).clips
    assert filled.frames[0].reshape(-1, 3).unique(dim=0).tolist() == [[0.0, 5.0, 10.0]]
    assert (filled.indices.tolist(), filled.mask.tolist()) == ([-1, 2], [False, True])
    assert repeated.indices.tolist() == [count - 1, 2]
    assert torch.equal(repeated.frames[1], filled.frames[1])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "bfloat16", "float32"])
def test_every_element_type_is_filled_and_filled_in(decoder, demo_folder, dtype):
    path = demo_folder / "hevc.mp4"
    request = vl.ClipRequest(path, [-1, 2], pad_mode="constant", fill_value=100)
    clip = decoder.decode([request], dtype=dtype, layout="FCHW").clips[0]
    assert clip.frames.dtype == getattr(torch, dtype)
    assert (clip.frames[0].double() == (25700 if dtype == "uint16" else 100)).all()
    with vl.Video(path) as video:
        alone = video.get_frames([2], dtype=dtype, layout="FCHW")
    assert torch.equal(clip.frames[1].double(), alone.frames[0].double())


def test_all_frames_of_a_video_and_none_and_no_requests(decoder, demo_folder):
    path = demo_folder / "h264_open_gop.mp4"
    whole, nothing = decoder.decode([vl.ClipRequest(path), (path, [])]).clips
    assert numbers(whole) == list(range(vl.index_video(path).num_frames))
    assert nothing.frames.shape == (0, *whole.frames.shape[1:])
    empty = decoder.decode([])
    assert (len(empty), empty.frames) == (0, [])


def damaged(folder, tmp_path):
    """A copy of a clip of which a packet in the middle is garbage, and that packet's frame."""
    source = folder / "h264.mp4"
    index = vl.index_video(source)
    data = bytearray(source.read_bytes())
    frame = 60
    packet = index.packets[index.frame_packets[frame]]
    begin = int(packet["offset"]) + 6
    data[begin : begin + int(packet["size"]) - 6] = b"\xff" * (int(packet["size"]) - 6)
    path = tmp_path / "damaged.mp4"
    path.write_bytes(data)
    return path, frame


@pytest.fixture
def hostile(demo_folder, tmp_path):
    """Good and bad requests: missing, no video, damaged, cut off, out of range."""
    path, frame = damaged(demo_folder, tmp_path)
    text = tmp_path / "text.mp4"
    text.write_text("no video" * 100)
    cut = tmp_path / "cut.webm"
    cut.write_bytes((demo_folder / "vp9.webm").read_bytes()[:9000])
    good = demo_folder / "hevc.mp4"
    return [
        (good, [0, 1]),
        (tmp_path / "missing.mp4", [0, 1]),
        (path, [0, frame]),
        (text, [0, 1]),
        (demo_folder / "vp9.webm", [5, 6]),
        (good, [0, 10_000]),
        (cut, [0, 70]),
        (good, [30, 31]),
    ]


BAD = {1, 2, 3, 5, 6}


def test_all_good_clips_of_a_hostile_batch_are_right_and_each_bad_one_is_told(decoder, hostile):
    batch = decoder.decode(hostile, on_error="skip")
    assert batch.requests.tolist() == [0, 4, 7]
    assert [numbers(clip) for clip in batch.clips] == [[0, 1], [5, 6], [30, 31]]
    assert list(dict.fromkeys(failure.request for failure in batch.failures)) == sorted(BAD)
    for failure in batch.failures:
        assert os.path.basename(hostile[failure.request][0]) in str(failure.error)
    assert decoder.stats()["failures"] >= len(BAD)


def test_bad_clips_are_replaced_by_the_next_good_ones(decoder, hostile):
    batch = decoder.decode(hostile, on_error="replace", size=(90, 160))
    assert batch.requests.tolist() == [0, 4, 4, 4, 4, 7, 7, 7]
    assert batch.frames.shape == (8, 2, 90, 160, 3)
    assert torch.equal(batch.frames[1], batch.frames[4])
    assert {failure.request for failure in batch.failures} == BAD


def test_clips_with_bad_frames_are_replaced_in_a_batch_that_opens(decoder, demo_folder, tmp_path):
    path, frame = damaged(demo_folder, tmp_path)
    wanted = [(demo_folder / "h264.mp4", [0, 1]), (path, [0, frame]), (path, [2, 3])]
    batch = decoder.decode(wanted, on_error="replace")
    assert batch.requests.tolist() == [0, 2, 2]
    assert [numbers(clip) for clip in batch.clips] == [[0, 1], [2, 3], [2, 3]]
    kept = decoder.decode(wanted, on_error="skip")
    assert kept.requests.tolist() == [0, 2]
    assert [numbers(clip) for clip in kept.clips] == [[0, 1], [2, 3]]


def test_bad_frames_are_masked_and_the_others_of_their_clip_are_right(decoder, hostile):
    batch = decoder.decode(hostile, on_error="mask", size=(180, 320))
    assert batch.frames.shape == (8, 2, 180, 320, 3)
    masks = [clip.mask.tolist() for clip in batch.clips]
    assert masks[2] == [True, False]
    assert masks[0] == masks[4] == masks[7] == [True, True]
    assert masks[1] == masks[3] == masks[5] == [False, False]
    assert read_frame_number(batch.clips[2].frames[0].numpy()) == 0
    for clip in batch.clips:
        assert (clip.frames[torch.from_numpy(~clip.mask)] == 0).all()
        assert (clip.indices[~clip.mask] == -1).all()


def test_filled_and_failed_frames_of_one_clip_are_both_masked(decoder, demo_folder, tmp_path):
    path, frame = damaged(demo_folder, tmp_path)
    request = vl.ClipRequest(path, [-1, frame, 0], pad_mode="constant", fill_value=9)
    (clip,) = decoder.decode([request], on_error="mask").clips
    assert (clip.mask.tolist(), clip.indices.tolist()) == ([False, False, True], [-1, -1, 0])
    assert (clip.frames[:2] == 9).all()


def test_the_first_error_is_raised_and_names_its_file(decoder, hostile):
    with pytest.raises(vl.VideoError, match=r"missing\.mp4"):
        decoder.decode(hostile)
    with pytest.raises(vl.errors.DecodeError, match=r"damaged\.mp4: frame 60"):
        decoder.decode(hostile[2:3])


def test_arguments_without_a_meaning_are_refused(decoder, demo_folder):
    path = demo_folder / "h264.mp4"
    for arguments in (
        {"on_error": "ignore"},
        {"dtype": "int8"},
        {"layout": "HWCF"},
        {"mean": (1, 2)},
        {"size": (0, 5)},
        {"interpolation": "cubic"},
    ):
        with pytest.raises(vl.errors.ArgumentError):
            decoder.decode([(path, [0])], **arguments)
    told = r"^crop is \(top, left, height, width\) .* got .+; a crop of the centre .* Loader"
    for crop in ((1, 2), (0, 0, 9, 9, 9), (), 1000, (0, 0, 9.5, 9), "ab"):
        with pytest.raises(vl.errors.ArgumentError, match=told):
            vl.ClipRequest(path, [0], crop=crop)
        with pytest.raises(vl.errors.ArgumentError, match=told), vl.Video(path) as video:
            video.get_frames([0], crop=crop)
    with pytest.raises(vl.errors.ArgumentError, match="outside"):
        decoder.decode([vl.ClipRequest(path, [0], crop=(300, 0, 100, 100))])


def test_threads_may_share_a_decoder(decoder, demo_folder):
    results = {}

    def work(frame):
        batch = decoder.decode([(demo_folder / "h264.mp4", [frame])])
        results[frame] = numbers(batch.clips[0])

    threads = [threading.Thread(target=work, args=(frame,)) for frame in range(0, 60, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {frame: [frame] for frame in range(0, 60, 10)}


def test_no_process_is_left_when_the_interpreter_ends(demo_folder):
    clips = [(str(demo_folder / name), [0]) for name in ("h264.mp4", "hevc.mp4", "vp9.webm")]
    program = (
        "import os, videoloader as vl\n"
        f"vl.decode_batch({clips!r}, workers=2)\n"
        "children = open(f'/proc/self/task/{os.getpid()}/children').read()\n"
        "print(children)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    children = done.stdout.split()
    assert len(children) == 2
    assert not [pid for pid in children if os.path.exists(f"/proc/{pid}/exe")]
