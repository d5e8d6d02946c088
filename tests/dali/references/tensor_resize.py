"""Writes tensor_resize.npz: what DALI 2.4 gives on its CPU.

PYTHONPATH=tests:tests/dali python tests/dali/references/tensor_resize.py  # nvidia-dali==2.4.0
"""

from pathlib import Path

import numpy as np

CASES = {
    "sizes": {"sizes": [5, 6]},
    "larger": {"sizes": [13, 21]},
    "scales": {"scales": [0.5, 0.33]},
    "ceil": {"scales": [0.5, 0.33], "size_rounding": "ceil"},
    "truncate": {"scales": [0.5, 0.33], "size_rounding": "truncate"},
    "begin": {"scales": [0.5, 0.33], "alignment": [0.0]},
    "end and begin": {"scales": [0.5, 0.33], "alignment": [1.0, 0.0]},
    "fitted": {"scales": [0.5, 0.33], "subpixel_scale": False},
    "first axis": {"sizes": [5], "axes": [0]},
    "last axis": {"sizes": [5], "axes": [-1]},
    "swapped axes": {"sizes": [4, 11], "axes": [1, 0]},
    "one missing": {"sizes": [0, 6]},
    "stretch": {"sizes": [0, 6], "mode": "stretch"},
    "not_larger": {"sizes": [5, 6], "mode": "not_larger"},
    "not_smaller": {"sizes": [14, 6], "mode": "not_smaller", "max_size": [12]},
    "mirrored": {"sizes": [-5, 6]},
    "fractions": {"sizes": [5.5, 6.5]},
    "roi": {"sizes": [5, 6], "roi_start": [1, 2], "roi_end": [6, 9]},
    "relative roi": {
        "sizes": [5, 6],
        "roi_start": [0.1, 0.2],
        "roi_end": [0.9, 0.8],
        "roi_relative": True,
    },
    "scaled roi": {"scales": [1.3, 0.7], "roi_start": [1, 2.5], "roi_end": [6, 9]},
    "no antialias": {"sizes": [3, 4], "antialias": False},
    "one for all": {"sizes": [5]},
    "1": {"sizes": [5]},
    "3": {"sizes": [3, 2, 9]},
    "4": {"sizes": [2, 3, 2, 9]},
    "two of 3": {"sizes": [2, 9], "axes": [1, 2]},
}


def array(case):
    """The tensor of a case: its name says of how many dimensions, 2 by default."""
    shape = {"1": (10,), "3": (3, 4, 5), "4": (2, 3, 4, 5), "two of 3": (3, 4, 5)}.get(
        case, (7, 10)
    )
    return (np.arange(np.prod(shape)) * 7 % 23).reshape(shape).astype(np.float32)


def main():
    from nvidia.dali import fn, pipeline_def

    stored = {}
    for case, arguments in CASES.items():

        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def pipeline(case=case, arguments=arguments):
            data = fn.external_source(source=lambda: [array(case)])
            return fn.tensor_resize(data, **arguments)

        made = pipeline()
        made.build()
        stored[case] = np.array(made.run()[0].at(0))
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **stored)


if __name__ == "__main__":
    main()
