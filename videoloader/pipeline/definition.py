"""`pipeline_def`: from a function that calls operators to a factory of pipelines."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, overload

from videoloader.errors import ArgumentError
from videoloader.pipeline.graph import defining
from videoloader.pipeline.pipeline import PIPELINE_ARGUMENTS, Pipeline

__all__ = ["pipeline_def"]

Definition = Callable[..., Any]


@overload
def pipeline_def(definition: Definition) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    definition: None = None, **defaults: Any
) -> Callable[[Definition], Callable[..., Pipeline]]: ...


def pipeline_def(definition: Definition | None = None, **defaults: Any) -> Any:
    """Make a factory of pipelines from a function that defines one.

    The function calls operators and returns one data node or several. The factory takes the
    function's arguments and those of `Pipeline`, as keywords::

        @pipeline_def(num_threads=4)
        def clips(files):
            video = fn.readers.video(filenames=files, sequence_length=16)
            return fn.resize(video, size=224)

        pipe = clips(files, batch_size=8)

    Args:
        definition: the function.
        **defaults: arguments of `Pipeline`, used where the factory is not given others.
    """
    if definition is None:
        return functools.partial(_factory, defaults=defaults)
    return _factory(definition, defaults)


def _factory(definition: Definition, defaults: dict[str, Any]) -> Callable[..., Pipeline]:
    clashes = PIPELINE_ARGUMENTS & set(inspect.signature(definition).parameters)
    if clashes:
        raise ArgumentError(
            f"{definition.__name__} has arguments named as those of a pipeline: "
            f"{', '.join(sorted(clashes))}; rename them"
        )

    @functools.wraps(definition)
    def make(*args: Any, **keywords: Any) -> Pipeline:
        own = {name: value for name, value in keywords.items() if name not in PIPELINE_ARGUMENTS}
        given = {name: value for name, value in keywords.items() if name in PIPELINE_ARGUMENTS}
        pipe = Pipeline(**{**defaults, **given})
        with defining(pipe._graph):
            outputs = definition(*args, **own)
        outputs = () if outputs is None else outputs
        pipe.set_outputs(*(outputs if isinstance(outputs, tuple | list) else (outputs,)))
        return pipe

    return make
