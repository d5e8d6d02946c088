"""Videos behind URLs: few requests, few bytes, the same frames, and clear words for failures."""

import gzip
import io
import os
import sys
import tarfile
import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
import torch
from object_server import serve
from remuxing import remux_file

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.indexing.dataset import find_items
from videoloader.indexing.dataset.skipped import HIDDEN, Skipped
from videoloader.indexing.payloads import PacketReader
from videoloader.sources import remote

pytest.importorskip("obstore", reason="needs obstore (the extra `remote`)")


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """A clip of 15 MB in two files: tables in front, and at the end."""
    folder = tmp_path_factory.mktemp("clips")
    front = encode_video(
        folder / "front.mp4",
        frames=160,
        size=(640, 360),
        options={"x264-params": "threads=1:keyint=24:qp=1", "preset": "ultrafast"},
        picture="mandelbrot=maxiter=100",
        container_options={"movflags": "+faststart"},
    )
    remux_file(front, str(folder / "end.mp4"))
    return folder


@pytest.fixture
def server(clips, monkeypatch):
    monkeypatch.setitem(remote._RETRIES, "max_retries", 1)
    monkeypatch.setitem(remote._RETRIES, "backoff", {"init_backoff": timedelta(milliseconds=5)})
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    remote._open_store.cache_clear()
    with serve() as server:
        server.objects = {f"/{path.name}": path.read_bytes() for path in clips.iterdir()}
        yield server
    remote._open_store.cache_clear()


@pytest.fixture
def bucket(server, clips, monkeypatch):
    """The same server as an S3 bucket: s3://videos/clips/..., and a tar archive."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for path in clips.iterdir():
        server.objects[f"/videos/clips/{path.name}"] = path.read_bytes()
    server.objects["/videos/clips/notes.md"] = b"no video"
    server.objects["/videos/other/front.mp4"] = b"of another folder"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(clips.iterdir()):
            archive.add(path, path.name)
            archive.addfile(tarfile.TarInfo(f"{path.stem}.json"))
    server.objects["/videos/shards/0.tar"] = packed.getvalue()
    return server


def refused(url, *words, kind=vl.errors.SourceError):
    with pytest.raises(kind) as caught:
        vl.index_video(url)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("name", "requests"), [("front.mp4", 1), ("end.mp4", 2)])
def test_an_index_takes_few_requests_and_bytes(server, clips, name, requests):
    index = vl.index_video(f"{server.url}/{name}")
    alone = vl.index_video(clips / name)
    assert (index.packets == alone.packets).all()
    assert index.pts.tolist() == alone.pts.tolist()
    assert len(server.requests) == requests
    assert server.sent < 0.05 * (clips / name).stat().st_size


def test_large_tables_at_the_end_take_one_request_more(server, clips):
    data = (clips / "end.mp4").read_bytes()
    at = data.rindex(b"moov") - 4
    room = 300_000  # of a box inside that nobody reads
    moov = (len(data) - at + room).to_bytes(4, "big") + data[at + 4 :]
    server.objects["/large.mp4"] = (
        data[:at] + moov + room.to_bytes(4, "big") + b"free" + bytes(room - 8)
    )
    index = vl.index_video(f"{server.url}/large.mp4")
    assert index.num_frames == 160
    assert len(server.requests) == 3
    assert server.sent < 2 * 65536 + room + 10_000


def test_frames_are_those_of_the_local_file(server, clips):
    wanted = [3, 100, 101, 3, 159]
    with vl.Video(clips / "front.mp4") as video:
        expected = video.get_frames(wanted).frames
    with vl.Video(f"{server.url}/front.mp4") as video:
        assert (video.get_frames(wanted).frames == expected).all()
    assert server.sent < 0.6 * (clips / "front.mp4").stat().st_size
    assert len(server.requests) <= 12


def test_a_run_is_fetched_at_once_and_nothing_around_it(server, clips):
    """Its packets lie close together: one request for all of them, before decoding begins."""
    index = vl.index_video(clips / "front.mp4")
    wanted = np.arange(100, 116)
    (run,) = vl.sampling.plan_decode(index, wanted).runs
    first, last = index.packets[run.packets[0]], index.packets[run.packets[-1]]
    needed = int(last["offset"] + last["size"] - first["offset"])
    with vl.Video(f"{server.url}/front.mp4", index=index) as video:
        server.forget()
        video.get_frames(wanted)
    large = [size for _, _, size in server.requests if size > 2000]
    assert large == [needed]
    assert len(server.requests) <= 2  # and the head of the first packet


def test_headers_are_read_from_packets_in_stretches(server, clips, monkeypatch):
    monkeypatch.setattr("videoloader.indexing.payloads.MAX_SPAN", 1 << 21)
    index = vl.index_video(f"{server.url}/front.mp4", headers=True)
    alone = vl.index_video(clips / "front.mp4", headers=True)
    assert (index.packets == alone.packets).all()
    assert index.has_headers
    stretches = -((clips / "front.mp4").stat().st_size // -(1 << 21))
    assert len(server.requests) <= 1 + 2 * stretches
    assert server.sent <= (clips / "front.mp4").stat().st_size + 65536
    assert max(size for _, _, size in server.requests) < 3 << 20


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Clips with packets of several hundred kilobytes, of one slice and of many."""
    folder = tmp_path_factory.mktemp("large")
    for name, slices in (("one.mp4", 1), ("many.mp4", 4)):
        encode_video(
            folder / name,
            frames=40,
            size=(1280, 720),
            options={
                "x264-params": f"threads=1:keyint=24:qp=1:slices={slices}",
                "preset": "ultrafast",
                "bf": "2",
            },
            picture="mandelbrot=maxiter=100",
            container_options={"movflags": "+faststart"},
        )
    return folder


@pytest.mark.parametrize(("name", "share"), [("one.mp4", 0.1), ("many.mp4", 1.05)])
def test_of_large_packets_only_the_headers_are_fetched(server, large, name, share):
    data = (large / name).read_bytes()
    server.objects["/large.mp4"] = data
    server.delay = 0.02
    alone = vl.index_video(large / name, headers=True)
    index = vl.index_video(f"{server.url}/large.mp4", headers=True)
    assert (index.packets == alone.packets).all()
    assert 0 < index.disposable.sum() < len(index.packets)
    assert server.sent < share * len(data)
    assert 4 < server.most_at_once <= 16


def test_headers_are_those_of_the_local_file_wherever_heads_end(server, tmp_path, monkeypatch):
    options = {"x264-params": "threads=1:keyint=24:qp=1", "preset": "ultrafast"}
    path = encode_video(tmp_path / "a.mp4", frames=60, size=(320, 180), options=options)
    server.objects["/a.mp4"] = path.read_bytes()
    alone = vl.index_video(path, headers=True)
    assert alone.packets["size"].max() > 3000
    rng = np.random.default_rng(5)
    for size in (1, 4, 5, 6, 7, *rng.integers(8, 3000, 4).tolist()):
        monkeypatch.setattr("videoloader.indexing.payloads.HEAD", size)
        monkeypatch.setattr("videoloader.indexing.payloads.HEAD_GAP", size % 5 * 10_000)
        index = vl.index_video(f"{server.url}/a.mp4", headers=True)
        assert (index.packets == alone.packets).all()


def test_packets_that_lie_apart_are_fetched_side_by_side(server, clips):
    path = clips / "front.mp4"
    index = vl.index_video(path)
    server.delay = 0.05
    with open_source(path) as local, open_source(f"{server.url}/front.mp4") as source:
        server.forget()
        numbers = np.arange(3, 160, 12)
        found = [*PacketReader(index, source).read(numbers)]
        assert found == [*PacketReader(index, local).read(numbers)]
    assert len(server.requests) == len(numbers)
    assert server.sent == index.packets["size"][numbers].sum()
    assert server.most_at_once >= 8


def test_a_range_that_is_not_there_is_refused_among_others(server, clips):
    size = (clips / "front.mp4").stat().st_size
    with open_source(f"{server.url}/front.mp4") as source:
        assert source.read_ranges([]) == []
        with pytest.raises(vl.errors.SourceError, match=r"front\.mp4.*ends at"):
            source.read_ranges([(0, 10), (size - 5, 10)])
        with pytest.raises(vl.errors.SourceError, match="wanted at -1"):
            source.read_ranges([(0, 10), (-1, 10)])
        server.objects["/front.mp4"] += b"more"
        with pytest.raises(vl.errors.SourceError, match="changed while it was read"):
            source.read_ranges([(200_000, 10), (size // 2, 10)])


@pytest.mark.parametrize("suffix", [".mkv", ".ts"])
def test_containers_that_need_a_demuxer(server, tmp_path, suffix):
    path = encode_video(tmp_path / f"clip{suffix}", frames=30)
    server.objects[f"/{path.name}"] = path.read_bytes()
    url = f"{server.url}/{path.name}"
    with vl.Video(url) as video, vl.Video(path) as local:
        assert (video.index.packets == local.index.packets).all()
        assert (video[7:20:4] == local[7:20:4]).all()


def test_reading_from_front_to_back_asks_for_ever_more(server, clips):
    data = (clips / "front.mp4").read_bytes()
    with open_source(f"{server.url}/front.mp4") as source, source.file() as file:
        assert file.read() == data
    assert len(server.requests) < 14
    assert server.sent < 1.1 * len(data)


def test_any_range_is_that_of_the_file(server, clips):
    data = (clips / "front.mp4").read_bytes()
    rng = np.random.default_rng(3)
    with open_source(f"{server.url}/front.mp4") as source:
        for _ in range(200):
            offset, size = int(rng.integers(len(data))), int(10 ** rng.uniform(0, 6.5))
            assert source.read_up_to(offset, size) == data[offset : offset + size]
            assert source.window(offset, 1)[0] == data[offset]
        assert sum(map(len, source._kept.values())) <= remote._MAX_KEPT
        with pytest.raises(vl.errors.SourceError, match=r"front\.mp4.*ends at"):
            source.read(len(data) - 1, 2)


def test_signed_and_encoded_urls_arrive_as_they_are(server):
    server.objects["/a b/c%d.mp4"] = server.objects["/front.mp4"]
    for url in ("a%20b/c%25d.mp4", "a%20b/c%25d.mp4?signature=x%2Fy&expires=9", "a b/c%25d.mp4"):
        assert vl.index_video(f"{server.url}/{url}").num_frames == 160
        assert server.requests[-1][1].endswith(url.replace("a b", "a%20b"))
    refused(f"{server.url}/none.mp4?signature=secret", "none.mp4")
    with pytest.raises(vl.errors.SourceError) as caught:
        vl.index_video(f"{server.url}/none.mp4?signature=secret")
    assert "secret" not in str(caught.value)


def test_a_changed_object_is_not_the_one_that_was_indexed(server, clips):
    url = f"{server.url}/front.mp4"
    index = vl.index_video(url)
    assert index.fingerprint.etag
    assert index.fingerprint.mtime_ns == 1_700_000_000 * 10**9
    vl.Video(url, index=index).close()
    server.modified += 100  # uploaded again, the same: the etag says so
    vl.Video(url, index=index).close()
    server.objects["/front.mp4"] = server.objects["/front.mp4"][:-1] + b"?"
    with pytest.raises(vl.errors.StaleIndexError, match=r"front\.mp4"):
        vl.Video(url, index=index)


def test_without_etags_the_first_bytes_count_where_the_time_of_change_differs(server):
    server.has_etags = False
    url = f"{server.url}/front.mp4"
    index = vl.index_video(url)
    server.modified += 100
    server.forget()
    vl.Video(url, index=index).close()
    assert len(server.requests) == 1  # the one that opens it
    with pytest.raises(vl.errors.StaleIndexError, match="its time of change differs"):
        vl.Video(url, index=replace(index, checks="mtime"))
    data = server.objects["/front.mp4"]
    server.objects["/front.mp4"] = data[:100] + bytes([data[100] ^ 1]) + data[101:]
    with pytest.raises(vl.errors.StaleIndexError, match="its first bytes differ"):
        vl.Video(url, index=index)


def test_an_object_that_changes_while_it_is_read(server):
    with vl.Video(f"{server.url}/front.mp4") as video:
        server.objects["/front.mp4"] = server.objects["/front.mp4"][:-1] + b"?"
        with pytest.raises(vl.errors.SourceError, match=r"front\.mp4.*changed"):
            video[150]


def more(status, headers, body, data, first):
    """What lies behind, and something that does not."""
    return status, headers, body + data[first + len(body) :][:100] + bytes(7000)


def endless(status, headers, body, data, first):
    return status, headers | {"Content-Length": str(1 << 40)}, body + bytes(1 << 22)


def fewer(status, headers, body, data, first):
    return status, headers, body[:-7]


def broken_off(status, headers, body, data, first):
    return status, headers | {"Content-Length": str(len(body))}, body[:-7]


def shifted(status, headers, body, data, first):
    span = f"bytes {first + 1}-{first + len(body)}/{len(data)}"
    return status, headers | {"Content-Range": span}, data[first + 1 : first + 1 + len(body)]


def honestly_fewer(status, headers, body, data, first):
    span = f"bytes {first}-{first + len(body) - 8}/{len(data)}"
    return status, headers | {"Content-Range": span}, body[:-7]


def longer(status, headers, body, data, first):
    span = f"bytes {first}-{first + len(body) - 1}/{2 * len(data)}"
    return status, headers | {"Content-Range": span}, body


def unknown_length(status, headers, body, data, first):
    span = f"bytes {first}-{first + len(body) - 1}/*"
    return status, headers | {"Content-Range": span}, body


def no_span(status, headers, body, data, first):
    return status, {k: v for k, v in headers.items() if k != "Content-Range"}, body


def whole(status, headers, body, data, first):
    return 200, {k: v for k, v in headers.items() if k != "Content-Range"}, data


def plain_200(status, headers, body, data, first):
    return 200, headers, body


def compressed(status, headers, body, data, first):
    return status, headers | {"Content-Encoding": "gzip"}, gzip.compress(body)


def called_compressed(status, headers, body, data, first):
    return status, headers | {"Content-Encoding": "gzip"}, body


def another(status, headers, body, data, first):
    return status, headers | {"ETag": '"another"'}, bytes(len(body))


AT_ONCE = [more, endless, fewer, broken_off, shifted, honestly_fewer, unknown_length, no_span]
AT_ONCE += [whole, plain_200, compressed, called_compressed]


@pytest.mark.parametrize("tamper", AT_ONCE)
def test_an_answer_that_is_not_the_range_asked_for_is_an_error(server, tamper):
    server.tamper = tamper
    refused(f"{server.url}/front.mp4", f"{server.url}/front.mp4")
    with pytest.raises(vl.errors.SourceError):
        open_source(f"{server.url}/front.mp4")


@pytest.mark.parametrize("tamper", [*AT_ONCE, longer, another])
def test_an_answer_that_goes_wrong_on_the_way_is_never_taken_for_content(server, clips, tamper):
    data = (clips / "front.mp4").read_bytes()
    with open_source(f"{server.url}/front.mp4") as source:
        kept = source.read(0, 1000)
        server.tamper = tamper
        with pytest.raises(vl.errors.SourceError, match=r"front\.mp4"):
            source.read(3_000_000, 1000)
        with pytest.raises(vl.errors.SourceError, match=r"front\.mp4"):
            source.read_ranges([(5_000_000, 300), (6_000_000, 300)])
        server.tamper = None
        for offset in (3_000_000, 3_001_000, 3_065_000, 5_000_300, 6_000_300):
            assert source.read(offset, 5000) == data[offset : offset + 5000]
        assert source.read(0, 1000) == kept == data[:1000]


def test_what_is_sent_beyond_a_range_is_not_read_to_its_end(server):
    server.tamper = endless
    begin = time.monotonic()
    refused(f"{server.url}/front.mp4", "more than 65536")
    assert time.monotonic() - begin < 5


def test_a_fingerprint_survives_storage(server, tmp_path):
    index = vl.index_video(f"{server.url}/front.mp4")
    index.save(tmp_path / "index")
    assert vl.VideoIndex.load(tmp_path / "index").fingerprint == index.fingerprint


def test_failures_name_the_url(server):
    url = f"{server.url}/front.mp4"
    refused(f"{server.url}/none.mp4", f"{server.url}/none.mp4", "404")
    server.objects["/empty.mp4"] = b""
    refused(f"{server.url}/empty.mp4", "empty.mp4", "empty", kind=vl.errors.FormatError)
    server.objects["/page.mp4"] = b"<html>" * 100
    refused(f"{server.url}/page.mp4", "page.mp4", kind=vl.errors.FormatError)
    server.status = 403
    refused(url, url, "permission", "403")
    server.status = 500
    server.forget()
    refused(url, url, "500")
    assert len(server.requests) == 2  # tried again, as often as it may be
    server.status, server.gives_ranges = 0, False
    refused(url, url, "download")


def test_a_server_that_is_not_there(server):
    refused("http://127.0.0.1:9/clip.mp4", "http://127.0.0.1:9/clip.mp4", "connection")


def test_a_server_that_does_not_answer(server, monkeypatch):
    monkeypatch.setitem(remote._CLIENT, "timeout", "100ms")
    server.delay = 0.5
    refused(f"{server.url}/front.mp4", "front.mp4", "in time")


def test_without_obstore_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    refused("s3://bucket/clip.mp4", "videoloader[remote]", kind=vl.errors.UnsupportedError)


def test_a_forked_process_is_told(server):
    url = f"{server.url}/front.mp4"
    with open_source(url) as source:
        child = os.fork()
        if child == 0:
            told = 0
            for read in (lambda: vl.index_video(url), lambda: source.read(5_000_000, 10)):
                try:
                    read()
                except vl.errors.SourceError as error:
                    told += "forkserver" in str(error)
            os._exit(told)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_file_urls_are_paths(clips):
    url = f"file://{clips}/front.mp4"
    assert vl.index_video(url).name == str(clips / "front.mp4")
    assert [item.path for item in find_items(url)] == [str(clips / "front.mp4")]
    with pytest.raises(vl.errors.SourceError, match="another machine"):
        vl.index_video("file://host/front.mp4")


@pytest.mark.parametrize("workers", [0, 1])
def test_a_job_over_a_prefix(bucket, clips, tmp_path, workers):
    out = tmp_path / "set.parquet"
    dataset = vl.index_dataset("s3://videos/clips/", out, workers)
    assert [dataset.item(i).path for i in range(len(dataset))] == [
        "s3://videos/clips/end.mp4",
        "s3://videos/clips/front.mp4",
    ]
    assert not dataset.errors.num_rows
    assert dataset[0].fingerprint.etag == dataset.table["etag"][0].as_py()
    with vl.Video(dataset.source(1), index=dataset[1]) as video:
        assert len(video) == 160
    assert bucket.sent < 0.1 * sum(path.stat().st_size for path in clips.iterdir())


def test_hidden_objects_below_a_prefix_are_passed_over(bucket, monkeypatch):
    for name in (".cache/a.mp4", "._front.mp4"):
        key = f"/videos/clips/{name}"
        monkeypatch.setitem(bucket.objects, key, bucket.objects["/front.mp4"])
    skipped = Skipped()
    assert len(find_items("s3://videos/clips/", skipped)) == 2
    hidden = [path for path, reason in skipped if reason == HIDDEN]
    assert hidden == [f"s3://videos/clips/{name}" for name in ("._front.mp4", ".cache/a.mp4")]
    assert len(find_items("s3://videos/clips/.cache/")) == 1


def test_a_job_skips_what_the_listing_says_is_unchanged(bucket, tmp_path):
    out = tmp_path / "set.parquet"
    vl.index_dataset("s3://videos/clips/", out, 0).close()
    first = out.read_bytes()
    bucket.forget()
    vl.index_dataset("s3://videos/clips/", out, 0).close()
    assert len(bucket.requests) == 1
    assert out.read_bytes() == first
    bucket.objects["/videos/clips/end.mp4"] = bucket.objects["/front.mp4"]
    dataset = vl.index_dataset("s3://videos/clips/", out, 0)
    assert [path for _, path, _ in bucket.requests[2:]] == ["/videos/clips/end.mp4"]
    assert dataset[0].packets["offset"][0] == dataset[1].packets["offset"][0]


def test_members_of_a_shard_are_indexed_in_place(bucket, clips, tmp_path):
    dataset = vl.index_dataset("s3://videos/shards/", tmp_path / "set.parquet", 0)
    assert [dataset.item(i).member for i in range(2)] == ["end.mp4", "front.mp4"]
    for number, name in enumerate(("end.mp4", "front.mp4")):
        with (
            vl.Video(dataset.source(number), index=dataset[number]) as video,
            vl.Video(clips / name) as local,
        ):
            assert (video[100] == local[100]).all()
    bucket.forget()
    assert len(find_items("s3://videos/shards/0.tar")) == 2
    assert bucket.sent < 100_000
    vl.index_dataset("s3://videos/shards/0.tar", tmp_path / "set.parquet", 0).close()
    assert bucket.sent < 200_000  # nothing but the headers of the archive


def test_a_job_over_a_list_that_holds_urls(server, clips, tmp_path):
    listed = tmp_path / "videos.txt"
    names = [f"{server.url}/front.mp4", f"{server.url}/none.mp4", str(clips / "end.mp4")]
    listed.write_text("\n".join(names))
    out = tmp_path / "set.parquet"
    dataset = vl.index_dataset(listed, out, 0)
    assert [item.path for item in find_items(listed)] == names
    assert len(dataset.videos) == 2
    (row,) = dataset.errors.to_pylist()
    assert "404" in row["error"]
    server.objects["/none.mp4"] = server.objects["/front.mp4"]
    server.forget()
    assert len(vl.index_dataset(listed, out, 0).videos) == 3  # what could not be had is tried again
    assert [size for _, path, size in server.requests if path == "/front.mp4"] == [1]


def test_lists_behind_urls_are_relative_to_themselves(server):
    server.objects["/set/list.txt"] = b"# videos\na.mp4\nhttps://host/b.mp4\n/data/c.mp4\n"
    assert [item.path for item in find_items(f"{server.url}/set/list.txt?key=1")] == [
        f"{server.url}/set/a.mp4",
        "https://host/b.mp4",
        f"{server.url}/data/c.mp4",
    ]


@pytest.mark.parametrize("entry", ["file:///etc/passwd", "FILE://localhost/a.mp4", "file:/a.mp4"])
def test_a_list_behind_a_url_names_no_local_files(server, entry):
    server.objects["/set/list.txt"] = f"a.mp4\n{entry}\n".encode()
    with pytest.raises(vl.errors.SourceError, match=r"list\.txt: names (?i:file):.*no local files"):
        find_items(f"{server.url}/set/list.txt")


def test_a_web_server_lists_nothing(server):
    with pytest.raises(vl.errors.SourceError, match="text list"):
        find_items(f"{server.url}/folder/")


def test_an_empty_prefix(bucket):
    with pytest.raises(vl.errors.SourceError, match="no video files"):
        find_items("s3://videos/none/")


def test_clips_of_a_prefix(bucket):
    dataset = vl.ClipDataset("s3://videos/clips/", vl.UniformClip(4))
    assert dataset[1]["frames"].shape == (4, 3, 360, 640)


@pytest.fixture
def urls(server):
    """Two clips, one that is not there and one that is no video, the first one again."""
    server.objects["/text.mp4"] = b"no video" * 100
    names = ["front.mp4", "missing.mp4", "end.mp4", "text.mp4", "front.mp4"]
    return [f"{server.url}/{name}" for name in names]


WANTED = [[3, 100], [0, 1], [7, 7], [2, 3], [0, 159]]
GOOD = [0, 2, 4]


def local_clips(clips, urls):
    """Frames of the good clips, from the files."""
    found = []
    for number in GOOD:
        with vl.Video(clips / urls[number].rpartition("/")[2]) as video:
            found.append(video.get_frames(WANTED[number]).frames)
    return torch.stack(found)


def test_a_batch_of_urls_is_that_of_the_files(server, clips, urls):
    expected = local_clips(clips, urls)
    requests = [(urls[number], WANTED[number]) for number in GOOD]
    server.delay = 0.05
    with vl.BatchDecoder(workers=0) as decoder:
        assert torch.equal(decoder.decode(requests).frames, expected)
        assert server.most_at_once == 2  # one for each video: they are opened side by side
        asked = len(server.requests)
        server.forget()
        brought = [vl.ClipRequest(*one, index=vl.index_video(one[0])) for one in requests]
        server.forget()
        assert torch.equal(decoder.decode(requests).frames, expected)
        assert len(server.requests) < asked  # the indexes are known
        server.forget()
    with vl.BatchDecoder(workers=0) as decoder:
        assert torch.equal(decoder.decode(brought).frames, expected)
        assert len(server.requests) < asked


def test_urls_of_a_batch_that_fail_cost_their_clips_only(clips, urls):
    expected = local_clips(clips, urls)
    requests = list(zip(urls, WANTED, strict=True))
    with vl.BatchDecoder(workers=0) as decoder:
        with pytest.raises(vl.errors.SourceError, match=r"missing\.mp4"):
            decoder.decode(requests)
        with pytest.raises(vl.errors.FormatError, match=r"text\.mp4"):
            decoder.decode(requests[2:])
        kept = decoder.decode(requests, on_error="skip")
        assert kept.requests.tolist() == GOOD
        assert torch.equal(kept.frames, expected)
        failures = [(failure.request, failure.frame) for failure in kept.failures]
        assert failures == [(1, None), (3, None)]
        for failure, name in zip(kept.failures, ("missing.mp4", "text.mp4"), strict=True):
            assert name in str(failure.error)
        replaced = decoder.decode(requests, on_error="replace")
        assert replaced.requests.tolist() == [0, 2, 2, 4, 4]
        assert torch.equal(replaced.frames, expected[[0, 1, 1, 2, 2]])
        masked = decoder.decode(requests, on_error="mask")
        assert torch.equal(masked.frames[GOOD], expected)
        assert [mask.all() for mask in masked.masks] == [True, False, True, False, True]
        assert not masked.frames[[1, 3]].any()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_what_a_batch_opens_is_closed(urls, monkeypatch, on_error):
    opened, closed = [], []
    open_url, close = remote.open_url, remote._RemoteSource.close

    def note_opened(*arguments, **options):
        opened.append(open_url(*arguments, **options))
        return opened[-1]

    def note_closed(source):
        closed.append(source)
        close(source)

    monkeypatch.setattr(remote, "open_url", note_opened)
    monkeypatch.setattr(remote._RemoteSource, "close", note_closed)
    with vl.BatchDecoder(workers=0) as decoder, suppress(vl.VideoError):
        decoder.decode(list(zip(urls, WANTED, strict=True)), on_error=on_error)
    assert len(opened) >= 3
    assert {id(source) for source in closed} == {id(source) for source in opened}


@pytest.mark.parametrize("is_member", [False, True])
def test_a_worker_does_not_open_again_what_is_open_here(server, bucket, is_member):
    """Two processes request no more than one; of a whole object the index has the etag."""
    item = next(iter(find_items(f"{server.url}/videos/shards/0.tar"))) if is_member else None
    place = item or f"{server.url}/end.mp4"
    with open_source(place) if item is None else item.open() as source:
        index = vl.index_video(source.read(0, source.size))
        index = replace(index, fingerprint=source.fingerprint, name=source.name)
    begin = 0 if item is None else item.offset
    frames = []
    for workers in (0, 1):
        with vl.BatchDecoder(workers=workers) as decoder:
            server.forget()
            frames.append(decoder.decode([vl.ClipRequest(place, [60, 100], index=index)]).frames)
            ranges = [told.get("range", "").partition("=")[2] for told in server.received]
            first = [each for each in ranges if int(each.partition("-")[0]) == begin]
            assert len(first) == is_member, ranges
    assert torch.equal(*frames)


def test_a_worker_refuses_an_object_that_was_changed_since_it_was_opened(server):
    url = f"{server.url}/front.mp4"
    index = vl.index_video(url)
    with vl.BatchDecoder(workers=1) as decoder:
        asked = []

        def change(status, headers, body, *_):
            asked.append(status)
            if len(asked) == 1:  # this process opens it; then it changes
                server.modified += 1000
                server.objects["/front.mp4"] = server.objects["/front.mp4"][::-1]
            return status, headers, body

        server.tamper = change
        with pytest.raises(vl.VideoError, match="changed while it was read"):
            decoder.decode([vl.ClipRequest(url, [100], index=index)])
        assert len(asked) > 1
        server.tamper = None
        server.modified -= 1000
        server.objects["/front.mp4"] = server.objects["/front.mp4"][::-1]
        assert decoder.decode([vl.ClipRequest(url, [100], index=index)]).masks[0].all()
