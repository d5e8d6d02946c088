"""The public functions of `fn` and its modules, under current and deprecated names."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from videoloader.dali.fn.function import Function
from videoloader.dali.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.dali.operators.operator import OPERATORS
from videoloader.machinery.system.spelling import no_attribute

HIDDEN = (
    "merge",
    "not",
    "predicate",
    *(f"arithmetic_{count}" for count in ARITHMETIC),
    "_subscript_dim_check",
    "_tensor_subscript",
)
"""Operators without a public name: `[...]` and arithmetic of data nodes, and conditions on them."""

ALIASES = {
    "experimental.dilate": "dilate",
    "experimental.erode": "erode",
    "experimental.inputs.video": "inputs.video",
    "experimental.median_blur": "median_blur",
    "experimental.readers.video": "readers.video",
    "experimental.resize": "resize",
}
"""The names that DALI has for operators which are not experimental here."""

RENAMED = {
    "audio_decoder": "decoders.audio",
    "coin_flip": "random.coin_flip",
    "experimental.audio_resample": "audio_resample",
    "experimental.debayer": "debayer",
    "experimental.decoders.image": "decoders.image",
    "experimental.decoders.image_crop": "decoders.image_crop",
    "experimental.decoders.image_random_crop": "decoders.image_random_crop",
    "experimental.decoders.image_slice": "decoders.image_slice",
    "experimental.decoders.video": "decoders.video",
    "experimental.equalize": "equalize",
    "experimental.filter": "filter",
    "experimental.inflate": "decoders.inflate",
    "experimental.peek_image_shape": "peek_image_shape",
    "experimental.tensor_resize": "tensor_resize",
    "fast_resize_crop_mirror": "resize_crop_mirror",
    "image_decoder": "decoders.image",
    "image_decoder_crop": "decoders.image_crop",
    "image_decoder_random_crop": "decoders.image_random_crop",
    "image_decoder_slice": "decoders.image_slice",
    "normal_distribution": "random.normal",
    "ssd_random_crop": "random_bbox_crop",
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
"""Deprecated names in DALI, and the operators to use instead. Some are operators of their own."""

REPLACED = {
    "readers.sequence": "fn.readers.video on video files, or fn.external_source",
    "shapes": "DataNode.shape",
}
"""Operators that DALI deprecates without another name for them, and what to use instead."""


_MODULES = {
    "decoders": "Decoders: from the bytes of a file, or its path, to frames.",
    "experimental": "Operators under the names that they had in DALI while they were experimental.",
    "experimental.decoders": "Decoders of images under their experimental names.",
    "experimental.inputs": "`inputs` under its experimental name.",
    "experimental.readers": "`readers.video` under its experimental name.",
    "inputs": "Inputs: sources that are fed with whole files.",
    "io": "Input and output of files.",
    "io.file": "Files whose paths are data.",
    "noise": "Noise: what a camera or a bad channel adds to pictures, and to any other data.",
    "random": "Random numbers, one draw a sample.",
    "readers": "Readers: sources that go through a set of files epoch after epoch.",
    "reductions": "Sums, means, deviations and extremes along dimensions of samples.",
    "segmentation": "Objects and polygons of segmentation masks.",
    "transforms": "Affine transforms of points, as matrices.",
}
"""The documentation of the modules of `fn`, `ops` and dynamic mode."""


def public_functions(module: str) -> dict[str, Function]:
    """The functions of `fn`, or of a module in it, by name."""
    operators = {name: name for name in OPERATORS if name not in HIDDEN}
    operators = {**ALIASES, **RENAMED, **operators}
    return {
        name.rpartition(".")[2]: Function(operator, name, _instead(name))
        for name, operator in operators.items()
        if name.rpartition(".")[0] == module
    }


def _instead(name: str) -> str:
    """The replacement of a deprecated name; empty for others."""
    return f"fn.{RENAMED[name]}" if name in RENAMED else REPLACED.get(name, "")


def public_modules() -> list[str]:
    """The modules inside `fn`, such as "readers"."""
    names = [*ALIASES, *RENAMED, *(name for name in OPERATORS if name not in HIDDEN)]
    return sorted({name.rpartition(".")[0] for name in names} - {""})


def make_module(package: str, name: str) -> types.ModuleType:
    """The module of a name in a package; where no file has it, a made one.

    A made module is imported as one with a file would be.

    Args:
        package: `fn`, `ops` or dynamic mode, by its `__name__`; it is being imported.
        name: below the package, such as "io.file".
    """
    dotted = f"{package}.{name}"
    if dotted not in sys.modules:
        parent, _, short = name.rpartition(".")
        made = types.ModuleType(dotted, _MODULES[name])
        made.__path__ = []  # it may have modules inside
        setattr(make_module(package, parent) if parent else sys.modules[package], short, made)
        sys.modules[dotted] = made
    return sys.modules[dotted]


def populate(package: str, members: Callable[[str], Mapping[str, Any]], *others: str) -> None:
    """Put the operators into `fn` or `ops`, and into modules that are made there.

    Args:
        package: its `__name__`; it is being imported.
        members: gives the functions or classes of a module of it, by name.
        *others: public names that the package has besides.
    """
    names = {*public_modules(), *(name.partition(".")[0] for name in public_modules())}
    for name in ("", *names):
        module = make_module(package, name) if name else sys.modules[package]
        inside = {each.rpartition(".")[2] for each in names if each.rpartition(".")[0] == name}
        found = members(name)
        listed = [*{*found, *inside, *(() if name else others)}]
        listed.sort(key=lambda each: (not each.isupper(), not each[0].isupper(), each))
        suggest = partial(_suggest, module.__name__, listed)
        vars(module).update({**found, "__all__": listed, "__getattr__": suggest})


def _suggest(module: str, names: Sequence[str], name: str) -> Any:
    raise no_attribute(module, name, names)
