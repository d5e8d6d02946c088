"""Which functions `fn` and the modules in it have: an operator each, some under old names too."""

from __future__ import annotations

from videoloader.fn.function import Function
from videoloader.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.operators.operator import OPERATORS

__all__ = ["HIDDEN", "public_functions", "public_modules"]


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
