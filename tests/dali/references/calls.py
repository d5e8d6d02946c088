"""Writes `calls.npz`: what DALI 2.4.0 gives for `tests/dali/call_cases.py` on its CPU.

Run it where DALI is installed: `python tests/dali/references/calls.py`.
"""

import json
import sys
from pathlib import Path

import numpy as np
from nvidia.dali import Pipeline, fn, types

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from call_cases import CASES, result  # noqa: E402

facts, data = {}, b""
for case in CASES:
    outputs = result(case, fn, types, Pipeline)
    facts[case] = outputs and [
        (dtype, layout, [(sample.dtype.str, sample.shape) for sample in samples])
        for dtype, layout, samples in outputs
    ]
    for _, _, samples in outputs or ():
        data += b"".join(sample.tobytes() for sample in samples)
text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
np.savez_compressed(FOLDER / "calls.npz", facts=text, data=np.frombuffer(data, np.uint8))
