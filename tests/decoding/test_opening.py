"""Videos are opened before clips of them are chosen: each source once, and closed in any case."""

from pathlib import Path

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.decoding.opening import videos
from videoloader.decoding.options import DecodingRules
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.request import Blank
from videoloader.errors import FormatError, SourceError, StaleIndexError
from videoloader.sources.opening import open_source

NAMES = ("h264.mp4", "hevc.mp4")
STRICT = DecodingRules(is_strict=True)
MASKED = DecodingRules()


@pytest.fixture(scope="module")
def paths(demo_folder):
    return [str(demo_folder / name) for name in NAMES]


@pytest.fixture
def sources(monkeypatch):
    """The sources that are opened, and the names of those that are closed."""

    class Opened(list):
        """Sources; `closed` are the names of some."""

    opened = Opened()
    opened.closed = []

    def opening(given, known=None):
        source = open_source(given, known=known)
        close = source.close
        source.close = lambda: (opened.closed.append(source.name), close())
        opened.append(source)
        return source

    monkeypatch.setattr(videos, "open_any", opening)
    return opened


@pytest.fixture
def decoder():
    with vl.BatchDecoder(workers=0) as decoder:
        yield decoder


def opened(decoder, given, indexes=None):
    return decoder.open(given, indexes or [None] * len(given))


def test_a_source_that_is_named_again_is_opened_once(paths, sources, decoder):
    first, second = paths
    with opened(decoder, [first, second, first]) as found:
        assert [video.index.name for video in found] == [first, second, first]
        assert found[0].source is found[2].source
        assert found[0].index is found[2].index
        assert not sources.closed
    assert len(sources) == 2
    assert sorted(sources.closed) == sorted(paths)


def test_frames_are_chosen_where_the_index_is_known(paths, decoder):
    with opened(decoder, paths) as found:
        requests = [
            vl.ClipRequest(path, [video.index.num_frames - 1])
            for path, video in zip(paths, found, strict=True)
        ]
        batch = decoder.begin(requests, found, OutputFormat(), DecodingRules()).finish()
    for clip, path in zip(batch.clips, paths, strict=True):
        with vl.Video(path) as video:
            assert clip.indices.tolist() == [len(video) - 1]
            assert torch.equal(clip.frames[0], video[-1])


@pytest.mark.parametrize("error", [RuntimeError("a sampler's"), KeyboardInterrupt()])
def test_files_are_closed_whatever_happens_meanwhile(paths, sources, decoder, error):
    with pytest.raises(type(error)), opened(decoder, paths):
        raise error
    assert sorted(sources.closed) == sorted(paths)


def test_files_are_closed_where_opening_is_interrupted(paths, sources, decoder, monkeypatch):
    real = decoder._indexes.find

    def find(place, source):
        if place == paths[1]:
            raise KeyboardInterrupt
        return real(place, source)

    monkeypatch.setattr(decoder._indexes, "find", find)
    with pytest.raises(KeyboardInterrupt), opened(decoder, paths):
        raise AssertionError
    assert sorted(sources.closed) == sorted(paths)


def test_a_source_of_the_caller_stays_open(paths, decoder):
    with open_source(paths[0]) as source:
        with opened(decoder, [source]) as (video,):
            assert video.source is source
        assert source.read(0, 4)


def test_what_does_not_open_stands_as_its_error(paths, tmp_path, sources, decoder):
    text, missing = tmp_path / "text.mp4", str(tmp_path / "missing.mp4")
    text.write_text("no video at all " * 40)
    with opened(decoder, [missing, str(text), paths[0], missing]) as found:
        assert isinstance(found[0], SourceError)
        assert isinstance(found[1], FormatError)
        assert found[3] is found[0]
        assert found[2].index.num_frames
    assert len(sources.closed) == 2


def test_a_stored_index_is_checked_and_fails_its_own_clip_only(paths, decoder):
    stale = vl.index_video(paths[1])
    with opened(decoder, [paths[0], paths[0]], [stale, None]) as found:
        assert isinstance(found[0], StaleIndexError)
        assert Path(found[1].index.name).name == NAMES[0]


def test_a_clip_fails_by_the_error_of_its_choice_and_is_as_long_as_its_blank(paths, decoder):
    wrong = FormatError("nothing to choose")
    with opened(decoder, paths) as found:
        requests = [wrong, vl.ClipRequest(paths[1], [0, 1])]
        blanks = [Blank(3, (90, 160), 7), Blank()]
        with pytest.raises(FormatError, match="nothing to choose"):
            decoder.begin(requests, found, OutputFormat(), STRICT, blanks=blanks).finish()
        batch = decoder.begin(requests, found, OutputFormat(), MASKED, blanks=blanks).finish()
        like = decoder.begin(requests, found, OutputFormat(), MASKED, blanks=[Blank()] * 2).finish()
    assert batch.failures[0].error is wrong
    assert batch.frames[0].shape == (3, 90, 160, 3)
    assert (batch.frames[0] == 7).all()
    assert np.array_equal(batch.indices[0], [-1, -1, -1])
    assert like.clips[0].frames.shape == like.clips[1].frames.shape
