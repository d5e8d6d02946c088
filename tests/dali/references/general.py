"""Writes `general.npz`: what DALI 2.4.0 gives for `tests/dali/general_cases.py` on its CPU.

Run it where DALI is installed: `python tests/dali/references/general.py`.
"""

import json
import sys
from pathlib import Path

import numpy as np
from nvidia.dali import Pipeline, fn, types

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from general_cases import CASES  # noqa: E402


def run(case):
    """Results of a case, as dtype, layout and samples of each output."""
    count = [3]

    def source(samples, layout=None):
        count[0] = len(samples)
        return fn.external_source(lambda: [np.asarray(each) for each in samples], layout=layout)

    with Pipeline(batch_size=1, num_threads=1, device_id=None):
        case(fn, types, source)  # tells the number of samples
    pipe = Pipeline(batch_size=count[0], num_threads=1, device_id=None)
    with pipe:
        outputs = case(fn, types, source)
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        pipe.set_outputs(*outputs)
    pipe.build()
    return [
        (str(out.dtype).rpartition(".")[2], out.layout(), [np.array(each) for each in out])
        for out in pipe.run()
    ]


def main():
    """Run every case."""
    facts, data = {}, b""
    for name, case in CASES.items():
        try:
            outputs = run(case)
        except Exception as error:  # noqa: BLE001
            facts[name] = type(error).__name__
            continue
        facts[name] = [
            (dtype, layout, [sample.shape for sample in samples])
            for dtype, layout, samples in outputs
        ]
        data += b"".join(sample.tobytes() for _, _, samples in outputs for sample in samples)
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez_compressed(FOLDER / "general.npz", facts=text, data=np.frombuffer(data, np.uint8))


if __name__ == "__main__":
    main()
