"""`videoloader browse`: the page from a server, which answers nobody else."""

import http.client
import json
import threading
from contextlib import closing

import pytest
from chromium import Page, needs_chromium

import videoloader as vl
from videoloader.datasets.report.browse import BrowseServer
from videoloader.demo.videos import encode_video


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


def get(server, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    with closing(connection):
        connection.request("GET", path, headers=headers)
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
