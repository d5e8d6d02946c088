"""Stores what DALI's `fn.clahe` makes of small pictures on its CPU, in clahe.npz.

python tests/dali/references/clahe.py    # needs nvidia-dali
"""

from pathlib import Path

import numpy as np

CASES = {
    "luma": {"tiles_x": 4, "tiles_y": 4, "clip_limit": 2.0},
    "uneven": {"tiles_x": 3, "tiles_y": 5, "clip_limit": 1.5},
    "high": {"tiles_x": 2, "tiles_y": 3, "clip_limit": 40.0},
    "each": {"tiles_x": 8, "tiles_y": 8, "clip_limit": 3.0, "luma_only": False},
}


def pictures():
    """Grey and RGB pictures with smooth parts and some noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:19, 0:23]
    smooth = np.stack([x * 7, y * 8, (x + y) * 5 % 200], axis=-1)
    noisy = (smooth + rng.integers(0, 12, smooth.shape)).astype(np.uint8)
    return {"grey": noisy[..., :1].copy(), "rgb": noisy}


def main():
    from nvidia.dali import fn, pipeline_def

    stored = {}
    for name, picture in pictures().items():
        for case, arguments in CASES.items():

            @pipeline_def(batch_size=1, num_threads=1, device_id=None)
            def pipeline(picture=picture, arguments=arguments):
                data = fn.external_source(source=lambda: [picture], layout="HWC")
                return fn.clahe(data, **arguments)

            made = pipeline()
            made.build()
            stored[f"{name} {case}"] = np.array(made.run()[0].at(0))
    np.savez_compressed(Path(__file__).with_suffix(".npz"), **stored)


if __name__ == "__main__":
    main()
