"""DALI's programming model on video: `nvidia.dali` with one word changed.

>>> from videoloader.dali import fn, pipeline_def, types

Start at `pipeline/pipeline.py` (`Pipeline`) and `fn/`, the operators under DALI's names.
`operators/` has what they do to batches, `readers/` what gives batches, `plugin/` iterators for
training frameworks. `ops/`, `auto_aug/`, `experimental/`, `types/`, `math.py`, `tfrecord.py`,
`backend.py` and `tools/` are where programs for DALI import them from. What this package takes from
the rest of the library is listed by the packages that it takes it from.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from videoloader.dali import (
        auto_aug,
        backend,
        experimental,
        fn,
        math,
        ops,
        pipeline,
        plugin,
        tensors,
        tfrecord,
        types,
    )
    from videoloader.dali.pipeline import (
        OperatorConcurrency,
        Pipeline,
        StreamPolicy,
        newaxis,
        pipeline_def,
    )
    from videoloader.dali.tensors import TensorList
    from videoloader.machinery.system.eager_calls import eager
    from videoloader.sampling.seeding import seed

__all__ = [
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "TensorList",
    "auto_aug",
    "backend",
    "eager",
    "experimental",
    "fn",
    "math",
    "newaxis",
    "ops",
    "pipeline",
    "pipeline_def",
    "plugin",
    "seed",
    "tensors",
    "tfrecord",
    "types",
]

# Imported on first use, like the names of `videoloader`: a worker process that needs one reader
# imports neither torch nor all operators. Names that are not here are modules of this package.
_LAZY = {
    "OperatorConcurrency": "videoloader.dali.pipeline",
    "Pipeline": "videoloader.dali.pipeline",
    "StreamPolicy": "videoloader.dali.pipeline",
    "TensorList": "videoloader.dali.tensors",
    "eager": "videoloader.machinery.system.eager_calls",
    "newaxis": "videoloader.dali.pipeline",
    "pipeline_def": "videoloader.dali.pipeline",
    "seed": "videoloader.sampling.seeding",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        from videoloader.machinery.system.spelling import no_attribute

        raise no_attribute(__name__, name, __all__)
    if name not in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
