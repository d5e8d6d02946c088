"""Functions that Numba compiles."""

import numpy as np
import pytest

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import OperatorError, UnsupportedError

pytestmark = pytest.mark.usefixtures("no_threads_left")

IMAGES = [np.arange(24, dtype=np.uint8).reshape(2, 4, 3) + at for at in range(3)]


def pipe_of(run, **arguments):
    given = {
        "out_types": [types.UINT8],
        "in_types": [types.UINT8],
        "outs_ndim": [3],
        "ins_ndim": [3],
        **arguments,
    }

    @pipeline_def(batch_size=3)
    def definition():
        return fn.numba_function(fn.external_source(lambda: IMAGES), run_fn=run, **given)

    return definition()


def invert(out, image):
    out[:] = 255 - image


def invert_batch(outs, images):
    for out, image in zip(outs, images):  # noqa: B905  (Numba has no strict)
        out[:] = 255 - image


def transposed(outs, images):
    for out, image in zip(outs[0], images[0], strict=True):
        out[0], out[1], out[2] = image[1], image[0], image[2]


def transpose(out, image):
    for row in range(image.shape[0]):
        for column in range(image.shape[1]):
            out[column, row] = image[row, column] * 2.0


@pytest.fixture
def numba():
    return pytest.importorskip("numba")


@pytest.mark.parametrize(("run", "by_batch"), [(invert, False), (invert_batch, True)])
@pytest.mark.usefixtures("numba")
def test_a_function_fills_its_outputs(run, by_batch):
    with pipe_of(run, batch_processing=by_batch) as pipe:
        assert pipe.run()[0].as_array().tolist() == [(255 - image).tolist() for image in IMAGES]


@pytest.mark.usefixtures("numba")
def test_another_function_says_the_shapes():
    with pipe_of(transpose, setup_fn=transposed, out_types=[types.FLOAT]) as pipe:
        (out,) = pipe.run()
    assert out.dtype is types.FLOAT
    assert out.as_array().tolist() == [(image.swapaxes(0, 1) * 2.0).tolist() for image in IMAGES]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"in_types": [types.FLOAT]}, "3 dimensions and type FLOAT, got 3 and UINT8"),
        ({"ins_ndim": [2]}, "expected an input of 2 dimensions"),
        ({"outs_ndim": [2]}, "without setup_fn"),
    ],
)
def test_inputs_are_checked(arguments, message):
    with pipe_of(invert, **arguments) as pipe, pytest.raises(OperatorError, match=message):
        pipe.run()


def test_without_numba_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    with pipe_of(lambda out, image: None) as pipe, pytest.raises(OperatorError) as told:
        pipe.run()
    assert isinstance(told.value.__cause__, UnsupportedError)
    assert "videoloader[numba]" in str(told.value)
