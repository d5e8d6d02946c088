"""Files read in pieces: the same bytes from every kind of source; an error if they end early."""

import io
import os

import pytest

from videoloader.errors import SourceError
from videoloader.sources.opening import open_source

CONTENT = bytes(range(256)) * 40 + b"end"


@pytest.mark.parametrize("kind", ["path", "bytes", "file"])
@pytest.mark.parametrize(
    ("start", "stop", "size"), [(0, 10243, 1000), (7, 9000, 1 << 20), (5, 5, 8)]
)
def test_windows_hold_the_bytes_in_order(tmp_path, kind, start, stop, size):
    path = tmp_path / "a"
    path.write_bytes(CONTENT)
    given = {"path": path, "bytes": CONTENT, "file": io.BytesIO(CONTENT)}[kind]
    with open_source(given) as source:
        windows = [window.tobytes() for window in source.windows(start, stop, size)]
    assert b"".join(windows) == CONTENT[start:stop]
    assert all(len(window) == size for window in windows[:-1])


def test_a_file_that_is_truncated_between_windows_is_an_error(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(CONTENT)
    with open_source(path) as source:
        windows = source.windows(0, len(CONTENT), 4096)
        next(windows)
        os.truncate(path, 5000)
        with pytest.raises(
            SourceError, match="4096 bytes wanted at 4096, but the file ends at 5000"
        ):
            next(windows)
