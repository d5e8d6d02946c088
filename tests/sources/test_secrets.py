"""User, password and query of URLs: they fetch, and appear in nothing that is shown or stored."""

import base64
import io
import json
import logging
import pickle
import tarfile
import traceback
import warnings
from dataclasses import replace

import pytest
from object_server import fail_quickly, serve
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.decoding.check import check_dataset
from videoloader.demo.videos import encode_video
from videoloader.indexing import open_source
from videoloader.indexing.dataset import Item, find_items
from videoloader.machinery.system.address import escaped, parse_url, public, scrubbed
from videoloader.sources.remote import _quoted, _unquoted

pytest.importorskip("obstore", reason="needs obstore (the extra `remote`)")

USER, PASSWORD, KEY = "canary-user", "canary-pass", "canary-key"
SECRETS = (USER, PASSWORD, KEY)
HEADER = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Few attempts, no proxies, and nothing known from before."""
    fail_quickly(monkeypatch)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return encode_video(tmp_path_factory.mktemp("clips") / "clip.mp4", frames=12).read_bytes()


@pytest.fixture
def server(clip):
    with serve() as server:
        server.objects = {"/a.mp4": clip, "/b.mp4": clip[::-1], "/empty.mp4": b""}
        yield server


def secret(server, path):
    """A URL with everything that may be secret."""
    return f"http://{USER}:{PASSWORD}@{server.url[7:]}{path}?sig={KEY}&expires=9#{KEY}"


def said(error):
    """All that an error, its causes and contexts and their attributes say, as text."""
    parts, seen = ["".join(traceback.format_exception(error)), repr(pickle.dumps(error))], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        parts += [str(error), repr(error), repr(error.args), repr(vars(error))]
        parts += [repr(getattr(error, "filename", "")), repr(getattr(error, "object", ""))]
        error = error.__cause__ or error.__context__
    return "\n".join(parts)


def is_clean(text):
    if isinstance(text, bytes):
        return not any(word.encode() in text for word in SECRETS)
    return not any(word in text for word in SECRETS)


def refused(call, *, kind=vl.VideoError):
    with pytest.raises(kind) as caught:
        call()
    assert is_clean(said(caught.value)), said(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_a_url_is_fetched_with_its_secrets_and_shown_without(server):
    server.password = HEADER
    url = secret(server, "/a.mp4")
    with vl.Video(url) as video:
        assert video[5].shape
        assert video.name == video.index.name == f"{server.url}/a.mp4"
        assert is_clean(repr(video) + repr(video.index))
    assert all(path == f"/a.mp4?sig={KEY}&expires=9" for _, path, _ in server.requests)
    index = vl.index_video(f"http://{USER}:{PASSWORD}@{server.url[7:]}/a.mp4")
    assert index.num_frames == 12


def test_errors_show_no_secrets(server, clip):
    for path in ("/none.mp4", "/b.mp4", "/empty.mp4"):
        message = refused(lambda path=path: vl.index_video(secret(server, path)))
        assert message.startswith(f"{server.url}{path}: ")
    for status in (400, 401, 403, 409, 412, 429, 500, 503):
        server.status = status
        assert f"{server.url}/a.mp4: " in refused(lambda: vl.index_video(secret(server, "/a.mp4")))
    server.status = 0
    for field in ("gives_ranges", "has_etags"):
        setattr(server, field, False)
    refused(lambda: vl.index_video(secret(server, "/a.mp4")))
    server.gives_ranges = True
    with open_source(secret(server, "/a.mp4")) as source:
        server.objects["/a.mp4"] += b"more"
        source.close()
        refused(lambda: source.read(0, 10))


def test_what_servers_say_of_errors_is_not_repeated(server):
    def tell(status, headers, body, data, first):
        answer = f"<Error><Token>{KEY}</Token> you sent {KEY} - and more {KEY}</Error>"
        return 400, {}, answer.encode()

    index = vl.index_video(f"{server.url}/a.mp4")
    server.tamper = tell
    message = refused(lambda: vl.index_video(f"{server.url}/a.mp4"))
    assert "400 Bad Request" in message
    assert is_clean(refused(lambda: vl.Video(f"{server.url}/a.mp4", index=index)))


@pytest.mark.parametrize(
    ("url", "word"),
    [
        (f"http://{USER}:{PASSWORD}@127.0.0.1:9/a.mp4?{KEY}", "http://127.0.0.1:9/a.mp4"),
        (f"http://{USER}:{PASSWORD}@127.0.0.1:9/a.mp4", "connection"),
        (f"http://{USER}:{PASSWORD}@a b/a.mp4", "http://a b/a.mp4"),
        (f"http://{USER}:{PASSWORD}@a b/a.mp4?{KEY}", "http://a b/a.mp4"),
        (f"http://{USER}:{PASSWORD}@host:99999/a.mp4?{KEY}", "host:99999"),
        (f"http://{USER}:{PASSWORD}/a.mp4", "http://...: "),
        (f"https://{USER}:{PASSWORD}?@host/a.mp4", "https://...: "),
        (f"https://{USER}:{PASSWORD}#@host/a.mp4", "https://...: "),
        (f"https://:{PASSWORD}@/a.mp4?{KEY}", "https://...: "),
        (f"rtsp://{USER}:{PASSWORD}@camera/1?{KEY}", "rtsp URLs are not read"),
        (f"file://{USER}:{PASSWORD}@host/a.mp4?{KEY}", "another machine"),
        (f"s3://{USER}:{PASSWORD}@bucket/a.mp4?X-Amz-Signature={KEY}", "%3F"),
        (f"s3://{USER}:{PASSWORD}@buc ket/a.mp4", "s3://buc ket/a.mp4"),
        (f"az://{USER}:{PASSWORD}@container/a.mp4", "az://container/a.mp4"),
        (f"gs://bucket?{KEY}", "gs://bucket"),
    ],
)
def test_bad_urls_show_no_secrets(url, word, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    assert word in refused(lambda: vl.index_video(url))
    refused(lambda: vl.Video(url))
    refused(lambda: Item(url).open())
    refused(lambda: Item(url).state())
    refused(lambda: vl.decode_batch([(url, [0])], workers=0))
    assert is_clean(repr(Item(url)) + Item(url).name)


def test_without_obstore_messages_show_no_secrets(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    refused(lambda: vl.index_video(f"https://{USER}:{PASSWORD}@host/a.mp4?{KEY}"))


def test_lists_show_no_secrets(server, tmp_path):
    server.objects["/list.txt"] = f"# {KEY}\na.mp4?sig={KEY}\n\xff".encode("latin-1")
    server.objects["/names.txt"] = f"file:///a.mp4?{KEY}\n".encode()
    assert "line 3: is no UTF-8" in refused(lambda: find_items(secret(server, "/list.txt")))
    server.objects["/local.txt"] = f"file://{USER}:{PASSWORD}@host/a.mp4\n".encode()
    refused(lambda: find_items(secret(server, "/local.txt")))
    refused(lambda: find_items(secret(server, "/folder/")))
    refused(lambda: find_items(secret(server, "/none.txt")))
    listed = tmp_path / "list.txt"
    listed.write_text(f"https://{USER}:{PASSWORD}@host/a.mp4?{KEY}\nb.mp4\n")
    first, second = find_items(listed)
    assert first.path == "https://host/a.mp4"
    assert first.location == f"https://{USER}:{PASSWORD}@host/a.mp4?{KEY}"
    assert second.location == second.path == str(tmp_path / "b.mp4")
    assert is_clean(repr([first, second]))


def test_lists_of_signed_urls_keep_what_their_entries_need(server, clip):
    server.objects["/set/list.txt"] = f"c.mp4\n{secret(server, '/a.mp4')}\n".encode()
    server.objects["/set/c.mp4"] = clip
    server.password = HEADER
    items = find_items(secret(server, "/set/list.txt"))
    assert [item.path for item in items] == [f"{server.url}/set/c.mp4", f"{server.url}/a.mp4"]
    for item in items:
        with item.open() as source:
            assert vl.index_video(source).num_frames == 12
    assert server.requests[-1][1] == f"/a.mp4?sig={KEY}&expires=9"


@pytest.fixture
def urls(server, clip):
    """A sound video, one that is damaged, one that is not there, and an archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in (("c.mp4", clip), ("d.mp4", clip[:-100])):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    server.objects["/e.tar"] = packed.getvalue()
    server.password = HEADER
    return [secret(server, path) for path in ("/a.mp4", "/b.mp4", "/none.mp4", "/e.tar")]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_job_over_signed_urls_stores_none_of_their_secrets(server, urls, tmp_path, workers):
    out = tmp_path / "set.parquet"
    seen = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        dataset = vl.index_dataset(urls, out, workers)
    for path in tmp_path.iterdir():
        seen.append(path.name)
        assert is_clean(path.read_bytes())
    assert sorted(seen) == ["set.parquet", "set.parquet.cache"]
    table = dataset.table.to_pylist()
    assert [row["path"] for row in table] == [
        f"{server.url}/{name}" for name in ("a.mp4", "b.mp4", "none.mp4", "e.tar", "e.tar")
    ]
    assert is_clean(repr(table) + repr(dataset.errors.to_pylist()) + repr(dataset) + repr(warned))
    assert is_clean(repr(list(dataset.videos)))
    for row in dataset.failed:
        assert is_clean(refused(lambda row=row: dataset[row]))
    assert is_clean(repr([dataset.item(i) for i in range(len(dataset))]))


def test_a_journal_that_is_left_holds_no_secrets(server, urls, tmp_path):
    out = tmp_path / "set.parquet"
    message = refused(lambda: vl.index_dataset(urls, out, 0, on_error="raise"))
    assert f"{server.url}/b.mp4" in message
    left = [path for path in tmp_path.iterdir() if path.stat().st_size]
    assert [path.suffix for path in left] == [".journal"]
    assert is_clean(left[0].read_bytes())
    server.forget()
    dataset = vl.index_dataset([url.replace(KEY, "another") for url in urls], out, 0)
    asked = [size for _, path, size in server.requests if path.startswith("/a.mp4")]
    assert set(asked) == {1}  # the row in the journal holds for a URL that is signed anew
    assert dataset.table.num_rows == 5


def read_all(dataset):
    """Frame 3 of every video, by a reader of each kind."""
    videos = dataset.videos
    for number, index in enumerate(videos):
        with vl.Video(videos.source(number), index=index) as video:
            assert video[3].shape
    requests = [vl.ClipRequest(videos.item(i), [3], videos[i]) for i in range(len(videos))]
    assert is_clean(repr(requests))
    for workers in (0, 1):
        with vl.BatchDecoder(workers=workers) as decoder:
            assert len(decoder.decode(requests)) == len(videos)
    clips = vl.ClipDataset(dataset, vl.UniformClip(2))
    assert [clips[i]["frames"].shape[0] for i in range(len(clips))] == [2] * len(videos)


def test_signed_urls_work_as_long_as_the_data_set_of_their_job_is_open(server, urls, tmp_path):
    dataset = vl.index_dataset(urls, tmp_path / "set.parquet", 0)
    assert len(dataset.videos) == 2
    read_all(dataset)
    read_all(pickle.loads(pickle.dumps(dataset)))
    assert check_dataset(dataset, tmp_path / "damage.parquet", workers=1).num_rows == 0


class Signer:
    """Signs anew, as a caller would."""

    def __init__(self):
        self.asked = []

    def __call__(self, url):
        self.asked.append(url)
        return f"http://{USER}:{PASSWORD}@{url[7:]}?sig={KEY}"


def test_opened_again_a_data_set_needs_its_urls_signed(server, urls, tmp_path):
    out = tmp_path / "set.parquet"
    vl.index_dataset(urls, out, 0).close()
    with vl.open_dataset(out) as dataset:
        message = refused(lambda: dataset.source(0))
        assert "no permission" in message
    sign = Signer()
    with vl.open_dataset(out, sign=sign) as dataset:
        read_all(dataset)
        assert {*sign.asked} == {f"{server.url}/a.mp4", f"{server.url}/e.tar"}
        assert check_dataset(dataset, tmp_path / "damage.parquet", workers=1).num_rows == 0
        read_all(pickle.loads(pickle.dumps(dataset)))


def test_signed_urls_may_be_under_a_root(server, urls, tmp_path):
    out = tmp_path / "set.parquet"
    dataset = vl.index_dataset(urls, out, 1, root=secret(server, "/"))
    assert [*dict.fromkeys(dataset.table["path"].to_pylist())] == [
        "a.mp4",
        "b.mp4",
        "none.mp4",
        "e.tar",
    ]
    assert all(is_clean(path.read_bytes()) for path in tmp_path.iterdir())
    read_all(dataset)
    assert f"{server.url}/b.mp4" in refused(lambda: dataset[1])
    sign = Signer()
    with vl.open_dataset(out, root=server.url, sign=sign) as dataset:
        read_all(dataset)
        assert {*sign.asked} == {f"{server.url}/a.mp4", f"{server.url}/e.tar"}


def test_urls_that_differ_only_in_what_is_not_stored_are_refused(server, tmp_path):
    urls = [f"{server.url}/a.mp4?id={number}" for number in range(2)]
    with pytest.raises(vl.VideoError, match=r"a\.mp4: several URLs differ only in what is not st"):
        vl.index_dataset(urls, tmp_path / "set.parquet", 0)
    assert not any(tmp_path.iterdir())


def test_urls_that_differ_only_in_their_query_are_different_videos_of_a_batch(server, clip):
    longer = clip.replace(b"mp42", b"mp41")
    server.objects["/c.mp4"] = longer
    server.redirects = {"/x.mp4": "/c.mp4"}
    one, two = Item(f"{server.url}/a.mp4?id=1"), Item(f"{server.url}/a.mp4?id=2")
    assert one != two
    assert one.place() == two.place() == replace(one).place()
    assert one == Item(f"{server.url}/a.mp4?id=1")
    with vl.BatchDecoder(workers=0) as decoder:
        decoder.decode([(one, [0]), (two, [0])])
    assert {path for _, path, _ in server.requests} == {"/a.mp4?id=1", "/a.mp4?id=2"}


def test_batches_and_their_failures_show_no_secrets(server, caplog):
    caplog.set_level(logging.DEBUG)
    urls = [secret(server, path) for path in ("/a.mp4", "/b.mp4", "/none.mp4")]
    requests = [vl.ClipRequest(url, [0, 99]) for url in urls]
    for workers in (0, 1):
        with vl.BatchDecoder(workers=workers) as decoder:
            for policy in ("skip", "mask"):
                batch = decoder.decode([(url, [0]) for url in urls], on_error=policy)
                assert len(batch.failures) == 2
                assert is_clean(repr(batch.failures))
                assert all(is_clean(said(failure.error)) for failure in batch.failures)
            refused(lambda decoder=decoder: decoder.decode(requests))
    clips = vl.ClipDataset(urls, vl.UniformClip(2), on_error="replace")
    assert is_clean(repr(clips[1]) + clips[1]["error"])
    assert clips[1]["error"]
    assert is_clean(repr(requests) + caplog.text)
    assert f"source='{server.url}/a.mp4', frames=[0, 99]" in repr(requests[0])


def test_the_command_shows_no_secrets(server, urls, tmp_path):
    run = CliRunner().invoke
    out = str(tmp_path / "set.parquet")
    commands = [
        ["index", *urls],
        ["index", "--json", *urls],
        ["index", "--json", "--workers", "0", "-o", out, *urls],
        ["index", "--workers", "0", "-o", out, *urls],
        ["index", urls[0], f"https://{USER}:{PASSWORD}/a?{KEY}"],
        ["inspect", urls[0]],
        ["inspect", urls[1]],
        ["sample", urls[2]],
        ["sample", urls[0], "--out", str(tmp_path / "sheet.png")],
        ["check", out, "--workers", "0"],
    ]
    for command in commands:
        result = run(app, command)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.output
        assert is_clean(result.output), result.output
        if "--json" in command:
            for line in result.stdout.splitlines():
                json.loads(line)
    for path in tmp_path.iterdir():
        assert is_clean(path.read_bytes())


@pytest.fixture
def elsewhere(clip):
    """A server on what counts as another host."""
    with serve() as server:
        server.objects = {"/stored.mp4": clip}
        server.url = server.url.replace("127.0.0.1", "localhost")
        yield server


@pytest.mark.parametrize("url", [secret, lambda server, path: f"{server.url}{path}?sig={KEY}"])
@pytest.mark.parametrize("way", [["/a.mp4"], ["/a.mp4", f"/c.mp4?{KEY}"]])
def test_a_redirect_to_another_host_passes_no_secrets_on(server, elsewhere, clip, url, way):
    targets = [*way[1:], f"{elsewhere.url}/stored.mp4?own=1"]
    server.redirects = {
        place.partition("?")[0]: target for place, target in zip(way, targets, strict=True)
    }
    with vl.Video(url(server, "/a.mp4")) as video:
        assert video.name == f"{server.url}/a.mp4"
        assert video[7].shape
    assert {path for _, path, _ in elsewhere.requests} == {"/stored.mp4?own=1"}
    assert is_clean(repr(elsewhere.received))
    assert "Basic" not in repr(elsewhere.received)
    assert all(KEY in path for _, path, _ in server.requests)


def test_a_redirect_of_a_url_with_a_password_alone(server, elsewhere):
    server.password = HEADER
    server.redirects = {"/a.mp4": f"{elsewhere.url}/stored.mp4"}
    assert vl.index_video(f"http://{USER}:{PASSWORD}@{server.url[7:]}/a.mp4").num_frames == 12
    assert is_clean(repr(elsewhere.received))
    assert "Basic" not in repr(elsewhere.received)


def test_redirects_that_fail_show_no_secrets(server, elsewhere):
    other = elsewhere.url.replace("://", f"://{USER}:{PASSWORD}@")
    targets = {
        f"{other}/none.mp4?sig={KEY}": "404",
        f"http://{USER}:{PASSWORD}@127.0.0.1:9/a.mp4?sig={KEY}": "connection",
        f"file:///etc/passwd?{KEY}": "no web address",
        f"/a.mp4?{KEY}": "more than 10 times",
    }
    for target, word in targets.items():
        server.redirects = {"/a.mp4": target}
        assert word in refused(lambda: vl.index_video(secret(server, "/a.mp4")))


def test_a_landing_that_has_expired_is_found_again(server, elsewhere, clip):
    elsewhere.objects = {"/1.mp4": clip, "/2.mp4": clip}
    server.redirects = {"/a.mp4": f"{elsewhere.url}/1.mp4?own=1"}
    with open_source(secret(server, "/a.mp4")) as source:
        source.close()  # what was kept
        server.redirects = {"/a.mp4": f"{elsewhere.url}/2.mp4?own=2"}
        elsewhere.refused = {"/1.mp4"}
        assert source.read(0, 100) == clip[:100]
    assert elsewhere.requests[-1][1] == "/2.mp4?own=2"


def test_signed_urls_cost_one_more_request_once(server):
    vl.index_video(secret(server, "/a.mp4"))
    vl.index_video(secret(server, "/a.mp4"))
    sizes = [size for _, _, size in server.requests]
    assert sizes == [1, sizes[1], sizes[1]]


@pytest.mark.parametrize("key", ["what?.mp4", "50%3F.mp4", "a%253F?b", "%3f.mp4", "%.mp4", "a#b"])
def test_keys_of_stores_with_a_question_mark(key, monkeypatch, clip):
    assert _unquoted(_quoted(key)) == key
    assert "?" not in _quoted(key)
    assert public(f"s3://bucket/{_quoted(key)}") == f"s3://bucket/{_quoted(key)}"


def test_a_listed_key_with_a_question_mark_is_read(server, clip, tmp_path, monkeypatch):
    for name, value in (("ENDPOINT_URL", server.url), ("ALLOW_HTTP", "true")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    server.objects["/videos/q/what is this?.mp4"] = clip
    dataset = vl.index_dataset("s3://videos/q/", tmp_path / "set.parquet", 0)
    assert dataset.item(0).path == "s3://videos/q/what is this%3F.mp4"
    with vl.open_dataset(tmp_path / "set.parquet") as again, again.source(0) as source:
        assert vl.index_video(source).num_frames == 12


def test_names_stay_in_their_line(tmp_path, clip):
    name = "a\nERROR: all is lost\x1b[31m\u202e\udcff.mp4"
    path = tmp_path / name
    path.write_bytes(clip[::-1])
    message = refused(lambda: vl.index_video(path))
    assert message.startswith(f"{tmp_path}/a\\nERROR: all is lost\\x1b[31m\\u202e\\xff.mp4: ")
    refused(lambda: vl.index_video(tmp_path / "none\r\n.mp4"))
    refused(lambda: find_items(str(tmp_path / "none\n*.mp4")))
    refused(lambda: find_items([str(tmp_path / "none\n*.mp4")]))
    with open(path, "rb") as file:
        refused(lambda: vl.index_video(file))
    out = tmp_path / "set.parquet"
    dataset = vl.index_dataset(tmp_path, out, 0)
    (row,) = dataset.errors.to_pylist()
    assert len(row["error"].splitlines()) == 1
    assert Item(row["path"]).path.startswith("file:")
    packed = tmp_path / "b.tar"
    with tarfile.open(packed, "w") as archive:
        archive.add(path, "in\nside.mp4")
    (item,) = find_items(packed)
    assert item.name == f"{packed}/in\\nside.mp4"
    with item.open() as source:
        assert "in\\nside.mp4: " in refused(lambda: vl.index_video(source))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://host", "http://host"),
        ("HTTPS://u:p@Host:80/a%20b?x", "HTTPS://Host:80/a%20b"),
        ("https://u:p@w@host/@name/a.mp4", "https://host/@name/a.mp4"),
        ("https://[::1]:80/a?b?c", "https://[::1]:80/a"),
        ("https://host/a#b?c", "https://host/a"),
        ("s3://bucket/a#b?c", "s3://bucket/a#b"),
        ("abfss://container@account.dfs.core.windows.net/a", None),
        ("abfss://u:p@account.dfs.core.windows.net/a", "abfss://account.dfs.core.windows.net/a"),
        ("https://host\\@evil/a", "https://..."),
        ("file:///a?b@c", None),
        ("folder/a?b@c:d", None),
    ],
)
def test_what_is_public_of_a_place(url, expected):
    assert public(url) == (url if expected is None else expected)
    assert public(public(url)) == public(url)


def test_parts_of_a_url_are_its_own():
    parts = parse_url("s3://bucket/a/b#c?d")
    assert parts == ("s3", "", "bucket", "/a/b#c", "d")
    assert parse_url("no url") is None


def test_what_others_say_is_scrubbed():
    url = f"https://{USER}:{PASSWORD}@host/a?sig={KEY}%2F"
    text = f"GET {url} failed:\n sig={KEY}/ and 'https://other/?{KEY}' ({USER}:{PASSWORD})"
    assert is_clean(scrubbed(text, url))
    assert scrubbed(text, url) == "GET https://host/a failed: *** and 'https://other/' (***)"
    assert escaped("ä 漢 🎬 'q'") == "ä 漢 🎬 'q'"
