"""The state that `BatchIterator.state_dict` gives, and its check."""

from __future__ import annotations

from collections.abc import Mapping

from videoloader.dali.pipeline.run.checkpoint import Checkpoint
from videoloader.errors import ArgumentError, ArgumentTypeError

PLAN = ("epoch", "first", "start", "stop", "end")
"""Fields of an `EpochPlan` in a state."""

_STATE = {
    "pipelines": "a list of texts",
    "taken": "a number of batches",
    "has_begun": "True or False",
    "has_stopped": "True or False",
    "plan": "None or five numbers in order",
    "samples": "None or a number",
    "has_reader": "True or False",
}
"""The items of `state_dict`."""


def check_state(state: object) -> None:
    """Raise an error that says why, if this is not the state of an iterator."""
    expected = "not what state_dict() of an iterator over pipelines gives"
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(f"the state is {expected}: it is a {type(state).__name__}")
    if missing := _STATE.keys() - state.keys():
        raise ArgumentError(f"the state is {expected}: it has no {', '.join(sorted(missing))}")
    pipelines, taken, plan = state["pipelines"], state["taken"], state["plan"]
    is_right = {name: isinstance(state[name], bool) for name in _STATE if name.startswith("has_")}
    is_right["taken"] = _is_count(taken)
    is_right["samples"] = state["samples"] is None or _is_count(state["samples"])
    is_right["pipelines"] = (
        isinstance(pipelines, list | tuple)
        and len(pipelines) > 0
        and all(isinstance(each, str | bytes) for each in pipelines)
    )
    is_right["plan"] = plan is None or (
        isinstance(plan, list | tuple) and len(plan) == len(PLAN) and all(map(_is_count, plan))
    )
    for name, is_so in is_right.items():
        if not is_so:
            raise ArgumentError(
                f"the state is {expected}: {name} is {_STATE[name]}, got {state[name]!r:.60}"
            )
    if plan is not None:
        _, first, start, stop, end = plan
        if not (first <= min(start, stop, taken) and max(start, stop, taken) <= end):
            raise ArgumentError(
                f"the state is {expected}: {taken} batches are taken in an epoch of batches "
                f"{first} to {end}, which goes on with {start} and stops at {stop}"
            )
    for each in pipelines:
        Checkpoint.read(each)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
