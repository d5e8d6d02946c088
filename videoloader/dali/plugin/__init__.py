"""Iterators over pipelines, for training frameworks.

Start at `iteration.py` (`BatchIterator`), which knows no framework; `epoch_plan.py` says which
batches make up an epoch. `pytorch/` has the iterators for PyTorch, and `pytorch/proxy/` pipelines
for `DataLoader` workers; `jax/`, `paddle.py` and `tf.py` have those for JAX, PaddlePaddle and
TensorFlow, which are imported when one is made.
"""
