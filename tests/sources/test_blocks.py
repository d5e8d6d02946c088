"""Blocks of remote files kept in a folder: the same bytes, fewer requests, never more than said."""

import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from object_server import fail_quickly, serve

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError
from videoloader.machinery.system.kept_files import KeptFiles
from videoloader.sources.blocks import BLOCK, block_cache
from videoloader.sources.opening import open_source
from videoloader.sources.remote import look

pytest.importorskip("obstore", reason="needs obstore (the extra `remote`)")

DATA = np.random.default_rng(0).bytes(5 * BLOCK + 1000)


@pytest.fixture
def server(monkeypatch):
    fail_quickly(monkeypatch)
    with serve(objects={"/a.bin": DATA}) as server:
        yield server


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VIDEOLOADER_BLOCKS", str(tmp_path / "blocks"))
    return tmp_path / "blocks"


def kept(folder):
    return sorted(folder.glob("*/*.block"))


def read(server, ranges, known=None):
    """Ranges of the object, each by a source of its own, and the requests that it took."""
    url = f"{server.url}/a.bin"
    known = known or look(url)
    server.forget()
    found = []
    for offset, size in ranges:
        with open_source(url, known=known) as source:
            found += source.read_ranges([(offset, size)])
    return found, len(server.requests)


def test_any_range_has_the_bytes_of_the_object(server, folder):
    rng = np.random.default_rng(1)
    bounds = np.sort(rng.integers(0, len(DATA), (60, 2)))
    ranges = [(start, stop - start + 1) for start, stop in bounds.tolist()]
    ranges += [(0, 1), (BLOCK - 1, 2), (len(DATA) - 1, 1), (0, len(DATA))]
    found, requests = read(server, ranges)
    assert found == [DATA[offset : offset + size] for offset, size in ranges]
    assert requests <= 6  # one for each block at most
    assert read(server, ranges) == (found, 0)
    assert sum(path.stat().st_size for path in kept(folder)) == len(DATA) + 6 * 4


def test_what_is_missing_is_requested_at_once_in_whole_blocks(server, folder):
    read(server, [(2 * BLOCK, 1)])
    (data,), requests = read(server, [(BLOCK + 5, 3 * BLOCK)])
    assert (data, requests) == (DATA[BLOCK + 5 : 4 * BLOCK + 5], 1)
    assert server.sent == 4 * BLOCK


def test_another_state_of_the_object_has_blocks_of_its_own(server, folder):
    before = look(f"{server.url}/a.bin")
    read(server, [(0, len(DATA))])
    server.objects["/a.bin"] = DATA[::-1]
    assert read(server, [(7, 9)]) == ([DATA[::-1][7:16]], 1)
    assert read(server, [(7, 9)], known=before) == ([DATA[7:16]], 0)  # what was indexed
    with pytest.raises(vl.errors.StaleIndexError, match="changed"):
        read(server, [(7, 9)], known=replace(before, etag='"gone"'))


def test_objects_without_time_and_etag_are_not_kept(server, folder):
    state = replace(look(f"{server.url}/a.bin"), etag=None, mtime_ns=None)
    assert read(server, [(0, 9)] * 2, known=state) == ([DATA[:9]] * 2, 2)
    assert not kept(folder)


@pytest.mark.parametrize("damage", [b"", b"abc", DATA[: BLOCK + 4]], ids=len)
def test_a_damaged_block_is_requested_again(server, folder, damage):
    read(server, [(0, BLOCK)])
    (path,) = kept(folder)
    path.write_bytes(damage)
    assert read(server, [(0, BLOCK)]) == ([DATA[:BLOCK]], 1)
    assert read(server, [(0, BLOCK)]) == ([DATA[:BLOCK]], 0)


def test_the_blocks_take_no_more_than_their_limit(server, folder, monkeypatch):
    limit = 3 * (BLOCK + 4)
    monkeypatch.setenv("VIDEOLOADER_BLOCKS_SIZE", str(limit))
    for number in range(5):
        read(server, [(number * BLOCK, 1)])
        assert sum(path.stat().st_size for path in kept(folder)) <= limit
        for path in kept(folder):
            os.utime(path, (stamp := path.stat().st_mtime - 10, stamp))
    assert read(server, [(4 * BLOCK, 1)])[1] == 0
    assert read(server, [(0, 1)])[1] == 1


def test_the_environment_says_where_and_how_many(tmp_path, monkeypatch):
    monkeypatch.delenv("VIDEOLOADER_BLOCKS", raising=False)
    assert block_cache() is None
    monkeypatch.setenv("VIDEOLOADER_BLOCKS", __file__)
    with pytest.raises(ArgumentError, match=r"VIDEOLOADER_BLOCKS=.+ is a file"):
        block_cache()
    monkeypatch.setenv("VIDEOLOADER_BLOCKS", str(tmp_path))
    for size in ("much", "0", "-1"):
        monkeypatch.setenv("VIDEOLOADER_BLOCKS_SIZE", size)
        with pytest.raises(ArgumentError, match="VIDEOLOADER_BLOCKS_SIZE is a number of bytes"):
            block_cache()


@pytest.mark.parametrize("workers", [0, 1])
def test_later_epochs_of_a_loader_request_nothing(server, folder, tmp_path, workers):
    paths = [encode_video(tmp_path / f"{n}.mp4", frames=40, size=(64, 64)) for n in range(3)]
    server.objects = {f"/{path.name}": path.read_bytes() for path in paths}
    out = tmp_path / "set.parquet"
    urls = [f"{server.url}/{path.name}" for path in paths]
    vl.index_dataset(urls, out, 0).close()
    server.forget()
    clips = vl.RandomClip(4)
    limit = {"time_limit": 77}  # other than of other tests, whose processes have no such variable
    with (
        vl.Loader(out, clips, batch_size=3, workers=workers, **limit) as remote,
        vl.Loader(paths, clips, batch_size=3, workers=0) as local,
    ):
        for _ in range(3):
            (batch,), (expected,) = remote, local
            assert torch.equal(batch["frames"], expected["frames"])
            assert len(server.requests) == 3  # files smaller than a block: one for each
    assert not any(path.suffix == ".partial" for path in folder.rglob("*"))


def test_a_block_of_another_length_with_a_right_checksum_is_requested_again(server, folder):
    ranges = [(BLOCK - 10, 20)]
    expected, _ = read(server, ranges)
    for path in kept(folder):
        for length in (0, 5, BLOCK - 1, BLOCK + 1):
            path.unlink()
            cache = KeptFiles(folder, "block", 10**9, what="blocks", size=BLOCK)
            cache.write(path.stem, bytes(length))
            assert read(server, ranges)[0] == expected
            assert read(server, ranges) == (expected, 0)
