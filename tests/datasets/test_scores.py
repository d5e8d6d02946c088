"""Scores of videos that are black, still, blurred, in motion or silent."""

import cv2
import numpy as np
import pytest
from audio_files import make_signal, write_sound

import videoloader as vl
from videoloader.datasets.pictures import spread
from videoloader.demo.shots import draw_shot, encode_pictures

SIZE = (160, 90)


@pytest.fixture
def scored(tmp_path):
    """Scores of pictures, which are encoded without visible loss."""

    def score(pictures, **options):
        coded = {"qp": "2", "g": "6", "threads": "1"}
        path = encode_pictures(tmp_path / "clip.mp4", pictures, size=SIZE, options=coded)
        return vl.score_video(path, **options)

    return score


def moving(step, length=18):
    """A wide picture in which the camera moves by some pixels a frame."""
    rng = np.random.default_rng(0)
    scene = cv2.resize(rng.integers(0, 256, (18, 80, 3), dtype=np.uint8), (640, 90))
    return [scene[:, n * step : n * step + 160] for n in range(length)]


def test_black_pictures_are_black_and_still(scored):
    scores = scored([np.zeros((90, 160, 3), np.uint8)] * 12)
    assert (scores.black, scores.static) == (1.0, 1.0)
    assert scores.brightness < 2
    assert scores.blur < 1
    assert (scores.loudness, scores.silence) == (None, None)


def test_a_half_black_picture_is_half_black(scored):
    picture = np.full((90, 160, 3), 200, np.uint8)
    picture[:, :80] = 0
    scores = scored([picture] * 3)
    assert scores.black == pytest.approx(0.5, abs=0.03)
    assert scores.brightness == pytest.approx(100, abs=4)


def test_faster_motion_scores_higher_and_is_not_static(scored):
    still, slow, fast = (scored(moving(step)) for step in (0, 1, 5))
    assert still.static == 1
    assert still.motion < 1 < slow.motion < fast.motion
    assert (slow.static, fast.static) == (0, 0)


def test_motion_is_the_difference_to_the_frame_a_fifth_of_a_second_later(scored):
    pictures = moving(3)
    gray = [cv2.cvtColor(each, cv2.COLOR_RGB2GRAY).astype(float) for each in pictures]
    # Keyframes are every 6 frames, and 0.2 seconds are 5 frames.
    expected = np.mean([np.abs(gray[k + 5] - gray[k]).mean() for k in (0, 6, 12)])
    assert scored(pictures).motion == pytest.approx(expected, rel=0.1)


def test_blurred_pictures_score_lower(scored):
    sharp = [np.kron(picture[::4, ::4], np.ones((4, 4, 1), np.uint8))[:90] for picture in moving(2)]
    blurred = [cv2.GaussianBlur(picture, (9, 9), 3) for picture in sharp]
    assert scored(blurred).blur < scored(sharp).blur / 2


def test_a_single_frame_has_no_motion(scored):
    scores = scored([np.full((90, 160, 3), 99, np.uint8)])
    assert (scores.motion, scores.static) == (None, None)
    assert scores.brightness == pytest.approx(99, abs=3)


@pytest.mark.parametrize("quiet", [0.0, 0.5])
def test_sound_is_as_loud_and_silent_as_it_is(tmp_path, quiet):
    signal = make_signal(seconds=2, rate=16000, channels=1)
    signal[:, : round(quiet * 32000)] = 0
    write_sound(tmp_path / "a.mkv", signal, 16000, "flac", with_video=True)
    scores = vl.score_video(tmp_path / "a.mkv", sound=True)
    assert scores.silence == pytest.approx(quiet, abs=0.03)
    assert scores.loudness == pytest.approx(10 * np.log10((signal**2).mean()), abs=0.1)
    assert vl.score_video(tmp_path / "a.mkv").silence is None


def test_scores_are_columns_of_a_table(tmp_path):
    for seed in range(2):
        pictures = draw_shot(6, seed=seed, size=SIZE)
        encode_pictures(tmp_path / f"{seed}.mp4", pictures, size=SIZE)
    table = vl.map_clips(tmp_path, vl.score_video, tmp_path / "scores.parquet", workers=0)
    for row, each in zip(table.to_pylist(), sorted(tmp_path.glob("*.mp4")), strict=True):
        scores = vl.score_video(each)
        assert {name: row[name] for name in scores._fields} == scores._asdict()
    index = vl.index_dataset(tmp_path, tmp_path / "set.parquet", workers=0)
    joined = index.join(tmp_path / "scores.parquet", key="key")
    assert joined.select(["black", "blur"]).equals(table.select(["black", "blur"]))


def test_chosen_frames_are_spread():
    assert spread(np.arange(3), 8).tolist() == [0, 1, 2]
    assert spread(np.arange(100), 4).tolist() == [0, 25, 50, 75]
