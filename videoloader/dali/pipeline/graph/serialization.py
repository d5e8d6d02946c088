"""A graph as a file: JSON text of operators, arguments and how they hang together.

The format, `version` 1::

    {"format": "videoloader pipeline", "version": 1,
     "pipeline": {"batch_size": 8, "seed": 42, ...},
     "nodes": [{"operator": "readers.video", "name": "Reader", "device": "cpu",
                "arguments": {...}, "inputs": [[node, output], ...],
                "varying": {"angle": [node, output]}}, ...],
     "outputs": [[node, output], ...],
     "kept": [node, ...]}

A node that runs in a branch of a condition has `"branch": [[node, output], true]`: the predicate,
and what it is for the samples of the branch. Data that is taken for the samples of a branch is
[node, output, branch], and so is a predicate in an outer branch.

Nodes are numbered by their place in the list, which is the order in which they were made: inputs
come before their users. URLs have neither user, password nor query: these may be secret, and are
in no file. `varying` are the arguments that other nodes give; `kept` are nodes that
run though no output needs them. Numbers, texts, true, false and null stand for themselves; all
other values are objects with one key that names their kind, see `encode`. Python code is no value:
what holds any is refused.

A file is input like any other: what is wrong in it is an `ArgumentError`. It says which files and
URLs a pipeline opens. What writes files is only taken from it if the user says so.
"""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import torch

import videoloader.dali.readers.all_readers  # noqa: F401  (importing this declares the readers)
from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.operator import OPERATORS, Operator
from videoloader.dali.pipeline.graph.graph import Graph, reached
from videoloader.dali.pipeline.graph.nodes import Branch, DataNode, Node, add_node, inside
from videoloader.dali.types import DataType, ImageType, InterpType
from videoloader.errors import ArgumentError, UnsupportedError, VideoError
from videoloader.machinery.system.address import is_url, public

_FORMAT, _VERSION = "videoloader pipeline", 1
_DAMAGE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,  # of lists in lists, and of branches in branches
)
_DEVICES = ("cpu", "gpu", "mixed")
_ENUMS = {kind.__name__: kind for kind in (DataType, ImageType, InterpType)}


class _NoValueError(Exception):
    """A value that no file can hold."""


def write_graph(graph: Graph, pipeline: Mapping[str, Any]) -> bytes:
    """A graph and the arguments of its pipeline as text.

    Raises:
        UnsupportedError: an argument holds Python code; it names the operator and the argument.
    """
    places = {node: number for number, node in enumerate(graph.nodes)}

    def place(data: DataNode) -> list[Any]:
        inner = [] if data.branch is None else [place_of_branch(data.branch)]
        return [places[data.node], data.output, *inner]

    def place_of_branch(branch: Branch) -> list[Any]:
        return [place(branch.predicate), branch.outcome]

    outputs = [data.node for data in graph.outputs]
    inner = reached(outputs)
    ends = {data.node for node in graph.nodes for data in node.sources}
    text = {
        "format": _FORMAT,
        "version": _VERSION,
        "pipeline": {name: encode(value) for name, value in pipeline.items()},
        "nodes": [
            {
                "operator": node.operator.name,
                "name": node.name if node.is_named else None,
                "device": node.device,
                "arguments": _arguments(node),
                "inputs": [place(data) for data in node.inputs],
                "varying": {name: place(data) for name, data in node.varying.items()},
                **({} if node.branch is None else {"branch": place_of_branch(node.branch)}),
            }
            for node in graph.nodes
        ],
        "outputs": [place(data) for data in graph.outputs],
        "kept": [places[node] for node in graph.nodes if node not in inner and node not in ends],
    }
    return json.dumps(text, allow_nan=False).encode()


def _arguments(node: Node) -> dict[str, Any]:
    found = {}
    for name, value in node.constants.items():
        declared = node.operator.argument(name)
        if value is declared.default:
            continue  # what is given counts as chosen: some arguments exclude each other
        try:
            found[name] = encode(value)
        except _NoValueError as error:
            advice = (
                "; leave source out and feed the pipeline by name, with feed_input"
                if node.operator.name == "external_source"
                else ""
            )
            raise UnsupportedError(
                f"{node.describe()} cannot be written to a file: its {name} is Python code or an "
                f"object of this program ({error}){advice}"
            ) from None
    return found


def read_graph(text: str | bytes, *, trusted: bool) -> tuple[dict[str, Any], Callable[[], Any]]:
    """Read the text of `write_graph`.

    Args:
        text: as written.
        trusted: take operators and arguments too that write files; otherwise they are
            errors. Those of the pipeline itself are the caller's to refuse.

    Returns:
        The arguments of the pipeline; and a function that makes the nodes anew and gives the data
        nodes of the outputs, and the nodes that are kept.
    """
    try:
        content = json.loads(text)
        if content["format"] != _FORMAT:
            raise ValueError("another format")
        version = content["version"]
        pipeline = {name: decode(value) for name, value in content["pipeline"].items()}
        nodes, outputs, kept = content["nodes"], content["outputs"], content["kept"]
    except _DAMAGE as error:
        raise ArgumentError(
            f"this is no pipeline that Pipeline.serialize() wrote: {repr(text)[:60]}"
        ) from error
    if version != _VERSION:
        raise ArgumentError(f"a serialized pipeline of version {version}, this library reads 1")

    def define() -> tuple[list[DataNode], list[Node]]:
        made: list[tuple[DataNode, ...]] = []
        try:
            for each in nodes:
                made.append(_made(each, made, trusted=trusted))
            return [_data(place, made) for place in outputs], [
                made[number][0].node for number in kept
            ]
        except VideoError:
            raise
        except _DAMAGE as error:
            raise ArgumentError(
                f"node {len(made)} of a serialized pipeline is damaged: {error!r}"
            ) from error

    return pipeline, define


def refuse_untrusted(what: str) -> NoReturn:
    """Fail: a text that the user does not say to trust writes files."""
    raise UnsupportedError(
        f"the serialized pipeline writes files: {what}; pass trusted=True if you trust those who "
        "wrote it"
    )


def _check_writes_nothing(operator: Operator, constants: Mapping[str, Any]) -> None:
    if operator.has_effects:
        refuse_untrusted(f"fn.{operator.name}")
    for argument in operator.arguments:
        value = constants.get(argument.name)
        if argument.writes and value not in (None, argument.default):
            refuse_untrusted(f"fn.{operator.name} with {argument.name}={value!r}")


def _made(
    node: Mapping[str, Any], made: Sequence[tuple[DataNode, ...]], *, trusted: bool
) -> tuple[DataNode, ...]:
    if node["operator"] not in OPERATORS:
        raise ArgumentError(
            f"a serialized pipeline has the operator fn.{node['operator']}, which is not there"
        )
    operator, name, device = OPERATORS[node["operator"]], node["name"], node["device"]
    if not isinstance(name, str | None):
        raise TypeError(f"its name is {name!r}")
    if device not in _DEVICES:
        raise ValueError(f"its device is {device!r}, not one of {', '.join(_DEVICES)}")
    given = {name: decode(value) for name, value in node["arguments"].items()}
    varying = {name: _data(place, made) for name, place in node["varying"].items()}
    constants = operator.bind(given, later=varying)
    if not trusted:
        _check_writes_nothing(operator, constants)
    inputs = tuple(_data(place, made) for place in node["inputs"])
    with inside(_branch(node.get("branch"), made)):
        return add_node(operator, inputs, constants, varying, device, name)


def _data(place: Sequence[Any], made: Sequence[tuple[DataNode, ...]]) -> DataNode:
    number, output, *inner = place
    if not 0 <= number < len(made):
        raise IndexError(f"it takes node {number}")
    (branch,) = inner or (None,)
    data: DataNode = made[number][output]
    return data if branch is None else data.within(_branch(branch, made))


def _branch(place: Sequence[Any] | None, made: Sequence[tuple[DataNode, ...]]) -> Branch | None:
    if place is None:
        return None
    predicate, outcome = place
    return Branch(_data(predicate, made), bool(outcome))


_SECRETS = frozenset("@?#")
"""Characters of a URL in front of or behind which passwords and signatures stand."""


def encode(value: Any) -> Any:
    """A value as JSON has it; URLs without user, password, query and fragment.

    >>> encode([1, 2.5, None, "a"]), encode(float("inf")), encode(torch.uint8)
    ({'list': [1, 2.5, None, 'a']}, {'float': 'inf'}, {'type': 'uint8'})
    """
    match value:
        case DataType() | ImageType() | InterpType():
            return {"enum": [type(value).__name__, value.name]}
        case None | bool() | int():
            return value
        case str():
            has_secrets = is_url(value) and not _SECRETS.isdisjoint(value)
            return public(value) if has_secrets else value
        case float():
            return value if math.isfinite(value) else {"float": str(value)}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case os.PathLike():
            return encode(os.fspath(value))
        case torch.dtype():
            return {"type": str(value).removeprefix("torch.")}
        case PerSample():
            return {"samples": [encode(item) for item in value.values]}
        case PerFrame():
            return {"frames": [encode(item) for item in value.values]}
        case tuple():
            return {"tuple": [encode(item) for item in value]}
        case list():
            return {"list": [encode(item) for item in value]}
        case Mapping():
            return {"map": [[encode(key), encode(item)] for key, item in value.items()]}
        case slice():
            return {"slice": [encode(each) for each in (value.start, value.stop, value.step)]}
        case np.generic():
            return encode(value.item())
        case np.ndarray() | torch.Tensor():
            return _encode_array(value)
    if value is Ellipsis:
        return {"ellipsis": True}
    raise _NoValueError(type(value).__name__)


def _encode_array(value: np.ndarray[Any, Any] | torch.Tensor) -> Any:
    array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
    if array.dtype.hasobject:
        raise _NoValueError("an array of objects")
    kind = "tensor" if isinstance(value, torch.Tensor) else "array"
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {kind: [array.dtype.str, list(array.shape), content]}


def decode(value: Any) -> Any:
    """The value that `encode` made this of; lists, and values for samples and frames, as lists."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "enum":
            name, member = content
            return _ENUMS[name][member]
        case "float":
            return float(content)
        case "bytes":
            return base64.b64decode(content)
        case "type":
            found = getattr(torch, content)
            if not isinstance(found, torch.dtype):
                raise ValueError(f"{content} is no element type")
            return found
        case "samples" | "frames" | "list":
            return [decode(item) for item in content]
        case "tuple":
            return tuple(decode(item) for item in content)
        case "map":
            return {decode(key): decode(item) for key, item in content}
        case "slice":
            return slice(*map(decode, content))
        case "array" | "tensor":
            dtype, shape, data = content
            array = np.frombuffer(base64.b64decode(data), np.dtype(dtype)).reshape(shape).copy()
            return torch.from_numpy(array) if kind == "tensor" else array
        case "ellipsis":
            return Ellipsis
    raise ValueError(f"a serialized pipeline has a value of an unknown kind, {kind}")
