"""The order of samples in an epoch: permutations, weights, shards, resuming. Arithmetic only.

Start at `sample_order.py` (`SampleOrder`), the samples of an epoch; it stands on `permutation.py`
and `weighted.py`. `batch_order.py` divides them among the ranks of a `Loader`. `reader_epochs.py`
and `reader_order.py` divide them among the shards of a pipeline's reader, as DALI does.
"""
