"""The class of a declared operator: arguments when it is made, inputs when it is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from videoloader.dali.fn.function import Function
from videoloader.dali.fn.names import public_functions
from videoloader.dali.operators.operator import Operator
from videoloader.dali.pipeline.graph.nodes import DataNode
from videoloader.errors import ArgumentError

_SPELLED = {
    "bbox": "BBox",
    "coco": "COCO",
    "dl": "DL",
    "mfcc": "MFCC",
    "mxnet": "MXNet",
    "rms": "RMS",
    "roi": "ROI",
    "ssd": "SSD",
    "tfrecord": "TFRecord",
}


class OperatorObject:
    """An operator with arguments; calling it with inputs runs it, or makes a node of a graph.

    One object may be called several times. Arguments that may be per sample can be given in the
    call instead, as values or as data nodes.
    """

    _function: ClassVar[Function]

    def __init__(self, *values: Any, **given: Any) -> None:
        operator = self._function.operator
        if len(values) > len(operator.positional):
            raise ArgumentError(
                f"{self} takes its inputs where it is called, not where it is made; "
                f"{len(values)} values were given"
            )
        given = operator.current(given | dict(zip(operator.positional, values, strict=False)))
        self._given = {name: value for name, value in given.items() if value is not None}
        own = {name: v for name, v in self._given.items() if name not in ("device", "name")}
        later = {name for name, value in own.items() if isinstance(value, DataNode)}
        operator.check_varying(later)
        operator.convert({name: value for name, value in own.items() if name not in later})
        self._function.device_for(self._given.get("device"), ())

    @property
    def device(self) -> str:
        """Where it runs: "cpu", "gpu" or "mixed"."""
        return self._function.device_for(self._given.get("device"), ())

    @property
    def name(self) -> str | None:
        """The name that was given to it."""
        return self._given.get("name")

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        """Run on inputs, or make a node; see the documentation of the class."""
        current = self._function.operator.current(arguments)
        arguments = {name: value for name, value in current.items() if value is not None}
        twice = sorted(arguments.keys() & self._given.keys())
        if twice:
            raise ArgumentError(f"{self}: {', '.join(twice)} was given when the object was made")
        return self._function.call(*inputs, **self._given, **arguments)

    def __repr__(self) -> str:
        module = type(self).__module__.removeprefix("videoloader.dali.")
        return f"<operator {module}.{type(self).__name__}>"


class Compose:
    """Operators in a row: the outputs of each are the inputs of the next.

    Inputs on the CPU are copied to the GPU in front of operators with device="gpu".

    Args:
        op_list: objects of `videoloader.dali.ops`, in the order in which they run.

    Example::

        augment = ops.Compose([ops.Resize(resize_shorter=256), ops.Flip(horizontal=1)])
        images = augment(images)
    """

    def __init__(self, op_list: Sequence[OperatorObject | Compose]) -> None:
        if not op_list:
            raise ArgumentError("ops.Compose needs at least one operator")
        self._operators: list[OperatorObject] = []
        for each in op_list:
            if isinstance(each, Compose):
                self._operators += each._operators
            elif isinstance(each, OperatorObject):
                self._operators.append(each)
            else:
                raise ArgumentError(
                    f"ops.Compose takes objects of videoloader.dali.ops, got {type(each).__name__}"
                )

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        """Run all of them; `arguments` go to the first."""
        outputs: Any = inputs
        for each in self._operators:
            if each.device == "gpu":
                outputs = tuple(
                    data.gpu() if isinstance(data, DataNode) else data for data in outputs
                )
            result = each(*outputs, **arguments)
            outputs, arguments = result if isinstance(result, list | tuple) else (result,), {}
        return outputs if len(outputs) > 1 else outputs[0]


def class_name(name: str) -> str:
    """The name of the class for a function, as DALI spells it.

    >>> class_name("crop_mirror_normalize"), class_name("bbox_paste"), class_name("rms")
    ('CropMirrorNormalize', 'BBoxPaste', 'RMS')
    """
    return "".join(_SPELLED.get(word, word.capitalize()) for word in name.split("_"))


def public_classes(module: str) -> dict[str, type[OperatorObject]]:
    """The classes of `ops`, or of a module in it, by name."""
    place = f"ops.{module}" if module else "ops"
    return {
        class_name(name): _class(class_name(name), place, function)
        for name, function in public_functions(module).items()
    }


def _class(name: str, place: str, function: Function) -> type[OperatorObject]:
    members: Mapping[str, Any] = {
        "_function": function,
        "__doc__": function.__doc__,
        "__module__": f"videoloader.dali.{place}",
        "__signature__": _signature(function.operator),
    }
    return type(name, (OperatorObject,), dict(members))


def _signature(operator: Operator) -> inspect.Signature:
    """The signature of the constructor; arguments required there may be given in the call."""
    kinds = inspect.Parameter
    names = [*(argument.name for argument in operator.shown), "device", "name"]
    first = [kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None) for name in operator.positional]
    others = [name for name in names if name not in operator.positional]
    return inspect.Signature(
        [*first, *(kinds(name, kinds.KEYWORD_ONLY, default=None) for name in others)]
    )
