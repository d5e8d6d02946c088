"""Hard cuts of generated videos, whose frames are known."""

import dataclasses
import itertools
from functools import partial

import cv2
import numpy as np
import pytest

import videoloader as vl
from videoloader.datasets import read_thumbnails, scenes
from videoloader.datasets.pictures import thumbnail_row
from videoloader.datasets.suspects import find_suspects, hides_frames
from videoloader.demo.shots import draw_shot, encode_pictures, encode_shots

LENGTHS = (19, 26, 17, 23)
CUTS = [19, 45, 62]
SIZE = (160, 90)
X265 = "log-level=none:pools=none:frame-threads=1"

# Encoder, container and options: keyframes at cuts or not, with B-frames or not, open GOPs.
CODED = {
    "h264": ("libx264", "mp4", None),
    "h264_regular": ("libx264", "mp4", {"g": "12", "sc_threshold": "0", "threads": "1"}),
    "h264_one_gop": ("libx264", "mkv", {"x264-params": "threads=1:keyint=infinite:scenecut=0"}),
    "hevc": ("libx265", "mp4", {"preset": "ultrafast", "x265-params": X265}),
    "hevc_open": ("libx265", "mp4", {"x265-params": f"{X265}:keyint=24:scenecut=0:open-gop=1"}),
    "av1": ("libsvtav1", "mp4", {"preset": "12", "g": "32", "svtav1-params": "lp=1"}),
    "vp9": ("libvpx-vp9", "webm", {"deadline": "realtime", "cpu-used": "8", "g": "30"}),
    "mpeg4": ("mpeg4", "mp4", {"g": "30", "bf": "2", "sc_threshold": "1000000000"}),
    "all_keyframes": ("libx264", "mp4", {"g": "1", "threads": "1"}),
}


@pytest.fixture(scope="module", params=CODED)
def video(request, tmp_path_factory):
    codec, suffix, options = CODED[request.param]
    path = tmp_path_factory.mktemp("scenes") / f"clip.{suffix}"
    encode_shots(path, LENGTHS, size=SIZE, codec=codec, options=options, seed=3)
    with vl.Video(path, threads=1) as video:
        yield video


def starts(found):
    return [scene.start for scene in found][1:]


def test_exact_scenes_begin_with_the_first_frames_of_shots(video):
    found = vl.find_scenes(video, exact=True)
    assert starts(found) == CUTS
    assert [scene.stop for scene in found] == [*CUTS, sum(LENGTHS)]
    edges = np.array([0, *CUTS, sum(LENGTHS)]) / 25
    assert [scene.start_seconds for scene in found] == pytest.approx(edges[:-1], abs=0.002)
    assert [scene.stop_seconds for scene in found] == pytest.approx(edges[1:], abs=0.002)


@pytest.fixture
def decoded(monkeypatch):
    """The frames whose thumbnails are read."""
    frames_read = []

    def recorded(source, frames):
        frames_read.extend(frames)
        return read_thumbnails(source, frames)

    monkeypatch.setattr(scenes, "read_thumbnails", recorded)
    return frames_read


def test_no_frame_but_keyframes_is_read_twice(video, decoded):
    vl.find_scenes(video, exact=True)
    others = [frame for frame in decoded if frame not in video.index.keyframes]
    assert sorted(others) == sorted({*others})


def test_scenes_are_told_from_keyframes_and_tables_to_half_a_second(video, decoded):
    found = starts(vl.find_scenes(video))
    assert {*decoded} <= {*video.index.keyframes.tolist()}
    near = [min(CUTS, key=lambda cut: abs(cut - frame)) for frame in found]
    assert all(abs(cut - frame) <= 13 for cut, frame in zip(near, found, strict=True))
    if len(video.index.keyframes) > 1 and not hides_frames(video.index):
        assert sorted({*near}) == CUTS


@pytest.mark.parametrize("coded", ["h264_regular", "h264_one_gop", "vp9", "mpeg4"])
@pytest.mark.parametrize("at", [11, 12, 13, 24, 30, 31])
def test_exact_scenes_are_those_of_a_full_decode_where_a_cut_takes_two_frames(coded, at, tmp_path):
    codec, suffix, options = CODED[coded]
    first, second, third = ([*draw_shot(50, seed=seed, size=SIZE)] for seed in (1, 2, 3))
    mixed = cv2.addWeighted(first[at], 0.3, second[at], 0.7, 0)
    pictures = [*first[:at], mixed, *second[at + 1 : 45], *third[:12]]
    path = encode_pictures(
        tmp_path / f"a.{suffix}", pictures, size=SIZE, codec=codec, options=options
    )
    every = read_thumbnails(path, "all")
    assert starts(vl.find_scenes(path, exact=True)) == scenes._cuts_in(*every)


@pytest.mark.parametrize("cut", [12, 17])
def test_the_second_of_two_keyframes_is_a_cut_only_if_its_frames_say_so(tmp_path, cut):
    pictures = [*draw_shot(cut, seed=4, size=SIZE), *draw_shot(48 - cut, seed=7, size=SIZE)]
    options = {"g": "25", "bf": "0", "sc_threshold": "1000000000"}
    path = encode_pictures(tmp_path / "a.mp4", pictures, size=SIZE, codec="mpeg4", options=options)
    assert vl.index_video(path).keyframes.tolist() == [0, 25]
    assert starts(vl.find_scenes(path, exact=True)) == [cut]


@pytest.mark.parametrize("gop", [50, 100])
@pytest.mark.parametrize(
    ("codec", "suffix", "b_frames"), [("mpeg4", "mp4", 0), ("mpeg2video", "ts", 2)]
)
def test_cuts_are_found_behind_a_first_keyframe_that_is_larger_than_others(
    tmp_path, codec, suffix, b_frames, gop
):
    path, lengths = tmp_path / f"a.{suffix}", (21, 45, 19)
    options = {"g": str(gop), "bf": str(b_frames), "b": "60k", "sc_threshold": "1000000000"}
    encode_shots(path, lengths, seed=1, size=SIZE, codec=codec, options=options, grain=6.0)
    index = vl.index_video(path)
    sizes = index.packets["size"][index.frame_packets]
    assert len(index.keyframes) == (2 if gop == 50 else 1)
    assert sizes[0] > 4 * sizes[index.keyframes[1] if gop == 50 else 21]
    assert starts(vl.find_scenes(path, exact=True)) == [21, 66]


@pytest.mark.parametrize("exact", [False, True])
def test_a_shot_in_motion_is_one_scene(tmp_path, exact):
    path = encode_shots(
        tmp_path / "pan.mp4", [60], size=SIZE, seed=11, options={"g": "12", "threads": "1"}
    )
    assert starts(vl.find_scenes(path, exact=exact)) == []


def test_a_flash_is_no_cut_and_a_short_shot_within_a_gop_is(tmp_path):
    def drawn(seed, length):
        return [*draw_shot(length, seed=seed, size=SIZE)]

    shot = drawn(1, 40)
    flash = [*shot[:18], *drawn(2, 1), *shot[19:]]
    options = {"g": "100", "sc_threshold": "0", "threads": "1"}
    with_flash = encode_pictures(tmp_path / "flash.mp4", flash, size=SIZE, options=options)
    assert find_suspects(vl.index_video(with_flash))
    assert starts(vl.find_scenes(with_flash, exact=True)) == []
    between = [*shot[:14], *drawn(2, 11), *shot[14:]]
    path = encode_pictures(tmp_path / "short.mp4", between, size=SIZE, options=options)
    assert starts(vl.find_scenes(path, exact=True)) == [14, 25]


@pytest.mark.parametrize("length", [30, 31])  # one may be the encoder's interval, one may not
def test_a_cut_between_pictures_of_the_same_colours_is_found(tmp_path, length):
    shot = [*draw_shot(2 * length, seed=8, size=SIZE)]
    turned = [picture[::-1] for picture in shot[length:]]
    options = {"g": str(length), "sc_threshold": "0", "threads": "1"}
    pictures = shot[:length] + turned
    path = encode_pictures(tmp_path / "a.mp4", pictures, size=SIZE, options=options)
    assert vl.index_video(path).keyframes.tolist() == [0, length]
    assert starts(vl.find_scenes(path, exact=True)) == [length]


def test_suspects_are_found_in_the_tables_alone(tmp_path):
    path = encode_shots(
        tmp_path / "a.mp4", LENGTHS, size=SIZE, options={"g": "100", "sc_threshold": "0", "bf": "3"}
    )
    index = vl.index_video(path)
    path.unlink()
    suspects = find_suspects(index)
    for cut in CUTS:
        assert any(each.first <= cut <= each.last for each in suspects)
    assert all(any(abs(each.last - cut) < 5 for cut in CUTS) for each in suspects)


def test_a_video_of_one_frame_is_one_scene(tmp_path):
    path = encode_shots(tmp_path / "one.mp4", [1], size=SIZE)
    for exact in (False, True):
        (scene,) = vl.find_scenes(path, exact=exact)
        assert (scene.start, scene.stop) == (0, 1)


@pytest.mark.parametrize("function", [vl.find_scenes, vl.score_video, vl.datasets.hash_video])
def test_a_video_without_a_frame_is_an_error(tmp_path, function):
    path = encode_shots(tmp_path / "one.mp4", [4], size=SIZE)
    index = vl.index_video(path)
    empty = dataclasses.replace(index, packets=index.packets[:0])
    with (
        vl.Video(path, index=empty) as video,
        pytest.raises(vl.errors.FormatError, match=r"one.mp4: there is no frame in it"),
    ):
        function(video)


@pytest.mark.gpu
def test_a_gpu_finds_the_same_scenes(tmp_path):
    encode_shots(tmp_path / "a.mp4", LENGTHS, size=(320, 180))
    options = {"device": "cuda", "workers": 0}
    table = vl.map_clips(
        tmp_path, partial(vl.find_scenes, exact=True), tmp_path / "a.parquet", **options
    )
    assert table["start"].to_pylist() == [0, *CUTS]
    scores = vl.map_clips(tmp_path, vl.score_video, tmp_path / "b.parquet", **options)
    expected = vl.score_video(tmp_path / "a.mp4")
    assert scores["brightness"][0].as_py() == pytest.approx(expected.brightness, abs=1)
    assert scores["motion"][0].as_py() == pytest.approx(expected.motion, abs=1)


def test_scenes_are_rows_of_a_table(tmp_path):
    for seed in range(2):
        encode_shots(tmp_path / f"{seed}.mp4", LENGTHS, seed=seed, size=SIZE)
    table = vl.map_clips(tmp_path, vl.find_scenes, tmp_path / "scenes.parquet", workers=0)
    assert table["row"].to_pylist() == [0] * 4 + [1] * 4
    assert table["start"].to_pylist() == [0, *CUTS] * 2


def test_thumbnails_are_the_frames_averaged_down(tmp_path):
    pictures = [*itertools.islice(draw_shot(9, seed=5, size=(192, 108)), 9)]
    path = encode_pictures(
        tmp_path / "a.mp4", pictures, size=(192, 108), options={"qp": "1", "g": "4"}
    )
    found = read_thumbnails(path, "all")
    assert found.pixels.shape == (9, 27, 48, 3)
    for pixels, picture in zip(found.pixels, pictures, strict=True):
        expected = cv2.resize(picture, (48, 27), interpolation=cv2.INTER_AREA)
        assert np.abs(pixels.astype(int) - expected).mean() < 3
    with vl.Video(path) as video:
        row = thumbnail_row(video)
        keys = video.index.keyframes
    assert row["thumbnail_frames"].tolist() == keys.tolist()
    pixels = np.frombuffer(row["thumbnails"], np.uint8).reshape(-1, 27, 48, 3)
    assert np.array_equal(pixels, found.pixels[keys])
