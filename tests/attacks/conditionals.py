"""Random definitions with conditions, each compared sample by sample with itself on plain numbers.

python tests/attacks/conditionals.py [SECONDS]
"""

import itertools
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "dali"))

from random_programs import random_program

from videoloader.dali import fn
from videoloader.dali.pipeline.experimental import pipeline_def

INPUTS = ((1, -3), (-2, 9), (3, -20))  # scale and shift of sample numbers


def numbers(scale, shift):
    return fn.external_source(lambda info: np.int32(info.idx_in_epoch * scale + shift), batch=False)


def check(seed):
    """Run one program on batches of some size, in one mode and with some threads."""
    program, source = random_program(seed)
    batch_size, num_threads, debug = seed % 9 + 1, seed % 4 + 1, seed % 5 == 0

    @pipeline_def(enable_conditionals=True, debug=debug)
    def definition():
        return program(*(numbers(*each) for each in INPUTS))

    with definition(batch_size=batch_size, num_threads=num_threads, seed=seed) as pipe:
        pipe.build()
        found = [list(zip(*pipe.run(), strict=True)) for _ in range(2)]
    for sample, outputs in enumerate(itertools.chain(*found)):
        values = [np.int32(sample * scale + shift) for scale, shift in INPUTS]
        expected = [int(each) for each in program(*values)]
        assert [int(each) for each in outputs] == expected, (
            f"seed {seed}, sample {sample}\n{source}"
        )


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    end, seed = time.monotonic() + seconds, 1000
    while time.monotonic() < end:
        check(seed)
        seed += 1
    print(f"{seed - 1000} random definitions agree with themselves on plain numbers")  # noqa: T201


if __name__ == "__main__":
    main()
