"""Writes sound.npz: what DALI 2.4 decodes on its CPU from the files of sound_cases.

PYTHONPATH=tests:tests/dali python tests/dali/references/sound.py    # nvidia-dali-cuda130==2.4.0
"""

from pathlib import Path

import numpy as np
import sound_cases
from nvidia.dali import fn, pipeline_def, types

TYPES = {"float32": types.FLOAT, "int16": types.INT16, "int32": types.INT32}


def decoded(name, arguments):
    data = np.frombuffer(sound_cases.files()[name], np.uint8)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        given = arguments | ({"dtype": TYPES[arguments["dtype"]]} if "dtype" in arguments else {})
        return tuple(
            fn.decoders.audio(fn.external_source(source=lambda: [data], batch=True), **given)
        )

    running = pipeline()
    running.build()
    return [np.array(output.at(0)) for output in running.run()]


made = [array for case in sound_cases.CASES for array in decoded(*case)]
np.savez_compressed(
    Path(__file__).with_name("sound.npz"),
    packed=np.concatenate([each.reshape(-1).view(np.uint8) for each in made]),
    shapes=np.array([list(each.shape) + [0] * (4 - each.ndim) for each in made], np.int16),
    dtypes=np.array([each.dtype.str for each in made]),
)
