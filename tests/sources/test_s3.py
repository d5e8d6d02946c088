"""An S3 server: credentials, pages of keys, multipart objects, throttling, TLS, and few bytes."""

import time
from datetime import timedelta

import numpy as np
import pytest
from object_server import serve
from remuxing import remux_file
from s3_server import make_certificates, serve_bucket, sign_in

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import find_items
from videoloader.sources import remote
from videoloader.sources.opening import open_source

pytest.importorskip("obstore", reason="needs obstore (the extra `remote`)")

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>secret</Message></Error>"


@pytest.fixture(scope="session")
def clips(tmp_path_factory):
    """The same clip with its tables in front and at the end, and their size in bytes."""
    folder = tmp_path_factory.mktemp("clips")
    front = encode_video(
        folder / "front.mp4",
        frames=300,
        size=(320, 180),
        options={"x264-params": "threads=1:keyint=24:qp=8", "preset": "ultrafast"},
        picture="mandelbrot=maxiter=60",
        container_options={"movflags": "+faststart"},
    )
    remux_file(front, str(folder / "end.mp4"))
    return folder


@pytest.fixture(scope="session")
def server():
    with serve_bucket() as bucket:
        yield bucket


@pytest.fixture
def bucket(server, monkeypatch):
    """An empty bucket, and the environment of its client."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(remote._RETRIES, "backoff", {"init_backoff": timedelta(milliseconds=5)})
    sign_in(monkeypatch, server.front.url)
    remote._open_store.cache_clear()
    server.clear()
    yield server
    remote._open_store.cache_clear()


def fails(url, *words, kind=vl.errors.SourceError):
    """The message of a failure, in one line, with the URL and all words, and without secrets."""
    with pytest.raises(kind) as caught:
        open_source(url)
    text = str(caught.value)
    for word in (url.partition("?")[0], *words):
        assert word in text, text
    assert "secret" not in text
    assert len(text.splitlines()) == 1


def test_ten_thousand_keys_are_listed_by_pages(bucket):
    names = [f"many/{number % 100:02d}/{number:05d}.mp4" for number in range(10_000)]
    for name in names:
        bucket.put(name, b"x")
    bucket.put("other/a.mp4", b"x")
    items = find_items("s3://videos/many/")
    assert [item.path for item in items] == [f"s3://videos/{name}" for name in sorted(names)]
    assert {item.listed.size for item in items} == {1}
    assert len(bucket.front.requests) == 10


def test_a_prefix_may_be_named_without_a_slash(bucket, clips, tmp_path):
    data = (clips / "front.mp4").read_bytes()
    for key in ("clips/a.mp4", "clips/sub/b.mp4", "clips2/c.mp4", "plain"):
        bucket.put(key, data)
    expected = ["s3://videos/clips/a.mp4", "s3://videos/clips/sub/b.mp4"]
    assert [item.path for item in find_items("s3://videos/clips")] == expected
    assert [item.path for item in find_items("s3://videos/plain")] == ["s3://videos/plain"]
    assert len(find_items("s3://videos")) == 3
    out = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    for place, path in zip(("s3://videos/clips", "s3://videos/clips/"), out, strict=True):
        vl.index_dataset(place, path, 0).close()
    assert out[0].read_bytes() == out[1].read_bytes()


def test_ranges_of_a_multipart_object(bucket):
    import obstore
    from obstore.store import S3Store

    data = np.random.default_rng(1).integers(256, size=11 << 20, dtype=np.uint8).tobytes()
    store = S3Store("videos", endpoint=bucket.url)
    obstore.put(store, "large.bin", data, use_multipart=True, chunk_size=5 << 20)
    with open_source("s3://videos/large.bin") as source:
        assert "-3" in source.fingerprint.etag
        for offset in (0, (5 << 20) - 7, (10 << 20) - 1, len(data) - 9):
            assert source.read_up_to(offset, 5000) == data[offset : offset + 5000]
        places = [((5 << 20) - 100, 200), (0, 10), (len(data) - 5, 5)]
        assert source.read_ranges(places) == [data[at : at + size] for at, size in places]


def test_an_object_that_is_changed_under_a_reader_is_an_error(bucket, clips):
    data = (clips / "front.mp4").read_bytes()
    bucket.put("a.mp4", data)
    index = vl.index_video("s3://videos/a.mp4")
    with open_source("s3://videos/a.mp4") as source:
        kept = source.read(0, 1000)
        bucket.put("a.mp4", bytes(len(data)))  # as long as before
        with pytest.raises(vl.errors.SourceError, match=r"a\.mp4.*changed.*index it again"):
            source.read(len(data) // 2, 1000)
        with pytest.raises(vl.errors.SourceError, match=r"a\.mp4.*changed"):
            source.read_ranges([(len(data) // 2, 10), (len(data) - 10, 10)])
        assert source.read(0, 1000) == kept == data[:1000]
    for workers in (0, 1):
        with vl.BatchDecoder(workers=workers) as decoder:
            request = vl.ClipRequest("s3://videos/a.mp4", [100], index=index)
            with pytest.raises(vl.errors.StaleIndexError, match=r"a\.mp4.*changed"):
                decoder.decode([request])
            assert not decoder.decode([request], on_error="mask").masks[0].any()


def test_throttled_requests_are_tried_again_later(bucket, clips, monkeypatch):
    monkeypatch.setitem(remote._RETRIES, "backoff", {"init_backoff": timedelta(milliseconds=50)})
    data = (clips / "front.mp4").read_bytes()
    bucket.put("a.mp4", data)
    bucket.front.answers += [(503, SLOW_DOWN)] * 4
    begin = time.monotonic()
    with open_source("s3://videos/a.mp4") as source:
        assert source.read(0, 100) == data[:100]
    assert time.monotonic() - begin > 0.1
    assert [size for *_, size in bucket.front.requests[:-1]] == [len(SLOW_DOWN)] * 4
    assert len(bucket.front.requests) == 5


@pytest.mark.parametrize("status", [503, 429])
def test_a_server_that_goes_on_throttling_is_named(bucket, status):
    bucket.front.answers += [(status, SLOW_DOWN)] * 20
    fails("s3://videos/a.mp4", "fewer requests", "fewer workers", f"({status} SlowDown)")
    assert len(bucket.front.requests) == 7  # and six retries


def test_an_expired_token_is_said_to_be_one(bucket):
    bucket.front.answers += [(400, EXPIRED)] * 4
    fails("s3://videos/a.mp4", "expired", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE")
    assert len(bucket.front.requests) == 1
    with pytest.raises(
        vl.errors.SourceError, match="s3://videos/clips/: the credentials have expired"
    ):
        find_items("s3://videos/clips/")
    url = f"{bucket.front.url}/videos/a.mp4"
    fails(f"{url}?X-Amz-Signature=secret", "sign it again")


def test_new_credentials_of_the_environment_are_used(bucket, clips, monkeypatch):
    bucket.put("a.mp4", b"content")
    for key in ("AKIAFIRST", "AKIASECOND"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        open_source("s3://videos/a.mp4").close()
        assert key in bucket.front.received[-1]["authorization"]


def test_credentials_are_checked(bucket, monkeypatch):
    """moto checks signatures if it is asked to."""
    import moto.core.responses as answers

    bucket.put("a.mp4", b"content")
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0)
    monkeypatch.setattr(answers.ActionAuthenticatorMixin, "request_count", 0)
    fails("s3://videos/a.mp4", "does not accept the credentials", "(403 InvalidAccessKeyId)")
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.iam.models import iam_backends

    iam = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
    iam.create_user("us-east-1", "reader")
    key = iam.create_access_key("reader")
    try:
        sign_in(monkeypatch, bucket.front.url, key.access_key_id, key.secret_access_key)
        fails("s3://videos/a.mp4", "no permission", "(403 AccessDenied)")
        sign_in(monkeypatch, bucket.front.url, key.access_key_id, "wrong")
        fails("s3://videos/a.mp4", "check AWS_ACCESS_KEY_ID", "(403 SignatureDoesNotMatch)")
        policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", '
        policy += '"Action": "s3:*", "Resource": "*"}]}'
        iam.put_user_policy("reader", "reading", policy)
        sign_in(monkeypatch, bucket.front.url, key.access_key_id, key.secret_access_key)
        with open_source("s3://videos/a.mp4") as source:
            assert source.read(0, 7) == b"content"
    finally:
        iam.reset()


def test_without_credentials_the_variables_are_named(bucket, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(remote._RETRIES, "max_retries", 1)
    fails("s3://videos/a.mp4", "no credentials", "AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE")


def test_a_bucket_that_is_not_there(bucket):
    fails("s3://nowhere/a.mp4", "no such bucket", "AWS_ENDPOINT_URL")
    fails("s3://videos/none.mp4", "no such object")


def test_certificates_of_an_authority_of_ones_own(bucket, tmp_path, monkeypatch):
    trusted, own, key = make_certificates(tmp_path)
    monkeypatch.setitem(remote._RETRIES, "max_retries", 1)
    with serve((own, key), objects={"/videos/a.mp4": b"content"}) as front:
        sign_in(monkeypatch, front.url)
        for url in ("s3://videos/a.mp4", f"{front.url}/videos/a.mp4"):
            fails(url, "certificate", "not trusted", "SSL_CERT_FILE")
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        for url in ("s3://videos/a.mp4", f"{front.url}/videos/a.mp4"):
            with open_source(url) as source:
                assert source.read(0, 7) == b"content"
        monkeypatch.delenv("SSL_CERT_FILE")
        monkeypatch.setenv("AWS_ALLOW_INVALID_CERTIFICATES", "true")
        with open_source("s3://videos/a.mp4") as source:
            assert source.read(0, 7) == b"content"


@pytest.mark.parametrize(("name", "workers"), [("front.mp4", 0), ("end.mp4", 0), ("end.mp4", 1)])
def test_a_job_reads_the_tables_alone(bucket, clips, tmp_path, name, workers):
    """At most their bytes and 64 KB a file, and few requests, many at a time."""
    data = (clips / name).read_bytes()
    at = data.index(b"moov") - 4
    tables = int.from_bytes(data[at : at + 4], "big")
    assert len(data) > 20 * (tables + 65536)
    count = 40
    for number in range(count):
        bucket.put(f"clips/{number}.mp4", data)
    bucket.front.delay = 0.1  # far above what a busy machine takes to send a request
    dataset = vl.index_dataset("s3://videos/clips", tmp_path / "set.parquet", workers)
    assert len(dataset) == count
    assert not dataset.errors.num_rows
    listing, *files = bucket.front.requests
    assert "list-type" in listing[1]
    assert sum(size for *_, size in files) <= count * (tables + 65536)
    assert len(files) == count * (1 + (name == "end.mp4"))
    assert 4 < bucket.front.most_at_once <= 16


def test_requests_and_bytes_of_a_clip(bucket, clips, tmp_path):
    """What its packets take, and the head of the first packet of the file."""
    data = (clips / "front.mp4").read_bytes()
    for number in range(4):
        bucket.put(f"clips/{number}.mp4", data)
    dataset = vl.index_dataset("s3://videos/clips/", tmp_path / "set.parquet", 0)
    index = dataset[0]
    frames = np.arange(100, 116)
    plan = vl.sampling.plan_decode(index, frames)
    packets = np.concatenate([run.packets for run in plan.runs])
    first, last = index.packets[packets[0]], index.packets[packets[-1]]
    span = int(last["offset"] + last["size"] - first["offset"])
    head = min(int(index.packets["size"][0]), 1 << 15)
    for workers in (0, 1):
        with vl.BatchDecoder(workers=workers) as decoder:
            bucket.front.forget()
            wanted = [
                vl.ClipRequest(dataset.item(number), frames, index=dataset[number])
                for number in range(4)
            ]
            decoder.decode(wanted)
            assert bucket.front.sent <= 4 * (span + head)
            assert len(bucket.front.requests) <= 4 * (len(plan.runs) + 1)
