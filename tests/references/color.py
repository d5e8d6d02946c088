"""Writes color.npz: what DALI 2.4 gives for the cases of `color_cases.py` on its CPU.

PYTHONPATH=tests python tests/references/color.py    # nvidia-dali-cuda130==2.4.0
"""

from pathlib import Path

import numpy as np
from color_cases import CASES, inputs
from nvidia.dali import fn, pipeline_def, types

NAMES = {
    "float32": types.FLOAT,
    "uint8": types.UINT8,
    "int16": types.INT16,
    **{name: getattr(types, name) for name in ("RGB", "BGR", "GRAY", "YCbCr")},
}


def result(name, kind, arguments):
    array, layout = inputs()[kind]
    given = {k: NAMES.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        data = fn.external_source(source=lambda: [array], batch=True, layout=layout)
        return getattr(fn, name)(data, **given)

    running = pipeline()
    running.build()
    return np.array(running.run()[0][0])


made = [result(*case) for case in CASES]
packed = np.concatenate([each.reshape(-1).view(np.uint8) for each in made])
np.savez_compressed(
    Path(__file__).with_name("color.npz"),
    packed=packed,
    shapes=np.array([list(each.shape) + [0] * (4 - each.ndim) for each in made], np.int16),
    dtypes=np.array([each.dtype.str for each in made]),
)
