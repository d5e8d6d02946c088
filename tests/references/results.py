"""Writes color.npz and filters.npz: what DALI 2.4 gives on its CPU for the cases beside.

PYTHONPATH=tests python tests/references/results.py    # nvidia-dali-cuda130==2.4.0
"""

from pathlib import Path

import color_cases
import filter_cases
import numpy as np
from nvidia.dali import fn, pipeline_def, types

NAMES = {
    "float32": types.FLOAT,
    "uint8": types.UINT8,
    "int16": types.INT16,
    **{name: getattr(types, name) for name in ("RGB", "BGR", "GRAY", "YCbCr")},
}


def result(cases, name, kinds, arguments):
    given = {k: NAMES.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}

    def source(kind):
        array, layout = cases.inputs()[kind]
        return fn.external_source(source=lambda: [array], batch=True, layout=layout)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return getattr(fn, name)(*map(source, kinds), **given)

    running = pipeline()
    running.build()
    return np.array(running.run()[0][0])


for cases, name in ((color_cases, "color"), (filter_cases, "filters")):
    made = [result(cases, *case) for case in cases.CASES]
    np.savez_compressed(
        Path(__file__).with_name(f"{name}.npz"),
        packed=np.concatenate([each.reshape(-1).view(np.uint8) for each in made]),
        shapes=np.array([list(each.shape) + [0] * (4 - each.ndim) for each in made], np.int16),
        dtypes=np.array([each.dtype.str for each in made]),
    )
