"""The web server of samples gives whole files, parts of them, and refuses what is not there."""

import http.client
from urllib.parse import urlsplit

import pytest

from videoloader.demo.serving import serve

DATA = bytes(range(200))


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "a.bin").write_bytes(DATA)
    with serve(tmp_path) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)

        def ask(method, path, **headers):
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer

        yield ask
        connection.close()


@pytest.mark.parametrize(("first", "last"), [(0, 0), (7, 20), (190, 500)])
def test_parts_of_a_file_are_served(ask, first, last):
    status, data, answer = ask("GET", "/a.bin", Range=f"bytes={first}-{last}")
    assert (status, data) == (206, DATA[first : last + 1])
    end = first + len(data) - 1
    assert answer.headers["Content-Range"] == f"bytes {first}-{end}/{len(DATA)}"


def test_whole_files_and_their_sizes_are_served(ask):
    assert ask("GET", "/a.bin")[:2] == (200, DATA)
    status, data, answer = ask("HEAD", "/a.bin")
    assert (status, data, answer.headers["Content-Length"]) == (200, b"", "200")


def test_what_is_not_there_is_refused(ask):
    assert ask("GET", "/b.bin")[0] == 404
