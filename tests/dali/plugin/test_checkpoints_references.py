"""Iterators and their checkpoints beside DALI 2.4; see `references/iterator_checkpoints.py`."""

import importlib.util
import itertools
import json
import warnings
from pathlib import Path

import pytest

from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy

_PATH = Path(__file__).parents[1] / "references" / "iterator_checkpoints.py"
_SPEC = importlib.util.spec_from_file_location("checkpoints_references", _PATH)
references = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(references)

LIBRARY = fn, pipeline_def, GenericIterator, LastBatchPolicy
STORED = json.loads(_PATH.with_suffix(".json").read_text())
GROUPS = [
    (given, list(group)) for given, group in itertools.groupby(STORED, key=lambda each: each[0])
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("files")
    references.write_files(made)
    return made


@pytest.mark.parametrize(("given", "group"), GROUPS, ids=lambda each: str(each)[:120])
def test_restored_iterators_give_what_those_of_dali_give(folder, given, group):
    for _, before, after, begun, rest in group:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "reset.. before the end")
            found = references.run(LIBRARY, folder, given, before, after)
        calls = before, after
        assert found[0] == begun, calls
        assert found[1] == rest, calls
        assert found[2] == rest, calls
