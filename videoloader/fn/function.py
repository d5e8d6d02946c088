"""From a declared operator to a public function: eager on tensors, a node in a definition."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from videoloader.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from videoloader.operators.arguments import REQUIRED, Argument, PerFrame, PerSample
from videoloader.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.operators.batch import Batch, Context, SampleError
from videoloader.operators.constant import CONSTANT
from videoloader.operators.limits import LIMITS
from videoloader.operators.operator import FRAMES, OPERATORS, Input, Operator
from videoloader.pipeline.current import current_pipeline, is_defining
from videoloader.pipeline.graph import DataNode, Outputs, make_node
from videoloader.pipeline.promotion import promote
from videoloader.readers import media
from videoloader.readers.clip_decoding import decode_planned
from videoloader.sampling import generator
from videoloader.sampling.seeding import next_call
from videoloader.tensors import Tensor, TensorList
from videoloader.types import ArrayConstant, ScalarConstant

__all__ = [
    "HIDDEN",
    "Function",
    "documentation",
    "public_functions",
    "public_modules",
    "run_eagerly",
]

HIDDEN = (
    "merge",
    "not",
    "predicate",
    *(f"arithmetic_{count}" for count in ARITHMETIC),
    "_subscript_dim_check",
    "_tensor_subscript",
)
"""Operators without a public name: `[...]` and arithmetic of data nodes, and conditions on them."""

LEGACY = {
    "audio_decoder": "decoders.audio",
    "coin_flip": "random.coin_flip",
    "experimental.audio_resample": "audio_resample",
    "experimental.debayer": "debayer",
    "experimental.decoders.image": "decoders.image",
    "experimental.decoders.image_crop": "decoders.image_crop",
    "experimental.decoders.image_random_crop": "decoders.image_random_crop",
    "experimental.decoders.image_slice": "decoders.image_slice",
    "experimental.dilate": "dilate",
    "experimental.equalize": "equalize",
    "experimental.erode": "erode",
    "experimental.filter": "filter",
    "experimental.inflate": "decoders.inflate",
    "experimental.median_blur": "median_blur",
    "experimental.inputs.video": "inputs.video",
    "experimental.peek_image_shape": "peek_image_shape",
    "experimental.readers.video": "readers.video",
    "experimental.resize": "resize",
    "experimental.tensor_resize": "tensor_resize",
    "image_decoder": "decoders.image",
    "image_decoder_crop": "decoders.image_crop",
    "image_decoder_random_crop": "decoders.image_random_crop",
    "image_decoder_slice": "decoders.image_slice",
    "normal_distribution": "random.normal",
    "transform_translation": "transforms.translation",
    "uniform": "random.uniform",
    **{
        f"{kind}_reader": f"readers.{kind}"
        for kind in (
            *("caffe", "caffe2", "coco", "file", "mxnet", "nemo_asr", "numpy", "sequence"),
            *("tfrecord", "video"),
        )
    },
    "video_reader_resize": "readers.video_resize",
}
"""Other names that DALI keeps for old programs."""

_MOST_CHANNELS = 4  # of a picture whose layout is told by its shape


class Function:
    """A public operator: checks its arguments, then runs at once or becomes a node of a graph."""

    def __init__(self, name: str) -> None:
        self._operator = OPERATORS[name]
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = f"fn.{name}"
        self.__doc__ = documentation(self._operator)
        self.__signature__ = _signature(self._operator)

    @property
    def operator(self) -> Operator:
        """The declaration that it was made from."""
        return self._operator

    def device_for(self, device: str | None, inputs: tuple[Any, ...]) -> str:
        """Where it runs: as told, else where its data is."""
        return _device(self._operator, device, inputs)

    def __call__(
        self,
        *values: Any,
        device: str | None = None,
        name: str | None = None,
        layout: str | None = None,
        **given: Any,
    ) -> Any:
        """See the documentation of the operator."""
        operator = self._operator
        if any(map(_is_input_set, values)):
            if operator.has_effects:
                raise ArgumentTypeError(
                    f"fn.{operator.name}: calls of a Python function do not take sets of inputs"
                )
            common = {**given, "device": device, "layout": layout}
            return _each_input_set(self, values, name, common)
        inputs, positional = operator.split(values)
        twice = sorted(positional.keys() & given.keys())
        if twice:
            raise ArgumentError(f"fn.{operator.name}: {', '.join(twice)} was given twice")
        given = {**positional, **given}
        if layout is not None and operator.declares("layout"):
            given["layout"], layout = layout, None
        device = _device(operator, device, inputs)
        values = (*inputs, *given.values())
        has_nodes = any(isinstance(value, DataNode) for value in values)
        is_source = operator.kind == "source" or operator is CONSTANT
        if operator.parts is not None:
            return _add_parts(operator, device, name, given)
        if has_nodes or is_source or is_defining():
            if layout is not None:
                raise ArgumentError(
                    f"fn.{operator.name}: layout is for eager calls; in a pipeline data has its own"
                )
            return _add_node(operator, inputs, device, name, given)
        bound = operator.bind(given)
        return run_eagerly(operator, inputs, bound, device, layout)

    def __repr__(self) -> str:
        return f"<operator {self.__qualname__}>"


def public_functions(module: str) -> dict[str, Function]:
    """The functions of `fn`, or of a module in it, by name."""
    functions = {
        short: Function(name)
        for name in OPERATORS
        if name not in HIDDEN
        for place, _, short in [name.rpartition(".")]
        if place == module
    }
    for old, new in LEGACY.items():
        place, _, short = old.rpartition(".")
        if place == module and new in OPERATORS:
            functions[short] = Function(new)
    return functions


def public_modules() -> list[str]:
    """The modules inside `fn`, such as "readers"."""
    names = [old for old, new in LEGACY.items() if new in OPERATORS]
    names += [name for name in OPERATORS if name not in HIDDEN]
    return sorted({name.rpartition(".")[0] for name in names} - {""})


def _is_input_set(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(each, DataNode) for each in value)


def _each_input_set(
    function: Function, values: tuple[Any, ...], name: str | None, common: dict[str, Any]
) -> Any:
    """A node for each set of inputs, which lists of data nodes give; lists of their outputs."""
    counts = {len(value) for value in values if _is_input_set(value)}
    if len(counts) > 1:
        raise ArgumentError(
            f"{function.__qualname__}: lists of data nodes have different lengths: {sorted(counts)}"
        )
    (count,) = counts
    results = [
        function(
            *(value[number] if _is_input_set(value) else value for value in values),
            name=None if name is None else f"{name}_{number}",
            **common,
        )
        for number in range(count)
    ]
    if isinstance(results[0], list):
        return tuple(list(outputs) for outputs in zip(*results, strict=True))
    return results


def documentation(operator: Operator) -> str:
    """Docstring of an operator: what it does, and every argument."""
    lines = [inspect.cleandoc(operator.doc), ""]
    if operator.inputs:
        lines.append("Inputs:")
        for each in operator.inputs:
            notes = [f"({', '.join(each.layouts)})"] if each.layouts else []
            notes += ["(may be left out)"] if each.is_optional else []
            notes += ["(one or more)"] if each.is_repeated else []
            lines.append(" ".join([f"    {each.name}", *notes]))
        lines.append("")
    lines.append("Args:")
    lines += [_describe(argument) for argument in operator.arguments]
    lines.append(f"    device: {' or '.join(map(repr, operator.devices))}.")
    lines.append("    name: of the operator in its pipeline, for errors and `reader_meta`.")
    if operator.layouts:
        text = (
            "layout: of tensors in an eager call, such as FCHW; by default the one that fits "
            "their shape, if only one does (1 to 4 channels)."
        )
        lines.append(textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8))
    if operator.absent:
        lines += [
            "",
            textwrap.fill(f"Not supported yet: {', '.join(sorted(operator.absent))}.", 96),
        ]
    if operator.unused:
        lines += ["", textwrap.fill(f"Taken, no effect: {', '.join(sorted(operator.unused))}.", 96)]
    return "\n".join(lines)


def _describe(argument: Argument) -> str:
    facts = [argument.describe()]
    if argument.default is REQUIRED:
        facts.append("required")
    elif argument.default is not None:
        facts.append(f"default {argument.default!r}")
    if argument.per_sample:
        facts.append(f"may be per sample{' or frame' if argument.per_frame else ''}")
    text = f"{argument.name}: {argument.doc} ({'; '.join(facts)})."
    return textwrap.fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 8)


def _signature(operator: Operator) -> inspect.Signature:
    kinds = inspect.Parameter
    positional = [
        kinds(each.name, kinds.VAR_POSITIONAL)
        if each.is_repeated
        else kinds(
            each.name, kinds.POSITIONAL_ONLY, default=None if each.is_optional else kinds.empty
        )
        for each in operator.inputs
    ]
    keywords = [
        kinds(
            argument.name,
            kinds.POSITIONAL_OR_KEYWORD
            if argument.name in operator.positional
            else kinds.KEYWORD_ONLY,
            default=kinds.empty if argument.default is REQUIRED else argument.default,
        )
        for argument in operator.arguments
    ]
    names = ("device", "name", "layout") if operator.layouts else ("device", "name")
    common = [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in names]
    return inspect.Signature([*positional, *keywords, *common])


def _device(operator: Operator, device: str | None, inputs: tuple[Any, ...]) -> str:
    """Where an operator runs: as told, else where its data is."""
    on_gpu = any(getattr(data, "device", "cpu") == "gpu" for data in inputs)
    wanted = device or ("gpu" if on_gpu else "cpu")
    if wanted in operator.absent_devices:
        raise UnsupportedError(
            f"fn.{operator.name} does not run on the {wanted.upper()}: "
            f"{operator.absent_devices[wanted]}"
        )
    if device is not None:
        if device not in operator.devices:
            raise ArgumentError(
                f"fn.{operator.name}: device must be one of "
                f"{', '.join(map(repr, operator.devices))}, got {device!r}"
            )
        return device
    return "gpu" if on_gpu and "gpu" in operator.devices else operator.devices[0]


def _add_node(
    operator: Operator,
    inputs: tuple[Any, ...],
    device: str,
    name: str | None,
    given: Mapping[str, Any],
) -> Any:
    inputs = tuple(promote(data, f"fn.{operator.name}") for data in inputs)
    for data in inputs:
        if data.device == "gpu" and device != "gpu":
            raise ArgumentError(
                f"fn.{operator.name} on the CPU cannot take {data.name} from the GPU; "
                "use .cpu() first"
            )
    is_kept = given.get("preserve") or operator.has_effects
    given = {key: _argument(value) for key, value in given.items()}
    for key in operator.positional:  # as in DALI, these may be on the GPU beside data there
        if device == "gpu" and isinstance(given.get(key), DataNode):
            given[key] = given[key].cpu()
    varying = {key: value for key, value in given.items() if isinstance(value, DataNode)}
    fixed = {key: value for key, value in given.items() if key not in varying}
    constants = operator.bind(fixed, later=varying)
    declared = operator.inputs_for(len(inputs))
    for each, data in zip(declared, inputs, strict=True):
        if each.on_cpu and data.device != "cpu":
            raise ArgumentError(f"fn.{operator.name}: {each.name} comes from the CPU")
    if device == "gpu":
        inputs = tuple(
            data if each.on_cpu else data.gpu() for each, data in zip(declared, inputs, strict=True)
        )
    node = make_node(operator, inputs, constants, varying, device, name)
    outputs = node.outputs
    if is_kept:
        pipeline = current_pipeline()
        if pipeline is None:
            raise ArgumentError(
                f"fn.{operator.name} runs for its effects: call it in the definition of a pipeline"
            )
        pipeline.add_sink(node)
    if operator.output_names is not None:
        return dict(zip(operator.output_names(constants), outputs, strict=True))
    is_list = operator.kind == "source" and constants.get("num_outputs") is not None
    several = is_list or len(outputs) != 1
    return Outputs(outputs) if several else outputs[0]


def _add_parts(operator: Operator, device: str, name: str | None, given: Mapping[str, Any]) -> Any:
    """The nodes of two operators, the second on the first output of the first."""
    assert operator.parts is not None
    first, second = map(OPERATORS.__getitem__, operator.parts)
    operator.convert({k: v for k, v in given.items() if not isinstance(v, DataNode)})
    given = {key: value for key, value in given.items() if key not in operator.unused}
    later = {key: value for key, value in given.items() if second.declares(key)}
    given = {key: value for key, value in given.items() if key not in later}
    outputs = _add_node(first, (), device, name, given)
    if not isinstance(outputs, Outputs):
        return _add_node(second, (outputs,), device, None, later)
    return Outputs((_add_node(second, (outputs[0],), device, None, later), *outputs[1:]))


def _argument(value: Any) -> Any:
    """An argument of a node, constants as what they stand for."""
    if isinstance(value, ScalarConstant):
        return value.value
    return promote(value, "an argument") if isinstance(value, ArrayConstant) else value


def run_eagerly(
    operator: Operator,
    inputs: tuple[Any, ...],
    bound: dict[str, Any],
    device: str,
    layout: str | None = None,
) -> Any:
    """Run on one sample, or on batches, and give the same kind."""
    with_bytes = operator.kind == "map"  # a decoder of videos takes them as they are
    inputs = tuple(_tensors(data, with_bytes=with_bytes) for data in inputs)
    are_batches = [isinstance(data, TensorList | list | tuple) for data in inputs]
    if any(are_batches) and not all(are_batches):
        raise ArgumentError(f"fn.{operator.name}: its inputs must all be batches or all samples")
    if not any(are_batches):
        bound = {name: _of_one(operator, inputs, name, value) for name, value in bound.items()}
        declared = operator.inputs_for(len(inputs))
        each = zip(declared, inputs, strict=True)
        outputs = _run(
            operator, [_single(operator, own, data, layout) for own, data in each], bound, device
        )
        values = tuple(output[0] for output in outputs)
        return values if len(values) > 1 else values[0]
    lengths = {len(data) for data in inputs}
    lengths |= {len(value) for value in bound.values() if isinstance(value, PerSample)}
    if len(lengths) > 1:
        raise ArgumentError(
            f"fn.{operator.name}: inputs and per-sample arguments have different numbers of "
            f"samples: {sorted(lengths)}"
        )
    each = zip(operator.inputs_for(len(inputs)), inputs, strict=True)
    outputs = _run(
        operator, [_batch(operator, own, data, layout) for own, data in each], bound, device
    )
    lists = tuple(
        TensorList(
            output.samples if output.block is None else output.block,
            output.layout,
            source_info=output.source_info or None,
        )
        for output in outputs
    )
    return lists if len(lists) > 1 else lists[0]


def _tensors(data: Any, *, with_bytes: bool) -> Any:
    """Arrays and numbers as tensors, bytes too if asked for; what else is given as it is."""
    if isinstance(data, list | tuple):
        return [_tensors(sample, with_bytes=with_bytes) for sample in data]
    if with_bytes and isinstance(data, bytes | bytearray | memoryview):
        return torch.from_numpy(np.frombuffer(data, np.uint8).copy())
    if isinstance(data, np.ndarray | np.generic):
        return torch.from_numpy(np.array(data))
    if isinstance(data, int | float):  # of 32 bits, as in a graph
        kind = torch.float32 if isinstance(data, float) else torch.int32
        return torch.tensor(data, dtype=torch.bool if isinstance(data, bool) else kind)
    return data


def _of_one(operator: Operator, inputs: tuple[Any, ...], name: str, value: Any) -> Any:
    """An argument of an eager call on one sample: a list is for the frames of a clip."""
    if not isinstance(value, PerSample):
        return value
    is_clip = bool(inputs) and getattr(inputs[0], "ndim", 0) != len("HWC")
    if not operator.argument(name).per_frame or not is_clip:
        raise ArgumentError(f"fn.{operator.name}: a value per sample needs a TensorList")
    if any(isinstance(frame, PerFrame) for frame in value):
        raise ArgumentError(f"fn.{operator.name}: {name} is a list of lists, for one sample")
    return PerSample((PerFrame(value.values),))


def _single(operator: Operator, declared: Input, value: Any, layout: str | None) -> Batch:
    if isinstance(value, Tensor):
        layout = value.layout() or None if layout is None else layout
        value = value.tensor
    layout = _layout(operator, declared, value, layout)
    return Batch(value[None] if isinstance(value, torch.Tensor) else [value], layout)


def _batch(operator: Operator, declared: Input, data: Any, layout: str | None) -> Batch:
    """The samples of a batch, in one block if they are."""
    own = data.layout() if isinstance(data, TensorList) else ""
    if not own and len(data):
        own = _layout(operator, declared, data[0], layout)
    if not isinstance(data, TensorList):
        return Batch(data, own)
    info = data.source_info()
    return Batch(data.tensors if data.block is None else data.block, own, info if any(info) else ())


def _layout(operator: Operator, declared: Input, value: Any, given: str | None) -> str:
    """The layout of a tensor that does not carry one: as given, or the only one that fits."""
    takes_frames = _takes_frames(declared)
    if not takes_frames and any(map(_takes_frames, operator.inputs)):
        return ""  # a matrix or a map beside frames
    if not takes_frames or not isinstance(value, torch.Tensor) or value.ndim not in (3, 4):
        return given or ""
    if given is not None:
        if len(given) != value.ndim:
            raise ArgumentError(
                f"fn.{operator.name}: layout={given!r} does not fit shape {tuple(value.shape)}"
            )
        return given
    fitting = [
        layout
        for layout in FRAMES
        if len(layout) == value.ndim and 1 <= value.shape[layout.index("C")] <= _MOST_CHANNELS
    ]
    if operator.is_elementwise:
        return fitting[0] if fitting else ""
    if len(fitting) != 1:
        raise ArgumentError(
            f"fn.{operator.name}: a tensor of shape {tuple(value.shape)} may be "
            f"{' or '.join(fitting) or 'anything'}; say which with layout="
        )
    return fitting[0]


def _takes_frames(declared: Input) -> bool:
    return bool(declared.layouts) or declared.is_frames


def _run(
    operator: Operator, inputs: list[Batch], arguments: Mapping[str, Any], device: str
) -> tuple[Batch, ...]:
    if device != "cpu":
        media.check_gpu(f"fn.{operator.name} with device={device!r}")
    if operator.kind == "decode":
        return _decode(operator, inputs, arguments, device)
    place = "cpu"
    if inputs and len(inputs[0]):
        place = str(getattr(inputs[0][0], "device", "cpu"))
    if device == "mixed":
        place = "cuda"
    if device == "gpu" and not place.startswith("cuda"):
        place = "cuda"
        inputs = [
            batch if each.on_cpu else batch.each(lambda value: value.to("cuda"))
            for each, batch in zip(operator.inputs_for(len(inputs)), inputs, strict=True)
        ]
    count = len(inputs[0]) if inputs else 1
    given = dict(arguments)
    context = Context(count, place)
    if operator.draws:
        seed = given.pop("seed")
        if seed in (None, -1):
            worker = get_worker_info()
            context.random = next_call(None if worker is None else worker.seed)
        else:
            context.random = lambda position: generator(seed, sample=position)
    try:
        return operator.apply(context, inputs, given)
    except SampleError as error:
        raise error.error from error.error.__cause__


def _decode(
    operator: Operator, inputs: list[Batch], arguments: Mapping[str, Any], device: str
) -> tuple[Batch, ...]:
    """Decode the clips of all samples together."""
    each, clips = [], []
    for position, values in enumerate(zip(*inputs, strict=True)):
        given = {k: v[position] if isinstance(v, PerSample) else v for k, v in arguments.items()}
        own = {k: v for k, v in given.items() if k not in operator.decoding}
        each.append(given)
        clips.append(operator.run(*values, **own))
    limits = {name: arguments[name] for name in LIMITS}
    decoder = media.clip_decoder("cpu" if device == "cpu" else "cuda", **limits)
    try:
        decoded = decode_planned(clips, decoder, each)
    except SampleError as error:
        raise error.error from None
    others = [Batch(column) for column in zip(*decoded.others, strict=True)]
    return (Batch(decoded.frames, decoded.layout), *others)
