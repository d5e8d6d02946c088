"""Float arguments that stand for whole pixels or samples; see `references/rounding.py`.

VIDEOLOADER_ROUNDING names a larger file of the same kind, to be compared in its place.
"""

import importlib.util
import operator
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList

_PATH = Path(__file__).parents[1] / "references" / "rounding.py"
_SPEC = importlib.util.spec_from_file_location("rounding_references", _PATH)
references = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = references
_SPEC.loader.exec_module(references)


@pytest.fixture(scope="module")
def stored():
    with np.load(os.environ.get("VIDEOLOADER_ROUNDING", references.VALUES)) as file:
        return dict(file)


@pytest.fixture(scope="module")
def cases(stored):
    counts = {len(rows) for rows in stored.values()}
    return {case.name: case for case in references.cases(counts.pop())}


EVERY = 8  # samples that are called one by one are this far apart
NAMES = [case.name for case in references.cases(1)]
BY_OPERATORS = [name for name in NAMES if not name.startswith("readers.")]


def called(case, inputs, varying):
    """What our operator gives; arguments by position come first."""
    arguments = dict(case.arguments)
    if "dtype" in arguments:
        arguments["dtype"] = getattr(types, arguments["dtype"])
    data = [TensorList([torch.from_numpy(np.array(each)) for each in inputs], case.layout)]
    positional = [name for name in ("anchor", "shape_input") if case.operator == "slice"]
    data += [varying[name] for name in positional if name in varying]
    named = {key: value for key, value in varying.items() if key not in positional}
    made = operator.attrgetter(case.operator)(fn)(*data, **arguments, **named)
    return made[0] if isinstance(made, tuple) else made


def by_reader(case):
    arguments = dict(case.arguments)
    if "dtype" in arguments:
        arguments["dtype"] = getattr(types, arguments["dtype"])
    with tempfile.TemporaryDirectory() as folder:
        arguments |= references.stored(case, Path(folder))

        @pipeline_def(batch_size=len(case.inputs), num_threads=1, device_id=None)
        def pipeline():
            varying = {}
            if case.operator != "readers.nemo_asr":
                for name, values in case.varying.items():
                    arrays = [np.array(value, np.float32) for value in values]
                    varying[name] = fn.external_source(source=[arrays], cycle=True)
            return operator.attrgetter(case.operator)(fn)(**arguments, **varying)

        return list(pipeline().run()[0])


def tensors(values):
    whole = references.are_whole(values)
    dtype = torch.int32 if whole else torch.float32
    return TensorList([torch.tensor(value, dtype=dtype) for value in values])


def arguments_at(case, at):
    return {name: values[at] for name, values in case.varying.items()}


def check(case, made, rows):
    found = {at: references.summary(case, np.asarray(each)) for at, each in made.items()}
    wrong = [
        (arguments_at(case, at), rows[at].tolist(), own)
        for at, own in found.items()
        if rows[at].tolist() != own
    ]
    assert not wrong, f"{len(wrong)} of {len(found)}: (arguments, DALI, ours) {wrong[:3]}"


@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_samples_are_rounded_as_dali_rounds_them(stored, cases, name):
    case = cases[name]
    is_reader = case.operator.startswith("readers.")
    varying = {key: tensors(values) for key, values in case.varying.items()}
    made = by_reader(case) if is_reader else called(case, case.inputs, varying)
    check(case, dict(enumerate(made)), stored[name])


@pytest.mark.parametrize("name", BY_OPERATORS)
def test_plain_numbers_are_rounded_as_dali_rounds_them(stored, cases, name):
    case = cases[name]
    made = {
        at: called(case, [case.inputs[at]], arguments_at(case, at))[0]
        for at in range(0, len(case.inputs), EVERY)
    }
    check(case, made, stored[name])


def test_a_region_of_an_array_is_rounded_as_dali_rounds_it(stored, cases, tmp_path):
    """The regions of `readers.numpy` that are constants: files are read in part."""
    case = cases["readers.numpy"]
    made = {}
    for at in range(0, len(case.inputs), EVERY):
        np.save(tmp_path / f"{at}.npy", case.inputs[at])

        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def pipeline(at=at):
            files = [str(tmp_path / f"{at}.npy")]
            return fn.readers.numpy(files=files, **case.arguments, **arguments_at(case, at))

        made[at] = pipeline().run()[0][0]
    check(case, made, stored[case.name])


@pytest.mark.parametrize("name", ["times", "fps"])
def test_times_and_rates_of_videos_keep_their_precision(name):
    declared = {each.name: each for each in OPERATORS["decoders.video"].arguments}
    found = declared[name].convert(35996.4 + 1 / 3, "decoders.video")
    assert np.ravel(found).tolist() == [35996.4 + 1 / 3]
