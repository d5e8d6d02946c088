"""The state of an iterator is checked when it is taken."""

import json

import numpy as np
import pytest

from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator
from videoloader.errors import ArgumentError

LENGTH = 7


def made(size=LENGTH, **options):
    @pipeline_def(batch_size=2, num_threads=1, seed=1, enable_checkpointing=True)
    def graph():
        return fn.external_source(lambda number: np.full((2, 1), number))

    return GenericIterator(graph(**options), ["x"], size=size)


@pytest.fixture(scope="module")
def state():
    with made() as batches:
        next(batches)
        return batches.state_dict()


def pipeline_text(state, **changes):
    return json.dumps({**json.loads(state["pipelines"][0]), **changes})


WRONG = {
    "nothing": lambda state: {},
    "no mapping": lambda state: [state],
    "text": lambda state: json.dumps(state),
    "without a name": lambda state: {k: v for k, v in state.items() if k != "taken"},
    "of a loader": lambda state: {"epoch": 1, "position": 2},
    "no pipelines": lambda state: {**state, "pipelines": []},
    "pipelines of none": lambda state: {**state, "pipelines": None},
    "a number for a pipeline": lambda state: {**state, "pipelines": [5]},
    "damaged pipeline": lambda state: {**state, "pipelines": ["{}"]},
    "pipeline cut off": lambda state: {**state, "pipelines": [state["pipelines"][0][:-3]]},
    "half a batch in a pipeline": lambda state: {
        **state,
        "pipelines": [pipeline_text(state, batches=1.5)],
    },
    "negative": lambda state: {**state, "taken": -1},
    "half": lambda state: {**state, "taken": 1.5},
    "behind the epoch": lambda state: {**state, "taken": 10**9},
    "none": lambda state: {**state, "taken": None},
    "truth by text": lambda state: {**state, "has_begun": "yes"},
    "short plan": lambda state: {**state, "plan": state["plan"][:3]},
    "plan of texts": lambda state: {**state, "plan": ["0"] * 5},
    "plan in disorder": lambda state: {**state, "plan": [0, 4, 3, 2, 1]},
    "other samples": lambda state: {**state, "samples": LENGTH + 1},
    "samples of half": lambda state: {**state, "samples": 6.5},
    "another seed": lambda state: {**state, "pipelines": [pipeline_text(state, seed=5)]},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_state_is_an_error_and_changes_nothing(name, state):
    with made() as batches:
        next(batches)
        next(batches)
        with pytest.raises(ArgumentError, match=r"state|checkpoint|seed"):
            batches.load_state_dict(WRONG[name](state))
        assert [int(batch["x"][0, 0]) for (batch,) in batches] == [2, 3]


def test_a_sound_state_is_taken(state):
    with made() as batches:
        batches.load_state_dict(json.loads(json.dumps(state)))
        assert [int(batch["x"][0, 0]) for (batch,) in batches] == [1, 2, 3]


DAMAGED = [[], "text", {}, {"taken": 1}, {"taken": -1}, {"plan": [0] * 4}, {"has_begun": 3}]


@pytest.mark.parametrize("damage", DAMAGED, ids=repr)
def test_checkpoints_with_a_damaged_place_are_an_error(damage):
    with made() as batches:
        next(batches)
        known = json.loads(batches.checkpoints()[0])
    is_part = isinstance(damage, dict) and len(damage) and damage != {"taken": 1}
    known["iterator"] = {**known["iterator"], **damage} if is_part else damage
    with pytest.raises(ArgumentError, match=r"state|checkpoint"):
        made(checkpoint=json.dumps(known).encode()).close()


def test_checkpoints_of_another_size_tell_where_the_pipeline_is():
    with made() as batches:
        next(batches)
        states = batches.checkpoints()
    with made(size=12, checkpoint=states[0]) as batches:
        assert [int(batch["x"][0, 0]) for (batch,) in batches] == [1, 2, 3, 4, 5]
