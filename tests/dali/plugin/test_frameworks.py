"""What an iterator says where its framework is not installed; see `test_jax.py` and the others."""

import importlib
import sys

import pytest
from iterated import TEN, ending

from videoloader.errors import UnsupportedError

MAKERS = {
    "jax": ("videoloader.dali.plugin.jax", "GenericIterator", (["x"],)),
    "paddle": ("videoloader.dali.plugin.paddle", "GenericIterator", (["x"],)),
    "tensorflow": ("videoloader.dali.plugin.tf", "DALIDataset", ()),
}


@pytest.mark.parametrize("package", MAKERS)
def test_a_framework_that_is_missing_is_named_with_the_way_to_install_it(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    module, name, arguments = MAKERS[package]
    make = getattr(importlib.import_module(module), name)
    with ending(*TEN) as pipe, pytest.raises(UnsupportedError, match=f"pip install {package}"):
        make(pipe, *arguments)
