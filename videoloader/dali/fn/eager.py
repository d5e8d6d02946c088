"""Operators run at once: on tensors and arrays of one sample, or on batches of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.color.color_matrix import COLOR_SPACE_CONVERSION
from videoloader.dali.operators.context import Context, Inferred, SampleError
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.limits import LIMITS
from videoloader.dali.operators.operator import Operator
from videoloader.dali.readers.video import media
from videoloader.dali.readers.video.clip_decoding import DecoderSetup, decode_planned
from videoloader.dali.readers.video.decoder import EXACT
from videoloader.dali.tensors import Tensor, TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.dali.types import ImageType
from videoloader.errors import ArgumentError
from videoloader.machinery.system.eager_calls import mark_drawn
from videoloader.machinery.system.faults import raise_too_large
from videoloader.sampling import generator
from videoloader.sampling.seeding import next_call

_MOST_CHANNELS = 4  # of a picture whose layout is told by its shape


def run_eagerly(
    operator: Operator,
    inputs: tuple[Any, ...],
    bound: Mapping[str, Any],
    device: str,
    layout: str | None = None,
    inferred: dict[int, Inferred] | None = None,
    count: int | None = None,
) -> Any:
    """Run on one sample, or on batches, and give the same kind.

    Args:
        operator: what is run.
        inputs: samples or batches.
        bound: the converted arguments.
        device: "cpu", "gpu" or "mixed".
        layout: of inputs that carry none.
        inferred: what is known from earlier calls with the same arguments; see `Context`.
        count: samples of the batch that a call without inputs makes; a sample without it.
    """
    with_bytes = operator.kind == "map"  # a decoder of videos takes them as they are
    inputs = tuple(_tensors(data, with_bytes=with_bytes) for data in inputs)
    are_batches = [isinstance(data, TensorList | list | tuple) for data in inputs]
    if any(are_batches) and not all(are_batches):
        raise ArgumentError(f"fn.{operator.name}: its inputs must all be batches or all samples")
    if not any(are_batches) and count is None:
        bound = {
            name: _of_one(operator, inputs, name, value) if isinstance(value, PerSample) else value
            for name, value in bound.items()
        }
        declared = operator.inputs_for(len(inputs))
        each = zip(declared, inputs, strict=True)
        batches = [_single(operator, own, data, layout) for own, data in each]
        outputs = _run(operator, batches, bound, device, inferred, 1)
        values = tuple([output[0] for output in outputs])
        return values if len(values) > 1 else values[0]
    lengths = {len(data) for data in inputs}
    lengths |= {len(value) for value in bound.values() if isinstance(value, PerSample)}
    lengths |= set() if count is None else {count}
    if len(lengths) > 1:
        raise ArgumentError(
            f"fn.{operator.name}: inputs and per-sample arguments have different numbers of "
            f"samples: {sorted(lengths)}"
        )
    each = zip(operator.inputs_for(len(inputs)), inputs, strict=True)
    batches = [_batch(operator, own, data, layout) for own, data in each]
    outputs = _run(operator, batches, bound, device, inferred, *lengths)
    lists = tuple(map(TensorList, outputs))
    return lists if len(lists) > 1 else lists[0]


def _tensors(data: Any, *, with_bytes: bool) -> Any:
    """Arrays and numbers as tensors, bytes too if asked for; other values unchanged."""
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


def _of_one(operator: Operator, inputs: tuple[Any, ...], name: str, value: PerSample) -> PerSample:
    """An argument of an eager call on one sample: a list is for the frames of a clip."""
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
    return Batch(data.batch.data, own, data.batch.source_info)


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
    operator: Operator,
    inputs: list[Batch],
    arguments: Mapping[str, Any],
    device: str,
    inferred: dict[int, Inferred] | None,
    count: int,
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
    given = dict(arguments)
    context = Context(count, place, inferred=inferred)
    if operator.draws:
        seed = given.pop("seed")
        if seed in (None, -1):
            worker = get_worker_info()
            context.random = next_call(None if worker is None else worker.seed)
        else:
            context.random = lambda at, into=None: generator(seed, sample=at, into=into)
    try:
        outputs = apply_operator(operator, context, inputs, given)
    except SampleError as error:
        raise_too_large(error.error, f"fn.{operator.name}")
        raise error.error from error.error.__cause__
    except Exception as error:
        raise_too_large(error, f"fn.{operator.name}")
        raise
    if operator.draws:
        _mark_drawn(operator, inputs, outputs)
    return outputs


def _mark_drawn(operator: Operator, inputs: Sequence[Batch], outputs: Sequence[Batch]) -> None:
    """Mark drawn outputs; one that shares the memory of an input was not drawn."""
    given = {tensor.data_ptr() for batch in inputs for tensor in batch.tensors()}
    for batch in outputs:
        for tensor in batch.tensors():
            if tensor.data_ptr() not in given:
                mark_drawn(tensor, operator.name)


def _decode(
    operator: Operator, inputs: list[Batch], arguments: Mapping[str, Any], device: str
) -> tuple[Batch, ...]:
    """Decode the clips of all samples together."""
    each, clips = [], []
    for position, values in enumerate(zip(*inputs, strict=True)):
        given = PerSample.at(position, arguments)
        if given.get("pad_mode", "") is None:
            given["pad_mode"] = EXACT  # a typing error is not to give black frames
        own = {k: v for k, v in given.items() if k not in operator.decoding}
        each.append(given)
        clips.append(operator.run(*values, **own))
    limits = {name: arguments[name] for name in LIMITS}
    decoder = media.clip_decoder("cpu" if device == "cpu" else "cuda", **limits)
    try:
        decoded = decode_planned(clips, DecoderSetup.of(decoder, arguments), each)
    except SampleError as error:
        raise error.error from None
    frames, *others = decoded.outputs
    frames = Batch(frames.data, frames.layout)
    color = arguments.get(operator.color, ImageType.RGB)
    if color is not ImageType.RGB:
        context = Context(len(frames), "cpu" if device == "cpu" else "cuda")
        types = {"image_type": ImageType.RGB, "output_type": color}
        (frames,) = apply_operator(COLOR_SPACE_CONVERSION, context, [frames], types)
    return (frames, *others)
