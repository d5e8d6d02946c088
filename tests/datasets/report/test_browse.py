"""`videoloader browse`: the page from a server, which answers nobody else."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import tarfile
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest
from chromium import Page, needs_chromium

import videoloader as vl
from videoloader.datasets.report import browse
from videoloader.datasets.report import page as pages
from videoloader.datasets.report.browse import BrowseServer
from videoloader.datasets.report.page import video_strip, video_wave
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset import Item
from videoloader.indexing.dataset.listing import find_items
from videoloader.machinery.system.address import local_path
from videoloader.sources.source import Source

pytestmark = pytest.mark.usefixtures("forked_workers")


@pytest.fixture
def server(tmp_path):
    for number in range(3):
        encode_video(tmp_path / f"{number}.mp4", frames=10, size=(64, 48))
    (tmp_path / "2.mp4").write_bytes(b"\0" * 4000)
    with (
        vl.index_dataset(tmp_path, tmp_path / "set.parquet", 0) as dataset,
        BrowseServer(dataset) as server,
    ):
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    with closing(connection):
        connection.request("GET" if body is None else "POST", path, body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers


def test_only_the_token_opens_it(server):
    token = f"token={server.token}"
    assert get(server, f"/?{token}")[0] == 200
    for path in ("/", "/?token=", "/?token=wrong", "/pictures/0", "/pictures/0?token=wrong"):
        status, body, _ = get(server, path)
        assert status == 403
        assert server.token.encode() not in body
    cookie = get(server, f"/?{token}")[2]["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert get(server, "/pictures/0", Cookie=cookie.partition(";")[0])[0] == 200
    assert get(server, "/pictures/0", Cookie="videoloader=wrong")[0] == 403
    assert get(server, f"/?{token}", Host=f"attacker.example:{server.server_port}")[0] == 403


def test_pictures_are_those_of_the_row(server):
    for path, status in (("0", 200), ("1", 200), ("3", 404), ("-1", 404), ("x", 404)):
        assert get(server, f"/pictures/{path}?token={server.token}")[0] == status
    _, body, _ = get(server, f"/pictures/0?token={server.token}")
    assert {*json.loads(body)} == {"timeline", "sheet"}
    _, body, _ = get(server, f"/pictures/2?token={server.token}")
    assert "2.mp4" in json.loads(body)["failure"]


def rows_of(*rows):
    return np.array(rows, "<u4").tobytes()


def test_rows_are_exported_as_a_list_and_as_a_data_set(server, tmp_path):
    token = f"token={server.token}"
    status, body, _ = get(server, f"/export/paths?{token}", rows_of(2, 0))
    assert (status, body.decode()) == (200, f"{tmp_path}/2.mp4\n{tmp_path}/0.mp4\n")
    status, body, _ = get(server, f"/export/parquet?{token}", rows_of(2, 1))
    assert status == 200
    (tmp_path / "part.parquet").write_bytes(body)
    with vl.open_dataset(tmp_path / "part.parquet") as part:
        assert part.keys == ["1.mp4", "2.mp4"]
        assert part[0].num_frames == 10
        assert "2.mp4" in part.errors["error"][0].as_py()
    for kind in ("paths", "parquet"):
        assert get(server, f"/export/{kind}?{token}", b"")[0] == 200
        assert get(server, f"/export/{kind}", rows_of(0))[0] == 403
        assert get(server, f"/export/{kind}?{token}", rows_of(0, 3))[0] == 400
        for wrong in (rows_of(0)[:3], rows_of(0, 1, 2, 0)):
            assert get(server, f"/export/{kind}?{token}", wrong)[0] == 413
    assert get(server, f"/export/other?{token}", rows_of(0))[0] == 404
    assert get(server, f"/export/paths?{token}")[0] == 404
    with half_sent(server, b"") as connection:
        host = f"Host: 127.0.0.1:{server.server_port}"
        connection.sendall(f"POST /export/paths?{token} HTTP/1.1\r\n{host}\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 411"


def place_of(item):
    return local_path(item.location)


def test_a_list_of_exported_paths_names_the_same_files(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    encode_video(folder / "0.mp4", frames=5, size=(64, 48))
    for name in ("line\nbreak.mp4", " spaces.mp4", "#1.mp4", "a,b.mp4", b"no utf-8 \xff.mp4"):
        place = os.path.join(bytes(folder), os.fsencode(name))
        os.link(folder / "0.mp4", place)
    with (
        vl.index_dataset(folder, tmp_path / "set.parquet", 0) as dataset,
        BrowseServer(dataset) as server,
    ):
        rows = np.arange(len(dataset))
        with server.exported("paths", rows) as file:
            (tmp_path / "list.txt").write_bytes(file.read())
        found = find_items(tmp_path / "list.txt")
        wanted = [dataset.item(row) for row in rows.tolist()]
        assert [*map(place_of, found)] == [*map(place_of, wanted)]


@pytest.mark.parametrize(
    ("header", "status", "part"),
    [
        ("", 200, slice(None)),
        ("bytes=0-", 206, slice(None)),
        ("bytes=5-9", 206, slice(5, 10)),
        ("Bytes=100-", 206, slice(100, None)),
        ("bytes=-7", 206, slice(-7, None)),
        ("bytes=-999999999", 206, slice(None)),
        ("bytes=1000-999999999999999999", 206, slice(1000, None)),
        ("bytes=7-7", 206, slice(7, 8)),
        ("bytes=999999999-", 416, slice(0)),
        ("bytes=-0", 416, slice(0)),
        *((wrong, 200, slice(None)) for wrong in ("bytes=9-5", "bytes=-", "bytes=a-b", "rows=0-1")),
        ("bytes=0-1,5-6", 200, slice(None)),
        ("bytes=" + "9" * 5000 + "-", 200, slice(None)),
        ("bytes=\u0661-", 200, slice(None)),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_video_is_sent_by_ranges(server, tmp_path, header, status, part):
    data = (tmp_path / "0.mp4").read_bytes()
    headers = {"Range": header.encode()} if header else {}
    found, body, told = get(server, f"/video/0?token={server.token}", **headers)
    assert (found, body) == (status, data[part])
    assert told["Content-Type"] == "video/mp4"
    assert told["Content-Length"] == str(len(body))
    if status == 206:
        first = range(len(data))[part][0]
        wanted = f"bytes {first}-{first + len(body) - 1}/{len(data)}"
        assert told["Content-Range"] == wanted
    else:
        assert told["Content-Range"] == (f"bytes */{len(data)}" if status == 416 else None)


def test_a_range_of_another_state_of_a_video_is_all_of_it(server, tmp_path):
    path = f"/video/0?token={server.token}"
    status, body, _ = get(server, path, **{"Range": "bytes=5-", "If-Range": '"a"'})
    assert (status, body) == (200, (tmp_path / "0.mp4").read_bytes())


def test_no_other_file_is_sent_than_videos_of_the_data_set(server, tmp_path):
    token = f"token={server.token}"
    (tmp_path / "secret.mp4").write_bytes(b"secret" * 1000)
    for path in (
        *("0/../secret.mp4", "..%2fsecret.mp4", "secret.mp4", f"{tmp_path}/secret.mp4", ""),
        *("-1", "3", "2"),  # 2: a file that is no video
    ):
        status, body, _ = get(server, f"/video/{path}?{token}")
        assert status == 404
        assert b"secretsecret" not in body
        assert bytes(100) not in body
    assert get(server, "/video/0")[0] == 403
    # A file in the place of a video, be it behind a link.
    (tmp_path / "0.mp4").unlink()
    (tmp_path / "0.mp4").symlink_to(tmp_path / "secret.mp4")
    status, body, _ = get(server, f"/video/0?{token}")
    assert (status, b"secretsecret" in body) == (404, False)
    assert b"0.mp4" in body
    (tmp_path / "1.mp4").unlink()
    assert get(server, f"/video/1?{token}")[0] == 404


def test_no_row_leads_to_a_file_outside_the_root(tmp_path):
    """Where somebody else has written the data set index."""
    (tmp_path / "videos").mkdir()
    encode_video(tmp_path / "videos" / "0.mp4", frames=10, size=(64, 48))
    shutil.copy(tmp_path / "videos" / "0.mp4", tmp_path / "outside.mp4")
    vl.index_dataset(tmp_path / "videos", tmp_path / "set.parquet", 0).close()
    table = pq.read_table(tmp_path / "set.parquet")
    for number, path in enumerate(("../outside.mp4", str(tmp_path / "outside.mp4"))):
        changed = table.set_column(table.column_names.index("path"), "path", [[path]])
        pq.write_table(changed, tmp_path / f"{number}.parquet")
        with (
            vl.open_dataset(tmp_path / f"{number}.parquet") as dataset,
            BrowseServer(dataset) as server,
            pytest.raises(vl.errors.FormatError, match="leads out of the root"),
        ):
            server.video(0)


def test_a_video_that_gets_shorter_while_it_is_sent_ends_the_answer(server, tmp_path, monkeypatch):
    monkeypatch.setattr(browse, "_CHUNK", 1000)
    data = (tmp_path / "0.mp4").read_bytes()
    read = Source.read

    def read_less(source, offset, size):
        os.truncate(tmp_path / "0.mp4", 1500)
        return read(source, offset, size)

    monkeypatch.setattr(Source, "read", read_less)
    with pytest.raises(http.client.IncompleteRead) as found:
        get(server, f"/video/0?token={server.token}")
    assert found.value.partial == data[:1000]


def test_members_of_archives_are_sent_alone(tmp_path):
    encode_video(tmp_path / "0.mp4", frames=10, size=(64, 48))
    with tarfile.open(tmp_path / "videos.tar", "w") as archive:
        for name in ("a.mp4", "b.mp4"):
            archive.add(tmp_path / "0.mp4", name)
    data = (tmp_path / "0.mp4").read_bytes()
    with (
        vl.index_dataset(tmp_path / "videos.tar", tmp_path / "set.parquet", 0) as dataset,
        BrowseServer(dataset) as server,
    ):
        source, kind = server.video(1)
        with source:
            assert (source.read(0, source.size), kind) == (data, "video/mp4")


def test_the_strip_has_frames_of_the_whole_video(tmp_path):
    encode_video(tmp_path / "0.mp4", frames=100, size=(96, 160))
    with vl.index_dataset(tmp_path / "0.mp4", tmp_path / "set.parquet", 0) as dataset:
        found = video_strip((0, dataset.item(0)), dataset=dataset)
        assert (found["rows"], found["aspect"]) == (8, 120 / 200)
        assert found["frames"] == np.linspace(0, 99, 64).round().tolist()
        picture = cv2.imdecode(
            np.frombuffer(base64.b64decode(found["strip"].partition(",")[2]), np.uint8), 1
        )
        assert picture.shape == (8 * 200, 8 * 120, 3)
        with vl.Video(dataset.source(0)) as video:
            for place in (0, 7, 8, 63):
                cell = picture[place // 8 * 200 :, place % 8 * 120 :][:200, :120, ::-1]
                frame = (
                    video.get_frames([found["frames"][place]], resize_shorter=120).frames[0].numpy()
                )
                assert np.abs(cell.astype(int) - frame).mean() < 6


@pytest.fixture
def sounding(tmp_path):
    """A video of 2 s whose sound begins half way, and one without sound."""
    frames = np.zeros((60, 48, 64, 3), np.uint8)
    samples = np.zeros((1, 96000), np.float32)
    samples[0, 48000:] = 0.5 * np.sin(np.arange(48000) / 10)
    vl.write_video(frames, tmp_path / "0.mp4", fps=30, audio=(samples, 48000))
    encode_video(tmp_path / "1.mp4", frames=10, size=(64, 48))
    with vl.index_dataset(tmp_path, tmp_path / "set.parquet", 0) as dataset:
        yield dataset


def test_the_wave_of_a_sound_is_on_the_clock_of_the_frames(sounding, monkeypatch):
    found = video_wave((0, sounding.item(0)), dataset=sounding)["wave"]
    svg = base64.b64decode(found.partition(",")[2]).decode()
    tall = [float(each) for each in re.findall(r"v(\d[\d.]*)h", svg)]
    assert len(tall) == 600
    assert max(tall[:290]) < 2
    assert np.abs(np.array(tall[310:590]) - 0.5 * 40).max() < 3
    assert "wave" not in video_wave((0, Item("https://host.example/0.mp4")), dataset=sounding)
    monkeypatch.setattr(pages, "WAVE_SECONDS", 1.5)
    assert "wave" not in video_wave((0, sounding.item(0)), dataset=sounding)


@needs_chromium
def test_a_browser_shows_the_wave_of_a_video_with_sound(sounding):
    with BrowseServer(sounding) as server, Page() as page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.open(server.address)
        page.run("pick(1)")
        page.wait("document.querySelectorAll('#panel img').length === 2")
        page.run("pick(0)")
        page.wait("document.querySelectorAll('.track img')[1]?.naturalWidth > 100")
        assert page.errors == []
        waves = [each for each in page.requests if "/wave/" in each]
        assert [each.rpartition("/")[2] for each in waves] == ["0"]
        server.shutdown()


def half_sent(server, text):
    """A connection on which a part of a request was sent."""
    connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=30)
    connection.sendall(text)
    return connection


def is_closed(connection):
    """Whether the server has closed a connection, without an answer."""
    with suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True


@pytest.mark.parametrize("text", [b"", b"GET", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: y"])
def test_a_request_that_is_half_sent_is_not_waited_for(server, monkeypatch, text):
    monkeypatch.setattr(browse, "REQUEST_SECONDS", 1.0)
    with half_sent(server, text) as connection:
        begin = time.monotonic()
        for _ in range(4):  # a byte now and then prolongs nothing
            time.sleep(0.4)
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(text[-1:])
        assert is_closed(connection)
        assert time.monotonic() - begin < 5


def test_a_connection_is_kept_for_several_requests(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    with closing(connection):
        for _ in range(3):
            connection.request("GET", f"/?token={server.token}")
            answer = connection.getresponse()
            assert (answer.status, len(answer.read()) > 1000) == (200, True)
            connection.sock.getsockname()  # still the same


def test_connections_beyond_a_number_are_closed_at_once(server, monkeypatch):
    before = threading.active_count()
    with ExitStack() as held:
        opened = [held.enter_context(half_sent(server, b"GET")) for _ in range(120)]
        time.sleep(0.5)
        assert threading.active_count() - before <= browse.CONNECTIONS
        assert sum(map(is_closed, opened[browse.CONNECTIONS :])) == 120 - browse.CONNECTIONS
    deadline = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert get(server, f"/?token={server.token}")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/pictures/" + "9" * 5000,
        "/pictures/" + "9" * 20,
        "/pictures/\u0663",
        "//[",
        "http://[/pictures/0",
        "/pictures/0/0",
        "/pictures/",
    ],
    ids=lambda path: path[:14],
)
def test_what_names_no_row_is_no_page(server, capfd, path):
    host = f"Host: 127.0.0.1:{server.server_port}\r\n\r\n"
    text = f"GET {path}?token={server.token} HTTP/1.1\r\n{host}"
    with half_sent(server, text.encode()) as connection:
        assert connection.recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 404")
    assert get(server, "/pictures/0?token=" + "%ff" * 1000)[0] == 403
    assert "Traceback" not in capfd.readouterr().err


def test_a_client_that_goes_away_is_not_told_of(server, capfd):
    head = f"/export/paths?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}"
    with half_sent(server, f"POST {head}\r\nContent-Length: 8\r\n\r\nrow".encode()) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert is_closed(connection)
    for text in (b"", b"GET", f"GET /?token={server.token} HTTP/1.1\r\n\r\n".encode()):
        connection = half_sent(server, text)
        reset = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        connection.close()
    assert get(server, f"/?token={server.token}")[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def crash(task, **_):
    """What a damaged video may do to the process that decodes it."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(task, **_):
    time.sleep(60)


@pytest.mark.parametrize("function", [crash, hang])
def test_a_video_that_ends_its_decoder_costs_its_own_pictures(server, monkeypatch, function):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setattr(browse, "TIME_LIMIT", 2.0)
    monkeypatch.setitem(browse.JOBS, "pictures", f"{Path(__file__).stem}:{function.__name__}")
    _, body, _ = get(server, f"/pictures/0?token={server.token}")
    failure = json.loads(body)["failure"]
    assert "0.mp4" in failure
    assert ("SIGSEGV" if function is crash else "longer than 2 s") in failure
    assert get(server, f"/?token={server.token}")[0] == 200


@needs_chromium
def test_a_browser_plays_what_it_decodes_and_shows_frames_of_the_rest(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    for number, codec in enumerate(("libx264", "libx265", "libvpx-vp9")):
        encode_video(folder / f"{number}.mp4", codec=codec, frames=90, size=(64, 48))
    encode_video(folder / "3.avi", codec="mpeg4", frames=90, size=(64, 48))
    with (
        vl.index_dataset(folder, tmp_path / "set.parquet", 0) as dataset,
        BrowseServer(dataset) as server,
        Page() as page,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.open(server.address)

        def point(part, kind="pointermove"):
            page.run(
                "(() => { const track = document.querySelector('.track');"
                "const box = track.getBoundingClientRect();"
                f"track.dispatchEvent(new PointerEvent('{kind}', {{ buttons: 1,"
                f"clientX: box.left + {part} * box.width, clientY: box.top + 5 }})); }})()"
            )

        for row in (0, 2):
            page.run(f"pick({row})")
            page.wait("document.querySelector('#screen video')?.readyState >= 2")
            assert page.run("document.querySelector('#screen video').videoWidth") == 64
            page.wait("document.querySelector('.track')")
            point(0.5, "pointerdown")
            page.wait("Math.abs(document.querySelector('#screen video').currentTime - 1.5) < 0.1")
            page.run("document.querySelector('#screen video').muted = true")
            page.run("document.querySelector('#screen video').play()")
            page.wait("document.querySelector('#screen video').currentTime > 1.8")
        for row in (1, 3):
            page.run(f"pick({row})")
            page.wait(
                "document.querySelector('#screen .strip') && document.querySelector('.track')"
            )
            caption = "document.querySelector('#screen p').textContent"
            for part, frame in ((0, 0), (0.5, 44), (1, 89)):
                point(part)
                assert page.run(caption).startswith(f"frame {frame}")
        page.press("Escape")
        assert page.run("document.querySelectorAll('video, .strip').length") == 0
        assert page.errors == []
        server.shutdown()


@needs_chromium
def test_a_browser_exports_rows(server, tmp_path):
    downloads = tmp_path / "downloads"
    with Page() as page:
        page.open(server.address)
        page.call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=os.fspath(downloads)
        )
        page.run("filterBy('codec:h264'); sortBy(byName.get('key')); sortBy(byName.get('key'))")
        for place in (0, 3):
            page.run(f"document.querySelectorAll('#export button')[{place}].click()")
        files = [downloads / "set.paths.txt", downloads / "set.part.parquet"]
        page.wait("document.getElementById('told')")
        for _ in range(400):
            if all(file.exists() for file in files):
                break
            time.sleep(0.05)
        assert page.errors == []
    assert files[0].read_text() == f"{tmp_path}/1.mp4\n{tmp_path}/0.mp4\n"
    with vl.open_dataset(files[1]) as part:
        assert part.keys == ["0.mp4", "1.mp4"]


@needs_chromium
def test_a_browser_gets_the_frames_of_a_video_that_is_picked(server):
    with Page() as page:
        page.open(server.address)
        page.run("pick(1)")
        page.wait("document.querySelectorAll('#panel img').length === 2")
        page.wait("document.querySelectorAll('#panel img')[1].naturalWidth > 100")
        page.run("pick(2)")
        page.wait(
            "document.getElementById('panel').textContent.includes('cannot')"
            " || document.getElementById('panel').textContent.includes('2.mp4')"
        )
        assert page.errors == []
        assert {
            each.partition("?")[0].rpartition("/")[0]
            for each in page.requests
            if each.startswith("http")
        } == {
            f"http://127.0.0.1:{server.server_port}",
            f"http://127.0.0.1:{server.server_port}/pictures",
            f"http://127.0.0.1:{server.server_port}/video",
        }
