"""A warning for each link of the site to a page, or a place in one, that is not there."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LINK = re.compile(r'<[^>]*?\s(?:href|src)="([^"]*)"')
_PLACE = re.compile(r'<[^>]*?\s(?:id|name)="([^"]*)"')


def broken_links(folder: Path) -> list[str]:
    """Links in the pages of a folder to files or places that are not there, with their pages."""
    pages = (path for path in folder.rglob("*.html") if "_static" not in path.parts)
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    links = {path: {html.unescape(each) for each in _LINK.findall(texts[path])} for path in texts}
    places = {path: set(map(html.unescape, _PLACE.findall(texts[path]))) for path in texts}
    found = []
    for page, addresses in links.items():
        for address in sorted(addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = unquote(parts.fragment)
            is_there = target.is_file() and (not place or place in places.get(target, {place}))
            if not is_there:
                found.append(f"{page.relative_to(folder)}: {address}")
    return sorted(found)


def check(app: Sphinx, problem: Exception | None) -> None:
    """Called when all pages are written."""
    from sphinx.util.logging import getLogger

    if problem is None and app.builder.format == "html":
        for link in broken_links(Path(app.outdir).resolve()):
            getLogger(__name__).warning("a link leads nowhere: %s", link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
