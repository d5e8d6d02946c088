"""`videoloader browse`: the page from a server, which answers nobody else."""

import http.client
import json
import os
import signal
import socket
import struct
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import numpy as np
import pytest
from chromium import Page, needs_chromium

import videoloader as vl
from videoloader.datasets.report import browse
from videoloader.datasets.report.browse import BrowseServer
from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset.listing import find_items
from videoloader.machinery.system.address import local_path


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
    monkeypatch.setattr(browse, "PICTURES", f"{Path(__file__).stem}:{function.__name__}")
    _, body, _ = get(server, f"/pictures/0?token={server.token}")
    failure = json.loads(body)["failure"]
    assert "0.mp4" in failure
    assert ("SIGSEGV" if function is crash else "longer than 2 s") in failure
    assert get(server, f"/?token={server.token}")[0] == 200


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
        }
