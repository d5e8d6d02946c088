"""The map of the code and the recipes for additions name what is there."""

import ast
import re
from pathlib import Path

import pytest
from making import operators_page

ROOT = Path(__file__).parents[1]
MAP = ROOT / "docs" / "code.md"
PATH = r"[a-z_]\w*(?:[/-]\w+)*(?:/|\.(?:py|md|cu))"
PACKAGES = [path.relative_to(ROOT) for path in sorted((ROOT / "videoloader").rglob("__init__.py"))]
NAMED = re.compile(rf"`({PATH})`(?: \(?`([A-Za-z_][\w.]*)`)?")


def defined_in(path):
    """Names of the classes, methods, functions and constants of a module."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            names |= {f"{node.name}.{method.name}" for method in methods}
    return names


def missing(text, folder):
    """The named paths that are not below a folder, and names that their modules do not define."""
    wrong = []
    for path, name in NAMED.findall(text):
        found = next((at / path for at in (folder, ROOT) if (at / path).exists()), None)
        if found is None:
            wrong.append(path)
        elif name and name not in defined_in(found):
            wrong.append(f"{path} {name}")
    return wrong


def test_all_that_the_map_of_the_code_names_is_there():
    text = MAP.read_text()
    assert len(NAMED.findall(text)) > 50
    assert not missing(text, ROOT / "videoloader")


def test_all_that_the_recipes_for_additions_name_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    recipes = text[text.index("## To add something") : text.index("## What a change looks like")]
    assert len(NAMED.findall(recipes)) > 25
    assert not missing(recipes, ROOT / "videoloader")


def test_the_page_of_operators_links_to_code_that_names_them():
    sections = re.split(r"^## fn\.", operators_page.page(), flags=re.M)[1:]
    assert len(sections) > 100
    for section in sections:
        name, _, rest = section.partition("\n")
        link = re.search(r"Code: \[(.+)\]\(\.\./\.\./\1\)", rest)
        text = (ROOT / link[1]).read_text()
        assert f'"{name}"' in text or f'"{name.rpartition(".")[2]}"' in text, name


@pytest.mark.parametrize("start", PACKAGES, ids=str)
def test_all_that_a_package_names_in_its_first_lines_is_there(start):
    text = ast.get_docstring(ast.parse((ROOT / start).read_text()))
    assert not missing(text, (ROOT / start).parent)


@pytest.mark.parametrize("text", ["`decoding/nothing.py`", "`decoding/batch_decoder.py` `Nothing`"])
def test_what_is_not_there_is_noticed(text):
    assert missing(text, ROOT / "videoloader")
