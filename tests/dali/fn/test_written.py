"""Files made from the declarations: stubs, and the comparison with DALI's operators."""

import ast
import importlib
from pathlib import Path

import pytest
from making import written
from making.stubs import stubs

TEXTS = written.written()
STUBS = stubs()


def test_there_is_a_stub_for_each_module_and_no_other():
    """If this fails: `make written`."""
    assert written.present() == set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_written_file_is_up_to_date(name):
    """If this fails: `make written`."""
    assert (written.ROOT / name).read_text(encoding="utf-8") == TEXTS[name]


@pytest.mark.parametrize("name", sorted(name for name in STUBS if name.startswith("fn/")))
def test_a_stub_has_every_public_name_with_its_arguments(name):
    if name == "fn/_annotations.pyi":  # types alone
        return
    path = [part for part in Path(name).with_suffix("").parts if part != "__init__"]
    module = importlib.import_module(".".join(["videoloader.dali", *path]))
    tree = ast.parse(STUBS[name])
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    imported = {
        alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(module.__all__) <= set(functions) | imported
    for name, function in functions.items():
        arguments = function.args
        given = [*arguments.posonlyargs, *filter(None, [arguments.vararg])]
        inputs = [argument.arg for argument in given]
        names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)]
        parameters = getattr(module, name).__signature__.parameters
        assert (inputs + names)[: len(parameters)] == list(parameters)
        first = getattr(module, name).__doc__.partition("\n\n")[0]
        assert ast.get_docstring(function) == " ".join(first.split())
