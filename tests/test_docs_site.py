"""The site: pages, links and names of the reference, without building it (`make docs` does)."""

import doctest
import gc
import importlib
import inspect
import re
import runpy
import warnings
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from making import operators_page
from making.signatures import shown_parameters

import videoloader as vl

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# What the build writes.
MADE = {"dali/operators", "learn/index", "reference/commands", "reference/gallery"}
NAMES = (path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))
PAGES = {name: (DOCS / f"{name}.md").read_text() for name in sorted({*NAMES} - MADE)}
INCLUDED = {"contributing": ROOT / "CONTRIBUTING.md", "changelog": ROOT / "CHANGELOG.md"}
LEARN = sorted((ROOT / "samples" / "learn").glob("*.py"))
TOPS = ("videoloader", "videoloader.dali")  # what they have is documented as theirs
# Modules whose names the reference lists, and pages that document some of them elsewhere.
MODULES = (
    "videoloader",
    *(f"videoloader.{name}" for name in ("datasets", "datasets.ray", "indexing")),
    *(f"videoloader.{name}" for name in ("indexing.dataset", "sampling")),
    *(f"videoloader.dali{name}" for name in ("", ".pipeline", ".plugin.pytorch", ".tensors")),
    *(f"videoloader.dali.plugin.{name}" for name in ("jax", "jax.fn", "paddle", "tf")),
)
# Examples of names that need a large package are blocks of these pages, which run too.
GUIDES = {
    **{
        f"videoloader.dali.plugin.{name}": "dali/frameworks"
        for name in ("jax", "jax.fn", "paddle", "tf")
    },
    "videoloader.datasets.ray": "cluster",
}
WHOLE = (
    "errors",
    *(f"dali.{name}" for name in ("backend", "math", "tfrecord", "types")),
)  # by automodule
OTHERS = {
    *(
        "auto_aug",
        "backend",
        "dali",
        "datasets",
        "errors",
        "experimental",
        "fn",
        "indexing",
        "math",
    ),
    *("ops", "pipeline", "plugin", "proxy", "ray", "sampling", "tensors", "tfrecord", "types"),
    *("TorchPythonFunction", "samplers"),
    *("TensorCPU", "TensorGPU", "TensorListCPU", "TensorListGPU"),  # names of DALI for the same
    *("DALIClassificationIterator", "DALIGenericIterator", "DALIRaggedIterator"),
    *("DALIGenericPeekableIterator", "LastBatchPolicy", "clu"),
}


def without_code(text):
    return re.sub(r"^( *)(```|~~~).*?^\1\2$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    """What MyST makes of headings, as GitHub does."""
    found = set()
    for heading in re.findall(r"^#{1,4} (.+)$", without_code(text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        number = next(n for n in range(99) if (f"{slug}-{n}" if n else slug) not in found)
        found.add(f"{slug}-{number}" if number else slug)
    return found


def links(text):
    found = re.findall(r"\]\(([^)\s]+)\)", without_code(text))
    return [link for link in found if not re.match(r"\w+:", link)]


def toctree(page):
    """Pages that the toctrees of a page name."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", PAGES[page], re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    names = [line for line in lines if line and not line.startswith(":")]
    return [(DOCS / page).parent.joinpath(name).resolve().relative_to(DOCS) for name in names]


def documented():
    """Names in the reference, whole."""
    found, module = [], ""
    for text in (text for page, text in PAGES.items() if page.startswith("reference/")):
        for kind, name in re.findall(r"^\.\. (\w+):: ([\w.]+)$", text, re.MULTILINE):
            if kind == "currentmodule":
                module = name
            elif kind != "automodule":
                found.append(f"{module}.{name}")
    return found


def members():
    """Names that are in the reference by their module."""
    for name in WHOLE:
        module = importlib.import_module(f"videoloader.{name}")
        yield from (f"videoloader.{name}.{each}" for each in module.__all__)


def examples(text):
    """The examples of a docstring, each with what it prints."""
    found = doctest.DocTestParser().get_examples(text or "")
    return [f"{example.source}{example.want}" for example in found]


def examples_of(own):
    """Examples in the docstrings of a name and of its public members."""
    inside = vars(own).items() if inspect.isclass(own) else ()
    inside = [getattr(each, "__func__", each) for name, each in inside if not name.startswith("_")]
    for each in (own, *(each for each in inside if callable(each) or isinstance(each, property))):
        yield from examples(each.__doc__)


def test_every_page_is_in_one_toctree():
    """If this fails: name the page in docs/guides.md, or in the index.md of its folder."""
    listed = [path.as_posix() for page in PAGES for path in toctree(page)]
    assert sorted(listed) == sorted(MADE.union(PAGES) - {"index"})


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    place = INCLUDED.get(page, DOCS / f"{page}.md")
    text = place.read_text(encoding="utf-8")
    for link in links(text):
        name, _, anchor = link.partition("#")
        target = (place.parent / name).resolve() if name else place
        is_made = name in MADE and page == "index"
        if target == operators_page.PAGE:
            assert not anchor or anchor in anchors(operators_page.page()), link
            continue
        assert is_made or target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_anchors_are_those_of_the_headings():
    text = "# A `b`, c\n\n```\n# no\n```\n\n## [Link](x.md): 2\n\n## Link 2\n"
    assert anchors(text) == {"a-b-c", "link-2", "link-2-1"}


@pytest.mark.parametrize("name", MODULES)
def test_the_reference_has_each_public_name_once(name):
    """If this fails: add the name to the page of docs/reference/ where it would be looked for."""
    listed = documented()
    module = importlib.import_module(name)
    names = [each for each in module.__all__ if each not in OTHERS]
    known = {each for top in TOPS for each in importlib.import_module(top).__all__}
    errors = importlib.import_module("videoloader.errors").__all__
    own = [each for each in names if name in TOPS or each not in known]
    own = [each for each in own if each not in errors]
    assert {f"{name}.{each}": listed.count(f"{name}.{each}") for each in own} == {
        f"{name}.{each}": 1 for each in own
    }


def test_the_index_of_the_reference_has_a_line_for_each_name():
    listed, module = [], ""
    for line in PAGES["reference/index"].splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.partition(":: ")[2]
        elif re.fullmatch(r"   \w+", line):
            listed.append(f"{module}.{line.strip()}")
    assert sorted(listed) == sorted(documented())


def test_the_reference_names_only_what_is_there():
    for name in documented():
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name
    text = "".join(text for page, text in PAGES.items() if page.startswith("reference/"))
    assert all(f".. automodule:: videoloader.{name}\n" in text for name in WHOLE)


@pytest.mark.parametrize("name", [*documented(), *members()])
def test_a_name_of_the_reference_has_an_example_that_runs(name):
    """If this fails: add two to six lines with `>>>` to its docstring."""
    module, _, last = name.rpartition(".")
    own = getattr(importlib.import_module(module), last)
    shared = "".join(examples(importlib.import_module(module).__doc__))
    if module in GUIDES:
        shared += "".join(re.findall(r"^```python\n(.*?)^```$", PAGES[GUIDES[module]], re.M | re.S))
    assert list(examples_of(own)) or re.search(rf"\b{last}\b", shared)


def test_examples_are_found_in_members():
    assert list(examples("A line.\n\n>>> 1 + 1\n2\n")) == ["1 + 1\n2\n"]
    assert any("get_frames" in each for each in examples_of(vl.Video))
    assert not list(examples_of(test_examples_are_found_in_members))


def test_each_operator_has_a_picture_or_a_reason_for_none():
    """If this fails: add a call or a reason to docs/making/operator_gallery.py."""
    gallery = importlib.import_module("making.operator_gallery")
    assert not gallery.unexplained()


@pytest.mark.parametrize("program", LEARN, ids=lambda path: path.stem)
def test_lessons_and_guides_lead_to_each_other(program):
    """If this fails: name a guide in the docstring of the lesson, and the lesson in that guide."""
    guides = re.findall(r":doc:`/([\w/-]+)`", program.read_text(encoding="utf-8").split('"""')[1])
    assert guides
    for guide in guides:
        root = "../" * (guide.count("/") + 1)
        assert f"]({root}samples/learn/{program.name})" in PAGES[guide], guide


def test_measured_figures_are_written_by_a_program():
    """If this fails: let benchmarks/guide_tables.py write the figure, or add a limit here."""
    limits = {"0.05 ms", "0.1 ms", "40 ms", "50 ms", "8 MiB", "32 MiB", "30 frames/s"}
    for page, text in PAGES.items():
        if page == "benchmarks":
            continue
        prose = re.sub("<!-- figures: .*?<!-- end of figures -->", "", text, flags=re.DOTALL)
        prose = without_code(prose)
        found = set(re.findall(r"\d[\d.,]* (?:ms|microseconds|frames/s|clips/s|MiB)\b", prose))
        assert found <= limits, f"docs/{page}.md: {sorted(found - limits)}"


def test_external_addresses_are_plausible():
    """If this fails: look the new address up, and add its site."""
    sites = {"arxiv.org", "download.pytorch.org", "keepachangelog.com", "semver.org"}
    examples = {"host"}
    files = [ROOT / "README.md", *INCLUDED.values(), *DOCS.rglob("*.md"), *LEARN]
    for file in files:
        for found in re.findall(r"https?://[^\s)\]`\"'>]+", file.read_text(encoding="utf-8")):
            parts = urlsplit(found.rstrip(".,;:"))
            assert parts.hostname in sites | examples, f"{file}: {found}"
            assert parts.scheme == "https", f"{file}: {found}"


def test_links_that_lead_nowhere_are_found(tmp_path):
    broken_links = importlib.import_module("making.links").broken_links
    page = (
        '<a class="x" href="b.html#there">1</a> <img src="a%20b.png"> <a href="https://else">2</a>'
    )
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1> <a href="#there">3</a>')
    (tmp_path / "a b.png").touch()
    assert broken_links(tmp_path) == []
    (tmp_path / "b.html").write_text('<a href="a.html#no">3</a> <a href="c.html">4</a>')
    assert broken_links(tmp_path) == ["a.html: b.html#there", "b.html: a.html#no", "b.html: c.html"]


def test_each_program_of_the_gallery_has_a_place():
    """If this fails: add the program to docs/making/lessons.py."""
    lessons = importlib.import_module("making.lessons").LESSONS
    assert sorted(lessons) == [path.stem for path in LEARN]


@pytest.mark.parametrize("program", LEARN, ids=lambda path: path.stem)
def test_a_program_of_the_gallery_runs(program, tmp_path, monkeypatch):
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with patch.dict("os.environ"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # programs do not close what they open
        runpy.run_path(str(program), run_name="__main__")
        pyplot.close("all")
        gc.collect()
    assert re.match(r'"""\n?.+\n=+\n', program.read_text(encoding="utf-8"))  # a title for the page


def test_a_folded_signature_has_what_is_required_then_what_its_example_uses():
    optional = [(name, False) for name in "cdefghij"]
    parameters = [("a", True), ("b", True), *optional]
    assert shown_parameters(parameters, "f(1, 2, h=3, j=4, batch_size=5)") == [*"abchj"]
    assert shown_parameters(optional, "") == [*"cdefg"]
