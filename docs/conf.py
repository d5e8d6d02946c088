"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # programs of the gallery are small

from making import source_pages

import videoloader

project = "videoloader"
author = "The videoloader maintainers"
release = version = videoloader.__version__
project_copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "making.command_page",
    "making.diagrams",
    "making.links",
    "making.operator_gallery",
    "making.operators_page",
    "making.signatures",
    "making.source_pages",
]
nitpicky = True
smartquotes = False  # pages have "" and -- of programs

# Pages
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# Reference
default_role = "py:obj"
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autosummary_generate = False  # the index of the reference has a line for each name
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Frames", "VideoSource")}
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
# Words in single backticks link to the object of that name, where there is one; `seed` has several.
nitpick_ignore_regex = [("py:.*", ".*")]
suppress_warnings = ["ref.python"]
linkcode_resolve = source_pages.address_of_object

# Learn
sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "samples" / "learn"),
    "gallery_dirs": "learn",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "making.lessons.place",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "copyfile_regex": r"",
    "min_reported_time": 5,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "backreferences_dir": None,
    "plot_gallery": "True",
}

# Look
html_theme = "pydata_sphinx_theme"
html_title = "videoloader"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "videoloader"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "show_toc_level": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}


def name_aliases(*event: Any) -> tuple[str | None, str | None]:
    """Write `ArrayLike`, not `TypeAliasForwardRef('ArrayLike')`, as Sphinx does in unions."""
    *_, arguments, result = event
    arguments, result = (
        each and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", each)
        for each in (arguments, result)
    )
    return arguments, result


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", name_aliases)
