"""General operators beside stored results of DALI 2.4: shapes, types, layouts, values, errors."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from general_cases import CASES, DTYPES

from videoloader.dali import Pipeline, fn, types
from videoloader.errors import VideoError

REFERENCES = Path(__file__).parents[1] / "references" / "general.npz"


def stored():
    """DALI's results by case: the name of an error, or type, layout and samples of each output."""
    with np.load(REFERENCES) as file:
        facts, data = json.loads(bytes(file["facts"])), bytes(file["data"])
    results, at = {}, 0
    for name, outputs in facts.items():
        if isinstance(outputs, str):
            results[name] = outputs
            continue
        results[name] = []
        for kind, layout, shapes in outputs:
            samples = []
            for shape in shapes:
                size = int(np.prod(shape)) * DTYPES[kind].itemsize
                samples.append(np.frombuffer(data[at : at + size], DTYPES[kind]).reshape(shape))
                at += size
            results[name].append((kind, layout, samples))
    assert at == len(data)
    return results


STORED = stored()


def run(case):
    """Our results of a case, in the form of the stored ones."""
    count = []

    def source(samples, layout=None):
        count.append(len(samples))
        return fn.external_source(lambda: [np.asarray(each) for each in samples], layout=layout)

    with Pipeline(batch_size=3, num_threads=1), contextlib.suppress(VideoError):
        case(fn, types, source)  # tells the number of samples
    with Pipeline(batch_size=(count or [3])[0], num_threads=2, seed=1) as pipe:
        outputs = case(fn, types, source)
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        pipe.set_outputs(*outputs)
    with pipe:
        return [
            (str(out.dtype).rpartition(".")[2], out.layout(), [np.asarray(each) for each in out])
            for out in pipe.run()
        ]


@pytest.mark.filterwarnings("ignore:fn.shapes is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
def test_an_operator_does_what_dali_does(name):
    expected = STORED[name]
    if isinstance(expected, str):
        with pytest.raises(VideoError):
            run(CASES[name])
        return
    results = run(CASES[name])
    assert [(kind, layout) for kind, layout, _ in results] == [
        (kind, layout) for kind, layout, _ in expected
    ]
    for (_, _, samples), (_, _, wanted) in zip(results, expected, strict=True):
        assert [each.shape for each in samples] == [each.shape for each in wanted]
        for sample, other in zip(samples, wanted, strict=True):
            if other.dtype.kind == "f":
                np.testing.assert_allclose(sample, other, rtol=2e-6, atol=1e-5)
            else:
                np.testing.assert_array_equal(sample, other)
