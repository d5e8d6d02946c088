"""Pictures of reports are written whole, into folders that are made."""

import cv2
import numpy as np
import pytest

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.drawing import draw_timeline, write_png


def test_a_picture_is_written_into_a_new_folder(tmp_path):
    picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    write_png(picture, tmp_path / "new" / "er" / "a.png")
    assert [path.name for path in (tmp_path / "new" / "er").iterdir()] == ["a.png"]
    found = cv2.imread(str(tmp_path / "new" / "er" / "a.png"))
    assert np.array_equal(found[:, :, ::-1], picture)
    with pytest.raises(vl.errors.SourceError, match="new: is a folder; name a file to write"):
        write_png(picture, tmp_path / "new")


def test_a_timeline_is_written_into_a_new_folder(tmp_path):
    pytest.importorskip("matplotlib")
    encode_video(tmp_path / "a.mp4", frames=12, size=(64, 64))
    draw_timeline(vl.index_video(tmp_path / "a.mp4"), tmp_path / "new" / "a.png")
    assert cv2.imread(str(tmp_path / "new" / "a.png")).shape[1] > 1000
