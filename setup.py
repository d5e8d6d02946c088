"""The description for package registries: the README with addresses in place of paths."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def description() -> str:
    """The README; its links and pictures lead to this version in the repository, if it has one.

    The address is `Repository` of `[project.urls]`: files are below `blob`, pictures below `raw`.
    """
    text = (ROOT / "README.md").read_text()
    address = PROJECT.get("urls", {}).get("Repository", "").rstrip("/")
    if not address:
        return text

    def absolute(match: re.Match[str]) -> str:
        picture, words, place = match.groups()
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({address}/{kind}/v{PROJECT['version']}/{place})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)", absolute, text)


setup(long_description=description(), long_description_content_type="text/markdown")
