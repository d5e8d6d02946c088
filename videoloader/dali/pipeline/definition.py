"""`pipeline_def`: from a function that calls operators to a factory of pipelines."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, overload

from videoloader.dali.pipeline.conditionals import NOT_A_DEFINITION, converted
from videoloader.dali.pipeline.graph.current import pop_current, push_current
from videoloader.dali.pipeline.graph.nodes import inside
from videoloader.dali.pipeline.graph.promotion import returned
from videoloader.dali.pipeline.options import check_names
from videoloader.dali.pipeline.pipeline import PIPELINE_ARGUMENTS, Pipeline
from videoloader.errors import ArgumentError, ArgumentTypeError

Definition = Callable[..., Any]


@overload
def pipeline_def(definition: Definition) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    definition: None = None, **defaults: Any
) -> Callable[[Definition], Callable[..., Pipeline]]: ...


def pipeline_def(definition: Definition | None = None, **defaults: Any) -> Any:
    """Make a factory of pipelines from a function that defines one.

    The function calls operators and returns an output or a tuple of them: data nodes or constants.
    The factory takes the function's arguments, and those of `Pipeline` as keywords; a keyword that
    both have is the function's::

        @pipeline_def(num_threads=4)
        def clips(files):
            video = fn.readers.video(filenames=files, sequence_length=16)
            return fn.resize(video, size=224)

        pipe = clips(files, batch_size=8)

    Args:
        definition: the function.
        **defaults: arguments of `Pipeline`, used where the factory is not given others.

    >>> from videoloader.dali import fn
    >>> @pipeline_def(batch_size=2, num_threads=1)
    ... def clips():
    ...     video = fn.readers.video(filenames=["clip.mp4"], sequence_length=16)
    ...     return fn.resize(video, size=(32, 48))
    >>> (frames,) = clips().run()
    >>> frames.as_tensor().shape()
    [2, 16, 32, 48, 3]
    """
    if definition is None:
        return functools.partial(_factory, defaults=defaults)
    return _factory(definition, defaults)


def _factory(definition: Definition, defaults: dict[str, Any]) -> Callable[..., Pipeline]:
    if getattr(definition, "_is_unconverted", False):
        raise ArgumentError(NOT_A_DEFINITION)
    parameters = inspect.signature(definition).parameters.values()
    own = {parameter.name for parameter in parameters}
    variadic = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]

    @functools.wraps(definition)
    def make(*args: Any, **keywords: Any) -> Pipeline:
        if variadic:
            raise ArgumentTypeError(
                f"**{variadic[0]} of {definition.__name__} is not allowed: it would take arguments "
                "of the pipeline for its own; name the arguments that it needs"
            )
        name = getattr(definition, "__name__", "the definition")  # a partial has none
        check_names(f"{name}()", keywords, [*own, *PIPELINE_ARGUMENTS])
        passed = {name: value for name, value in keywords.items() if name in own}
        given = {name: value for name, value in keywords.items() if name not in own}
        arguments = {**defaults, **given}
        function = converted(definition) if arguments.get("enable_conditionals") else definition
        if arguments.pop("debug", False):
            return Pipeline._in_debug_mode(
                functools.partial(function, *args, **passed), **arguments
            )
        pipe = Pipeline(**arguments)
        push_current(pipe)
        try:
            with inside(None):
                outputs = function(*args, **passed)
        finally:
            pop_current()
        pipe.set_outputs(*returned(outputs))
        return pipe

    make._is_pipeline_def = True  # type: ignore[attr-defined]
    return make
