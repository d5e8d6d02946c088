"""The Python blocks of some pages run as they stand, one after the other, in a folder of videos."""

import gc
import re
from pathlib import Path

import pytest

from videoloader.demo.videos import encode_video

DOCS = Path(__file__).parents[1] / "docs"


def blocks_of(page):
    """(first line, code) of each Python block of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        (text[: match.start(1)].count("\n"), match[1])
        for match in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where readers of the pages have `a.mp4`, and videos in a folder for each class."""
    first = encode_video(tmp_path / "a.mp4", size=(96, 64), frames=90)
    for number in range(4):
        place = tmp_path / "my_videos" / f"class{number % 2}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.mp4").symlink_to(first)
    for name in ("train", "valid"):
        (tmp_path / name).symlink_to("my_videos")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # pages do not close what they open
@pytest.mark.parametrize(
    ("page", "count"), [("frames.md", 4), ("decoding.md", 1), ("loading.md", 12)]
)
def test_the_blocks_of_a_page_run(page, count, folder):
    blocks = blocks_of(page)
    assert len(blocks) == count
    names = {"__name__": "a_page"}
    for line, code in blocks:
        exec(compile("\n" * line + code, str(DOCS / page), "exec"), names)
    names.clear()
    gc.collect()  # while the warnings are ignored
