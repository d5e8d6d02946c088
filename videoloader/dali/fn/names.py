"""The public functions of `fn` and its modules, under current and deprecated names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from videoloader.dali.fn.function import Function
from videoloader.dali.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.dali.operators.operator import OPERATORS
from videoloader.machinery.system.spelling import no_attribute

__all__ = ["HIDDEN", "namespace", "public_functions", "public_modules"]


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
    """What to use in place of a deprecated name; empty for others."""
    return f"fn.{RENAMED[name]}" if name in RENAMED else REPLACED.get(name, "")


def public_modules() -> list[str]:
    """The modules inside `fn`, such as "readers"."""
    names = [*ALIASES, *RENAMED, *(name for name in OPERATORS if name not in HIDDEN)]
    return sorted({name.rpartition(".")[0] for name in names} - {""})


def namespace(
    module: str, members: Callable[[str], Mapping[str, Any]], *others: str
) -> dict[str, Any]:
    """What a module of operators consists of: its members, `__all__`, and help with misspellings.

    Args:
        module: its `__name__`, such as "videoloader.dali.fn.readers".
        members: gives the functions or classes of a module below `fn` or `ops`, by name.
        *others: public names that it has besides.
    """
    place = module.split(".")[3:]
    found = members(".".join(place))
    paths = [name.split(".") for name in public_modules()]
    modules = {path[len(place)] for path in paths if path[: len(place)] == place != path}
    names = [*{*found, *modules, *others}]
    names.sort(key=lambda name: (not name.isupper(), not name[0].isupper(), name))

    def suggest(name: str) -> Any:
        raise no_attribute(module, name, names)

    return {**found, "__all__": names, "__getattr__": suggest}
