"""Runs pipelines of which only the first output matters."""

import numpy as np

from videoloader.dali import pipeline_def


def run(define, *, batch_size=1, conditionals=False, seed=5, iterations=1):
    """The samples of the first output of a pipeline, all batches in a row."""
    made = pipeline_def(
        batch_size=batch_size, num_threads=1, device_id=None, enable_conditionals=conditionals
    )(define)(seed=seed)
    made.build()
    outputs = [made.run()[0] for _ in range(iterations)]
    return [np.array(sample) for batch in outputs for sample in batch]
