"""Calls in a graph beside what DALI 2.4 gives for them on its CPU."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from call_cases import CASES, result

from videoloader.dali import fn, types
from videoloader.dali.pipeline import Pipeline

STORED = Path(__file__).parents[1] / "references" / "calls.npz"


@cache
def expected():
    found, at = {}, 0
    with np.load(STORED) as file:
        facts, data = json.loads(file["facts"].tobytes()), file["data"].tobytes()
    for case, outputs in facts.items():
        found[case] = outputs
        for _, _, samples in outputs or ():
            for number, (kind, shape) in enumerate(samples):
                count = int(np.prod(shape))
                samples[number] = np.frombuffer(data, kind, count, at).reshape(shape)
                at += count * np.dtype(kind).itemsize
    assert at == len(data)
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_call_gives_what_dali_gives(case):
    wanted, made = expected()[case], result(case, fn, types, Pipeline)
    if wanted is None:
        assert made is None
        return
    assert [output[:2] for output in made] == [tuple(output[:2]) for output in wanted]
    tolerance = 1 if wanted[0][0] == "UINT8" else 1e-4
    for (*_, samples), (*_, stored) in zip(made, wanted, strict=True):
        assert [sample.shape for sample in samples] == [sample.shape for sample in stored]
        for ours, theirs in zip(samples, stored, strict=True):
            assert np.allclose(ours.astype(float), theirs.astype(float), atol=tolerance)
