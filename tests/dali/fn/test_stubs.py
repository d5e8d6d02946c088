"""What editors and type checkers see of `fn`: the stubs written from the declarations."""

import ast
import importlib
from pathlib import Path

import pytest

from videoloader.dali import fn
from videoloader.dali.fn.stubs import stubs

FOLDER = Path(fn.__file__).parent


def test_the_stubs_are_up_to_date():
    """If this fails: `python -m videoloader.dali.fn.stubs`."""
    written = {
        path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8")
        for path in FOLDER.rglob("*.pyi")
    }
    assert written == stubs()


@pytest.mark.parametrize("name", sorted(stubs()))
def test_a_stub_has_every_public_name_with_its_arguments(name):
    path = [part for part in name.removesuffix(".pyi").split("/") if part != "__init__"]
    module = importlib.import_module(".".join([fn.__name__, *path]))
    tree = ast.parse(stubs()[name])
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
