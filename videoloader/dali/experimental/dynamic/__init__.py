"""DALI's dynamic mode: operators as plain calls on `Tensor` and `Batch`, and readers to iterate.

::

    from videoloader.dali.experimental import dynamic as ndd

    reader = ndd.readers.File(file_root="pictures")
    for jpegs, labels in reader.next_epoch(batch_size=16):
        images = ndd.resize(ndd.decoders.image(jpegs), size=[224, 224])

Each operator of `videoloader.dali.fn` has its function here, under the same name, with
`batch_size=` and `rng=`; each reader a class in `readers`. They are the same operators: `fn` and
`ndd` give the same pixels. A call is evaluated before it returns.
"""

from __future__ import annotations

import re
from os import PathLike
from typing import Any

from videoloader.dali.experimental.dynamic import math, random, readers
from videoloader.dali.experimental.dynamic.calls import functions
from videoloader.dali.experimental.dynamic.context import (
    Device,
    EvalContext,
    EvalMode,
    device,
    get_num_threads,
    set_num_threads,
)
from videoloader.dali.experimental.dynamic.dtypes import (
    DataType,
    DType,
    ImageType,
    InterpType,
    bfloat16,
    bool,  # noqa: A004  DALI's name
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    type_id,
    uint8,
    uint16,
    uint32,
    uint64,
)
from videoloader.dali.experimental.dynamic.values import (
    Batch,
    Tensor,
    as_batch,
    as_tensor,
    batch,
    tensor,
)
from videoloader.dali.fn.names import make_module, public_modules
from videoloader.machinery.system.spelling import no_attribute

_ABSENT = {
    "ExternalSource": "call operators on what the Python code gives, or use fn.external_source",
    "Stream": "use torch.cuda.Stream",
    "ThreadPool": "use EvalContext(num_threads=...)",
    "capture": "a videoloader.dali.Pipeline runs operators ahead",
    "checkpoint": "a videoloader.dali.Pipeline has checkpoints; an RNG has get_state()",
    "compile": "a videoloader.dali.Pipeline runs operators ahead",
    "get_current_stream": "use torch.cuda.current_stream",
    "get_default_stream": "use torch.cuda.current_stream",
    "external_source": "call operators on what the Python code gives",
    "inputs": "use readers, or decoders on the data itself",
    "python_function": "call the function",
    "pytorch": "loop over next_epoch in an IterableDataset",
    "set_current_stream": "use torch.cuda.set_stream, or EvalContext(cuda_stream=...)",
    "set_default_stream": "use torch.cuda.set_stream, or EvalContext(cuda_stream=...)",
    "stream": "use torch.cuda.Stream",
}


def imread(filepaths: Any, **given: Any) -> Any:
    """Read and decode an image, or a batch of images if there is a list of files.

    Args:
        filepaths: a path or a list of paths.
        **given: arguments of `decoders.image`, such as `device`.

    >>> imread("photo.jpg").shape, imread(["photo.jpg", "photo.jpg"]).shape
    ((64, 96, 3), [(64, 96, 3), (64, 96, 3)])
    """
    is_one = isinstance(filepaths, str | PathLike)
    names = [str(each).encode() for each in ([filepaths] if is_one else filepaths)]
    paths = as_batch([list(name) for name in names], dtype=uint8)
    read = make_module(__name__, "io.file").read
    images = make_module(__name__, "decoders").image(read(paths), **given)
    return images.select(0) if is_one else images


_functions = functions("")
globals().update(_functions)
_modules = [name for name in public_modules() if name.rpartition(".")[2] != "inputs"]
for _name in _modules:
    vars(make_module(__name__, _name)).update({**functions(_name), **readers.reader_classes(_name)})

__all__ = [
    "Batch",
    "DType",
    "DataType",
    "Device",
    "EvalContext",
    "EvalMode",
    "ImageType",
    "InterpType",
    "Tensor",
    "as_batch",
    "as_tensor",
    "batch",
    "bfloat16",
    "bool",
    "device",
    "dtype",
    "float16",
    "float32",
    "float64",
    "get_num_threads",
    "imread",
    "int8",
    "int16",
    "int32",
    "int64",
    "math",
    "random",
    "readers",
    "set_num_threads",
    "tensor",
    "type_id",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += [*_functions, *{name.partition(".")[0] for name in _modules} - {*__all__}]
__all__.sort(key=lambda name: (not name[0].isupper(), re.sub(r"\b(\D+)(\d)$", r"\g<1>0\2", name)))


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise AttributeError(f"dynamic mode has no {name}: {_ABSENT[name]}")
    raise no_attribute(__name__, name, __all__)
