"""Pages of the site that show files of the repository, and links to them.

Documentation links to code by relative paths such as `../videoloader/training/loader.py`, which
work in a checkout. On the site such a link leads to a page with that file, or to the page that
includes it.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("videoloader", "samples", "benchmarks")
LESSONS = "samples/learn/"
PAGES = {"README.md": "index", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}


def page_name(path: str) -> str:
    """The page that shows a file, by its path in the repository."""
    if path.startswith(LESSONS):
        return f"learn/{posixpath.basename(path).removesuffix('.py')}"
    return PAGES.get(path) or f"code/{path}"


def shown_files() -> list[str]:
    """Paths of the files that have a page."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def pages(_: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file."""
    formatter = HtmlFormatter(
        linenos="inline", anchorlinenos=True, lineanchors="line", lineseparator="\n"
    )
    for path in shown_files():
        if path.startswith(LESSONS):  # the gallery shows it
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        body = highlight(text, get_lexer_for_filename(path), formatter)
        context = {"title": path, "body": f"<h1>{path}</h1>{body}", "parents": []}
        yield page_name(path), context, "page.html"


def lead_links_to_pages(app: Sphinx, tree: nodes.document) -> None:
    """Replace what MyST makes of links to files outside `docs/` by links to their pages."""
    shown, page = set(shown_files()), app.env.current_document.docname
    for node in [*tree.findall(download_reference), *tree.findall(pending_xref)]:
        path, anchor = file_of(node, page)
        if path in shown or path in PAGES:
            address = app.builder.get_relative_uri(page, page_name(path))
            link = nodes.reference("", "", internal=True, refuri=f"{address}{anchor}")
            link += node.children
            node.replace_self(link)
        elif node["reftarget"].startswith("../") and (ROOT / path).is_dir():
            node.replace_self(node.children)


def link_paths(app: Sphinx, tree: nodes.document) -> None:
    """Make links of paths in backticks, such as `sampling/plan.py` in the map of the code."""
    shown, page = set(shown_files()), app.env.current_document.docname
    if page not in ("code", *PAGES.values()):
        return
    for node in list(tree.findall(nodes.literal)):
        found = {node.astext(), f"videoloader/{node.astext()}"} & shown
        if found and not isinstance(node.parent, nodes.reference):
            address = app.builder.get_relative_uri(page, page_name(found.pop()))
            link = nodes.reference("", "", internal=True, refuri=address)
            node.replace_self(link)
            link += node


def file_of(node: nodes.Element, page: str) -> tuple[str, str]:
    """Path in the repository of what a node leads to, and `#anchor` or nothing."""
    target, _, anchor = unquote(node["reftarget"]).partition("#")
    if node.get("refdomain") == "doc":  # a Markdown file, without its ending
        target, anchor = f"{target}.md", node.get("reftargetid") or ""
    # An included file has links from the root; MyST has made those into docs/ relative to the page.
    is_from_root = page in PAGES.values() and target in PAGES
    folder = "" if is_from_root else posixpath.join("docs", posixpath.dirname(page))
    path = posixpath.normpath(posixpath.join(ROOT, folder, target))
    return posixpath.relpath(path, ROOT), anchor and f"#{anchor}"


def address_of_object(domain: str, info: dict[str, str]) -> str | None:
    """The page and line of a documented object, from a page of the reference."""
    if domain != "py" or not info["module"]:
        return None
    found: Any = importlib.import_module(info["module"])
    try:
        for name in info["fullname"].split("."):
            found = getattr(found, name)
        found = inspect.unwrap(found.fget if isinstance(found, property) else found)
        file = Path(inspect.getsourcefile(found) or "").resolve()
        line = inspect.getsourcelines(found)[1]
    except (AttributeError, TypeError, OSError):
        return None
    if not file.is_relative_to(ROOT / "videoloader"):
        return None
    return f"../{page_name(file.relative_to(ROOT).as_posix())}.html#line-{max(line, 1)}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("html-collect-pages", pages)
    app.connect("doctree-read", lead_links_to_pages, priority=100)  # before downloads are copied
    app.connect("doctree-read", link_paths)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
