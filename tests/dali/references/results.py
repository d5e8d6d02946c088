"""Writes audio, color, filters and warps.npz: what DALI 2.4 gives on its CPU for the cases.

PYTHONPATH=tests:tests/dali python tests/dali/references/results.py [NAME...]  # DALI 2.4.0
"""

import operator
import sys
from pathlib import Path

import audio_cases
import color_cases
import filter_cases
import numpy as np
import warp_cases
from nvidia.dali import fn, pipeline_def, types

NAMES = {
    "float32": types.FLOAT,
    "uint8": types.UINT8,
    "int16": types.INT16,
    "int8": types.INT8,
    "int32": types.INT32,
    "uint16": types.UINT16,
    **{name: getattr(types, name) for name in ("RGB", "BGR", "GRAY", "YCbCr")},
    **{name: getattr(types, name) for name in ("INTERP_NN", "INTERP_LINEAR", "INTERP_CUBIC")},
}


def result(cases, name, kinds, arguments):
    given = {k: NAMES.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}

    def source(kind):
        array, layout = cases.inputs()[kind]
        return fn.external_source(source=lambda: [array], batch=True, layout=layout)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        made = operator.attrgetter(name)(fn)(*map(source, kinds), **given)
        return tuple(made) if isinstance(made, list) else made

    running = pipeline()
    running.build()
    outputs = [np.array(output.at(0)) for output in running.run()]
    return outputs[0] if len(outputs) == 1 else np.stack(outputs)


ALL = {"audio": audio_cases, "color": color_cases, "filters": filter_cases, "warps": warp_cases}

for name in sys.argv[1:] or ALL:
    cases = ALL[name]
    made = [result(cases, *case) for case in cases.CASES]
    np.savez_compressed(
        Path(__file__).with_name(f"{name}.npz"),
        packed=np.concatenate([each.reshape(-1).view(np.uint8) for each in made]),
        shapes=np.array([list(each.shape) + [0] * (4 - each.ndim) for each in made], np.int16),
        dtypes=np.array([each.dtype.str for each in made]),
    )
