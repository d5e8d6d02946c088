"""A pipeline as a `tf.data.Dataset`.

DALI's data set is an operator of TensorFlow in C++; this one is `tf.data.Dataset.from_generator`.
Batches are on the CPU and copied once, into TensorFlow's memory. Importing this needs no
TensorFlow; using it does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.pipeline import Pipeline
from videoloader.dali.plugin.dense import dense
from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.iteration import BatchIterator
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.machinery.system.callers import warn_deprecated

__all__ = [
    "DALIDataset",
    "DALIIterator",
    "DALIIteratorWrapper",
    "LastBatchPolicy",
    "dataset_options",
]

Arrays = tuple[np.ndarray[Any, Any], ...]

_EXECUTION = (  # of DALI's operator, which makes the pipeline anew; here it is there already
    "num_threads",
    "device_id",
    "exec_separated",
    "exec_dynamic",
    "prefetch_queue_depth",
    "cpu_prefetch_queue_depth",
    "gpu_prefetch_queue_depth",
)


def DALIDataset(  # noqa: N802  (DALI's name)
    pipeline: Pipeline,
    output_dtypes: Any = None,
    output_shapes: Any = None,
    fail_on_device_mismatch: bool = True,  # noqa: ARG001
    *,
    input_datasets: Any = None,
    batch_size: int | None = None,
    dtypes: Any = None,
    shapes: Any = None,
    size: int = -1,
    reader_name: str | None = None,
    last_batch_padded: bool = False,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    **execution: Any,
) -> Any:
    """The batches of a pipeline as a `tf.data.Dataset`.

    Without `size` and `reader_name` it ends with the pipeline's sources, as in DALI, and readers
    never end. With one of them each iteration is an epoch, as those of
    `videoloader.dali.plugin.pytorch.GenericIterator`. The data set has that iterator as `iterator`,
    with `state_dict()`, `stats()` and the rest; it counts what TensorFlow has taken, ahead of its
    consumer where it prefetches. An iteration that follows one that was left in the middle goes on
    with the rest.

    Args:
        pipeline: it keeps its own execution arguments.
        output_dtypes: a `tf.DType` for each output, in a tuple; one alone makes elements that are
            a tensor and no tuple. By default those of the first batch, which is made at once.
        output_shapes: for each output the shape of a batch, with None for dimensions that vary. A
            batch of one sample may be given without its first dimension. By default only the
            number of dimensions is known, or nothing where `output_dtypes` is given.
        fail_on_device_mismatch: accepted for compatibility with DALI; batches on a GPU are copied.
        input_datasets: not supported: give the data set to `fn.external_source`.
        batch_size: must be that of the pipeline.
        dtypes: deprecated name of `output_dtypes`.
        shapes: deprecated name of `output_shapes`.
        size: samples of an epoch.
        reader_name: the reader that says how long an epoch is.
        last_batch_padded: with `size`, whether the pipeline pads the last batch.
        last_batch_policy: what to do with a last batch that the epoch does not fill.
        **execution: `num_threads`, `device_id`, `exec_separated`, `exec_dynamic`,
            `prefetch_queue_depth` and others of DALI, which are those of the pipeline here.
    """
    tf = _import_tensorflow()
    for name in execution.keys() - set(_EXECUTION):
        raise ArgumentError(f"DALIDataset has no argument {name!r}")
    if input_datasets is not None:
        raise UnsupportedError(
            "input_datasets is not supported: give the data set to fn.external_source"
        )
    if batch_size not in (None, pipeline.batch_size):
        raise ArgumentError(f"batch_size is {batch_size}, the pipeline has {pipeline.batch_size}")
    for old, value in (("dtypes", dtypes), ("shapes", shapes)):
        if value is not None:
            warn_deprecated(f"{old} is deprecated: pass output_{old}")
    output_dtypes = dtypes if output_dtypes is None else output_dtypes
    output_shapes = shapes if output_shapes is None else output_shapes
    names = [f"output {number}" for number in range(pipeline.num_outputs)]
    iterator = _ArrayIterator(
        pipeline,
        names,
        size,
        reader_name,
        last_batch_padded=last_batch_padded,
        last_batch_policy=last_batch_policy,
    )
    ahead: list[Arrays] = []
    is_single = output_dtypes is not None and not isinstance(output_dtypes, tuple | list)
    if output_dtypes is None:
        ahead.append(next(iterator))
        output_dtypes = [array.dtype for array in ahead[0]]
        if output_shapes is None:
            output_shapes = [[None] * array.ndim for array in ahead[0]]
    specs = _specs(tf, names, output_dtypes, output_shapes, is_single=is_single)

    def batches() -> Iterator[Any]:
        if not ahead:
            iter(iterator)  # begins the next epoch at the end of one
        for arrays in itertools.chain(_emptied(ahead), iter(iterator.__next__, None)):
            fitted = tuple(map(_fitted, names, specs, arrays))
            yield fitted[0] if is_single else fitted

    signature = specs[0] if is_single else tuple(specs)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)
    dataset.iterator = iterator
    return dataset


def dataset_options() -> Any:
    """`tf.data.Options` without optimizations and autotuning, which change nothing here."""
    options = _import_tensorflow().data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return options


def DALIIteratorWrapper(  # noqa: N802  (DALI's name)
    pipeline: Pipeline | None = None,
    serialized_pipeline: Any = None,
    sparse: Sequence[bool] = (),
    shapes: Sequence[Any] = (),
    dtypes: Sequence[Any] = (),
    batch_size: int = -1,
    **execution: Any,
) -> list[Any]:
    """The next batch of a pipeline, as a list of tensors; in a graph whenever that runs.

    Args:
        pipeline: what makes batches.
        serialized_pipeline: the same as `Pipeline.serialize` gives it.
        sparse: not supported.
        shapes: of batches, for each output; unknown by default.
        dtypes: a `tf.DType` for each output.
        batch_size: must be that of the pipeline, or -1.
        **execution: as in `DALIDataset`.
    """
    tf = _import_tensorflow()
    if any(sparse):
        raise UnsupportedError("sparse outputs are not supported: fn.pad gives samples one shape")
    for name in execution.keys() - set(_EXECUTION):
        raise ArgumentError(f"DALIIterator has no argument {name!r}")
    source = Pipeline.deserialize(serialized_pipeline) if pipeline is None else pipeline
    if batch_size not in (-1, source.batch_size):
        raise ArgumentError(f"batch_size is {batch_size}, the pipeline has {source.batch_size}")
    names = [f"output {number}" for number in range(source.num_outputs)]
    specs = _specs(tf, names, dtypes, shapes or None)

    def run() -> list[Any]:
        outputs = source.run()
        arrays = (_array(name, out, len(out)) for name, out in zip(names, outputs, strict=True))
        return list(map(_fitted, names, specs, arrays))

    tensors = tf.numpy_function(run, [], [spec.dtype for spec in specs])
    tensors = list(tensors) if isinstance(tensors, list | tuple) else [tensors]  # one, at once
    for tensor, spec in zip(tensors, specs, strict=True):
        tensor.set_shape(spec.shape)
    return tensors


def DALIIterator() -> Callable[..., list[Any]]:  # noqa: N802  (DALI's name)
    """`DALIIteratorWrapper`."""
    return DALIIteratorWrapper


class _ArrayIterator(BatchIterator[Arrays]):
    """Gives the outputs of one pipeline as NumPy arrays."""

    def _item(self, batches: Sequence[tuple[Sequence[TensorList], int]]) -> Arrays:
        ((outputs, count),) = batches
        return tuple(
            _array(name, output, count)
            for name, output in zip(self.output_map, outputs, strict=True)
        )


def _emptied(arrays: list[Arrays]) -> Iterator[Arrays]:
    while arrays:
        yield arrays.pop()


def _array(name: str, output: TensorList, count: int) -> np.ndarray[Any, Any]:
    tensor = dense(name, output, count).cpu()
    if tensor.dtype is not torch.bfloat16:
        return tensor.numpy()
    bfloat16 = _import_tensorflow().bfloat16.as_numpy_dtype  # NumPy itself has none
    array: np.ndarray[Any, Any] = tensor.view(torch.int16).numpy().view(bfloat16)
    return array


def _specs(
    tf: Any, names: Sequence[str], dtypes: Any, shapes: Any, *, is_single: bool = False
) -> list[Any]:
    """A `tf.TensorSpec` for each output."""
    if is_single:
        dtypes, shapes = [dtypes], None if shapes is None else [shapes]
    shapes = [None] * len(names) if shapes is None else list(shapes)
    for what, given in (("output_dtypes", dtypes), ("output_shapes", shapes)):
        if len(given) != len(names):
            raise ArgumentError(f"{what} has {len(given)} for {len(names)} outputs of the pipeline")
    return [tf.TensorSpec(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


def _fitted(name: str, spec: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An output as it was promised; an error where it is another."""
    if spec.shape.rank == array.ndim - 1 and len(array) == 1:
        array = array[0]
    if array.dtype != spec.dtype.as_numpy_dtype or not spec.shape.is_compatible_with(array.shape):
        raise ArgumentError(
            f"{name} is {array.dtype}{list(array.shape)}, expected {spec.dtype.name}{spec.shape}; "
            "mend output_dtypes or output_shapes, or fn.cast in the pipeline"
        )
    return array


def _import_tensorflow() -> Any:
    try:
        import tensorflow
    except ImportError as error:
        raise UnsupportedError(
            "videoloader.dali.plugin.tf needs TensorFlow: pip install tensorflow, or tensorflow-cpu"
        ) from error
    return tensorflow
