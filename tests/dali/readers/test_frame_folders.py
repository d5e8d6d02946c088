import cv2
import numpy as np
import pytest
from stored_batches import read_epoch

from videoloader.dali import fn, types
from videoloader.errors import ArgumentError, OperatorError

pytestmark = pytest.mark.filterwarnings("ignore:fn.readers.sequence is dep:DeprecationWarning")


@pytest.fixture
def root(tmp_path):
    """Two videos of 7 and 4 frames, each frame of the colour (video, number, 9)."""
    for video, count in ((0, 7), (1, 4)):
        (tmp_path / str(video)).mkdir()
        for number in range(count):
            picture = np.full((4, 6, 3), (9, number, video), np.uint8)  # OpenCV writes BGR
            cv2.imwrite(str(tmp_path / str(video) / f"{number:05}.png"), picture)
    return tmp_path


def read(root, **arguments):
    return [clip for (clip,) in read_epoch(fn.readers.sequence, file_root=str(root), **arguments)]


@pytest.mark.parametrize(("length", "step", "stride"), [(3, 1, 1), (2, 3, 2), (4, 2, 1), (1, 1, 5)])
def test_clips_are_whole_and_stay_in_their_video(root, length, step, stride):
    clips = read(root, sequence_length=length, step=step, stride=stride)
    expected = [
        [(video, number, 9) for number in range(first, first + length * stride, stride)]
        for video, count in ((0, 7), (1, 4))
        for first in range(0, count, step)
        if first + (length - 1) * stride < count
    ]
    assert [[tuple(frame[0, 0].tolist()) for frame in clip] for clip in clips] == expected
    assert {clip.shape for clip in clips} == {(length, 4, 6, 3)}


def test_pictures_have_the_wanted_colours(root):
    (clip, *_) = read(root, sequence_length=2, image_type=types.BGR)
    assert clip[1, 0, 0].tolist() == [9, 1, 0]
    (clip, *_) = read(root, sequence_length=2, image_type=types.GRAY)
    assert clip.shape == (2, 4, 6, 1)


def test_what_cannot_be_read_is_named(root):
    with pytest.raises(ArgumentError, match="8 pictures"):
        read(root, sequence_length=8)
    (root / "1" / "00003.png").write_bytes(b"no picture")
    with pytest.raises(OperatorError, match=r"1/00003\.png"):
        read(root, sequence_length=4)
