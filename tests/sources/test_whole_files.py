"""Small files that are read at once: the bytes and the errors of a source that is opened."""

import os

import numpy as np
import pytest

from videoloader.dali.readers.files.listing import StoredFiles
from videoloader.errors import VideoError
from videoloader.sources.items import Item
from videoloader.sources.local import read_whole


@pytest.fixture
def folder(tmp_path):
    for name, size in (("small", 5), ("large", 3_000_001), ("empty", 0), ("with:colon", 7)):
        data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        (tmp_path / name).write_bytes(data.tobytes())
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "small", tmp_path / "link")
    return tmp_path


def opened(path):
    """The bytes of a file through `Item.open`, or its error."""
    try:
        with Item(str(path)).open() as source:
            return source.read(0, source.size)
    except VideoError as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "name", ["small", "large", "empty", "with:colon", "folder", "pipe", "link", "missing", "a\0b"]
)
def test_contents_are_those_of_an_opened_source(folder, name):
    expected = opened(folder / name)
    ways = [StoredFiles([name], str(folder)), StoredFiles([str(folder / name)])]
    for files in ways:
        try:
            found = files.contents(0).tobytes()
        except VideoError as error:
            found = type(error), str(error)
        assert found == expected


def test_no_file_stays_open(folder):
    before = sorted(os.listdir("/proc/self/fd"))
    for name in ("small", "empty", "folder", "pipe", "missing", "a\0b"):
        read_whole(str(folder / name))
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_file_that_shrinks_meanwhile_is_left_to_the_source(folder, monkeypatch):
    monkeypatch.setattr(os, "readv", lambda *_: 3)
    assert read_whole(str(folder / "small")) is None
