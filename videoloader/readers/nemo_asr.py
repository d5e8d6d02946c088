"""`fn.readers.nemo_asr`: declared by name; sound is not decoded yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from videoloader.errors import UnsupportedError
from videoloader.operators.arguments import BOOL, DTYPE, FLOAT, REQUIRED, Argument
from videoloader.operators.operator import SourceContext, declare
from videoloader.readers.files import TEXTS
from videoloader.readers.stored_samples import ORDER, ORDER_UNUSED, SampleReader

__all__ = ["read_nemo_asr"]


def _num_outputs(arguments: Mapping[str, Any]) -> int:
    return 1 + sum(bool(arguments[name]) for name in ("read_sample_rate", "read_text", "read_idxs"))


@declare(
    "readers.nemo_asr",
    kind="source",
    devices=("cpu",),
    num_outputs=_num_outputs,
    arguments=(
        Argument("manifest_filepaths", TEXTS, REQUIRED, "manifests"),
        Argument("read_sample_rate", BOOL, default=True, doc="an output of sample rates"),
        Argument("read_text", BOOL, default=True, doc="an output of texts"),
        Argument("read_idxs", BOOL, default=False, doc="an output of positions in the manifest"),
        Argument("dtype", DTYPE, torch.float32, "element type of the sound"),
        Argument("downmix", BOOL, default=True, doc="mix channels down to one"),
        Argument("sample_rate", FLOAT, -1.0, "to resample to"),
        Argument("quality", FLOAT, 50.0, "of resampling"),
        Argument("min_duration", FLOAT, 0.0, "leave out shorter sounds, in seconds"),
        Argument("max_duration", FLOAT, 0.0, "leave out longer ones, if above 0"),
        *ORDER,
    ),
    unused=(*ORDER_UNUSED, "normalize_text"),
)
def read_nemo_asr(context: SourceContext, **arguments: Any) -> SampleReader:
    """Not supported yet: it raises `UnsupportedError` when a pipeline with it is built."""
    raise UnsupportedError(
        f"fn.readers.nemo_asr ({context.name}) is not supported yet: sound is not decoded; read "
        f"the manifests {', '.join(arguments['manifest_filepaths'])} in fn.external_source"
    )
