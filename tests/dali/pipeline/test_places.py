"""Where errors and nodes say that they come from: the user's own code, and no line of ours."""

import re

import numpy as np
import pytest

from videoloader.dali import fn, pipeline_def
from videoloader.errors import OperatorError


@pipeline_def(batch_size=1, num_threads=1)
def small_crop():
    frames = fn.external_source(lambda info: np.zeros((2, 2, 3), np.uint8), batch=False)
    return fn.crop(frames, crop=(5, 5))


def test_an_error_of_an_operator_names_the_line_of_the_definition_only():
    with small_crop() as pipe, pytest.raises(OperatorError) as failed:
        pipe.run()
    assert set(re.findall(r"(\w+\.py):\d+", str(failed.value))) == {"test_places.py"}


def test_a_node_names_the_line_of_the_definition():
    pipe = small_crop()
    assert {node.where.partition(":")[0] for node in pipe._graph.nodes} == {"test_places.py"}
