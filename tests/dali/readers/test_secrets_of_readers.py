"""What readers give out and say of URLs: without user, password and query."""

import io
import json
import traceback

import numpy as np
import pytest
from image_files import FILES
from object_server import fail_quickly, serve
from stored_batches import read_epoch

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch.proxy.jobs import _told

pytest.importorskip("obstore", reason="needs obstore (the extra `remote`)")

SECRETS = ("canary-user", "canary-pass", "canary-key")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Few attempts, and no proxies."""
    fail_quickly(monkeypatch)


@pytest.fixture
def urls():
    """URLs with secrets, by path; of a server that has some of the files."""
    array = io.BytesIO()
    np.save(array, np.arange(6))
    with serve() as server:
        server.objects = {"/a.png": FILES["rgba.png"], "/a.npy": array.getvalue()}
        yield (
            lambda path: (
                f"http://canary-user:canary-pass@{server.url[7:]}{path}?sig=canary-key#canary-key"
            )
        )


def is_clean(text):
    return not any(word in text for word in SECRETS)


def said(error):
    """All that an error, its causes and contexts and their attributes say, as text."""
    parts = ["".join(traceback.format_exception(error))]
    while error is not None:
        parts += [repr(error), repr(vars(error)), repr(getattr(error, "object", ""))]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(parts)


def source_infos(reader, **arguments):
    """`source_info` of the first output of a reader, and of what is decoded of it."""

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        read = reader(**arguments)
        data = read[0] if isinstance(read, list | tuple) else read
        if reader is fn.readers.file:
            return data, fn.decoders.image(data)
        return data

    made = pipeline()
    made.build()
    return [batch[0].source_info() for batch in made.run()]


@pytest.mark.parametrize(("name", "reader"), [("a.png", "file"), ("a.npy", "numpy")])
def test_source_info_has_no_secrets(urls, name, reader):
    infos = source_infos(getattr(fn.readers, reader), files=[urls(f"/{name}")])
    assert all(info.endswith(f"/{name}") for info in infos)
    assert all(map(is_clean, infos))


@pytest.mark.parametrize("reader", ["file", "numpy"])
def test_errors_of_readers_have_no_secrets(urls, reader):
    with pytest.raises(vl.VideoError, match=r"/gone\.png") as caught:
        source_infos(getattr(fn.readers, reader), files=[urls("/gone.png")])
    assert is_clean(said(caught.value))


def test_a_list_and_its_errors_have_no_secrets(urls, tmp_path):
    place = tmp_path / "list.txt"
    place.write_text(f"{urls('/a.png')} 0\n{urls('/b.png')} one\n")
    with pytest.raises(vl.errors.FormatError, match="line 2") as caught:
        source_infos(fn.readers.file, file_list=str(place))
    assert is_clean(said(caught.value))


@pytest.mark.parametrize(
    "line",
    [
        '{{"audio_filepath": "{url}", "offset": "{url}"}}',
        '{{"audio_filepath": "{url}" "duration": 1}}',
        '["{url}"]',
        '{{"audio_filepath": "{url}"}}',
    ],
)
def test_a_manifest_and_its_errors_have_no_secrets(urls, tmp_path, line):
    place = tmp_path / "manifest.json"
    place.write_text(line.format(url=urls("/gone.wav")))
    with pytest.raises(vl.VideoError) as caught:
        source_infos(fn.readers.nemo_asr, manifest_filepaths=[str(place)])
    assert is_clean(said(caught.value))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text.encode() + b"\xff",
        lambda text: text.replace('"height": 6', '"height": "http://canary-user:canary-pass@h/"'),
        lambda text: text,
    ],
)
def test_annotations_and_their_errors_have_no_secrets(urls, tmp_path, damage):
    image = {"id": 1, "file_name": urls("/gone.jpg"), "height": 6, "width": 8}
    text = damage(json.dumps({"images": [image], "categories": [], "annotations": []}))
    place = tmp_path / "a.json"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(vl.VideoError) as caught:
        read_epoch(fn.readers.coco, file_root=str(tmp_path), annotations_file=str(place))
    assert is_clean(said(caught.value))


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("proxy", ["http://{}@127.0.0.1:9", "{}@127.0.0.1:9", "socks9://{}@h:1"])
@pytest.mark.parametrize("query", ["", f"?sig={SECRETS[-1]}"])
def test_a_proxy_that_fails_is_named_without_its_password(scheme, proxy, query, monkeypatch):
    for name in (f"{scheme}_proxy", f"{scheme.upper()}_PROXY"):
        monkeypatch.setenv(name, proxy.format("canary-user:canary-pass"))
    url = f"{scheme}://host.invalid/a.mp4{query}"
    with pytest.raises(vl.VideoError) as caught:
        vl.index_video(url)
    assert is_clean(said(caught.value))


def test_proxies_are_those_that_the_environment_names_now(monkeypatch):
    monkeypatch.setenv("http_proxy", "socks9://h:1")
    with pytest.raises(vl.VideoError, match="socks9"):
        vl.index_video("http://host.invalid/a.mp4?sig=1")
    monkeypatch.delenv("http_proxy")
    with pytest.raises(vl.VideoError) as caught:
        vl.index_video("http://host.invalid/a.mp4?sig=1")
    assert "socks9" not in str(caught.value)


def test_inputs_of_a_proxy_are_told_without_secrets():
    url = "https://canary-user:canary-pass@host/a.jpg?sig=canary-key"
    assert _told(np.frombuffer(url.encode(), np.uint8)) == "'https://host/a.jpg'"
    for value in (url, [url, 1], {"url": url}, "x" * 170 + url):
        assert is_clean(_told(value))
    assert _told(np.frombuffer(b"a folder/a.jpg", np.uint8)) == "'a folder/a.jpg'"
